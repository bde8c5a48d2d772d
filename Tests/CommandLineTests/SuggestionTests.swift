// SPDX-License-Identifier: MIT
import SmallWebTestSupport
import Testing

@testable import SmallWebCLI

/// Suggestions for mistyped names, and for users of other programs.
@Suite(.timeLimit(.minutes(30)))
struct SuggestionTests {
    @Test func everyKindOfNameHasANearestOne() throws {
        let smallweb = Smallweb()
        #expect(try smallweb.run(["identity", "new", "alice"]).status == 0)
        for (words, status, hint) in [
            ("get gemni://example.org/", 1, "gemini://"), ("get gohper://x/", 1, "gopher://"),
            ("get --proto gemnii gemini://x/", 2, "gemini"),
            ("get --identity alcie gemini://127.0.0.1:1/", 58, "alice"),
            ("identity show alise", 58, "alice"),
            ("get --json --fields url,staus x:/", 2, "status"),
            ("get --only timout --ledger l x:/", 2, "timeout"),
            ("get --progress jsno x:/", 2, "json"), ("get --trust tufu x:/", 2, "tofu"),
            ("identity import --from lagrnge x", 2, "lagrange"), ("trust shwo x", 2, "show"),
            ("trust export --to gmini", 2, "gmni"), ("get --max-tiem 3 x:/", 2, "--max-time"),
        ] as [(String, Int32, String)] {
            let screen = try Screen(isTerminal: true, columns: 200)
            let arguments = words.split(separator: " ").map(String.init)
            #expect(try smallweb.run(arguments, on: screen) { _ in } == status, "\(words)")
            #expect(screen.shown.contains("hint: did you mean \(hint)?"), "\(screen.shown)")
        }
    }

    @Test func whatIsNotNearHasNoSuggestion() throws {
        for words in ["get ftps://example.org/", "get --identity zoe gemini://127.0.0.1:1/"] {
            let screen = try Screen(isTerminal: true, columns: 200)
            let arguments = words.split(separator: " ").map(String.init)
            #expect(try Smallweb().run(arguments, on: screen) { _ in } != 0)
            #expect(!screen.shown.contains("did you mean"), "\(screen.shown)")
            #expect(screen.shown.contains("hint: "))
        }
    }

    @Test(arguments: [
        ("--timeout", "--max-time"), ("--compression", "without an option"),
        ("-r", "smallweb crawl"), ("-t", "--retry"),
        ("-T", "smallweb put"), ("--tries=3", "--retry"), ("--data-raw", "--data"),
        ("--cacert", "SSL_CERT_FILE"), ("-u", "--netrc"), ("-G", "--data"),
    ])
    func anOptionOfCurlOrWgetLeadsToOurs(option: String, pointer: String) throws {
        let screen = try Screen(isTerminal: true, columns: 200)
        #expect(try Smallweb().run(["get", option, "x"], on: screen) { _ in } == 2)
        #expect(screen.shown.contains("unknown option "), "\(screen.shown)")
        let hint = screen.shown.split(separator: "hint: ").last ?? ""
        #expect(hint.contains(pointer), "\(screen.shown)")
    }

    /// A path in a repository makes no sense to a web server.
    @Test func aFileOfARepositoryLeadsToItsScheme() throws {
        let web = try LoopbackServer(handler: DemoSites.web)
        let place = "127.0.0.1:\(web.port)"
        for (path, isRepository) in [("/demo.git//README?ref=v1", true), ("/demo//x", false)] {
            let screen = try Screen(isTerminal: true, columns: 200)
            let url = "http://\(place)\(path)"
            #expect(try Smallweb().run(["get", url], on: screen) { _ in } == 22)
            #expect(screen.shown.contains("404"), "\(screen.shown)")
            let hint = "hint: to look into the repository: git+\(url)"
            #expect(screen.shown.contains(hint) == isRepository, "\(screen.shown)")
        }
    }

    /// Lines that newcomers have typed, each with the hint that went further.
    @Test func whatWasTypedGoesFurther() throws {
        let smallweb = Smallweb()
        for (line, input, hint) in [
            (
                "get --tar http://127.0.0.1:1/r.git", "",
                "for a repository: git+http://127.0.0.1:1/r.git"
            ),
            ("get --tar https://h.test/?a", "", "'smallweb help get --tar' says what it is for"),
            ("get gopher://127.0.0.1:1/ --input -", "a secret", "-d @- reads the input from"),
            ("diff git://127.0.0.1:1/r v1", "", "v1^..v1 is what it changed, v1.. what has"),
            ("help timeout", "", "--max-time TIME is for the whole fetch"),
            ("cert example.org", "", "'smallweb head URL' shows a server's certificate"),
            ("get -", "Welcome here\n", "a page instead of a list of URLs is read by --local"),
            ("links -", "<html>\n", "a page instead of a list of URLs is read by --local"),
        ] {
            let result = try smallweb.run(line.split(separator: " ").map(String.init), stdin: input)
            #expect(result.status != 0, "\(line)")
            let shown = PastedURLTests.hint(result.errors) ?? ""
            #expect(shown.hasPrefix(hint), "\(line): \(result.errors)")
            #expect(!result.errors.contains("secret"), "\(line)")
        }
    }

    /// One slash is a path of the server, and not of the repository.
    @Test func aSlashTooFewLeadsToTheRightURL() throws {
        let git = try LoopbackServer(handler: DemoSites.git)
        let place = "git://127.0.0.1:\(git.port)/demo.git"
        for (path, meant) in [("/docs/a.txt", "//docs/a.txt"), ("//none", nil)] {
            let screen = try Screen(isTerminal: true, columns: 200)
            #expect(try Smallweb().run(["get", place + path], on: screen) { _ in } == 22)
            let hint = meant.map { "hint: to look into the repository: \(place)\($0)" }
            #expect(
                screen.shown.contains(hint ?? "hint: to look") == (meant != nil),
                "\(screen.shown)")
        }
    }

    /// Both corrections in one URL, which leads to the server.
    @Test(arguments: ["git", "git+http", "git+https"])
    func aVersionAndAPathLeadToTheWholeURL(_ scheme: String) throws {
        let place = "\(scheme)://127.0.0.1:1/r"
        for (typed, meant) in [
            (".git/src?dev", ".git//src?ref=dev"), (".git/README.md?x", ".git//README.md?ref=x"),
            (".git/src?ref=dev", ".git//src?ref=dev"), (".git?ref=v1", ".git//?ref=v1"),
            (".git?dev", ".git//?ref=dev"), ("?dev", "//?ref=dev"), ("//src?dev", "//src?ref=dev"),
            (".git?tar=v1.0", ".git?ref=v1.0&tar=1"),
            (".git/src?tar=v1.0", ".git//src?ref=v1.0&tar=1"),
            ("?tar=v1.0&prefix=a/", "?ref=v1.0&tar=1&prefix=a/"),
        ] {
            let refused = try Smallweb().run(["get", place + typed])
            #expect(refused.status == 3, "\(typed): \(refused.errors)")
            #expect(PastedURLTests.hint(refused.errors) == place + meant, "\(refused.errors)")
            #expect(try Smallweb().run(["get", place + meant]).status == 7)
        }
        for typed in ["?raw", "?=", "?&", "?tar=", "?tar=1&ref=", "?tar=v1&ref=v2", "?log&dev"] {
            let result = try Smallweb().run(["get", place + typed])
            let hint = PastedURLTests.hint(result.errors) ?? ""
            #expect(!hint.hasPrefix(scheme + ":"), "\(typed): \(result.errors)")
        }
    }

    /// An option that says what the query says is the same wish twice.
    @Test func anOptionMaySayWhatTheQuerySays() throws {
        let place = "git://127.0.0.1:1/r.git"
        let flags = Option.ofPlugins.filter { $0.urlKey != nil && $0.valueName == nil }
        #expect(flags.count >= 2)
        for option in flags where Command.get.takes(option) {
            for value in ["", "=", "=1"] {
                let key = option.urlKey ?? ""
                let query = key == "tar" ? "tar\(value)" : "tar&\(key)\(value)"
                let result = try Smallweb().run(["get", "--\(option.long)", "\(place)?\(query)"])
                #expect(result.status == 7, "\(query): \(result.errors)")
            }
        }
        for line in [
            "get --prefix a/ ?tar&prefix=a/", "get --prefix a/ ?tar&prefix=a%2F",
            "get --tar --strip 1 ?strip=1&tar=1", "log ?log", "log ?log=v1", "log -n 3 ?log&n=3",
            "describe ?describe=v1", "diff ?diff=a..b", "diff -p ?diff=a..b&patch=1",
        ] {
            let words = line.replacing("?", with: "\(place)?").split(separator: " ")
            let result = try Smallweb().run(words.map(String.init))
            #expect(result.status == 7, "\(line): \(result.errors)")
        }
        let other = try Smallweb().run(["get", "--prefix", "b/", "\(place)?tar&prefix=a/"])
        #expect(other.status == 3 && other.errors.contains("twice"), "\(other.errors)")
        // The option may be in the URL.
        let line = "smallweb get '\(place)?ref=v1&tar&prefix=a/' | gzip > 'a b.tar.gz'"
        let given = ["--tar", "--prefix", "a/", "\(place)?ref=v1"]
        for words in [given, ["\(place)?ref=v1&tar&prefix=a/"]] {
            let packed = try Smallweb().run(["get", "-o", "a b.tar.gz"] + words)
            #expect(packed.status == 2 && PastedURLTests.hint(packed.errors) == line)
        }
    }

    /// A pointer that an option of ours hides, or that leads to none.
    @Test func thePointersAreOfUse() throws {
        let long = Set(Option.all.flatMap { [$0.long] + $0.aliases })
        let short = Set(Option.all.compactMap { $0.short.map(String.init) })
        for (names, pointer) in Advice.pointers {
            for name in names.split(separator: " ").map(String.init) {
                // Another command may use the letter.
                #expect(!long.contains(name), "\(name)")
                #expect(!short.contains(name) || name == "p", "\(name)")
            }
            for word in pointer.split(separator: " ") where word.hasPrefix("-") && word.count > 1 {
                let name = word.drop { $0 == "-" }.prefix { $0.isLetter || $0 == "-" }
                let isKnown = long.contains(String(name)) || short.contains(String(name))
                #expect(name.isEmpty || isKnown, "\(word)")
            }
        }
    }
}
