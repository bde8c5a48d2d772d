// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

/// Plugins in one file: made, tested, used, added, and contained as folders are.
@Suite(.timeLimit(.minutes(30)))
struct PluginFileTests {
    private let smallweb = Smallweb()

    private func plugin(_ words: String...) throws -> Smallweb.Result {
        try smallweb.run(["plugin"] + words)
    }

    private func mode(_ name: String) throws -> Int {
        let facts = try FileManager.default.attributesOfItem(atPath: smallweb.home.file(name))
        return try #require(facts[.posixPermissions] as? Int)
    }

    private func set(_ mode: mode_t, of path: String) { #expect(chmod(path, mode) == 0) }

    /// A plugin that needs no server.
    private func script(_ body: String, more: String = "", to name: String) throws -> String {
        let path = smallweb.home.file(name)
        try FileManager.default.createDirectory(
            at: URL(fileURLWithPath: path).deletingLastPathComponent(),
            withIntermediateDirectories: true)
        try Programs.write(
            """
            #!/bin/sh
            # smallweb: {"scheme": "trial", "port": 0, "transport": "none"\(more)}
            \(body)

            """, to: path)
        set(0o755, of: URL(fileURLWithPath: path).deletingLastPathComponent().path)
        return path
    }

    @Test(arguments: [
        (["hello"], "hello.sh", 3), (["hello.sh"], "hello.sh", 3), (["hello.py"], "hello.py", 4),
        (["--lang", "python", "hello"], "hello.py", 4),
    ])
    func aNewOneWorks(_ words: [String], _ name: String, _ count: Int) throws {
        for umask in ["000", "077"] {
            let make = ["plugin", "new"] + words
            let made = try smallweb.run(make, shell: "umask \(umask); exec \"$@\"")
            #expect(made.status == 0 && made.text.contains("plugin test ./\(name)\n"))
            #expect(try mode(name) == 0o755)
            #expect(smallweb.home.names.filter { !$0.hasPrefix(".") } == [name])
            let test = try plugin("test", name)
            #expect(test.status == 0, "\(test.text)\(test.errors)")
            #expect(test.text.split(separator: "\n").count == count)
            #expect(test.text.hasPrefix("ok      line-"), "\(test.text)")
            #expect(try smallweb.run(make).status == 23)
            let shown = try plugin("show", "./" + name)
            #expect(shown.status == 0 && shown.text.contains("port 1900, tcp"), "\(shown.text)")
            try FileManager.default.removeItem(atPath: smallweb.home.file(name))
        }
    }

    @Test func aFolderIsStillMadeWithASlash() throws {
        #expect(try plugin("new", "hello/").text.hasPrefix("hello/ is a plugin that works"))
        #expect(try plugin("test", "./hello").status == 0)
    }

    @Test func itFetchesFromItsServer() throws {
        let server = try LoopbackServer(handler: DemoSites.nex)
        _ = try plugin("new", "hello")
        for path in ["./hello.sh", smallweb.home.file("hello.sh")] {
            let url = "hello://127.0.0.1:\(server.port)/about.txt"
            let page = try smallweb.run(["get", "--plugin", path, url, url, url])
            let text = String(repeating: "About this station.\n", count: 3)
            #expect(page.status == 0 && page.text == text, "\(page.errors)")
        }
    }

    @Test func aFixtureThatFailsIsNamedByItsLine() throws {
        _ = try plugin("new", "hello")
        _ = try smallweb.run([], shell: #"sed -i 's/"text":"Hello/"text":"Bye/' hello.sh"#)
        let result = try plugin("test", "hello.sh")
        let text = String(decoding: try #require(smallweb.home.content("hello.sh")), as: UTF8.self)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let index = try #require(lines.firstIndex { $0.hasPrefix("# wire: url") })
        #expect(result.status == 110 && result.errors.contains("1 of 3 fixtures of hello failed"))
        #expect(result.text.contains("failed  line-\(index + 1).wire"), "\(result.text)")
    }

    @Test func addingMakesAFolderOfIt() throws {
        let place = ".local/share/smallweb/plugins"
        _ = try plugin("new", "hello")
        let added = try plugin("add", "hello.sh")
        #expect(added.status == 0, "\(added.errors)")
        #expect(added.text.hasSuffix(", fixtures passed: 3\n"), "\(added.text)")
        #expect(try mode(place + "/hello/hello") == 0o755)
        #expect(try mode(place + "/hello/plugin.json") == 0o644)
        #expect(smallweb.home.files(below: place + "/hello/fixtures").count == 3)
        #expect(try plugin("test", "hello").status == 0)
        let server = try LoopbackServer(handler: DemoSites.nex)
        let page = try smallweb.run(["get", "hello://127.0.0.1:\(server.port)/about.txt"])
        #expect(page.status == 0 && page.text == "About this station.\n", "\(page.errors)")
        // As for folders: never twice by accident, never one that fails.
        #expect(try plugin("add", "hello.sh").status == 2)
        #expect(try plugin("add", "--force", "hello.sh").status == 0)
        _ = try smallweb.run([], shell: "sed -i s/SMALLWEB_PATH/SMALLWEB_HOST/ hello.sh")
        #expect(try plugin("add", "--force", "hello.sh").status == 110)
        #expect(try plugin("test", "hello").status == 0)
        #expect(try plugin("remove", "--force", "hello").status == 0)
        let left = try FileManager.default.contentsOfDirectory(
            atPath: smallweb.home.file(place))
        #expect(left.isEmpty, "\(left)")
    }

    /// The file, and each directory on the way.
    @Test func aFileThatOthersCanWriteIsNotRun() throws {
        let path = try script("echo ran >&4", to: "dir/trial.sh")
        let get = ["get", "--plugin", path, "trial://h/"]
        #expect(try smallweb.run(get).text == "ran\n")
        let wrong: [(String, mode_t)] = [
            (path, 0o757), (path, 0o775), (smallweb.home.file("dir"), 0o777),
        ]
        for (place, mode) in wrong {
            set(mode, of: place)
            let result = try smallweb.run(get)
            set(0o755, of: place)
            #expect(result.status == 110 && result.text.isEmpty)
            #expect(result.errors.contains("others can write \(place)"), "\(result.errors)")
            #expect(result.errors.contains("chmod go-w"), "\(result.errors)")
        }
        set(0o644, of: path)
        #expect(try smallweb.run(get).errors.contains("chmod +x"))
        #expect(try plugin("add", path).status == 110)
    }

    /// In the home directory and elsewhere, by its own name and by a link, and from a starter.
    @Test func itSeesNothingBesideItself() throws {
        let secret = "secret-\(UUID().uuidString)"
        try smallweb.home.write(secret, to: "dir/beside")
        let place = smallweb.home.file("dir")
        let path = try script(
            "(cat \(place)/beside; ls \(place); ls /; ls .; echo >\(place)/new) >&4; echo ran >&4",
            to: "dir/trial.sh")
        _ = try smallweb.run([], shell: "ln -s dir/trial.sh link.sh")
        var other = smallweb
        other.environment["HOME"] = place
        for (smallweb, path) in [(smallweb, path), (smallweb, "./link.sh"), (other, path)] {
            let urls = ["trial://h/", "trial://h/2", "trial://h/3"]
            let result = try smallweb.run(["get", "--plugin", path] + urls)
            #expect(result.status == 0 && result.text.hasSuffix("ran\n"), "\(result.errors)")
            #expect(!result.text.contains(secret) && !result.text.contains("beside"))
            #expect(!FileManager.default.fileExists(atPath: place + "/new"))
        }
    }

    /// Naming the file is the consent for a run; a config file has none.
    @Test func whatItReadsNeedsConsent() throws {
        try smallweb.home.write("pages\n", to: "srv/page")
        let reads = smallweb.home.file("srv")
        let path = try script(
            "cat \(reads)/page >&4", more: ", \"reads\": [\"\(reads)\"]", to: "trial.sh")
        #expect(try smallweb.run(["get", "--plugin", path, "trial://h/"]).text == "pages\n")
        try smallweb.home.write("[host h]\nplugin = \(path)\n", to: "config")
        set(0o600, of: smallweb.home.file("config"))
        let result = try smallweb.run(["get", "--config", "config", "trial://h/"])
        #expect(result.status == 110 && result.errors.contains("consented"), "\(result.errors)")
        #expect(try plugin("add", path).status == 2)
        #expect(try plugin("add", "--force", path).status == 0)
        #expect(try smallweb.run(["get", "trial://h/"]).text == "pages\n")
    }

    @Test(arguments: [
        ("touch a.sh", "has no line"), ("head -c 2000000 /dev/zero >a.sh", "too large"),
        ("echo '# smallweb: {' >a.sh", "its manifest is"), ("mkfifo a.sh", "a.sh"),
        ("ln -s /dev/zero a.sh", "zero"), ("mkdir a.sh", "plugin.json: no such file"),
        ("cp /bin/ls a.sh", "a.sh: "),
    ])
    func whatIsNoPluginIsRefused(_ command: String, _ why: String) throws {
        #expect(try smallweb.run([], shell: command).status == 0)
        for words in [["plugin", "test"], ["plugin", "add"], ["plugin", "show"]] {
            #expect(try smallweb.run(words + ["a.sh"]).status == 110, "\(words)")
        }
        #expect(try smallweb.run(["get", "--plugin", "./a.sh", "trial://h/"]).status == 110)
        #expect(try plugin("show", "a.sh").errors.contains(why))
        #expect(smallweb.home.files(below: ".local/share/smallweb/plugins").isEmpty)
    }
}
