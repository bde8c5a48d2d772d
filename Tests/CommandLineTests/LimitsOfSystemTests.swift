// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

/// Limits that the system sets, endless files, missing home directories, and look-alike names: each
/// gets a report of its own kind.
@Suite(.timeLimit(.minutes(30)))
struct LimitsOfSystemTests {
    private let smallweb = Smallweb()

    // MARK: Limits of the shell

    /// A body, an archive, a ledger and a header file that become larger than `ulimit -f` allows.
    @Test(arguments: [
        ["-o", "big"], ["--warc", "f.warc"], ["--dump-header", "head", "-o", "big"],
    ])
    func aFileAtItsLimitIsAFailedWrite(_ words: [String]) throws {
        let capsule = try LoopbackServer(tls: .make()) { peer in
            _ = peer.readLine()
            peer.write("20 text/plain\r\n" + String(repeating: "a line\n", count: 60_000))
        }
        let url = "gemini://127.0.0.1:\(capsule.port)/big"
        let result = try smallweb.run(
            ["get", "-k", "--json", "--body", "none"] + words + [url],
            shell: "ulimit -f 20; exec \"$@\"")
        let records = try Records(result.output)
        #expect(result.status == 23, "\(result.errors)")
        #expect(records.terminal.count == 1)
        #expect(!smallweb.home.names.contains { $0.hasPrefix("big") })
    }

    /// smallweb ignores these signals; programs that it starts get the default actions.
    @Test func programsHaveTheSignalsOfLimits() throws {
        let say = "grep SigIgn /proc/self/status >&4"
        let folder = try smallweb.plugin("#!/bin/sh\n" + say)
        #expect(
            try smallweb.run(["get", "--plugin", folder, "trial:x"]).text
                .hasSuffix("0000000000000000\n"))
        let command = "grep SigIgn /proc/self/status >ignored"
        let result = try smallweb.run(
            ["get", "--proxy-command", command, "gopher://example.invalid/"])
        #expect(result.status != 0)
        let text = String(decoding: smallweb.home.content("ignored") ?? [], as: UTF8.self)
        let mask = try #require(
            UInt64(text.split(separator: "\t").last?.prefix(16) ?? "", radix: 16))
        let limits = UInt64(1) << (SIGXFSZ - 1) | UInt64(1) << (SIGXCPU - 1)
        #expect(mask & limits == 0, "\(text)")
    }

    // MARK: Files without an end

    /// A device, and a pipe that is written to for ever.
    @Test(arguments: ["/dev/zero", "-"], [["-m", "0.2"], ["--max-filesize", "1M"]])
    func anUploadWithoutAnEndIsEnded(_ file: String, _ limit: [String]) throws {
        let result = try smallweb.run(
            ["put"] + limit + ["titan://127.0.0.1:1/a", file],
            shell: "ulimit -f 4000000; cat /dev/zero | timeout 20 \"$@\"")
        #expect(result.status == (limit[0] == "-m" ? 28 : 63), "\(result.errors)")
    }

    /// One that nobody opens to write it.
    @Test(arguments: [["put", "titan://127.0.0.1:1/a", "fifo"], ["get", "--data", "@fifo"]])
    func aPipeWithoutAWriterIsNotWaitedFor(_ words: [String]) throws {
        let result = try smallweb.run(
            words + ["-m", "0.5"] + (words[0] == "get" ? ["gemini://127.0.0.1:1/"] : []),
            shell: "mkfifo fifo; exec timeout 20 \"$@\"")
        #expect(result.status == 28, "\(result.errors)")
    }

    // MARK: Homes and settings

    /// Pins, history, bookmarks and plugins: a home directory that is missing stays so.
    @Test(arguments: ["get", "bookmarks add", "plugin add"])
    func aMissingHomeIsNotMade(_ command: String) throws {
        let capsule = try Capsule()
        var words = command.split(separator: " ").map(String.init)
        if words[0] == "plugin" {
            #expect(try smallweb.run(["plugin", "new", "hello/"]).status == 0)
            words.append("./hello")
        } else {
            words.append(capsule.place + "/about")
        }
        let result = try smallweb.run(words, shell: "HOME=\"$PWD/missing\" \"$@\"")
        #expect(!smallweb.home.names.contains("missing"), "\(result.errors)")
        #expect(result.status == 23 || command == "get", "\(result.status) \(result.errors)")
    }

    @Test(arguments: ["strategy = prefix", "[scheme zzdict]\nstrategy = prefix"])
    func aPluginThatIsGoneIsAWarning(_ lines: String) throws {
        try Data((lines + "\n[host *]\nraw\n").utf8).write(
            to: URL(fileURLWithPath: smallweb.home.file("config")))
        let hole = try Hole()
        let result = try smallweb.run(["get", "-K", "config", hole.place + "/0/about.txt"])
        #expect(result.status == 0 && !result.output.isEmpty, "\(result.errors)")
        #expect(result.errors.contains("warning: config:1: unknown"), "\(result.errors)")
        #expect(result.errors.split(separator: "\n").count == 1, "\(result.errors)")
        let listed = try smallweb.run(["config", "-K", "config"])
        #expect(listed.text.contains("[host *] raw = true"))
    }

    // MARK: Plugins

    private static let builtIn = ["gemini", "gopher", "http", "git", "finger", "spartan", "nex"]

    @Test(arguments: builtIn)
    func noPluginIsCalledAsABuiltInOne(_ name: String) throws {
        let new = try smallweb.run(["plugin", "new", name])
        #expect(new.status == 2 && new.errors.contains("built in"), "\(new.errors)")
        #expect(new.errors.contains("--plugin"), "\(new.errors)")
        let folder = try smallweb.plugin("#!/bin/sh\n", name: name)
        let added = try smallweb.run(["plugin", "add", "--force", folder])
        #expect(added.status != 0, "\(added.text)")
    }

    @Test func aBuiltInSchemeStays() throws {
        let new = try smallweb.run(["plugin", "new", "https"])
        #expect(
            new.text.contains("stays") && new.text.contains("--plugin ./https.sh"), "\(new.text)")
        let added = try smallweb.run(["plugin", "add", "--force", "./https.sh"])
        #expect(added.text.contains("stays") && added.text.contains("--plugin https"))
    }

    /// Integers from 2^53 on are strings in records, and the schema knows it.
    @Test(arguments: [1 << 53, Int.max])
    func aLargeStatusFitsTheSchema(_ status: Int) throws {
        for more in [#""class":"success""#, #""class":"permanent-failure""#] {
            let folder = try smallweb.plugin(
                "#!/bin/sh\necho '{\"type\":\"head\",\"status\":\(status),\(more)}' >&3\n")
            let result = try smallweb.run(["get", "--json", "--plugin", folder, "trial:x"])
            let records = try Records(result.output)
            #expect(records.terminal.count == 1)
            for record in records.terminal {
                #expect(Schema.shared.problems(record).isEmpty, "\(result.text)")
            }
        }
    }

    /// A refusal without a word, and a failure with an empty one.
    @Test(arguments: [
        #"{"type":"head","class":"temporary-failure"}"#,
        #"{"type":"head","class":"permanent-failure"}"#,
        #"{"type":"head","class":"input"}"#, #"{"type":"head","class":"needs-identity"}"#,
        #"{"type":"fail","outcome":"temporary-failure","message":""}"#,
    ])
    func noMessageEndsInAColon(_ event: String) throws {
        let folder = try smallweb.plugin("#!/bin/sh\necho '\(event)' >&3\n")
        let result = try smallweb.run(["get", "--plugin", folder, "trial:x"])
        let line = try #require(result.errors.split(separator: "\n").first)
        #expect(result.status != 0 && line.last != ":" && line.last != " ", "\(result.errors)")
    }

    // MARK: Proxies and names

    /// A proxy at a private address, such as Tor's, does not make the hosts behind it private.
    @Test(arguments: ["http", "socks5", "socks5h", "socks4a"])
    func aPrivateProxyLeadsAProgramFurther(_ kind: String) throws {
        let proxy = try DemoProxy()
        let server = try LoopbackServer { peer in
            peer.write("far\n")
            _ = peer.read(.max)
        }
        let place = "far.example.org:\(server.port)"
        let folder = try smallweb.plugin(
            """
            #!/bin/sh
            echo '{"type":"open","connection":1,"url":"tcp://\(place)"}' >&3
            read -r answer <&6; read -r text <&7; echo "$text" >&4
            """, scheme: Smallweb.noServer,
            more: #""connections": 2, "answers": true, "opens": ["tcp://*:*"],"#)
        let words = ["--resolve", "\(place):93.184.215.14", "-x", proxy.url(kind)]
        let result = try smallweb.run(["get", "-m", "60", "--plugin", folder, "trial:x"] + words)
        #expect(result.text == "far\n", "\(result.errors)")
        proxy.server.stop()
        server.stop()
        #expect(proxy.orders.count == 1)
    }

    @Test(arguments: [
        ("socks5h", [UInt8]([5]), true), ("socks5h", [5, 0, 5], true), ("socks5h", [], false),
        ("socks4a", [0, 90, 0], true), ("http", Array("HTTP/1.1 2".utf8), true),
    ])
    func aProxyThatStopsIsNamedAsSuch(
        _ kind: String, _ reply: [UInt8], _ isInTheMiddle: Bool
    ) throws {
        let proxy = try LoopbackServer { peer in
            _ = peer.read(1)
            peer.write(reply)
        }
        let result = try smallweb.run(
            ["get", "-x", "\(kind)://127.0.0.1:\(proxy.port)", "gopher://example.org/"])
        #expect(result.status == 97, "\(result.errors)")
        let words = isInTheMiddle ? "in the middle of its reply" : "before it had replied"
        #expect(
            result.errors.contains("the proxy closed the connection \(words)"), "\(result.errors)")
    }

    @Test(arguments: [
        ["get", "gemini://bücher.invalid/"], ["get", "-m", "2", "gopher://bücher.invalid/"],
        ["put", "gopher://bücher.invalid/", "/dev/null"], ["head", "gemini://bücher.invalid/"],
    ])
    func anInternationalNameIsNotShownAlone(_ words: [String]) throws {
        let result = try smallweb.run(words)
        #expect(result.status != 0)
        for line in (result.text + result.errors).split(separator: "\n")
        where line.contains("bücher") {
            #expect(line.contains("xn--bcher-kva"), "\(line)")
        }
    }

    @Test func anInternationalRedirectIsNotShownAlone() throws {
        let capsule = try Capsule(page: Array("30 gopher://bücher.invalid/\r\n".utf8))
        for more in [[], ["--no-location"]] {
            let result = try smallweb.run(["get", "-k"] + more + [capsule.place + "/"])
            #expect(result.status != 0 && result.errors.contains("bücher"), "\(result.errors)")
            #expect(result.errors.contains("xn--bcher-kva"), "\(result.errors)")
        }
    }

    @Test(arguments: [(-10, "-0a"), (246, "f6")])
    func aNegativeSerialKeepsItsSign(_ serial: Int, _ text: String) throws {
        let capsule = try LoopbackServer(tls: .make(serial: serial)) { peer in
            _ = peer.readLine()
            peer.write("20 text/plain\r\n")
        }
        let result = try smallweb.run(
            ["get", "-k", "--json", "gemini://127.0.0.1:\(capsule.port)/"])
        let record = try #require(Records(result.output).terminal.first)
        #expect(record["tls"]?["cert"]?["serial"]?.string == text, "\(result.text)")
    }

    // MARK: Lines of lists

    /// The error about a bad line of a co-process quotes only its beginning.
    @Test(arguments: [
        "{\"url\":@LONG@", "{\"@LONG@\":1,\"url\":\"gopher://a/\"}",
        "{\"type\":\"cancel\",\"@LONG@\":1}", "{\"url\":\"gopher://a/\",\"body\":\"@LONG@\"}",
        "{\"url\":\"gopher://a/\",\"proxy\":\"@LONG@\"}",
        "{\"url\":\"gopher://a/\",\"trust\":\"@LONG@\"}",
        "{\"url\":\"gopher://a/\",\"pin\":\"@LONG@\"}",
        "{\"url\":\"gopher://a/\",\"mime\":\"@LONG@\"}",
        "{\"url\":\"gopher://a/\",\"method\":\"@LONG@\"}",
        "{\"url\":\"gopher://a/\",\"headers\":[\"@LONG@\"]}",
        "{\"url\":\"gopher://a/\",\"max_time\":\"@LONG@\"}",
        "{\"url\":\"@LONG@\"}", "@LONG@", "gopher://[@LONG@", "@LONG@://a/",
    ])
    func aBadLineIsQuotedInPart(_ line: String) throws {
        let text = line.replacing("@LONG@", with: String(repeating: "z", count: 5000))
        let result = try smallweb.run(["get", "--json", "-"], stdin: text + "\n")
        let record = try #require(Records(result.output).terminal.first)
        let message = try #require(record["error"]?["message"]?.string)
        #expect(!message.contains(String(repeating: "z", count: 201)), "\(message.count)")
        #expect(!result.errors.contains(String(repeating: "z", count: 201)))
    }
}
