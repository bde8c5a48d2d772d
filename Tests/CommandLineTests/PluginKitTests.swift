// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

/// `plugin test`, `new`, `add` and `remove`, as authors of plugins meet them.
@Suite(.timeLimit(.minutes(30)))
struct PluginKitTests {
    private let smallweb = Smallweb()
    static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path
    /// Folders of the plugins that come with smallweb, and of the examples in the documents.
    static let folders = ["Plugins", "docs/examples/plugins"].flatMap { parent in
        let names = try? FileManager.default.contentsOfDirectory(atPath: "\(root)/\(parent)")
        return (names ?? []).sorted().map { "\(parent)/\($0)" }.filter {
            FileManager.default.fileExists(atPath: "\(root)/\($0)/plugin.json")
        }
    }
    /// Runs the rest of the command line with only a loopback interface, which is down.
    private static let withoutNetwork = """
        exec unshare --map-root-user --net sh -c '
            test "$(wc -l </proc/net/route)" -le 1 && exec "$@"' sh "$@"
        """
    private static let canHaveNoNetwork =
        (try? Smallweb().run([], shell: withoutNetwork.replacing("exec \"$@\"'", with: "true'")))?
        .status == 0

    private func plugin(_ words: String...) throws -> Smallweb.Result {
        try smallweb.run(["plugin"] + words)
    }

    private func write(_ text: String, to name: String) throws {
        try smallweb.home.write(text, to: name)
    }

    private func mode(_ name: String) throws -> Int {
        let facts = try FileManager.default.attributesOfItem(atPath: smallweb.home.file(name))
        return try #require(facts[.posixPermissions] as? Int)
    }

    private func exists(_ name: String) -> Bool {
        FileManager.default.fileExists(atPath: smallweb.home.file(name))
    }

    /// A copy, which nobody else can write whatever the tree's modes are.
    private func copy(_ folder: String) throws -> String {
        let name = folder.split(separator: "/").last.map(String.init) ?? folder
        let result = try smallweb.run(
            [], shell: "cp -r '\(Self.root)/\(folder)' .")
        #expect(result.status == 0, "\(result.errors)")
        return "./" + name
    }

    @Test func theTreeHasPlugins() { #expect(Self.folders.count >= 6) }

    @Test(arguments: folders)
    func thePluginsOfTheTreePass(_ folder: String) throws {
        let result = try plugin("test", try copy(folder))
        #expect(result.status == 0, "\(result.text)\(result.errors)")
        #expect(result.text.split(separator: "\n").allSatisfy { $0.hasPrefix("ok ") })
    }

    @Test(.enabled(if: canHaveNoNetwork, "no user namespaces on this machine"), arguments: folders)
    func thePluginsOfTheTreeNeedNoNetwork(_ folder: String) throws {
        let result = try smallweb.run(
            ["plugin", "test", try copy(folder)], shell: Self.withoutNetwork)
        #expect(result.status == 0, "\(result.text)\(result.errors)")
        #expect(result.text.contains("ok "))
    }

    @Test(arguments: [[], ["--lang", "python"]])
    func aNewPluginPassesWhateverTheUmask(_ words: [String]) throws {
        for umask in ["000", "077"] {
            let result = try smallweb.run(
                ["plugin", "new", "hello/"] + words, shell: "umask \(umask); exec \"$@\"")
            #expect(result.status == 0, "\(result.errors)")
            #expect(try mode("hello") == 0o755)
            #expect(try mode("hello/hello") == 0o755)
            #expect(try mode("hello/plugin.json") == 0o644)
            let test = try plugin("test", "./hello")
            #expect(test.status == 0, "\(test.text)\(test.errors)")
            #expect(test.text.contains("ok      page.wire\n"))
            #expect(try plugin("new", "hello/").status == 23)
            try FileManager.default.removeItem(atPath: smallweb.home.file("hello"))
        }
    }

    @Test(arguments: ["Hello", "../hello", "body", "-", "", "a b", "fixtures"])
    func refusesNamesThatNoPluginCanHave(_ name: String) throws {
        #expect(try smallweb.run(["plugin", "new", "--", name]).status == 2)
        #expect(!smallweb.home.names.contains { ["hello", "fixtures"].contains($0) })
    }

    @Test func refusesAnUnknownLanguage() throws {
        #expect(try plugin("new", "--lang", "cobol", "hello").status == 2)
    }

    @Test func saysWhatWasExpectedAndWhatWasSeen() throws {
        _ = try plugin("new", "hello/")
        let page = "hello/fixtures/page.wire"
        let good = String(decoding: try #require(smallweb.home.content(page)), as: UTF8.self)
        for (old, new, words) in [
            (#""text":"Hello\n""#, #""text":"Bye\n""#, ["page.wire, whole", "event 2", "Bye"]),
            ("/page\\r\\n", "/other\\r\\n", ["sent, expected: /other", "sent, seen:     /page"]),
            ("test:1900", "test:1901", ["connection, expected: example.test:1901"]),
            (#""unverified""#, #""complete""#, ["event 3, seen:", #""unverified""#]),
            ("=      {\"event\":\"end\"", "error  timeout\n# ", ["error, expected: timeout"]),
            ("url ", "uri ", ["page.wire:2: no such word: uri"]),
            ("url ", "option depth 1\nurl ", ["no option depth"]),
            ("<      ", "<      \\q", ["page.wire:5: no such escape"]),
        ] {
            #expect(good.contains(old), "\(old)")
            try write(good.replacingOccurrences(of: old, with: new), to: page)
            let result = try plugin("test", "./hello")
            #expect(result.status == 110, "\(result.text)")
            #expect(result.errors.contains("1 of 3 fixtures of hello failed"))
            for word in words {
                #expect(result.text.contains(word), "\(word) is not in \(result.text)")
            }
            #expect(result.text.contains("ok      root.wire"))
        }
    }

    /// Each is right on the whole reply, and wrong on a part of it.
    @Test(arguments: [
        // Reads once and takes that for all.
        ("dd bs=100 count=1 2>/dev/null >&4", "byte by byte"),
        // Never doubts.
        (#"cat >&4; echo '{"type":"end","complete":true}' >&3"#, "cut after"),
        // Prints another text if the input is truncated.
        (#"t=$(cat); [ "$t" = Hello ] && echo Hello >&4 || echo Oops >&4"#, "cut after"),
        // Waits for ever.
        ("read -r line; [ \"$line\" = Hello ] || sleep 60; echo Hello >&4", "within 5 s"),
    ])
    func findsWhatOnlyAPartShows(_ program: String, _ words: String) throws {
        _ = try plugin("new", "hello/")
        try write("#!/bin/sh\nprintf '%s\\r\\n' /page\n\(program)\n", to: "hello/hello")
        try FileManager.default.removeItem(
            atPath: smallweb.home.file("hello/fixtures/root.wire"))
        if program.contains("\"complete\"") {
            let page = "hello/fixtures/page.wire"
            let text = String(decoding: try #require(smallweb.home.content(page)), as: UTF8.self)
            try write(text.replacingOccurrences(of: "unverified", with: "complete"), to: page)
        }
        let result = try plugin("test", "./hello")
        #expect(result.status == 110, "\(result.text)")
        #expect(result.text.contains(words), "\(result.text)")
        #expect(!result.text.contains("whole"), "\(result.text)")
    }

    @Test func showsWhatAFailingProgramSaid() throws {
        _ = try plugin("new", "hello/")
        try write("#!/bin/sh\nprintf 'why\\033[1m\\n' >&2\nexit 3\n", to: "hello/hello")
        let result = try plugin("test", "./hello")
        #expect(result.status == 110)
        #expect(result.text.contains("the program said: why\\x1B[1m"), "\(result.text)")
        #expect(result.text.contains("error, seen:     plugin"), "\(result.text)")
    }

    @Test func optionsAndUploadsReachTheProgram() throws {
        _ = try plugin("new", "hello/")
        try write(
            """
            {"v": 1, "name": "hello", "program": ["./hello"],
             "options": [{"name": "hello-depth", "value": "N"}, {"name": "hello-all"}],
             "schemes": [{"name": "hello", "port": 1, "transport": "tcp", "upload": true}]}
            """, to: "hello/plugin.json")
        try write(
            """
            #!/bin/sh
            printf '%s %s %s ' "$SMALLWEB_OPT_HELLO_DEPTH" "$SMALLWEB_OPT_HELLO_ALL" \\
                "$SMALLWEB_UPLOAD_SIZE"
            exec cat <&5
            """, to: "hello/hello")
        try FileManager.default.removeItem(
            atPath: smallweb.home.file("hello/fixtures/root.wire"))
        try write(
            """
            url    hello://example.test/
            option hello-depth 3
            option hello-all
            upload a\\x00b
            >      3 1 3 a\\x00b
            =      {"class": "success", "event": "head"}
            =      {"event":"end","completeness":"unverified"}
            """, to: "hello/fixtures/page.wire")
        let result = try plugin("test", "./hello")
        #expect(result.status == 0, "\(result.text)\(result.errors)")
    }

    /// A fixture may omit them; the ones that it states are compared.
    @Test func sizesNamesAndFactsAreComparedWhereTheyAreStated() throws {
        _ = try plugin("new", "hello/")
        try write(
            #"""
            #!/bin/sh
            echo '{"type":"head","class":"success","size":6,"name":"a","facts":{"b":[1,"\""]}}' >&3
            echo '{"type":"item","kind":"info","text":"i","facts":{"c":null}}' >&3
            echo Hello >&4
            """#, to: "hello/hello")
        try FileManager.default.removeItem(
            atPath: smallweb.home.file("hello/fixtures/root.wire"))
        func test(head: String, item: String) throws -> Smallweb.Result {
            try write(
                """
                url    hello://example.test/
                =      {"event":"head","class":"success"\(head)}
                =      {"event":"item","kind":"info","text":"i"\(item)}
                =      {"event":"body","text":"Hello\\n"}
                =      {"event":"end","completeness":"unverified"}
                """, to: "hello/fixtures/page.wire")
            return try plugin("test", "./hello")
        }
        let facts = #","facts":{"hello":{"b":[1,"\""]}}"#
        let itemFacts = #","facts":{"hello":{"c":null}}"#
        for (head, item) in [
            ("", ""), (#","size":6,"name":"a""# + facts, itemFacts), (facts, ""), ("", itemFacts),
        ] {
            let result = try test(head: head, item: item)
            #expect(result.status == 0, "\(result.text)\(result.errors)")
        }
        for (head, item, number) in [
            (#","size":7"#, "", 1), (#","name":"b""#, "", 1), (#","facts":{}"#, "", 1),
            (facts.replacing("1", with: "2"), "", 1), ("", #","facts":{"hello":{}}"#, 2),
            ("", #","name":"a""#, 2),
        ] {
            let result = try test(head: head, item: item)
            #expect(result.status == 110, "\(head)\(item)")
            #expect(result.text.contains("event \(number), expected:"), "\(result.text)")
        }
    }

    @Test func whatCannotBeTestedSaysWhy() throws {
        #expect(try plugin("test", "./missing").status == 110)
        #expect(try plugin("test", "missing").status == 2)
        #expect(try smallweb.run(["plugin", "test", "--plugin", "./x", "hello"]).status == 2)
        _ = try plugin("new", "hello/")
        try FileManager.default.removeItem(atPath: smallweb.home.file("hello/fixtures"))
        let result = try plugin("test", "./hello")
        #expect(result.status == 110)
        #expect(result.errors.contains("no fixtures"))
    }

    @Test func addsAndRemoves() throws {
        let place = ".local/share/smallweb/plugins"
        _ = try plugin("new", "hello/")
        let added = try plugin("add", "hello")
        #expect(added.status == 0, "\(added.errors)")
        #expect(!added.text.contains("ok  ") && added.text.hasSuffix(", fixtures passed: 3\n"))
        #expect(added.text.contains("64 descriptors"))
        #expect(try mode(place + "/hello/hello") == 0o755)
        #expect(try plugin("test", "hello").status == 0)
        #expect(try plugin("list").text.contains("hello"))
        // Never twice by accident, and never one that fails.
        #expect(try plugin("add", "./hello").status == 2)
        try write("#!/bin/sh\nexit 1\n", to: "hello/hello")
        #expect(try plugin("add", "--force", "./hello").status == 110)
        #expect(try plugin("test", "hello").status == 0)
        #expect(try plugin("remove", "hello").status == 2)
        #expect(try plugin("remove", "--force", "other").status == 2)
        #expect(try plugin("remove", "--force", "../plugins").status == 2)
        _ = try smallweb.run([], shell: "rm -r hello")
        _ = try plugin("new", "--lang", "python", "hello/")
        #expect(try plugin("add", "--force", "./hello").status == 0)
        #expect(exists(place + "/hello/fixtures/refusal.wire"))
        #expect(!exists(place + "/hello/fixtures/root.wire"))
        #expect(try plugin("remove", "--force", "hello").status == 0)
        #expect(!exists(place + "/hello"))
        let left = try FileManager.default.contentsOfDirectory(
            atPath: smallweb.home.file(place))
        #expect(left.isEmpty, "\(left)")
    }

    /// With the command of the manual, and the compiler that built these tests.
    @Test(.enabled(if: Self.hasSwift, "there is no Swift compiler"))
    func aNewPluginInSwiftPassesOnceItIsCompiled() throws {
        let new = try plugin("new", "--lang", "swift", "hello")
        #expect(new.text.contains("\n  make -C hello\n"), "\(new.text)")
        // Nothing is run by itself.
        #expect(!exists("hello/hello"))
        #expect(try plugin("test", "./hello").status == 110)
        let made = try smallweb.run([], shell: "umask 002; make -s -C hello")
        #expect(made.status == 0, "\(made.text)\(made.errors)")
        let test = try plugin("test", "./hello")
        #expect(test.status == 0, "\(test.text)\(test.errors)")
        #expect(test.text.contains("ok      malformed.wire\n"))
    }

    private static let hasSwift =
        (try? Smallweb().run([], shell: "command -v swiftc make"))?.status == 0

    @Test(arguments: [
        ("ln -s /etc/passwd hello/link", "hello/link is neither a file nor a directory"),
        ("mkfifo hello/fifo", "hello/fifo is neither a file nor a directory"),
        ("seq -f 'hello/%.0f' 2000 | xargs touch", "more than 1000 files"),
        ("truncate -s 40M hello/a hello/b", "more than 64 MiB"),
        ("truncate -s 1T hello/a", "hello/a: file too large"),
        ("echo '{' >hello/plugin.json", "plugin.json"),
        ("echo exit 1 >hello/hello", "exec format"),
    ])
    func addsNoOtherFolder(_ command: String, _ why: String) throws {
        _ = try plugin("new", "hello/")
        #expect(try smallweb.run([], shell: command).status == 0)
        let result = try plugin("add", "./hello")
        #expect(result.status != 0)
        #expect(result.errors.contains(why), "\(result.text)\(result.errors)")
        #expect(smallweb.home.files(below: ".local/share/smallweb/plugins").isEmpty)
    }

    @Test func addTakesNoArchive() throws {
        _ = try smallweb.run([], shell: "touch hello.tar")
        let result = try plugin("add", "hello.tar")
        #expect(result.status == 110)
        #expect(result.errors.contains("unpacked with tar first"), "\(result.errors)")
    }
}
