// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

/// Programs with more than one connection, and TLS that they begin: no program reaches a place that
/// its manifest does not name, and nothing that is meant for TLS goes out in clear.
@Suite(.timeLimit(.minutes(30)))
struct ProgramDoorTests {
    private let smallweb = Smallweb()
    private static let opens = #""connections": 2, "answers": true, "opens": ["tcp://*:*"],"#

    /// A server that sends `text`, and keeps the bytes it receives.
    private func server(_ text: String) throws -> LoopbackServer {
        try LoopbackServer { peer in
            if !text.isEmpty { peer.write(text) }
            _ = peer.read(.max)
        }
    }

    private func open(_ url: String, _ number: String = "1") -> String {
        #"echo '{"type":"open","connection":\#(number),"url":"\#(url)"}' >&3"#
    }

    private func run(
        _ lines: [String], _ more: String, transport: String = #""none", "port": 0"#,
        url: String = "trial:x", _ words: [String] = []
    ) throws -> Smallweb.Result {
        let folder = try smallweb.plugin(
            (["#!/bin/sh"] + lines).joined(separator: "\n"), scheme: #""transport": \#(transport)"#,
            more: more)
        return try smallweb.run(["get", "-v", "-m", "60", "--plugin", folder, url] + words)
    }

    private func tcp(_ server: LoopbackServer) -> (transport: String, url: String) {
        (#""tcp", "port": \#(server.port)"#, "trial://127.0.0.1/")
    }

    @Test func aSecondConnectionHasPipesOfItsOwn() throws {
        let (control, data) = (try server("control\n"), try server("data\n"))
        let (transport, url) = tcp(control)
        let result = try run(
            [
                "printf 'to control\\n'", "read -r first", open("tcp://127.0.0.1:\(data.port)"),
                "read -r answer <&6", "printf 'to data\\n' >&8", "exec 8>&-", "read -r second <&7",
                #"echo "$first $second $answer" >&4"#,
            ], #""connections": 2, "answers": true, "opens": ["tcp://{host}:*"],"#,
            transport: transport, url: url)
        let answer = #"{"connection":1,"ok":true,"address":"127.0.0.1"}"#
        #expect(result.text == "control data \(answer)\n", "\(result.errors)")
        #expect(result.status == 0)
        for (server, text) in [(control, "to control\n"), (data, "to data\n")] {
            server.stop()
            #expect(server.connections.map(\.received) == [Array(text.utf8)])
        }
    }

    /// Opening a connection that the manifest does not name ends the exchange, and connects
    /// nothing.
    @Test(arguments: [
        (#""connections": 2, "opens": ["tls://*:*"],"#, "1", "tcp", "opens"),
        (#""connections": 2, "opens": ["tcp://{host}:*"],"#, "1", "tcp", "opens"),
        (#""connections": 2,"#, "1", "tcp", "opens"),
        (#""opens": ["tcp://*:*"],"#, "1", "tcp", "does not name"),
        (opens, "2", "tcp", "does not name"), (opens, "0", "tcp", "from 1 to 3"),
        (opens, "4", "tcp", "from 1 to 3"), (opens, "\"1\"", "tcp", "connection"),
        (opens, "1", "https", "opens"), (opens, "1", "udp", "opens"),
        (#""connections": ["udp"], "opens": ["tcp://*:*"],"#, "1", "tcp", "as tcp"),
        (#""connections": 2, "opens": ["udp://*:*"],"#, "1", "udp", "as udp"),
    ])
    func whatIsNotAllowedEndsTheExchange(
        _ more: String, _ number: String, _ scheme: String, _ word: String
    ) throws {
        let server = try server("")
        let result = try run(
            [open("\(scheme)://127.0.0.1:\(server.port)", number), "cat <&6"], more)
        #expect(result.status == 110, "\(result.errors)")
        #expect(result.errors.contains(word), "\(result.errors)")
        server.stop()
        #expect(server.connections.isEmpty)
    }

    @Test func aConnectionIsOpenedOnce() throws {
        let (control, data) = (try server(""), try server(""))
        let (transport, url) = tcp(control)
        let line = open("tcp://127.0.0.1:\(data.port)")
        let result = try run([line, line, "cat"], Self.opens, transport: transport, url: url)
        #expect(result.status == 110 && result.errors.contains("twice"), "\(result.errors)")
    }

    /// A page of the internet does not lead into the network at home: not by an address, not by a
    /// name, not by datagrams.
    @Test(arguments: [
        "127.0.0.1", "localhost", "[::1]", "10.0.0.1", "192.168.1.1", "172.31.0.1",
        "169.254.169.254",
        "100.64.0.1", "0.0.0.0", "[::ffff:127.0.0.1]", "[fe80::1]", "[fd00::1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]", "224.0.0.1", "rebound.example.org", "inner.example.org",
    ])
    func privateAddressesAreRefused(_ host: String) throws {
        let server = try server("secret\n")
        let words = [
            "--resolve", "rebound.example.org:\(server.port):127.0.0.1",
            "--resolve", "inner.example.org:\(server.port):10.0.0.1",
        ]
        for (kind, number) in [("tcp", 1), ("tls", 1), ("udp", 2)] {
            let result = try run(
                [
                    open("\(kind)://\(host):\(server.port)", "\(number)"), "read -r a <&6",
                    "echo \"$a\" >&4",
                ],
                #""connections": ["tcp", "udp"], "answers": true, "#
                    + #""opens": ["tcp://*:*", "tls://*:*", "udp://*:*"],"#, words)
            #expect(
                result.text.contains(#""ok":false,"outcome":"connect""#),
                "\(result.text)\(result.errors)")
            #expect(result.text.contains("private address"), "\(result.text)")
        }
        server.stop()
        #expect(server.connections.isEmpty)
    }

    /// If the program takes no answers, the exchange fails together with its connection.
    @Test func withoutAnswersAFailureIsTheEnd() throws {
        let refusing = try RefusingPort()
        let control = try server("")
        let (transport, url) = tcp(control)
        let lines = [open("tcp://127.0.0.1:\(refusing.port)"), "cat >&4"]
        let result = try run(
            lines, #""connections": 2, "opens": ["tcp://*:*"],"#, transport: transport, url: url)
        #expect(result.status == 7, "\(result.errors)")
        let told = try run(
            [lines[0], "read -r answer <&6", "echo \"$answer\" >&4", "cat <&7 >&4"], Self.opens,
            transport: transport, url: url)
        #expect(told.status == 0, "\(told.errors)")
        #expect(told.text.hasPrefix(#"{"connection":1,"ok":false,"outcome":"connect","#))
    }

    @Test func answersNeedNotBeRead() throws {
        let (control, data) = (try server(""), try server("data\n"))
        let (transport, url) = tcp(control)
        for close in ["", "exec 6<&-"] {
            let result = try run(
                [
                    close, open("tcp://127.0.0.1:\(data.port)"), "read -r text <&7",
                    "echo $text >&4",
                ],
                Self.opens, transport: transport, url: url)
            #expect(result.text == "data\n" && result.status == 0, "\(result.errors)")
        }
    }

    /// No proxy is passed by, and datagrams that none carries go nowhere.
    @Test func aProxyIsNotPassedBy() throws {
        let refusing = try RefusingPort()
        let server = try server("")
        let result = try run(
            [open("tcp://192.0.2.1:\(server.port)"), "read -r a <&6", "echo $a >&4"], Self.opens,
            ["-x", "socks5h://127.0.0.1:\(refusing.port)"])
        #expect(result.text.contains(#""ok":false"#), "\(result.text)\(result.errors)")
        let datagrams = try run(
            [open("udp://192.0.2.1:\(server.port)"), "read -r a <&6", "echo $a >&4"],
            #""connections": ["udp"], "answers": true, "opens": ["udp://*:*"],"#,
            ["-x", "socks5h://127.0.0.1:\(refusing.port)"])
        #expect(datagrams.text.contains("no proxy carries datagrams"), "\(datagrams.text)")
        server.stop()
        #expect(server.connections.isEmpty)
    }

    /// Only the manifest's descriptors are open, and on 10 the shell's own script.
    @Test(arguments: [
        ("", "0 1 2 3 4 5 10"), (#""answers": true,"#, "0 1 2 3 4 5 6 10"),
        (#""connections": 2,"#, "0 1 2 3 4 5 7 8 10"),
        (#""connections": 4, "answers": true,"#, "0 1 2 3 4 5 6 7 8 9 10 11 12 13"),
    ])
    func onlyItsDescriptorsAreOpen(_ more: String, _ open: String) throws {
        let result = try run(
            [
                "n=0; while [ $n -lt 30 ]; do [ -e /proc/$$/fd/$n ] && all=\"$all $n\"",
                "n=$((n + 1)); done; echo ${all# } >&4",
            ], more)
        #expect(result.text == open + "\n", "\(result.errors)")
    }

    // MARK: STARTTLS

    private static let starttls = #"echo '{"type":"starttls","connection":0}' >&3"#

    /// Bytes sent too early wait for TLS, and are dropped if the handshake fails.
    @Test func nothingIsSentInClearAfterTheGoAhead() throws {
        let server = try LoopbackServer { peer in
            _ = peer.readLine()
            peer.write("go\n")
            _ = peer.read(64)
        }
        let (transport, url) = tcp(server)
        let result = try run(
            ["printf 'STARTTLS\\n'", "read -r go", Self.starttls, "echo SECRET", "read -r a <&6"],
            #""answers": true,"#, transport: transport, url: url)
        #expect(result.status == 35, "\(result.errors)")
        #expect(!result.errors.contains("SECRET"), "\(result.errors)")
        server.stop()
        let received = try #require(server.connections.first?.received)
        #expect(received.starts(with: Array("STARTTLS\n".utf8) + [22]), "\(received)")
        #expect(!String(decoding: received, as: UTF8.self).contains("SECRET"))
    }

    /// Plain text after the go-ahead would be taken for the answer to a secret command.
    @Test(arguments: [("go\n250 injected\n", false), ("go\n", true)])
    func plainTextAfterTheGoAheadIsRefused(_ reply: String, _ isLate: Bool) throws {
        let server = try LoopbackServer { peer in
            _ = peer.readLine()
            peer.write(reply)
            if isLate {
                _ = peer.read(64)
                peer.write("250 injected\n")
            }
            _ = peer.read(.max)
        }
        let (transport, url) = tcp(server)
        let result = try run(
            [
                "printf 'STARTTLS\\n'", "go=$(dd bs=1 count=3 2>/dev/null)", Self.starttls,
                "read -r a <&6; cat >&4",
            ], #""answers": true,"#, transport: transport, url: url)
        #expect(result.status == 8 && result.text.isEmpty, "\(result.text)\(result.errors)")
    }

    @Test(arguments: [
        ("tcp", #""answers": true,"#, "", "0", "not open"),
        ("tcp", #""answers": true, "connections": 2,"#, "echo x", "1", "not open"),
        ("tcp", "", "echo x; read -r a", "0", "no \"answers\""),
        ("udp", #""answers": true,"#, "echo x; dd bs=9 count=1 >/dev/null 2>&1", "0", "datagrams"),
        ("none", #""answers": true,"#, "", "0", "not open"),
        ("tcp", #""answers": true,"#, "echo x; read -r a", "4", "from 0 to 3"),
        ("tcp", #""answers": true,"#, "echo x; read -r a", "null", "from 0 to 3"),
    ])
    func tlsHasToMakeSense(
        _ kind: String, _ more: String, _ before: String, _ number: String, _ word: String
    ) throws {
        let server = try server("a\n")
        let echo = kind == "udp" ? try DatagramEcho() : nil
        let port = echo?.port ?? server.port
        func attempt() throws -> Smallweb.Result {
            try run(
                [before, #"echo '{"type":"starttls","connection":\#(number)}' >&3"#, "sleep 20"],
                more, transport: #""\#(kind)", "port": \#(port)"#, url: "trial://127.0.0.1/")
        }
        var result = try attempt()
        // On a busy machine the connection may be made before the program asks for it.
        for _ in 0..<9 where result.status == 8 { result = try attempt() }
        #expect(result.status == 110, "\(result.errors)")
        #expect(result.errors.contains(word), "\(result.errors)")
        withExtendedLifetime((server, echo)) {}
    }

    @Test func tlsBeginsOnce() throws {
        let server = try LoopbackServer(tls: .make()) { peer in
            peer.write("a\n")
            _ = peer.read(.max)
        }
        let result = try run(
            ["echo x", "read -r a", Self.starttls, "read -r a <&6"], #""answers": true,"#,
            transport: #""tls", "port": \#(server.port)"#, url: "trial://127.0.0.1/")
        #expect(
            result.status == 110 && result.errors.contains("has it already"), "\(result.errors)")
    }

    /// A redirect is the word of a server, or of the program: neither makes a private address one
    /// that the user has asked for.
    @Test func aRedirectLeadsToNoPrivateAddress() throws {
        let server = try server("secret\n")
        let folder = try smallweb.plugin(
            """
            #!/bin/sh
            [ "$SMALLWEB_SCHEME" = trials ] && exec cat >&4
            echo '{"type":"head","class":"redirect","redirect":"'"${SMALLWEB_URL#trial:}"'"}' >&3
            """,
            scheme: #""transport": "none", "port": 0, "secure_form": "trials"},"#
                + #"{"name": "trials", "port": 7, "transport": "tcp""#)
        for host in ["127.0.0.1", "localhost", "2130706433"] {
            let target = "trials://\(host):\(server.port)/"
            let result = try smallweb.run(["get", "--plugin", folder, "trial:\(target)"])
            #expect(result.status == 7 && result.text.isEmpty, "\(result.text)\(result.errors)")
            #expect(result.errors.contains("private address"), "\(result.errors)")
            #expect(try smallweb.run(["get", "--plugin", folder, target]).text == "secret\n")
        }
        server.stop()
        #expect(server.connections.count == 3)
    }

    @Test func aListSaysWhatItMayOpen() throws {
        let folder = try smallweb.plugin("#!/bin/sh", more: Self.opens)
        let shown = try smallweb.run(["plugin", "add", "--force", folder])
        #expect(shown.text.contains("opens") && shown.text.contains("tcp://*:*"), "\(shown.errors)")
    }
}

/// Answers each datagram with itself.
private final class DatagramEcho: Sendable {
    let port: UInt16
    private let descriptor: Int32

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let number = descriptor
        port = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = bind(number, address, length)
                getsockname(number, address, &length)
            }
            return UInt16(bigEndian: pointer.pointee.sin_port)
        }
        Thread.detachNewThread {
            var bytes = [UInt8](repeating: 0, count: 100)
            var peer = sockaddr_storage()
            var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
            withUnsafeMutablePointer(to: &peer) { peer in
                peer.withMemoryRebound(to: sockaddr.self, capacity: 1) { peer in
                    let count = recvfrom(number, &bytes, bytes.count, 0, peer, &size)
                    if count > 0 { sendto(number, bytes, count, 0, peer, size) }
                }
            }
        }
    }

    deinit { close(descriptor) }
}
