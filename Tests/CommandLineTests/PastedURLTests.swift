// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebPlugins
import SmallWebTestSupport
import Testing

@testable import SmallWebCLI

/// URLs as they are copied from pages, mails and source texts.
@Suite(.timeLimit(.minutes(30)))
struct PastedURLTests {
    /// Marks that leave no doubt; U stands for the URL.
    static let sure = [
        "<U>", "\"U\"", "'U'", "`U`", "“U”", "«U»", "=> U Some text", "=>U", "[text](U)",
        "[a [b]](U \"title\")", "<\"U\">", "![picture](U)", "  <U>  ",
        "<url:U>", "<url: U>", "(U)", "[U]", "(U).", "([U]),", "<U>,", "\"U\",", "<U>, ",
        "(url:U)", "U\n", " U \r\n",
    ]
    /// S stands for the scheme, R for the rest behind its slashes.
    static let unsure = [
        "(U", "(U.)", "(U))", "<U>.)", "S:R", "S//R", "S:/R", "S:///R", "<S:R>", "<U",
        "[one](U) and [two](U)", "<U> <U>", "url:U",
    ]
    private static let rest = "127.0.0.1:1/a.git"
    private static let marks = "<>\"`“”„‘’«»[]{}"

    private static func paste(_ form: String, _ scheme: String, _ rest: String = rest) -> String {
        form.map { character in
            character == "U"
                ? "\(scheme)://\(rest)"
                : character == "S" ? scheme : character == "R" ? rest : "\(character)"
        }.joined()
    }

    /// The last hint on standard error.
    static func hint(_ errors: String) -> String? {
        errors.split(separator: "\n").last { $0.hasPrefix("hint: ") }.map {
            String($0.dropFirst("hint: ".count))
        }
    }

    // MARK: The reading

    @Test(arguments: Registry.builtIn.schemes.map(\.name))
    func everyFormIsReadInEveryScheme(_ scheme: String) throws {
        for form in Self.sure + Self.unsure {
            let word = Self.paste(form, scheme)
            let reading = try #require(Advice.reading(of: word, .builtIn), "\(word)")
            #expect(reading.uri.description == "\(scheme)://\(Self.rest)", "\(word)")
            #expect(reading.isSure == Self.sure.contains(form), "\(word)")
            let upper = Advice.reading(of: Self.paste(form, scheme.uppercased()), .builtIn)
            #expect(upper?.uri == reading.uri && upper?.isSure == reading.isSure, "\(word)")
        }
        let url = "\(scheme)://\(Self.rest)"
        for end in [",", ".", ")", "!", ">", "'", "\"", "”", ".)", ")."] {
            #expect(Advice.reading(of: url + end, .builtIn)?.uri.description == url, "\(end)")
            #expect(Advice.reading(of: url + end, .builtIn)?.isSure == false, "\(end)")
        }
        // A URL that is enclosed ends where the mark says.
        for form in ["<U>", "=> U text", "[text](U)"] {
            let reading = Advice.reading(of: Self.paste(form, scheme, "h.test/a."), .builtIn)
            #expect(reading?.uri.path == "/a." && reading?.isSure == true)
        }
    }

    @Test(arguments: [
        ("gemini://h.test/a b", "gemini://h.test/a%20b"),
        ("http://h.test/?a&amp;b", "http://h.test/?a&b"),
        ("gemini://h.test/a\n  b", "gemini://h.test/ab"),
        ("\u{FEFF}gemini://h.test/\n", "gemini://h.test/"), ("h.test/a", "gemini://h.test/a"),
        ("(h.test/a)", "gemini://h.test/a"), ("//h.test/", "gemini://h.test/"),
        ("localhost:1965/a", "gemini://localhost:1965/a"), ("h.test:70", "gemini://h.test:70"),
        ("::1:1965", "gemini://[::1]:1965"), ("2001:db8::1", "gemini://[2001:db8::1]"),
        ("gopher://::1:70/", "gopher://[::1]:70/"), ("ada@h.test", "finger://ada@h.test"),
        ("git@h.test:a/b.git", "git+https://h.test/a/b.git"),
        ("(https://h.test/A_(b))", "https://h.test/A_(b)"),
        ("www.h.test/x", "https://www.h.test/x"), ("h.test/a.HTML?q", "https://h.test/a.HTML?q"),
        ("127.0.0.1:4687/a.htm", "http://127.0.0.1:4687/a.htm"), ("h.test:80", "http://h.test:80"),
        ("h.test:8080/a", "http://h.test:8080/a"), ("h.test:8000", "http://h.test:8000"),
        ("h.test:443/", "https://h.test:443/"), ("gopher.h.test", "gopher://gopher.h.test"),
        ("Gopher.h.test/0/a", "gopher://gopher.h.test/0/a"), ("nex.h.test/", "nex://nex.h.test/"),
        ("h.test/a/b.git", "git+https://h.test/a/b.git"),
        ("h.test/.git", "git+https://h.test/.git"),
        ("h.test/b.git//c.md", "git+https://h.test/b.git//c.md"),
        ("localhost/a.git", "git://localhost/a.git"), ("::1/a.git", "git://[::1]/a.git"),
        ("h.test:9418/a.git", "git://h.test:9418/a.git"),
        ("h.test:80/a.git", "git+http://h.test:80/a.git"),
        ("git.h.test/x", "gemini://git.h.test/x"), ("a.html", "gemini://a.html"),
        ("<URL:gopher://h.test/a>", "gopher://h.test/a"),
        ("h.test/www.html.gmi", "gemini://h.test/www.html.gmi"),
        ("https://h.test/A_(b),", "https://h.test/A_(b)"),
        ("[x](https://h.test/A_(b))", "https://h.test/A_(b)"),
        ("(https://u:p@h.test:1/)", "https://u:***@h.test:1/"),
    ])
    func wordsAreRead(_ word: String, _ url: String) {
        #expect(Advice.reading(of: word, .builtIn)?.uri.display == url)
    }

    /// Such a file may be there, so that it is asked for, with a note.
    @Test func patternsOfCurlAreSaid() throws {
        let url = "gemini://127.0.0.1:1/"
        let globs = ["{a,b}", "x{,.gmi}", "[1-20]", "a[01-99:2].txt", "[a-z]", "[[1-2]", "{{a,b}}"]
        for glob in globs {
            let result = try Smallweb().run(["get", url + glob])
            #expect(result.status == 7 && result.errors.contains("note: "), "\(result.errors)")
            #expect(result.errors.contains("as it stands"))
            #expect(try !Smallweb().run(["get", "-q", url + glob]).errors.contains("note: "))
        }
        for word in ["{a}", "[1]", "[1-]", "[a-bc]", "a,b", "{a,b", "[1-2", "}{,", "?a[]=1"] {
            #expect(!Advice.isGlob(url + word), "\(word)")
        }
        #expect(!Advice.isGlob("gemini://[fe80::1-2]/") && Advice.isGlob("http://{a,b}.test"))
    }

    /// A repository's file behind the URL, as git has it, and a repository without a scheme.
    @Test func wordsAreReadByWhatStandsBeforeThem() throws {
        let place = "git://127.0.0.1:1/r.git"
        for (words, meant) in [
            ([place, "README.md"], place + "//README.md"),
            (["refs", "h.test/a"], "git+https://h.test/a"),
            (["refs", "h.test:9418/a"], "git://h.test:9418/a"),
            (["log", "h.test/a/b"], "git+https://h.test/a/b"),
            (["describe", "localhost/a"], "git://localhost/a"),
            (["get", "gemini://127.0.0.1:1/", "README.md"], "gemini://readme.md"),
            (["get", place + "//docs", "README.md"], "gemini://readme.md"),
        ] {
            let result = try Smallweb().run(words)
            #expect(result.errors.hasSuffix("hint: \(meant)\n"), "\(words) \(result.errors)")
        }
    }

    @Test(arguments: [
        "gemini://h.test/", "https://h.test/A_(b)", "https://h.test/?q=(a)", "", "()", "<>", "\"",
        "word", "/etc/passwd", "./a.gmi", "../a", "~/a", "mailto:a@b.c", "C:\\a", "@list.txt",
        "<html>", "<!DOCTYPE html>", "<a href=\"/x\">", "<?xml version=\"1.0\"?>", "=>", "=> /a b",
        "[a](b)", "[a](", "gemini://", "gemini:///path", "gemini://h.test/a/..",
        "git://h.test/r?log=v1..", "<gemini://h.test/\u{1B}[2J>", "man:ls(1)",
        "file:///a",
        "gemini://h\u{201D}x.test/,",
    ])
    func otherWordsAreNot(_ word: String) {
        #expect(Advice.reading(of: word, .builtIn) == nil)
    }

    /// Megabytes, and marks in marks, take no time.
    @Test func hostileWordsAreLeftAlone() {
        let url = "gemini://h.test/"
        for mark in ["<", "(", "[", "\"", "=>", "![](", ")", ".", "\n", " ", "&amp;", "://", "@"] {
            for count in [17, 1000, 20_000, 3_000_000] {
                let many = String(repeating: mark, count: count / mark.utf8.count)
                for word in [many, many + url, url + many, many + url + many] {
                    let shown = Advice.reading(of: word, .builtIn)?.uri.display ?? ""
                    #expect(!shown.contains(where: Self.marks.contains), "\(mark) \(count)")
                    #expect(shown.utf8.count <= 3 * 65_536)
                }
            }
        }
    }

    /// Words of pieces in any order: a reading is a URL, without the marks of the paste.
    @Test func anyReadingIsAURL() throws {
        let pieces = [
            "<", ">", "\"", "'", "`", "(", ")", "[", "]", "{", "}", "](", "![", "=>", "“", "”", "»",
            "gemini", "finger", "git", "://", ":", "/", "//", "h.test", "::1", "@", "a", "b", ".",
            ",", "!", " ", "\n", "\t", "&amp;", "%41", "?q", "#f", "~", "é", "\u{202E}", "\u{1B}",
            "1",
        ]
        var generator = SeededGenerator(seed: 55)
        var readings = 0
        for _ in 0..<60_000 {
            let word = (0..<Int.random(in: 1...9, using: &generator)).map { _ in
                pieces.randomElement(using: &generator) ?? ""
            }.joined()
            guard let (uri, isSure) = Advice.reading(of: word, .builtIn) else { continue }
            readings += 1
            let plain = try? URI(parsing: word)
            let isAgain = (try? URI(parsing: uri.description)) == uri
            #expect(isAgain && uri.host != nil && uri != plain, "\(word)")
            #expect(!isSure || plain == nil && word.contains("://"), "\(word)")
            let text = uri.description.filter { !"[]".contains($0) }
            #expect(!text.contains(where: Self.marks.contains), "\(word)")
            #expect(!uri.description.contains("[") || uri.host?.contains(":") == true, "\(word)")
        }
        #expect(readings > 1000)
    }

    // MARK: The commands

    /// Every command with an operand that names a server, and the words before and after it.
    private static let commands: [(command: Command, words: [String], more: [String])] =
        Command.all.flatMap { [$0] + $0.actions }.compactMap { command in
            guard command.actions.isEmpty,
                let index = command.operands.indices.first(where: command.isServer)
            else { return nil }
            let before = command.operands[..<index].map { $0 == .file ? "page" : "alice" }
            let more = ["put": ["page"], "diff": ["a..b"]][command.name] ?? []
            return (command, command.name.split(separator: " ").map(String.init) + before, more)
        }

    private static func run(
        _ form: (command: Command, words: [String], more: [String]), _ word: String
    ) throws -> Smallweb.Result {
        let smallweb = Smallweb()
        try smallweb.home.write("text\n", to: "page")
        if form.command.name.hasPrefix("identity u") {
            _ = try smallweb.run(["identity", "new", "alice"])
        }
        let result = try smallweb.run(form.words + [word] + form.more)
        let errors = result.errors.replacingOccurrences(of: smallweb.home.path, with: "HOME")
            .replacing(/after [0-9]+ ms/, with: "after N ms")
        return Smallweb.Result(status: result.status, output: result.output, errors: errors)
    }

    /// Schemes that it is for, in turn.
    private static func scheme(_ command: Command, _ index: Int) -> String {
        let all = Registry.builtIn.schemes.filter {
            command.name == "put" ? $0.uploads != nil : command.canUse($0)
        }
        let isOfGit = command.verb != nil || command.name == "refs"
        let fitting = all.filter { !isOfGit || $0.hasReferences }.map(\.name)
        return fitting[index % fitting.count]
    }

    @Test(arguments: commands.indices)
    func everyCommandTakesAnEnclosedURL(_ number: Int) throws {
        let form = Self.commands[number]
        for (index, mark) in Self.sure.enumerated() {
            let scheme = Self.scheme(form.command, number + index)
            let url = "\(scheme)://\(Self.rest)"
            let plain = try Self.run(form, url)
            let pasted = try Self.run(form, Self.paste(mark, scheme))
            let note = "smallweb: taken as \(url)\n"
            #expect(pasted.status == plain.status, "\(form.words) \(mark): \(pasted.errors)")
            #expect(pasted.errors == note + plain.errors, "\(form.words) \(mark)")
        }
    }

    @Test(arguments: commands.indices)
    func everyCommandAnswersAWordWithTheURLAlone(_ number: Int) throws {
        let form = Self.commands[number]
        for (index, mark) in Self.unsure.enumerated() {
            let scheme = Self.scheme(form.command, number + index)
            let (url, word) = ("\(scheme)://\(Self.rest)", Self.paste(mark, scheme))
            let refused = try Self.run(form, word)
            if form.command.name.hasPrefix("bookmarks") || form.command.name.contains(" cat") {
                // A bookmark or a recorded target may be any text; but no hint repeats its marks.
                let hint = Self.hint(refused.errors) ?? ""
                #expect(!hint.contains(where: Self.marks.contains), "\(refused.errors)")
                continue
            }
            #expect(refused.status != 0, "\(form.words) \(word)")
            #expect(Self.hint(refused.errors) == url, "\(form.words) \(word): \(refused.errors)")
            let further = try Self.run(form, url)
            let isFurther = further.status != refused.status || further.errors != refused.errors
            #expect(isFurther && Self.hint(further.errors) != url, "\(form.words) \(url)")
        }
    }

    @Test func theFirstWordIsRead() throws {
        let smallweb = Smallweb()
        for form in Self.sure {
            let result = try smallweb.run([Self.paste(form, "gopher")])
            #expect(result.status == 7 && result.errors.contains("taken as gopher://"), "\(form)")
            let quiet = try smallweb.run(["-q", Self.paste(form, "gopher")])
            #expect(!quiet.errors.contains("taken as"))
        }
        for form in Self.unsure {
            let result = try smallweb.run([Self.paste(form, "gopher")])
            #expect(Self.hint(result.errors) == "gopher://\(Self.rest)", "\(result.errors)")
        }
        for (words, hint) in [
            (["finger", "ada@h.test"], "finger://ada@h.test"),
            (["finger", "@h.test"], "finger://h.test"),
            (["gemini", "h.test/a"], "gemini://h.test/a"), (["gemini"], "a URL begins with"),
            (["::1:1965"], "gemini://[::1]:1965"), (["ada@h.test"], "finger://ada@h.test"),
        ] {
            let result = try smallweb.run(words)
            #expect(result.status == 2)
            #expect(Self.hint(result.errors)?.hasPrefix(hint) == true, "\(result.errors)")
        }
    }

    /// A good URL is sent as it was typed; only a failure names another.
    @Test func aGoodURLIsSentAsTyped() throws {
        let server = try LoopbackServer(tls: .make()) { peer in
            let line = String(decoding: peer.readLine() ?? [], as: UTF8.self)
            let isThere = line.contains("there")
            peer.write(isThere ? "20 text/plain\r\n\(line)" : "51 Nothing\r\n")
        }
        let place = "gemini://127.0.0.1:\(server.port)/"
        for end in [".", ")", ",", ".)", "?a&amp;b"] {
            let there = try Smallweb().run(["get", "\(place)there\(end)"])
            #expect(there.text.contains("/there\(end)\r\n"), "\(there.text)")
            #expect(there.status == 0 && there.errors.isEmpty, "\(there.errors)")
            let none = try Smallweb().run(["get", "\(place)none\(end)"])
            let meant = place + (end.hasPrefix("?") ? "none?a&b" : "none")
            #expect(none.status == 22 && Self.hint(none.errors) == meant, "\(none.errors)")
        }
        let none = try Smallweb().run(["get", "\(place)A_(b)"])
        #expect(none.status == 22 && Self.hint(none.errors) == nil, "\(none.errors)")
    }

    @Test func listsAreRead() throws {
        let server = try LoopbackServer(handler: DemoSites.gopher)
        let url = "gopher://127.0.0.1:\(server.port)/0/about.txt"
        let smallweb = Smallweb()
        try smallweb.home.write("=> \(url) About\n<\(url)>\n", to: "sure")
        let plain = try smallweb.run(["get", url])
        let taken = try smallweb.run(["get", "@sure"])
        #expect(taken.status == 0 && taken.text == plain.text + plain.text, "\(taken.errors)")
        for words in [["links"], ["watch"], ["crawl"], ["get", "--json"]] {
            let result = try smallweb.run(words + ["@sure"])
            #expect(result.status == 0, "\(words): \(result.errors)")
            #expect(result.errors.contains("taken as \(url)"), "\(words): \(result.errors)")
        }
        try smallweb.home.write("(\(url)\n", to: "unsure")
        let refused = try smallweb.run(["get", "@unsure"])
        #expect(refused.status == 3 && Self.hint(refused.errors) == url, "\(refused.errors)")
        // The URL of a program's request is taken to the letter.
        try smallweb.home.write("{\"url\": \"<\(url)>\"}\n", to: "requests")
        let request = try smallweb.run(["get", "--json", "@requests"])
        #expect(
            request.status == 3 && request.text.contains("\"url\":\"<gopher"), "\(request.text)")
    }

    @Test func filesAreNamedInOneWay() throws {
        let smallweb = Smallweb()
        try smallweb.home.write("# Page\nhello\n", to: "page.gmi")
        try smallweb.home.write("# Seeds\ngemini://h.test/\n", to: "seeds")
        try smallweb.home.write("text\n", to: "a <b>.txt")
        for (words, hint) in [
            (["./page.gmi"], "'smallweb open --local ./page.gmi' reads it"),
            (["get", "./page.gmi"], "'smallweb get --local ./page.gmi' reads it"),
            (["links", "page.gmi"], "'smallweb links --local page.gmi' reads it"),
            (["explain", "page.gmi"], "'smallweb open --local page.gmi' reads it"),
            (["get", "seeds"], "a list of URLs is @seeds"), (["seeds"], "a list of URLs is @seeds"),
            (["get", "a <b>.txt"], "'smallweb get --local FILE' reads it"),
        ] {
            let result = try smallweb.run(words)
            #expect(result.status != 0 && Self.hint(result.errors) == hint, "\(result.errors)")
            guard hint.hasPrefix("'smallweb "), !hint.contains("FILE") else { continue }
            let typed = hint.split(separator: "'")[0].split(separator: " ").dropFirst()
            #expect(try smallweb.run(typed.map(String.init)).status == 0, "\(hint)")
        }
    }

    /// Neither a hint nor a note has anything that a terminal would obey.
    @Test func nothingOfAPasteActsOnTheTerminal() throws {
        for text in ["\u{1B}]0;x\u{07}", "\u{202E}", "\r\n", "\u{9B}2J", "\u{7F}"] {
            for form in Self.sure + Self.unsure {
                let word = Self.paste(form, "gopher", "127.0.0.1:1/\(text)a.")
                for words in [["get", word], [word], ["crawl", word], ["trust", "check", word]] {
                    let result = try Smallweb().run(words)
                    let isSafe = result.errors.unicodeScalars.allSatisfy {
                        $0 == "\n" || !TerminalText.isDangerous($0)
                    }
                    #expect(isSafe, "\(words.debugDescription) \(result.errors.debugDescription)")
                }
            }
        }
    }
}
