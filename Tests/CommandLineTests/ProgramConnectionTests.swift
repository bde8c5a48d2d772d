// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

/// The connections of a program, those after the first and those that have become TLS: each is
/// judged, masked and shown as the first is.
@Suite(.timeLimit(.minutes(30)))
struct ProgramConnectionTests {
    private let smallweb = Smallweb()
    private static let more =
        #""connections": 2, "answers": true, "opens": ["tcp://{host}:*", "#
        + #""tls://{host}:*", "udp://{host}:*"],"#
    private static let starttls = """
        printf 'STARTTLS\\n'; read -r go
        echo '{"type":"starttls","connection":0}' >&3; read -r a <&6

        """

    private func open(_ kind: String, _ port: UInt16) -> String {
        #"echo '{"type":"open","connection":1,"url":"\#(kind)://127.0.0.1:\#(port)"}' >&3"#
            + "; read -r a <&6\n"
    }

    /// A server that sends `text`, and keeps the bytes it receives.
    private func server(_ text: String) throws -> LoopbackServer {
        try LoopbackServer { peer in
            peer.write(text)
            _ = peer.read(.max)
        }
    }

    /// A server that begins TLS when it is asked.
    private func upgradingServer(
        identity: LoopbackServer.IdentityDemand = .none,
        _ handler: @escaping @Sendable (Peer) -> Void
    ) throws -> LoopbackServer {
        try LoopbackServer(
            tls: .make(), identity: identity,
            inClear: { peer in peer.readLine() != nil && peer.write("go\n") }, handler: handler)
    }

    private func plugin(
        _ script: String, to server: LoopbackServer, _ scheme: String = "",
        more: String = Self.more
    ) throws -> String {
        try smallweb.plugin(
            "#!/bin/sh\n" + script,
            scheme: #""transport": "tcp", "port": \#(server.port)"# + scheme, more: more)
    }

    private func run(
        _ script: String, to server: LoopbackServer, more: String = Self.more,
        url: String = "trial://127.0.0.1/", _ words: [String] = ["-v"]
    ) throws -> Smallweb.Result {
        let folder = try plugin(script, to: server, more: more)
        return try smallweb.run(["get", "-m", "60", "--plugin", folder, url] + words)
    }

    // MARK: The end

    enum End: CaseIterable, Sendable {
        case closeNotify, fin, reset

        func end(_ peer: Peer) {
            switch self {
            case .closeNotify: peer.closeNotify()
            case .fin: peer.fin()
            case .reset: peer.reset()
            }
        }
    }

    /// TLS without its end is a reply that was cut off, on whichever connection, and however it was
    /// begun.
    @Test(arguments: End.allCases)
    func aCutOffReplyIsSeenOnEachConnection(_ end: End) throws {
        let status: Int32 = end == .closeNotify ? 0 : 18
        let upgrading = try upgradingServer { peer in
            peer.write("reply\n")
            end.end(peer)
        }
        let first = try run(Self.starttls + "cat >&4", to: upgrading)
        #expect(first.status == status, "\(first.errors)")
        let (control, data) = (
            try server(""),
            try LoopbackServer(tls: .make()) { peer in
                peer.write("reply\n")
                end.end(peer)
            }
        )
        let second = try run(open("tls", data.port) + "cat <&7 >&4", to: control)
        #expect(second.status == status, "\(second.errors)")
        let known = try run(
            open("tls", data.port)
                + #"cat <&7 >&4; echo '{"type":"end","complete":true}' >&3"#, to: control)
        #expect(known.status == 0, "\(known.errors)")
    }

    @Test func aResetOfAnotherConnectionCutsOff() throws {
        let control = try server("")
        let data = try LoopbackServer { peer in
            _ = peer.readLine()
            peer.reset()
        }
        let result = try run(open("tcp", data.port) + "echo >&8; cat <&7 >&4", to: control)
        #expect(result.status == 18, "\(result.errors)")
    }

    /// A server of FTP says on the control connection why it has closed the one of an upload.
    @Test func aServerThatTakesNoMoreMaySayWhyElsewhere() throws {
        let control = try server("552 disk full\n")
        let data = try LoopbackServer { peer in
            _ = peer.read(1)
            peer.reset()
        }
        let result = try run(
            open("tcp", data.port) + """
                head -c 20000000 /dev/zero >&8; exec 8>&-; cat <&7 >/dev/null; read -r said
                echo '{"type":"head","class":"temporary-failure","meta":"'"$said"'"}' >&3
                """, to: control)
        #expect(result.errors.contains("the server refused: 552 disk full"), "\(result.errors)")
    }

    /// A datagram that finds nobody is one that was lost.
    @Test func aLostDatagramEndsNothing() throws {
        let (control, refusing) = (try server("said\n"), try RefusingPort())
        let result = try run(
            "printf 'hello\\n'; read -r said\n" + open("udp", refusing.port)
                + "for n in 1 2 3; do echo $n >&8; sleep 0.1; done; echo $said >&4",
            to: control,
            more: Self.more.replacing(#""connections": 2"#, with: #""connections": ["udp"]"#))
        #expect(result.text == "said\n" && result.status == 0, "\(result.errors)")
    }

    // MARK: Traces and records

    /// A secret is masked even if it goes out in pieces, with bytes of another connection in
    /// between.
    @Test func eachConnectionIsMaskedForItself() throws {
        let control = try LoopbackServer { peer in
            while peer.readLine() != nil { peer.write("ok\n") }
        }
        let data = try LoopbackServer { peer in
            _ = peer.read(9)
            peer.write("ok\n")
            _ = peer.read(.max)
        }
        let result = try run(
            open("tcp", data.port) + """
                printf 'PASS hunt' >&8; read -r a <&7; printf 'NOOP\\n'; read -r a
                printf 'er2secret\\n' >&8; exec 8>&-; echo done >&4
                """, to: control, url: "trial://me:hunter2@127.0.0.1/")
        #expect(result.text == "done\n", "\(result.errors)")
        for word in ["PASS", "NOOP", "***secret"] { #expect(result.errors.contains(word)) }
        #expect(!result.errors.contains("hunt") && !result.errors.contains("er2"), "\(result)")
    }

    /// The record has the key that was judged, also one that was refused.
    @Test func aRecordHasTheKeyAfterSTARTTLS() throws {
        let server = try upgradingServer { $0.write("reply\n") }
        for (trust, verdict) in [("ca", "refused"), ("tofu", "first-use")] {
            let folder = try plugin(
                Self.starttls + "cat >&4", to: server, #", "trust": "\#(trust)""#)
            let result = try smallweb.run([
                "get", "--plugin", folder, "--json", "--body", "none", "trial://127.0.0.1/",
            ])
            let record = try JSON.parse(result.text.prefix { $0 != "\n" })
            #expect(record["tls"]?["cert"]?["spki_sha256"]?.string != nil, "\(result.text)")
            #expect(record["trust"]?["verdict"]?.string == verdict, "\(result.text)")
        }
    }

    /// A certificate that the user has bound is shown to its server, whenever TLS begins.
    @Test func anIdentityIsShownAfterSTARTTLS() throws {
        let server = try upgradingServer(identity: .requested) { $0.write("reply\n") }
        _ = try plugin(Self.starttls + "cat >&4", to: server, #", "identities": true"#)
        var smallweb = smallweb
        smallweb.environment["SMALLWEB_PLUGIN_PATH"] = smallweb.home.path
        let url = "trial://127.0.0.1/"
        let made = try smallweb.run(["identity", "new", "me", url])
        #expect(made.status == 0, "\(made.errors)")
        let result = try smallweb.run([url])
        #expect(result.text == "reply\n", "\(result.errors)")
        server.stop()
        #expect(server.connections.allSatisfy { $0.identity != nil })
        #expect(server.connections.count == 1)
    }

    @Test func aServerThatClosesInsteadOfTLSIsNamed() throws {
        let server = try LoopbackServer { peer in
            _ = peer.readLine()
            peer.write("go\n")
        }
        let result = try run(
            """
            printf 'STARTTLS\\n'; read -r go; cat >/dev/null
            echo '{"type":"starttls","connection":0}' >&3; read -r a <&6
            """, to: server)
        #expect(
            result.status == 35 && result.errors.contains("the server closed the connection"),
            "\(result.errors)")
    }

    // MARK: Where it leads

    /// A URL that needs no server may have a host all the same, which is the user's word.
    @Test(arguments: [("127.0.0.1", true), ("192.0.2.1", false)])
    func theHostOfAURLWithoutAServerCounts(_ host: String, _ isAllowed: Bool) throws {
        let page = try LoopbackServer { peer in
            _ = peer.readLine()
            peer.write("page\n")
        }
        for url in ["tcp://127.0.0.1:\(page.port)", "nex://127.0.0.1:\(page.port)/"] {
            let folder = try smallweb.plugin(
                """
                #!/bin/sh
                echo '{"type":"open","connection":1,"url":"\(url)"}' >&3; read -r a <&6
                echo "$a" >&4
                """, scheme: #""transport": "none", "port": 0, "host": "required""#,
                more: #""connections": 2, "answers": true, "opens": ["tcp://*:*", "nex://*:*/*"],"#)
            let result = try smallweb.run(["get", "--plugin", folder, "trial://\(host)/"])
            #expect(result.text.contains(#""ok":\#(isAllowed)"#), "\(result.text)\(result.errors)")
        }
    }
}
