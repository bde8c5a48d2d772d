// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

/// `--from-dir`: a capsule, hole or site as its server will send it, and the options for the
/// type and the base of a page.
@Suite(.timeLimit(.minutes(30)))
struct ServedDirectoryTests {
    private let smallweb = Smallweb()
    private var home: Smallweb.Home { smallweb.home }

    private func get(_ words: String...) throws -> Smallweb.Result {
        try smallweb.run(["get", "--from-dir", "site"] + words)
    }

    // MARK: Pages

    @Test(arguments: [("gemini", 51), ("spartan", 4), ("http", 404), ("https", 404)])
    func pagesAreThoseOfAServer(_ scheme: String, _ missing: Int) throws {
        let index = scheme.hasPrefix("http") ? "index.html" : "index.gmi"
        try home.write("index", to: "site/" + index)
        try home.write("page", to: "site/sub/a b.txt")
        try home.write("inner", to: "site/sub/" + index)
        try FileManager.default.createDirectory(
            atPath: home.file("site/empty"), withIntermediateDirectories: true)
        for place in ["\(scheme)://h.test", "\(scheme)://h.test:1234/~me"] {
            for (path, text) in [
                ("/", "index"), ("/sub/a%20b.txt", "page"), ("/sub/", "inner"), ("/sub", "inner"),
                ("/./sub/../", "index"), ("/?query", "index"), ("/sub/%61%20b.txt#part", "page"),
            ] where scheme != "spartan" || !path.contains("?") {
                let result = try smallweb.run(["get", "--from-dir", "site", place + path])
                // The directory is for pages beside the URL given.
                let isBelow = path.hasPrefix("/sub/") || path.hasSuffix("sub")
                let root = try smallweb.records(["--from-dir", "site", place + "/"]).records
                #expect(root.terminal[0]["body"]?["text"]?.string == "index")
                if !isBelow { #expect(result.text == text, "\(path) \(result.errors)") }
            }
            let links = "=> sub/a%20b.txt\n=> sub/\n=> sub\n=> none\n=> empty/\n=> sub/../\n"
            try home.write(links, to: "site/links.gmi")
            for (number, text) in [(1, "page"), (2, "inner"), (3, "inner"), (6, "index")] {
                let result = try smallweb.run(
                    ["open", "--from-dir", "site", place + "/links.gmi", "\(number)"])
                #expect(result.text.contains(text) && result.status == 0, "\(result.errors)")
            }
            for number in ["4", "5"] {
                let result = try smallweb.run(
                    ["open", "--from-dir", "site", place + "/links.gmi", number])
                #expect(result.status == 22 && result.errors.contains("\(missing) not found"))
            }
            let record = try smallweb.records(["--from-dir", "site", place + "/none"]).records
            #expect(record.terminal[0]["status"]?.int == missing)
            #expect(record.terminal[0]["remote"] == .null)
        }
    }

    @Test func nothingOutsideOfTheDirectoryIsRead() throws {
        try home.write("# in\n", to: "site/a.gmi")
        try home.write("S3CRET", to: "secret.gmi")
        try home.write("S3CRET", to: "site-2/secret.gmi")
        for (name, target) in [
            ("up.gmi", "../secret.gmi"), ("sibling", "../site-2"), ("absolute.gmi", "/etc/passwd"),
            ("in.gmi", "a.gmi"), ("loop", "loop"), ("self", "../site"),
        ] {
            try FileManager.default.createSymbolicLink(
                atPath: home.file("site/" + name), withDestinationPath: target)
        }
        #expect(mkfifo(home.file("site/pipe.gmi"), 0o600) == 0)
        #expect(try get("gemini://h.test/in.gmi").text == "# in\n")
        let paths = [
            "up.gmi", "sibling/secret.gmi", "absolute.gmi", "loop", "self/../secret.gmi",
            "%2e%2e/secret.gmi", "..%2Fsecret.gmi", "%2E./secret.gmi", "%2Fetc%2Fpasswd",
            "sub/%2e%2e/%2e%2e/secret.gmi", "a.gmi%00", "a.gmi/", ".//a.gmi",
            "pipe.gmi", "self/up.gmi", "%00",
        ]
        try home.write(paths.map { "=> /\($0)\n" }.joined(), to: "site/index.gmi")
        let selectors = ["/../secret.gmi", "/self/../../secret.gmi", "/up.gmi", "//etc/passwd"]
        try home.write(
            selectors.map { "0x\t\($0)\th.test\t70\r\n" }.joined(), to: "site/index")
        for (url, names) in [("gemini://h.test/", paths), ("gopher://h.test/", selectors)] {
            for (number, name) in names.enumerated() {
                let result = try smallweb.run(
                    ["open", "--from-dir", "site", url, "\(number + 1)"])
                #expect([2, 22].contains(result.status), "\(url) \(name) \(result.errors)")
                #expect(!result.text.contains("S3CRET"), "\(url) \(name)")
            }
        }
    }

    @Test func otherPagesComeFromTheirServers() throws {
        let capsule = try Capsule(page: Array("20 text/gemini\r\n# of the network\n".utf8))
        try home.write(
            "# of the directory\n=> ../up\n=> \(capsule.place)/x\n", to: "site/index.gmi")
        let url = capsule.place + "/~me/"
        #expect(try get("-k", url).text.hasPrefix("# of the directory"))
        for number in ["1", "2"] {
            let result = try smallweb.run(["open", "-k", "--from-dir", "site", url, number])
            #expect(result.text.contains("of the network"), "\(result.errors)")
        }
        #expect(capsule.server.connections.count == 2)
    }

    @Test func menusAreRead() throws {
        try home.write(
            "iHello\tx\tx\t1\r\n0A\t/a.txt\th.test\t70\r\n1D\t/d\th.test\t70\r\n"
                + "1N\t/n/\th.test\t70\r\n", to: "site/index")
        try home.write("text\n", to: "site/a.txt")
        try home.write("0A\t/a.txt\th.test\t70\r\n", to: "site/d/index")
        let links = try smallweb.run(["open", "--from-dir", "site", "gopher://h.test/", "2"])
        #expect(links.text.contains("gopher://h.test/0/a.txt"), "\(links.text) \(links.errors)")
        #expect(try get("gopher://h.test/0/a.txt").text == "text\n")
        let check = try smallweb.run(["crawl", "--check", "--from-dir", "site", "gopher://h.test/"])
        #expect(check.status == 22, "\(check.errors)")
        #expect(check.text == "permanent-failure\tgopher://h.test/1/n/\tgopher://h.test/\t4\n")
    }

    /// The index of a directory is a listing where the scheme's directories are.
    @Test func listingsAreRead() throws {
        try home.write("Hello\n=> a.txt A\n=> d/ D\n=> n.txt none\n", to: "site/index.txt")
        try home.write("text\n=> b.txt\n", to: "site/a.txt")
        try home.write("=> ../a.txt\n", to: "site/d/index.txt")
        let page = try smallweb.run(["open", "--from-dir", "site", "nex://h.test/", "1"])
        #expect(page.text.contains("text") && page.status == 0, "\(page.text) \(page.errors)")
        #expect(try get("nex://h.test/").text.hasPrefix("Hello\n=> a.txt A\n"))
        let check = try smallweb.run(["crawl", "--check", "--from-dir", "site", "nex://h.test/"])
        #expect(check.text == "permanent-failure\tnex://h.test/n.txt\tnex://h.test/\t4\n")
        #expect(check.status == 22, "\(check.errors)")
        for url in ["gemini://h.test/", "http://h.test/"] {
            #expect(try get(url).status == 22, "\(url) has no index.txt")
        }
    }

    /// A file instead of a URL: the crawl of it is that of its directory.
    @Test func aFileThatIsToBeCrawledIsServed() throws {
        try home.write("<a href='x'>", to: "site/d/index.html")
        for (word, place) in [
            ("./site/d/index.html", "./site/d"), ("site/d/index.html", "site/d"),
            ("site/d", "site/d"), ("./site/d", "./site/d"), ("./none.html", "."),
        ] {
            for words in [["crawl", "--check"], ["crawl"]] {
                let result = try smallweb.run(words + [word])
                #expect(result.status == 3, "\(word) \(result.errors)")
                #expect(
                    result.errors.contains("crawl --check --from-dir \(place) URL\n"),
                    "\(word) \(result.errors)")
            }
        }
        // A page where a list of URLs should be.
        for command in ["links", "get", "head"] {
            let result = try smallweb.run([command, "-"], stdin: "<p>\n<a href='/x'>x</a>\n")
            #expect(result.status == 3, "\(command)")
            #expect(result.errors.contains("is read by --local --content-type"), "\(command)")
        }
    }

    // MARK: A check

    @Test func aCheckFindsWhatIsBrokenBeforeItIsPublished() throws {
        let other = try LoopbackServer(tls: .make()) { peer in
            let line = String(decoding: peer.readLine() ?? [], as: UTF8.self)
            peer.write(line.contains("there") ? "20 text/plain\r\nhere\n" : "51 none\r\n")
        }
        let place = "gemini://127.0.0.1:\(other.port)"
        var page = "# Index\n=> /~me/sub/\n=> gone.gmi\n=> \(place)/there\n=> \(place)/broken\n"
        for number in 0..<40 {
            page += "=> page\(number).gmi\n"
            try home.write("# \(number)\n=> index.gmi\n", to: "site/page\(number).gmi")
        }
        try home.write(page, to: "site/index.gmi")
        try home.write("# Sub\n=> gone-too\n=> ../page1.gmi\n", to: "site/sub/index.gmi")
        let words = [
            "crawl", "-k", "--check", "--scope", "prefix", "--from-dir", "site", place + "/~me/",
        ]
        let result = try smallweb.run(words + ["--per-host-delay", "0"])
        let rows = result.text.split(separator: "\n").map { $0.split(separator: "\t")[1] }
        #expect(
            Set(rows) == [
                "\(place)/~me/gone.gmi"[...], "\(place)/broken"[...],
                "\(place)/~me/sub/gone-too"[...],
            ], "\(result.text) \(result.errors)")
        #expect(result.status == 22)
        // Its own pages were not asked of the server, nor its robots file for them.
        let asked = other.connections.map { String(decoding: $0.received, as: UTF8.self) }
        #expect(asked.allSatisfy { !$0.contains("~me") }, "\(asked)")
        // Mended, it says so.
        let whole = page.replacing("=> gone.gmi\n", with: "").replacing("/broken", with: "/there")
        try home.write(whole, to: "site/index.gmi")
        try home.write("# Sub\n", to: "site/sub/index.gmi")
        let mended = try smallweb.run(words + ["--per-host-delay", "0"])
        #expect(mended.status == 0 && mended.text.isEmpty, "\(mended.text) \(mended.errors)")
    }

    /// A server that is not there yet keeps no page of the directory from being checked.
    @Test func aServerThatIsNotThereIsNoReason() throws {
        try home.write("=> /other\n=> a.gmi\n=> b.gmi\n=> c.gmi\n", to: "site/index.gmi")
        for name in ["a", "b", "c"] { try home.write("=> \(name)/none\n", to: "site/\(name).gmi") }
        let result = try smallweb.run([
            "crawl", "--check", "--from-dir", "site", "gemini://nowhere.invalid/~me/",
        ])
        #expect(result.status == 22, "\(result.errors)")
        for name in ["a", "b", "c"] {
            #expect(result.text.contains("/~me/\(name)/none\t"), "\(result.text)")
        }
    }

    @Test func aPageThatCannotBeReadIsNoSuccess() throws {
        var smallweb = smallweb
        smallweb.isUnprivileged = true
        try home.write("=> a.gmi\n", to: "site/index.gmi")
        try home.write("x", to: "site/a.gmi")
        try smallweb.set(0o000, of: home.file("site/a.gmi"))
        let words = ["--from-dir", "site", "gemini://h.test/"]
        #expect(try smallweb.run(["crawl", "--check"] + words).status == 26)
        try smallweb.set(0o600, of: home.file("site/a.gmi"))
        #expect(try smallweb.run(["crawl", "--check"] + words).status == 0)
    }

    @Test func wordsThatMakeNoSenseAreRefused() throws {
        try home.write("x", to: "site/index.gmi")
        try home.write("x", to: "file")
        let url = "gemini://h.test/"
        for (words, status) in [
            (["get", "--from-dir", "none", url], 26), (["get", "--from-dir", "file", url], 2),
            (["get", "--from-dir", "site", url, url], 2), (["get", "--from-dir", "site", "-"], 2),
            (["get", "--from-dir", "site"], 2), (["crawl", "--from-dir", "site", url], 2),
            (["get", "--from-dir", "site", "finger://h.test/a"], 2),
            (["get", "--from-dir", "site", "file:///x"], 3),
            (["links", "--from-dir", "site", url], 2),
            (["get", "--from-dir", "site", "--warc", "w.warc", url], 2),
            (["get", "--from-dir", "site", "--cache", url], 2),
            (["get", "--from-dir", "site", "-d", "x", url], 2),
            (["get", "--from-dir", "site", "-d", "x", "http://h.test/"], 2),
            (["get", "--from-dir", "site", "-X", "DELETE", "http://h.test/"], 2),
            (["get", "--from-dir", "site", "-C", "1", "http://h.test/"], 2),
            (["crawl", "--check", "--mirror", "m", "--from-dir", "site", url], 2),
        ] as [([String], Int32)] {
            let result = try smallweb.run(words)
            #expect(result.status == status, "\(words) \(result.errors)")
        }
        try home.write("cache = true\n", to: "config")
        #expect(try get("-K", home.file("config"), url).text == "x")
    }

    // MARK: Types and bases

    @Test func aPageIsReadAsItsUserSays() throws {
        let words = ["--local", "--content-type", "text/gemini", "--base", "https://h.test/a/b"]
        for command in [
            "links", "get --json --with-links", "open", "head", "feed", "watch --links",
        ] {
            let all = command.split(separator: " ").map(String.init) + words + ["/dev/stdin"]
            let result = try smallweb.run(all, stdin: "# T\n=> /x 2026-01-02 one\n=> c two\n")
            #expect(result.status == 0, "\(command) \(result.errors)")
            if command == "head" {
                #expect(result.text.contains("text/gemini"))
            } else if command != "watch --links" {
                #expect(result.text.contains("https://h.test/x"), "\(command) \(result.text)")
            }
        }
        let capsule = try Capsule(page: Array("20 application/octet-stream\r\n=> x\n".utf8))
        let typed = try smallweb.run([
            "links", "-k", "--content-type", "text/gemini; charset=utf-8", "--base", "sub/",
            capsule.place + "/a/b",
        ])
        #expect(typed.text == "\(capsule.place)/a/sub/x\t\n", "\(typed.errors)")
        let record = try smallweb.records([
            "-k", "--content-type", "text/plain;charset=iso-8859-1", capsule.place,
        ]).records.terminal[0]
        #expect(record["mime_source"]?.string == "option" && record["mime"]?.string == "text/plain")
        #expect(record["charset"]?.string == "iso-8859-1")
        for words in [["--content-type", "x"], ["--base", "a b"], ["--content-type", ""]] {
            #expect(
                [2, 3].contains(try smallweb.run(["get", "-k"] + words + [capsule.place]).status))
        }
        // A refusal is none of these pages.
        let refusing = try Capsule(page: Array("51 none\r\n".utf8))
        let refused = try smallweb.records(["-k", "--content-type", "text/gemini", refusing.place])
        #expect(refused.records.terminal[0]["mime"] == .null && refused.result.status == 22)
    }

    /// A page from elsewhere, by its base, leads to no file.
    @Test func aBaseElsewhereLeadsToNoFile() throws {
        try home.write("S3CRET", to: "secret.gmi")
        let page = "=> file://\(home.file("secret.gmi")) x\n"
        let words = ["open", "--content-type", "text/gemini", "--base", "gemini://h.test/"]
        let result = try smallweb.run(words + ["/dev/stdin", "1"], stdin: page)
        #expect(result.status != 0 && !result.text.contains("S3CRET"), "\(result.text)")
    }
}
