// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

/// Messages of `plugin test` for the author of an unfinished plugin.
@Suite(.timeLimit(.minutes(30)))
struct PluginReportTests {
    private let smallweb = Smallweb()

    private func write(_ text: String, to name: String) throws {
        try smallweb.home.write(text, to: name)
    }

    /// Tests a program in sh with one fixture; its first line is the URL.
    private func test(
        _ program: String, _ fixture: String, scheme: String = ""
    ) throws -> Smallweb.Result {
        try write(
            """
            {"v": 1, "name": "hello", "program": ["./hello"],
             "schemes": [{"name": "hello", "port": 1, "transport": "tcp"\(scheme)}]}
            """, to: "hello/plugin.json")
        try write("#!/bin/sh\n\(program)\n", to: "hello/hello")
        try write("url hello://h.test/a\n\(fixture)\n", to: "hello/fixtures/page.wire")
        return try smallweb.run(
            ["plugin", "test", "./hello"],
            shell: "chmod -R go-w hello && chmod a+x hello/hello && exec \"$@\"")
    }

    /// A server that speaks first is dialled before the program can refuse the URL.
    @Test func aServerThatSpeaksFirstIsDialled() throws {
        let program = #"echo '{"type":"fail","outcome":"bad-url"}' >&3"#
        for (scheme, dialled) in [("", "no"), (#", "server_first": true"#, "h.test:1")] {
            for expected in ["no", "h.test:1"] {
                let result = try test(
                    program, "dial \(expected)\nerror bad-url", scheme: scheme)
                #expect(result.status == (expected == dialled ? 0 : 110), "\(result.text)")
                #expect(
                    expected == dialled
                        || result.text.contains("page.wire:2: connection, seen:     \(dialled)\n"),
                    "\(result.text)")
            }
        }
    }

    @Test func saysWhatTheServerWaitedFor() throws {
        let program = "read -r line; echo b; exec cat"
        let reply = try test(program, "< a\\n\n> b\\n\n> c\\n\n< d\\n")
        #expect(
            reply.text.contains("  the server waited for line 4 (>) before it sent line 5\n"),
            "\(reply.text)")
        let end = try test(program, "< a\\n\n> b\\n\n> c\\n")
        #expect(
            end.text.contains("  the server waited for line 4 (>) before it ended\n"),
            "\(end.text)")
    }

    /// As on a slow machine: the silence that ends it begins when the program has begun.
    @Test func aProgramMayBeginLate() throws {
        let result = try test(
            "sleep 1.2; echo a; exec cat >&4",
            """
            > a\\n
            < b
            close silence
            = {"event":"head","class":"success"}
            = {"event":"body","text":"b"}
            error timeout
            """)
        #expect(result.status == 0, "\(result.text)")
    }

    @Test func anEventThatIsNotJSONIsNamedWhenItIsRead() throws {
        let result = try test("exit 0", #"= {"event":"head","class":"success",}"#)
        #expect(
            result.text.contains("  page.wire:2: not JSON: a name expected (byte 35)\n"),
            "\(result.text)")
    }

    @Test(arguments: [
        ("chmod a-x hello/hello", "hello/hello cannot be run"),
        ("sed -i 1s/sh/nosh/ hello/hello", "cannot run ./hello: the interpreter"),
    ])
    func aProgramThatCannotRunIsToldOfOnce(_ script: String, _ why: String) throws {
        _ = try smallweb.run(["plugin", "new", "hello/"])
        let result = try smallweb.run(
            ["plugin", "test", "-q", "./hello"], shell: script + " && exec \"$@\"")
        #expect(result.status == 110 && !result.text.contains("failed"), "\(result.text)")
        #expect(result.errors.contains(why), "\(result.errors)")
        #expect(result.errors.split(separator: "\n").count == 1, "\(result.errors)")
    }

    @Test func ofLongTextsThePlaceThatDiffersIsShown() throws {
        let start = String(repeating: "é", count: 500)
        let end = String(repeating: "x", count: 500)
        let result = try test(
            "printf %s%s '\(start)A' '\(end)'; printf %s%s '\(start)A' '\(end)' >&4",
            """
            > \(start)B\(end)
            = {"event":"head","class":"success"}
            = {"event":"body","text":"\(start)B\(end)"}
            = {"event":"end","completeness":"unverified"}
            """)
        for what in ["page.wire:2: sent", "page.wire:4: event 2, body"] {
            for (word, letter) in [("expected: ", "B"), ("seen:     ", "A")] {
                let line =
                    "  \(what), from byte 1001, \(word)…\(start.prefix(20))\(letter)"
                    + "\(end.prefix(79))… (1501 bytes)\n"
                #expect(result.text.contains(line), "\(result.text)")
            }
        }
    }

    @Test func saysHowMuchOfACutReplyWasNotNeeded() throws {
        let result = try test(
            #"""
            read -r line || exit 0
            echo "$line" >&4
            echo '{"type":"end","complete":true}' >&3
            """#,
            """
            < Hello\\r\\n
            < 221 bye\\r\\n
            = {"event":"head","class":"success"}
            = {"event":"body","text":"Hello\\r\\n"}
            = {"event":"end","completeness":"complete"}
            """)
        #expect(result.text.contains("cut after 7, "), "\(result.text)")
        #expect(result.text.contains("  the last 9 bytes of the reply never came"))
    }

    @Test func aFixtureSaysWhatIsWanted() throws {
        let program = #"printf '%s%s\n' "h$SMALLWEB_HEAD_ONLY" "i$SMALLWEB_ITEMS""#
        for (words, seen) in [
            ("", "hi1"), ("head\n", "h1i1"), ("items no\n", "hi"), ("head\nitems no\n", "h1i"),
        ] {
            let result = try test(
                program,
                """
                \(words)> \(seen)\\n
                = {"event":"head","class":"success"}
                = {"event":"end","completeness":"unverified"}
                """)
            #expect(result.status == 0, "\(result.text)")
        }
    }

    @Test func aManifestThatIsNotRightIsToldOfOnce() throws {
        let place = smallweb.home.file("hello")
        for (old, new, words) in [
            (#""port""#, #""prot""#, #"has the unknown member "schemes.prot""#),
            (#""v": 1,"#, #""v": 1"#, #"is not JSON: "," expected (line 1, column 9)"#),
            ("\"tcp\"", "\"tcp\",", "is not JSON: a name expected (line 2, column 62)"),
        ] {
            _ = try test("exit 0", "")
            let manifest = "hello/plugin.json"
            let text = String(
                decoding: try #require(smallweb.home.content(manifest)), as: UTF8.self)
            #expect(text.contains(old))
            try write(text.replacingOccurrences(of: old, with: new), to: manifest)
            let result = try smallweb.run(
                ["plugin", "test", "-q", "./hello"], shell: "chmod -R go-w hello && exec \"$@\"")
            #expect(
                result.errors == "smallweb: the plugin \(place): plugin.json \(words)\n")
        }
        let missing = try smallweb.run(["plugin", "test", "-q", "./missing"])
        #expect(
            missing.errors == "smallweb: the plugin ./missing: no such file or directory\n")
    }
}
