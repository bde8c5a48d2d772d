// SPDX-License-Identifier: MIT
import Foundation
import SmallWebCore
import SmallWebTestSupport
import Testing

extension Smallweb {
    static let noServer = #""transport": "none", "port": 0"#

    /// A plugin in a folder of the home directory, writable by its owner alone.
    ///
    /// - Parameter program: With its first line.
    func plugin(
        _ program: String, scheme: String = noServer, more: String = "",
        words: String = #"["./run"]"#, name: String = "trial"
    ) throws -> String {
        let folder = home.file(name)
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o755])
        let manifest = """
            {"v": 1, "name": "\(name)", "version": "1.2", "summary": "A trial",
             "program": \(words), \(more)
             "schemes": [{"name": "\(name)", \(scheme)}]}
            """
        try write(manifest, to: folder + "/plugin.json", mode: 0o644)
        try write(program + "\n", to: folder + "/run", mode: 0o755)
        return folder
    }

    func write(_ text: String, to path: String, mode: Int) throws {
        try Programs.write(text, to: path, mode: mode_t(mode))
    }

    func set(_ mode: Int, of path: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }
}

/// Events of programs, and the host's reaction.
@Suite(.timeLimit(.minutes(30)))
struct ProgramRulesTests {
    private let smallweb = Smallweb()
    private static let head = #"{"type":"head","class":"success","mime":"text/plain"}"#

    private func get(_ script: String, _ words: String...) throws -> Smallweb.Result {
        let folder = try smallweb.plugin("#!/bin/sh\n" + script)
        return try smallweb.run(["get", "--plugin", folder] + words)
    }

    // MARK: A download that is continued

    /// A body that begins elsewhere is not added to a file.
    @Test(arguments: [
        (#","offset":4"#, 0, "half and half\n"), (#","offset":4,"size":10"#, 0, "half and half\n"),
        ("", 22, "half"), (#","offset":null"#, 22, "half"), (#","offset":3"#, 110, "half"),
        (#","offset":0"#, 110, "half"), (#","offset":-1"#, 110, "half"),
    ])
    func aBodyIsContinuedWhereItEnds(_ offset: String, _ status: Int32, _ text: String) throws {
        let folder = try smallweb.plugin(
            """
            #!/bin/sh
            [ "$SMALLWEB_OFFSET" = 4 ] || exit 1
            echo '{"type":"head","class":"success"\(offset)}' >&3
            echo ' and half' >&4
            """, scheme: Smallweb.noServer + #", "resume": true"#)
        let file = smallweb.home.file("part")
        try smallweb.write("half", to: file, mode: 0o600)
        let result = try smallweb.run(
            ["get", "--plugin", folder, "-C", "-", "-o", file, "trial:x"])
        #expect(result.status == status, "\(result.errors)")
        #expect(try String(contentsOfFile: file, encoding: .utf8) == text)
    }

    /// Its part is continued while there is an older file, over every scheme that can resume.
    @Test(arguments: [["-C", "-"], ["-c"], ["-C", "4"]])
    func thePartOfAFileIsContinued(_ way: [String]) throws {
        let folder = try smallweb.plugin(
            """
            #!/bin/sh
            [ "$SMALLWEB_OFFSET" = 4 ] || exit 1
            echo '{"type":"head","class":"success","offset":4}' >&3
            echo ' and half' >&4
            """, scheme: Smallweb.noServer + #", "resume": true"#)
        let file = smallweb.home.file("f")
        for (text, name) in [("the older one", file), ("half", file + ".part")] {
            try smallweb.write(text, to: name, mode: 0o600)
        }
        let result = try smallweb.run(["get", "--plugin", folder] + way + ["-o", file, "trial:x"])
        #expect(result.status == 0, "\(result.errors)")
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "half and half\n")
        #expect(smallweb.home.content("f.part") == nil)
    }

    @Test func onlyWhatCanBeContinuedIs() throws {
        let none = try get("echo hello >&4", "-C", "4", "trial:x")
        #expect(none.status == 2 && none.errors.contains("cannot resume"), "\(none.errors)")
        let folder = try smallweb.plugin(
            "#!/bin/sh\necho hello >&4", scheme: Smallweb.noServer + #", "resume": true"#)
        for (words, status) in [([], 0), (["-C", "4"], 22)] as [([String], Int32)] {
            let result = try smallweb.run(["get", "--plugin", folder, "trial:x"] + words)
            #expect(result.status == status, "\(result.errors)")
            #expect(result.text == (status == 0 ? "hello\n" : ""))
        }
    }

    // MARK: One registry

    /// links, explain, --proto and sections all know the plugins of the config file.
    @Test func aPluginOfTheConfigFileIsKnownToAll() throws {
        var smallweb = smallweb
        let folder = try smallweb.plugin(
            """
            #!/bin/sh
            echo '{"type":"head","class":"success","mime":"text/gemini"}' >&3
            echo '=> trial://other/ there' >&4
            """)
        let config = smallweb.home.file("config")
        try smallweb.write(
            "plugin = \(folder)\n[scheme trial]\nmax-redirs = 3\n", to: config, mode: 0o600)
        smallweb.environment["SMALLWEB_CONFIG"] = config
        let links = try smallweb.run(["links", "--json", "trial://h/"])
        #expect(links.text.contains(#""kind":"link""#), "\(links.text) \(links.errors)")
        let explained = try smallweb.run(["explain", "--json", "trial://other/"])
        #expect(explained.text.contains(#""plugin":"program:trial""#), "\(explained.errors)")
        #expect(try smallweb.run(["get", "--proto", "trial", "trial://h/"]).status == 0)
        let history = try smallweb.run(["get", "--history", "trial://h/"])
        #expect(history.status == 0)
        #expect(try smallweb.run(["history"]).text.contains("trial://h/"))
        let schemes = try smallweb.run(["schemes", "--fallback-curl"]).text
        #expect(schemes.contains("\ntrial\t0\tnone\t"), "\(schemes)")
        #expect(schemes.contains("\ncurl:"))
        // Without the plugin its section is left out.
        try smallweb.write("[scheme trial]\n", to: config, mode: 0o600)
        let other = try smallweb.run(["get", "gemini://127.0.0.1:1/"])
        #expect(other.status == 7 && other.errors.contains("warning: "), "\(other.errors)")
    }

    /// The options of a plugin are there wherever the plugin is named, and nowhere else.
    @Test func optionsBelongToThePluginsThatAreNamed() throws {
        var smallweb = smallweb
        let folder = try smallweb.plugin(
            "#!/bin/sh\nenv | grep SMALLWEB_OPT | sort >&4",
            more: #""options": [{"name": "trial-word", "value": "WORD"}, {"name": "trial-all"}],"#)
        let url = "trial://h/"
        // Before the plugin is named, behind it, and with a value that looks like an option.
        for words in [
            ["--trial-word", "--json", "--trial-all", "--plugin", folder, url],
            ["--plugin=" + folder, "--trial-all", url, "--trial-word=--json"],
            ["get", "--trial-word", "--json", url, "--no-json", "--plugin", folder, "--trial-all"],
        ] {
            let result = try smallweb.run(words)
            let said = "SMALLWEB_OPT_TRIAL_ALL=1\nSMALLWEB_OPT_TRIAL_WORD=--json\n"
            #expect(result.text == said, "\(words): \(result.errors)")
        }
        // The value of another option names no plugin.
        for words in [["--data", "--plugin=" + folder], ["--", "--plugin", folder], []] {
            let result = try smallweb.run(["get", "--trial-all", url] + words)
            #expect(result.status == 2, "\(words)")
            #expect(result.errors.contains("unknown option --trial-all"), "\(result.errors)")
        }
        // The first problem is the one that is told.
        #expect(
            try smallweb.run(["get", "--max-time", "x", "--trial-all", url]).errors
                .contains("--max-time"))
        let config = smallweb.home.file("config")
        try smallweb.write(
            "plugin = \(folder)\ntrial-word = file\n", to: config, mode: 0o600)
        let configured = try smallweb.run(["get", "--config", config, "--trial-all", url])
        #expect(configured.text.hasSuffix("TRIAL_WORD=file\n"), "\(configured.errors)")
        #expect(try smallweb.run(["head", "--trial-all", url, "--no-config"]).status == 2)
        smallweb.environment["SMALLWEB_CONFIG"] = config
        #expect(try smallweb.run(["__complete", "get", "--trial-"]).text.contains("--trial-word"))
        #expect(try smallweb.run(["__complete", "get", "tria"]).text.contains("trial://"))
        #expect(try smallweb.run(["config", "trial-word"]).text == "trial-word = file\n")
    }

    // MARK: Words of the host

    @Test(arguments: [
        "ok", "usage", "write", "interrupted", "internal", "not-recorded", "robots",
    ])
    func aProgramCannotFailWithAWordOfTheHost(_ word: String) throws {
        let result = try get(
            #"echo '{"type":"fail","outcome":"\#(word)","message":"m"}' >&3"#, "trial://h/")
        #expect(result.status == 110, "\(result.errors)")
        #expect(result.errors.contains("the outcome \"\(word)\""), "\(result.errors)")
    }

    /// The run went on no further, without a word and with status 0.
    @Test(arguments: ["write", "interrupted"])
    func aProgramCannotEndARun(_ word: String) throws {
        let script = """
            [ "$SMALLWEB_PATH" = /2 ] &&
                echo '{"type":"fail","outcome":"\(word)"}' >&3 || echo "$SMALLWEB_PATH" >&4
            """
        let urls = ["trial://h/1", "trial://h/2", "trial://h/3"]
        let folder = try smallweb.plugin("#!/bin/sh\n" + script)
        let result = try smallweb.run(["get", "--plugin", folder] + urls)
        #expect(result.status == 110, "\(result.errors)")
        #expect(result.text == "/1\n/3\n" && result.errors.contains("trial://h/2"))
        let records = try smallweb.records(["--plugin", folder] + urls).records.terminal
        #expect(records.map { $0["outcome"]?.string } == ["ok", "plugin", "ok"])
    }

    // MARK: Events

    @Test func whatAProgramSaidBeforeItFailedIsKept() throws {
        let folder = try smallweb.plugin(
            """
            #!/bin/sh
            echo '\(Self.head)' >&3
            echo body >&4
            printf '%s\\n' '{"type":"note","code":"seen","message":"m"}' \\
                '{"type":"fail","outcome":"protocol-error","message":"late"}' >&3
            """)
        let record = try #require(
            try smallweb.records(["--plugin", folder, "trial://h/"]).records.terminal.first)
        #expect(record["outcome"]?.string == "protocol-error")
        #expect(record["warnings"]?.array.map { $0["code"]?.string } == ["seen"])
        let result = try smallweb.run(["get", "--plugin", folder, "trial://h/"])
        #expect(result.status == 8 && result.text == "body\n", "\(result.errors)")
        #expect(result.errors.contains("late"))
    }

    @Test(arguments: [
        (#"{"type":"item","kind":"info","text":"x"}"#, "an item before the head"),
        (#"{"type":"head","class":"redirect"}"#, "a redirect without a target"),
        (#"{"type":"head","class":"redirect","redirect":""}"#, "a redirect without a target"),
    ])
    func whatMeansNothingIsTheProgramsFault(_ event: String, _ words: String) throws {
        let result = try get("echo '\(event)' >&3", "trial://h/")
        #expect(result.status == 110 && result.errors.contains(words), "\(result.errors)")
    }

    /// Short ones by their number, long ones by their bytes.
    @Test(arguments: [(5000, 1, 1001), (300, 2000, 132)])
    func notesAreBounded(_ count: Int, _ size: Int, _ kept: Int) throws {
        let script = """
            awk 'BEGIN { m = sprintf("%\(size)s", ""); for (i = 0; i < \(count); i++)
                print "{\\"type\\":\\"note\\",\\"code\\":\\"n\\",\\"message\\":\\"" m "\\"}" }' >&3
            """
        let folder = try smallweb.plugin("#!/bin/sh\n" + script)
        let record = try #require(
            try smallweb.records(["--plugin", folder, "trial://h/"]).records.terminal.first)
        let warnings = record["warnings"]?.array ?? []
        #expect(warnings.count == kept && record["outcome"]?.string == "ok")
        #expect(warnings.last?["code"]?.string == "notes-dropped")
    }

    @Test(arguments: [(10_000, [String?]()), (10_001, ["items-dropped"])])
    func linesOfItsMenuAreBounded(_ count: Int, _ codes: [String?]) throws {
        let script = """
            echo '{"type":"head","class":"success","mime":"application/gopher-menu"}' >&3
            awk 'BEGIN { for (i = 0; i < \(count); i++) printf "0a\\t/\\th\\t70\\r\\n" }' >&4
            """
        let folder = try smallweb.plugin("#!/bin/sh\n" + script)
        let words = ["links", "--json", "--plugin", folder, "trial://h/"]
        let records = try Records(try smallweb.run(words).output)
        #expect(records.all.count { $0["type"]?.string == "link" } == 10_000)
        let warnings = try #require(records.terminal.first)["warnings"]?.array ?? []
        #expect(warnings.map { $0["code"]?.string } == codes)
    }

    // MARK: Texts of a manifest

    @Test(arguments: [
        #""summary": "a\u001b[31mb""#, #""version": "1\u0007""#,
        #""options": [{"name": "trial-all", "help": "a\u001b]0;t\u0007"}]"#,
        #""options": [{"name": "trial-all", "value": "\u001b[31m", "help": "h"}]"#,
        #""options": [{"name": "trial-all", "value": "N", "default": "\u202e"}]"#,
    ])
    func textsThatATerminalObeysAreRefused(_ member: String) throws {
        let folder = try smallweb.plugin("#!/bin/sh")
        let manifest = """
            {"v": 1, "name": "trial", "program": ["./run"], \(member),
             "schemes": [{"name": "trial", \(Smallweb.noServer)}]}
            """
        try smallweb.write(manifest, to: folder + "/plugin.json", mode: 0o644)
        var smallweb = smallweb
        smallweb.environment["SMALLWEB_PLUGIN_PATH"] = smallweb.home.path
        for words in [
            ["help", "get"], ["help", "head"], ["schemes"], ["plugin", "list"],
            ["plugin", "show", "trial"], ["__complete", "get", "--tri"], ["get", "trial://h/"],
            ["explain", "trial://h/"], ["config"],
        ] {
            let result = try smallweb.run(words)
            let text = (result.text + result.errors).unicodeScalars
            let isClean = text.allSatisfy { scalar in
                scalar == "\n" || scalar == "\t"
                    || scalar.value >= 0x20 && !(0x7F...0x9F).contains(scalar.value)
                        && !(0x202A...0x202E).contains(scalar.value)
            }
            #expect(isClean, "\(words): \(result.text)")
        }
        #expect(try smallweb.run(["plugin", "list"]).text.contains("control character"))
        let result = try smallweb.run(["get", "trial://h/"])
        #expect(result.status == 110 && result.errors.contains("control character"))
    }

    @Test func aNULInAManifestIsAnError() throws {
        let folder = try smallweb.plugin("#!/bin/sh", words: #"["./run", "a\u0000b"]"#)
        let result = try smallweb.run(["get", "--plugin", folder, "trial://h/"])
        #expect(result.status == 110 && result.errors.contains("NUL"), "\(result.errors)")
    }

    // MARK: Datagrams

    /// A read of no bytes is an empty datagram, and so is a write.
    @Test func emptyDatagramsReachBothSides() throws {
        let server = try UDPPlace()
        let folder = try smallweb.plugin(
            """
            #!/usr/bin/python3 -IS
            import os
            os.write(1, b"hello")
            os.write(1, b"")
            for _ in range(3):
                os.write(4, b"[%s]" % os.read(0, 65536))
            """, scheme: #""transport": "udp", "port": 7"#)
        let received = Locked<[String]>([])
        let thread = Thread {
            let texts = [server.receive(), server.receive()]
            received.withLock { $0 = texts }
            for text in ["a", "", "b"] { server.send(text) }
        }
        thread.start()
        let result = try smallweb.run([
            "get", "--plugin", folder, "--read-timeout", "20", "trial://127.0.0.1:\(server.port)/",
        ])
        #expect(result.status == 0 && result.text == "[a][][b]", "\(result)")
        #expect(received.withLock { $0 } == ["hello", ""])
    }

    /// A program that asks again and again is not a server that answers.
    @Test func aServerOfDatagramsThatIsNotThereIsSilent() throws {
        let server = try UDPPlace()
        let folder = try smallweb.plugin(
            "#!/bin/sh\nwhile :; do echo hello; sleep 0.1; done",
            scheme: #""transport": "udp", "port": 7"#)
        let result = try smallweb.run([
            "get", "--plugin", folder, "--read-timeout", "0.5", "--max-time", "60",
            "trial://127.0.0.1:\(server.port)/",
        ])
        #expect(result.status == 28 && result.errors.contains("silent"), "\(result.errors)")
    }

    // MARK: Trust

    @Test func authoritiesOfAManifestHold() throws {
        var smallweb = smallweb
        let certificate = TestCertificate.make(names: ["a.test"])
        let server = try LoopbackServer(tls: certificate) { peer in
            _ = peer.readLine()
            peer.write("there\n")
        }
        let folder = try smallweb.plugin(
            "#!/bin/sh\necho hello; exec cat >&4",
            scheme: #""transport": "tls", "port": 70, "trust": "ca""#)
        smallweb.environment["SMALLWEB_KNOWN_HOSTS"] = smallweb.home.file("hosts")
        let words = { (host: String) in
            [
                "--plugin", folder, "--resolve", "\(host):\(server.port):127.0.0.1",
                "trial://\(host):\(server.port)/",
            ]
        }
        let record = { (smallweb: Smallweb) in
            let result = try smallweb.run(["get", "--json"] + words("a.test"))
            return try #require(try Records(result.output).terminal.first)
        }
        let refused = try record(smallweb)
        #expect(refused["exit"]?.int == 60 && refused["trust"]?["policy"]?.string == "ca")
        #expect(smallweb.home.content("hosts") == nil)
        let explained = try smallweb.run(["explain"] + words("a.test")).text
        #expect(explained.contains(" ca"), "\(explained)")
        let chosen = try smallweb.run(["get", "--trust", "tofu"] + words("a.test"))
        #expect(chosen.status == 0 && chosen.text == "there\n", "\(chosen.errors)")

        try smallweb.write(certificate.certificatePEM, to: smallweb.home.file("ca"), mode: 0o644)
        smallweb.environment["SSL_CERT_FILE"] = smallweb.home.file("ca")
        let good = try record(smallweb)
        #expect(good["exit"]?.int == 0 && good["trust"]?["policy"]?.string == "ca", "\(good)")
        #expect(try smallweb.run(["get"] + words("b.test")).status == 60)
    }
}

/// A UDP socket of 127.0.0.1 that waits for a peer, and then talks to it.
private final class UDPPlace: Sendable {
    private let descriptor: Int32
    let port: UInt16

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let status = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) + getsockname(descriptor, $0, &size)
            }
        }
        try #require(status == 0)
        port = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(descriptor) }

    func receive() -> String {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        var sender = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let count = withUnsafeMutablePointer(to: &sender) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { sender in
                let count = recvfrom(descriptor, &bytes, bytes.count, 0, sender, &size)
                _ = connect(descriptor, sender, size)
                return count
            }
        }
        return String(decoding: bytes[..<max(0, count)], as: UTF8.self)
    }

    func send(_ text: String) { _ = Glibc.send(descriptor, text, text.utf8.count, 0) }
}
