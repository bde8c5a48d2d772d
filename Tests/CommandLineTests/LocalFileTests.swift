// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

/// Files of this machine, read as pages, and those that are refused.
@Suite(.timeLimit(.minutes(30)))
struct LocalFileTests {
    private let smallweb = Smallweb()
    private var home: Smallweb.Home { smallweb.home }

    private func get(_ words: String...) throws -> Smallweb.Result {
        try smallweb.run(["get", "--local"] + words)
    }

    private func links(_ word: String) throws -> [String] {
        try smallweb.run(["links", "--local", word]).text.split(separator: "\n").map(String.init)
    }

    @Test func theNameSaysTheType() throws {
        for (name, type, source) in [
            ("a.gmi", "text/gemini", "name"), ("a.HTML", "text/html", "name"),
            ("a.htm", "text/html", "name"), ("a.md", "text/markdown", "name"),
            ("a.atom", "application/atom+xml", "name"), ("a.txt", "text/plain", "name"),
            ("README", "text/plain", "sniffed"), ("a.xyz", "text/plain", "sniffed"),
        ] {
            try home.write("text\n", to: name)
            let record = try smallweb.records(["--local", name]).records.terminal[0]
            #expect(record["mime"]?.string == type && record["mime_source"]?.string == source)
            #expect(record["body"]?["text"]?.string == "text\n")
            #expect(record["body"]?["complete"]?.bool == true && record["remote"] == .null)
            #expect(record["scheme"]?.string == "file" && record["size"]?.int == 5)
        }
        try home.write("\u{0}\u{1}", to: "data")
        let record = try smallweb.records(["--local", "data"]).records.terminal[0]
        #expect(record["mime"]?.string == "application/octet-stream")
        try home.write("", to: "empty.gmi")
        #expect(try get("empty.gmi").status == 0)
    }

    @Test func aDirectoryIsItsIndexOrItsNames() throws {
        try home.write("# Gemtext\n=> x\n", to: "both/index.gmi")
        try home.write("<p>", to: "both/index.html")
        try home.write("<p>HTML", to: "web/index.html")
        for name in ["b.gmi", ".hidden", "a b", "c:d.gmi", "sub/deep", "%41"] {
            try home.write("", to: "list/" + name)
        }
        for word in ["both", "both/", "./both", "file://" + home.file("both")] {
            #expect(try get(word).text == "# Gemtext\n=> x\n")
            #expect(try links(word) == ["file://" + home.file("both/x") + "\t"])
        }
        #expect(try get("web").text == "<p>HTML")
        let base = "file://" + home.file("list") + "/"
        let names = [
            ("%2541", "%41"), ("a%20b", "a b"), ("b.gmi", "b.gmi"), ("c%3Ad.gmi", "c:d.gmi"),
            ("sub/", "sub/"),
        ]
        #expect(try links("list") == names.map { "\(base)\($0.0)\t\($0.1)" })
        let body = names.map { "=> \($0.0) \($0.1)\n" }.joined()
        #expect(try get("list").text == body)
        let records = try smallweb.records(["--local", "--with-links", "list"]).records
        #expect(
            records["link"].map { $0["kind"]?.string } == ["link", "link", "link", "link", "menu"])
        for word in names.map(\.0).filter({ $0 != "sub/" }) {
            #expect(try get(base + word).status == 0)
        }
    }

    @Test func namesAreBytes() throws {
        let result = try smallweb.run(
            ["--local", "./\u{E9}.gmi"],
            shell: #"d=$(printf 'x\377y'); mkdir "$d"; echo in >"$d/a.gmi"; echo odd >"$d.gmi"; "#
                + #"echo e >./é.gmi; "$1" get "$2" "./$d.gmi" "$d/a.gmi" "$3"; "$1" links "$2" ."#)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.text.hasPrefix("odd\nin\ne\n"), "\(result.text)")
        #expect(result.text.contains("/x%FFy/\t") && result.text.contains("/x%FFy.gmi\t"))
        #expect(try get("file://" + home.file("x%FFy.gmi")).text == "odd\n")
        // A name that would end a line does not.
        try home.write("two\n", to: "lines/a\n=> b")
        #expect(try links("lines").count == 1)
    }

    // MARK: Refused files

    @Test func whatIsNotAFileIsRefused() throws {
        #expect(mkfifo(home.file("pipe.gmi"), 0o600) == 0)
        try FileManager.default.createSymbolicLink(
            atPath: home.file("loop.gmi"), withDestinationPath: "loop.gmi")
        try FileManager.default.createSymbolicLink(
            atPath: home.file("away.gmi"), withDestinationPath: "missing")
        try FileManager.default.createSymbolicLink(
            atPath: home.file("zero.gmi"), withDestinationPath: "/dev/zero")
        try home.write("x", to: "closed/a.gmi")
        try home.write("x", to: "locked.gmi")
        try home.write("x", to: "blind/a.gmi")
        try smallweb.set(0o000, of: home.file("closed"))
        try smallweb.set(0o000, of: home.file("locked.gmi"))
        try smallweb.set(0o311, of: home.file("blind"))
        defer { try? smallweb.set(0o700, of: home.file("closed")) }
        var smallweb = smallweb
        smallweb.isUnprivileged = true
        for (word, reason) in [
            ("pipe.gmi", "neither"), ("zero.gmi", "neither"), ("/dev/zero", "neither"),
            ("/dev/tty", "neither"), ("loop.gmi", "too many levels"), ("away.gmi", "no such file"),
            ("missing.gmi", "no such file"), ("locked.gmi/x", "not a directory"),
            ("closed", "denied"), ("closed/a.gmi", "denied"), ("locked.gmi", "denied"),
            ("blind", "denied"), (String(repeating: "x", count: 300), "too long"),
        ] {
            for command in ["get", "links", "open", "feed"] {
                let result = try smallweb.run([command, "--local", word])
                #expect(result.status == 26, "\(command) \(word) \(result.errors)")
                #expect(result.errors.contains(reason) && result.text.isEmpty, "\(result.errors)")
            }
        }
        #expect(try smallweb.run(["get", "--local", "blind/a.gmi"]).text == "x")
    }

    @Test(arguments: [
        ("file://host/x", "host"), ("file://127.0.0.1/x", "host"), ("file://localhost/x", "host"),
        ("file:x", "slash"), ("file:", "slash"), ("file://", "slash"), ("file:///a%00b", "NUL"),
        ("file:///a?b", "?query"), ("file:///%zz", "hexadecimal"),
    ])
    func badURLsAreRefused(_ url: String, _ reason: String) throws {
        let result = try get(url)
        #expect(result.status == 3 && result.errors.contains(reason), "\(result.errors)")
    }

    @Test func dotsEndAtTheRoot() throws {
        try home.write("x", to: "a.gmi")
        let up = String(repeating: "/..", count: 40)
        #expect(try get("file://\(up)\(home.file("a.gmi"))").text == "x")
        // Links are followed as the system does.
        try home.write("right", to: "real/page.gmi")
        try home.write("wrong", to: "page.gmi")
        try home.write("", to: "real/deep/x")
        try FileManager.default.createSymbolicLink(
            atPath: home.file("link"), withDestinationPath: "real/deep")
        #expect(try get("link/../page.gmi").text == "right")
    }

    @Test func optionsThatDoNotFitAreRefused() throws {
        try home.write("x", to: "a.gmi")
        for words in [
            ["--warc", "w.warc"], ["--replay", "w.warc"], ["-d", "x"], ["-C", "1"],
            ["--pin", "sha256:" + String(repeating: "0", count: 64)], ["-z", "2026-01-01"],
        ] {
            #expect(
                try smallweb.run(["get", "--local"] + words + ["a.gmi"]).status == 2, "\(words)")
        }
        // Nor does the cache have it, and a newer file is seen at once.
        #expect(try get("--cache", "--max-age", "1h", "a.gmi").text == "x")
        try home.write("y", to: "a.gmi")
        #expect(try get("--cache", "--max-age", "1h", "a.gmi").text == "y")
        #expect(try smallweb.run(["cache", "list"]).text.isEmpty)
        #expect(try get("--offline", "a.gmi").text == "y")
        #expect(try get("--max-filesize", "0", "a.gmi").status == 0)
        try home.write("12345", to: "a.gmi")
        #expect(try get("--max-filesize", "4", "a.gmi").status == 63)
    }

    // MARK: Standard input

    @Test func standardInputIsAFile() throws {
        let words = ["links", "--local", "/dev/stdin"]
        let page = try smallweb.run(["get", "--local", "/dev/stdin"], stdin: "# A\n")
        #expect(page.status == 0 && page.text == "# A\n")
        let both = try smallweb.run(["get", "--local", "/dev/stdin", "-"], stdin: "x\n")
        #expect(both.status == 2 && both.errors.contains("only once"))
        #expect(try smallweb.run(words, stdin: "").status == 0)
        let long = String(repeating: "0123456789\n", count: 50_000)
        let many = try smallweb.run(["get", "--local", "/dev/stdin"], stdin: long)
        #expect(many.text == long)
        // The rest of a file, and a pipe that the shell names.
        try home.write("first\nsecond\n", to: "lines")
        let rest = try smallweb.run(
            [], shell: #"{ read -r a; "$1" get --local /dev/stdin; } <lines"#)
        #expect(rest.text == "second\n", "\(rest.errors)")
        let named = try smallweb.run(
            [], shell: #"bash -c '"$1" get --local <(echo one) <(echo two)' - "$1""#)
        #expect(named.text == "one\ntwo\n", "\(named.errors)")
    }

    @Test func silentInputHasADeadline() throws {
        let shell = #"mkfifo p; exec 3<>p; "$1" get --local -m 0.3 /dev/stdin <p"#
        #expect(try smallweb.run([], shell: shell).status == 28)
        let signalled = try smallweb.run(
            [],
            shell: #"exec 3<>p; "$1" get --json --local /dev/stdin <p & "#
                + #"until grep -q poll /proc/$!/wchan; do :; done; kill -TERM $!; wait $!"#)
        #expect(signalled.status == 143, "\(signalled.errors)")
        #expect(signalled.text.contains(#""outcome":"interrupted""#), "\(signalled.text)")
    }
}
