// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

@testable import SmallWebCLI

/// Words that users of other clients type: they work, or the answer says what does.
@Suite struct HabitTests {
    private let smallweb = Smallweb()

    @Test func listsNeedNoCommand() throws {
        let server = try LoopbackServer(handler: DemoSites.gopher)
        let url = "gopher://127.0.0.1:\(server.port)/0/about.txt"
        let list = "\u{FEFF}\(url)\r\n\n# none\n  \(url)\n"
        try list.write(toFile: smallweb.home.file("urls.txt"), atomically: true, encoding: .utf8)
        let once = try smallweb.run(["get", " \(url) "]).text
        #expect(!once.isEmpty)
        for words in [["@urls.txt"], ["--input-file", "urls.txt"], ["get", "@urls.txt"]] {
            let result = try smallweb.run(words)
            #expect(result.status == 0 && result.text == once + once, "\(words): \(result.errors)")
        }
        let piped = try smallweb.run(["-j", "4", "-"], stdin: list)
        #expect(piped.status == 0 && piped.text == once + once, "\(piped.errors)")
        let unmarked = try smallweb.run(["get", "urls.txt"])
        #expect(unmarked.status == 3)
        #expect(unmarked.errors.contains("hint: a list of URLs is @urls.txt"), "\(unmarked.errors)")
    }

    /// A server of another protocol, or of the same with or without TLS, is named as such.
    @Test func thePortMaySpeakSomethingElse() throws {
        let web = try LoopbackServer { peer in
            _ = peer.readLine()
            peer.write("HTTP/1.1 400 Bad Request\r\n\r\n")
        }
        for scheme in ["gemini", "gophers", "https"] {
            let result = try smallweb.trusting().run(["\(scheme)://127.0.0.1:\(web.port)/"])
            #expect(result.status == 35, "\(result.errors)")
            #expect(result.errors.contains("the server answers without TLS\nhint: check that"))
        }
        let alert = try LoopbackServer { peer in
            _ = peer.readLine()
            peer.write([21, 3, 1, 0, 2, 2, 40])
        }
        for scheme in ["gopher", "nex", "spartan", "finger"] {
            let result = try smallweb.run(["\(scheme)://127.0.0.1:\(alert.port)/"])
            #expect(result.status == 8 && result.text.isEmpty, "\(scheme) \(result.errors)")
            #expect(result.errors.contains("the server speaks TLS at this port\nhint: use "))
        }
        let silent = try LoopbackServer { peer in _ = peer.read(1 << 20) }
        for (scheme, name) in [("gemini", "TLS"), ("gopher", "gopher"), ("nex", "nex")] {
            let url = "\(scheme)://127.0.0.1:\(silent.port)/"
            for option in ["--max-time"] + (name == "TLS" ? [] : ["--read-timeout"]) {
                let result = try smallweb.run([option, "0.3", url])
                let hint = "hint: check that this port speaks \(name), or allow more time with "
                #expect(result.status == 28 && result.errors.contains(hint + option))
            }
        }
    }

    @Test func aPathWithoutItemTypeIsExplained() throws {
        let server = try LoopbackServer(handler: DemoSites.gopher)
        let place = "gopher://127.0.0.1:\(server.port)"
        let result = try smallweb.run([place + "/about.txt"])
        #expect(result.errors.contains("a text is /0/about.txt"), "\(result.errors)")
        #expect(try smallweb.run([place + "/0/about.txt"]).errors.isEmpty)
    }

    @Test func whatIsMissingIsCounted() throws {
        let server = try LoopbackServer { peer in
            guard WebRequest(from: peer) != nil else { return }
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
        }
        let result = try smallweb.run(["http://127.0.0.1:\(server.port)/"])
        #expect(result.status == 18)
        #expect(result.errors.contains("the body is cut off: 6 of 9 bytes are missing"))
    }

    @Test func anIdentityIsNamedAsItsFile() throws {
        _ = try smallweb.run(["identity", "new", "old"])
        let pem = try smallweb.run(["identity", "export", "old"]).text
        for name in ["me.crt", "carol"] {
            try pem.write(toFile: smallweb.home.file(name), atomically: true, encoding: .utf8)
        }
        #expect(try smallweb.run(["identity", "import", "me.crt"]).status == 0)
        #expect(try smallweb.run(["identity", "import", "./carol", "me.crt"]).status == 0)
        #expect(try smallweb.run(["identity", "import", "dave", "me.crt"]).status == 0)
        let names = try smallweb.run(["identity", "list", "--json"]).text
        for name in ["me", "carol", "dave", "old"] { #expect(names.contains("\"\(name)\"")) }
        #expect(try smallweb.run(["identity", "import", "nobody"]).status == 2)
    }

    @Test func dataGivenAgainIsJoined() throws {
        let server = try LoopbackServer { peer in
            guard let request = WebRequest(from: peer) else { return }
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: \(request.body.count)\r\n\r\n")
            peer.write(request.body)
        }
        let place = "http://127.0.0.1:\(server.port)/"
        #expect(try smallweb.run(["-d", "a=1", "-d", "b=2", place]).text == "a=1&b=2")
    }

    @Test func aServerThatWantsALoginIsAnswered() throws {
        let server = try LoopbackServer { peer in
            guard WebRequest(from: peer) != nil else { return }
            peer.write("HTTP/1.1 401 No\r\nWWW-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n")
        }
        let place = "http://127.0.0.1:\(server.port)/r.git"
        for words in [[place], ["refs", place]] {
            let result = try smallweb.run(words)
            #expect(result.status == 22 && result.errors.contains("with --netrc, or"))
        }
    }

    @Test func pagesAreLaidOutIntoFiles() throws {
        let server = try LoopbackServer(handler: DemoSites.gopher)
        let place = "gopher://127.0.0.1:\(server.port)/"
        let shown = try smallweb.run(["--render", "html", place])
        #expect(try smallweb.run(["--render", "html", "-o", "x.html", place]).status == 0)
        #expect(
            smallweb.home.content("x.html") == Array(shown.text.utf8) && shown.text.contains("<a"))
        #expect(try smallweb.run(["--render", "md", place]).text.contains("](<"))
        try "render = html\n".write(
            toFile: smallweb.home.file("cfg"), atomically: true, encoding: .utf8)
        #expect(try smallweb.run(["-K", "cfg", "-o", "menu", place]).status == 0)
        #expect(smallweb.home.content("menu")?.starts(with: "<".utf8) == false)
    }

    @Test func aBookmarkIsOpenedByItsTitle() throws {
        let server = try LoopbackServer(handler: DemoSites.gopher)
        let place = "gopher://127.0.0.1:\(server.port)/"
        _ = try smallweb.run(["bookmarks", "add", place, "My Hole"])
        let result = try smallweb.run(["open", "my hole"])
        #expect(result.status == 0 && result.text.contains("[1]"), "\(result.errors)")
        #expect(
            try smallweb.run(["bookmarks", "export", "--opml"]).text.contains("text=\"My Hole\""))
        #expect(try smallweb.run(["bookmarks", "remove", "My Hole"]).status == 0)
        #expect(try smallweb.run(["bookmarks"]).text.isEmpty)
    }

    @Test func explainTakesThePutThatIsMeant() throws {
        try "a".write(toFile: smallweb.home.file("up.txt"), atomically: true, encoding: .utf8)
        let result = try smallweb.run(["explain", "put", "titan://127.0.0.1:1/up", "up.txt"])
        #expect(result.text.contains(";size=1;mime=text/plain"), "\(result.text)\(result.errors)")
    }

    /// What a word was meant to be is said.
    @Test(arguments: [
        ("127.0.0.1:1965/", "hint: gemini://127.0.0.1:1965/\n"),
        ("finger", "a URL begins with its scheme: finger://HOST/"),
        ("ada@h.test", "hint: finger://ada@h.test\n"),
        ("-nc", "hint: 'smallweb get --skip-existing -O URL' fetches nothing"),
        ("put page titan://h.test/a", "hint: smallweb put titan://h.test/a page\n"),
        ("put page spartan://h.test/a", "hint: smallweb put spartan://h.test/a page\n"),
        ("put page http://h.test/a", "hint: smallweb get -X PUT -d @page http://h.test/a\n"),
        ("git clone git://h.test/r", "hint: 'smallweb get --tar git://h.test/r' gets the files"),
        ("git clone https://h.test/r", "'smallweb get --tar git+https://h.test/r' gets the files"),
        ("git ls-remote https://h.test/r", "hint: 'smallweb refs https://h.test/r' lists"),
        ("git log git://h.test/r", "hint: smallweb log git://h.test/r\n"),
        ("git push", "hint: a URL begins with its scheme: git://HOST/\n"),
        ("curl http://h.test/", "hint: 'smallweb get http://h.test/' prints a page"),
        ("wget http://h.test/?a", "hint: 'smallweb get 'http://h.test/?a'' prints a page"),
        ("gemini gemini://h.test/", "hint: smallweb gemini://h.test/\n"),
        ("trust expiring h.test", "hint: 'smallweb head gemini://h.test/' says when it ends"),
        ("trust expiring https://h.test/", "hint: 'smallweb head https://h.test/' says"),
        ("explain 51", "hint: 'smallweb help exit-status' explains"),
        ("--under Install gemini://h.test/", "hint: 'smallweb get --render markdown URL' | awk"),
        ("config path", "settings are lines such as"),
        ("-P d gopher://127.0.0.1:1/", "--output-dir is for files, as -O and -o write them"),
        ("-R gopher://127.0.0.1:1/", "--remote-time is for files"),
        ("links --if-changed gopher://127.0.0.1:1/", "--if-changed is for files"),
        ("-z missing http://127.0.0.1:1/", "there is not a file missing"),
        ("--json {\"a\":1} http://h.test/", "--json is for output"),
        ("gemini:/h.test/", "hint: gemini://h.test/\n"), ("//h.test/", "gemini://h.test/"),
        ("mailto:a@b.c", "'smallweb schemes' lists"), ("config jobs=4", "settings are lines"),
        ("config set jobs 4", "write 'jobs = 4' into "),
        ("feed --opml gemini://h.test/", "--opml is for 'smallweb bookmarks list'"),
        ("put http://h.test/ /dev/null", "smallweb get -X PUT -d @FILE http://h.test/"),
        ("-n http://h.test/", "max-count wants a number from 1 to 100000, not \"http"),
        ("diff git://127.0.0.1:1/r v1 v2", "/r?diff=v1..v2: "),
        ("diff v1 v2 git://127.0.0.1:1/r", "/r?diff=v1..v2: "),
        ("-K /dev/null", "a list of URLs is @FILE"),
        ("get --tar -o a.tar.gz git://h.test/r", "| gzip > a.tar.gz"),
        ("get -d a -d @x http://h.test/", "give it once"),
        ("get -C 5 --render html gopher://h.test/", "exclude each other"),
        ("-O - http://h.test/", "\nhint: -o FILE writes the body to FILE; without -o and -O it"),
        ("-c jar http://h.test/", "no cookies are kept"),
        ("-R html http://h.test/", "hint: -R keeps the server's time"),
        ("--format markdown http://h.test/", "hint: --render text, html or markdown lays"),
        ("--dump http://h.test/", "hint: --render text"), ("localhost", "hint: gemini://localhost"),
        ("feed -n 5 http://h.test/", "hint: --max-entries"),
        ("put -t x titan://h.test/", "hint: --token-file"),
        ("diff http://h.test/a http://h.test/b", "hint: 'smallweb watch --diff URL' shows"),
        ("git://h.test/r#v1:a/b", "hint: git://h.test/r//a/b?ref=v1\n"),
        ("git+https://h.test/r#v1", "hint: git+https://h.test/r?ref=v1\n"),
        ("-F a=b http://h.test/", "(multipart) are not made"),
        ("-E missing --key k gemini://h.test/", "cannot read missing: no such file"),
    ])
    func wordsThatMeanSomethingElseAreAnswered(_ line: String, _ answer: String) throws {
        let result = try smallweb.run(line.split(separator: " ").map(String.init))
        #expect(result.status != 0 && result.errors.contains(answer), "\(result.errors)")
    }

    /// Scripts, mails of cron and logs are where newcomers read.
    @Test(arguments: [
        (["get", "x"], 3), (["nonsense"], 2), (["get", "gophr://h.test/"], 1),
        (["get", "--retries", "3", "gopher://h.test/"], 2),
        (["get", "gopher://127.0.0.1:1/"], 7), (["get", "--proto", "gemini", "gopher://h/"], 1),
    ])
    func hintsAreForPipesToo(_ words: [String], _ status: Int) throws {
        let result = try smallweb.run(words)
        #expect(Int(result.status) == status, "\(result.errors)")
        #expect(result.errors.contains("\nhint: "), "\(result.errors)")
        let quiet = try smallweb.run(["-q"] + words)
        #expect(quiet.errors == result.errors.prefix { $0 != "\n" } + "\n", "\(quiet.errors)")
        #expect(try smallweb.run(words + ["-qv"]).errors.contains("hint: ") == false)
        let silent = try smallweb.run(["-s"] + words)
        #expect(silent.errors == (status == 2 ? quiet.errors : ""))
    }

    /// What a hint names is there: its command lines are typed, with --help in their place.
    @Test func eachHintIsOfUse() throws {
        for (names, pointer) in Advice.commands {
            for name in names.split(separator: " ").map(String.init) {
                #expect(Command.named(name) == nil, "\(name)")
                let result = try smallweb.run([name, "gopher://127.0.0.1:1/"])
                let hint = pointer.replacing(" URL", with: " gopher://127.0.0.1:1/")
                #expect(result.errors.contains("hint: \(hint)\n"), "\(result.errors)")
            }
        }
        let pointers = (Advice.commands + Advice.pointers).map(\.pointer)
        for line in pointers.flatMap({ $0.matches(of: /'smallweb ([^']+)'/).map { $0.1 } }) {
            for part in line.split(separator: "| smallweb ") {
                let words = WordsTests.filled(String(part))
                guard words != ["--version"] else { continue }
                let result = try smallweb.run([words[0], "--help"] + words.dropFirst())
                #expect(result.status == 0, "\(line): \(result.errors)")
            }
        }
    }

    @Test func actionsHaveOtherNames() throws {
        for command in Command.all where !command.actions.isEmpty {
            for (names, action) in Advice.actions where command.action(action) != nil {
                for name in names.split(separator: " ").map(String.init)
                where command.action(name) == nil {
                    let meant = try #require(Advice.action(name, of: command))
                    let result = try smallweb.run([command.name, name, "x"])
                    #expect(result.errors.contains("hint: \(meant)\n"), "\(result.errors)")
                    let words = meant.dropFirst("did you mean 'smallweb ".count).dropLast(2)
                        .split(separator: " ").map(String.init)
                    #expect(try smallweb.run(words + ["--help"]).status == 0, "\(words)")
                }
            }
        }
    }

    @Test func gitsWordsOfLogWork() throws {
        let git = try LoopbackServer(handler: DemoSites.git)
        let url = "git://127.0.0.1:\(git.port)/demo.git"
        let all = try smallweb.run(["log", url])
        #expect(all.status == 0 && !all.text.isEmpty, "\(all.errors)")
        let one = try smallweb.run(["log", "-1", url])
        #expect(one.status == 0 && one.text.split(separator: "\n").count == 1, "\(one.errors)")
        #expect(try smallweb.run(["log", "--oneline", url]).text == all.text)
        #expect(try smallweb.run(["log", "-4", url]).text == all.text, "the family of addresses")
        let count = try #require(Option.all.first { $0.long == "max-count" })
        for command in Command.all where !command.takes(count) && command.actions.isEmpty {
            for word in ["-5", "--oneline"] {
                let result = try smallweb.run([command.name, word, url])
                #expect(result.status == 2, "\(command.name) \(word): \(result.errors)")
            }
        }
        let path = try smallweb.run(["log", "\(url)//docs/a.txt"])
        #expect(path.status == 0, "\(path.errors)")
        #expect(path.text == (try smallweb.run(["log", url, "--", "docs/a.txt"]).text))
        #expect(path.text == (try smallweb.run(["get", "\(url)//docs/a.txt?log"]).text))
        #expect(path.text != all.text)
        let full = try smallweb.run(["log", "--format", "full", "--oneline", url])
        #expect(full.text == all.text, "the last one holds")
    }

    @Test func aPipeIsUploaded() throws {
        let server = try LoopbackServer(tls: .make()) { peer in
            guard let line = peer.readLine() else { return }
            let request = String(decoding: line, as: UTF8.self)
            peer.write(request.contains("size=5") ? "20 text/plain\r\nfive\n" : "40 no\r\n")
        }
        let url = "titan://127.0.0.1:\(server.port)/page"
        let result = try smallweb.run(["put", url], stdin: "hello")
        #expect(result.text == "five\n", "\(result.errors)")
        let none = try smallweb.run(["put", url])
        #expect(none.status == 2 && none.errors.contains("no file to upload"), "\(none.errors)")
    }

    @Test func aSummaryCanBeLeftOut() throws {
        let server = try LoopbackServer(handler: DemoSites.gopher)
        let url = "gopher://127.0.0.1:\(server.port)/0/about.txt"
        let summary = #""type":"summary""#
        for (words, wants) in [([], true), (["--no-summary"], false), (["--summary"], true)] {
            let result = try smallweb.run(["get", "--json"] + words + [url, url])
            #expect(result.text.contains(summary) == wants, "\(result.text)")
        }
    }

    /// A refusal has its message where an error has it.
    @Test func refusalsHaveAMessage() throws {
        let capsule = try Capsule()
        let result = try smallweb.run(["get", "--json", "\(capsule.place)/nothing"])
        let record = try JSONSerialization.jsonObject(with: Data(result.output))
        let error = (record as? [String: Any])?["error"] as? [String: Any]
        #expect(error?["code"] as? String == "permanent-failure", "\(result.text)")
        let message = try #require(error?["message"] as? String)
        #expect(result.errors.hasPrefix("smallweb: \(capsule.place)/nothing: \(message)\n"))
        let written = try smallweb.run(["get", "-w", "%{errormsg}", "\(capsule.place)/nothing"])
        #expect(written.text == message)
        let page = try smallweb.run(["get", "--json", "\(capsule.place)/about"])
        #expect(!page.text.contains(#""error""#), "\(page.text)")
    }

    @Test func bodiesComeOutOfArchives() throws {
        let server = try LoopbackServer(handler: DemoSites.gopher)
        let url = "gopher://127.0.0.1:\(server.port)/0/about.txt"
        let page = try smallweb.run(["get", "--warc", "a.warc", url])
        let cat = try smallweb.run(["warc", "cat", "a.warc", url])
        #expect(cat.status == 0 && cat.output == page.output, "\(cat.errors)")
        #expect(try smallweb.run(["warc", "cat", "a.warc", url + "x"]).status == 103)
        #expect(try smallweb.run(["warc", "cat", "none.warc", url]).status == 26)
        #expect(try smallweb.run(["warc", "cat", "a.warc"]).status == 2)
    }

    @Test func placesAreWrittenInFull() throws {
        for (url, hint) in [
            ("git@h.test:a/b.git", "git+https://h.test/a/b.git"), ("gemini://::1/", "[::1]"),
            ("gemini://2001:db8::1/", "[2001:db8::1]"),
            ("h.test/a", "gemini://h.test/a"), ("readme", "a URL begins with its scheme"),
        ] {
            let result = try smallweb.run(["get", url])
            #expect(result.errors.contains(hint), "\(result.errors)")
        }
    }

    /// Once, for a person alone.
    @Test func theFirstVisitIsSaid() throws {
        let capsule = try Capsule()
        let said = "first visit: the key of \(capsule.place.dropFirst(9)) is pinned"
        for isFirst in [true, false] {
            let screen = try Screen(isTerminal: true, columns: 200)
            #expect(try smallweb.run(["get", capsule.place + "/about"], on: screen) { _ in } == 0)
            #expect(screen.shown.contains(said) == isFirst, "\(screen.shown)")
        }
        let other = Smallweb()
        #expect(try other.run(["get", capsule.place + "/about"]).errors == "")
    }
}
