// SPDX-License-Identifier: MIT
import SmallWebCore
import SmallWebTestSupport
import Testing

@testable import SmallWebTransport

@Suite(.timeLimit(.minutes(30)))
struct TLSTests {
    /// The peer's ending, as the client sees it, after three bytes have arrived.
    private func ending(
        _ layer: Layer, _ end: @escaping @Sendable (Peer) -> Void
    ) async throws -> ByteStream.Ending? {
        let server = try layer.server { peer in
            peer.write("abc")
            // A reset may overtake bytes sent before: wait until they have been read.
            _ = peer.readLine()
            end(peer)
        }
        return try await onLoop { loop in
            let stream = try await layer.stream(to: server, on: loop)
            #expect(try await stream.readExactly(3) == [0x61, 0x62, 0x63])
            try await stream.writeAll([0x0A])
            #expect(try await stream.readSome() == [])
            return stream.ending
        }
    }

    @Test func aCloseNotifyIsAProperEnd() async throws {
        #expect(try await ending(.tls) { $0.closeNotify() } == .closeNotify)
        let hanging = try await ending(.tls) { peer in
            peer.closeNotify()
            peer.hang()
        }
        #expect(hanging == .closeNotify, "no FIN is needed")
    }

    @Test func aFINWithoutCloseNotifyIsSeen() async throws {
        #expect(try await ending(.tls) { $0.fin() } == .endOfFile)
        #expect(try await ending(.tcp) { $0.fin() } == .endOfFile)
    }

    @Test func aResetIsSeen() async throws {
        #expect(try await ending(.tls) { $0.reset() } == .reset)
        #expect(try await ending(.tcp) { $0.reset() } == .reset)
    }

    /// If the close_notify does not fit into the buffer, it is sent later.
    @Test func aCloseNotifyIsSentOnceThereIsRoom() async throws {
        let server = try LoopbackServer(tls: .shared) { _ = $0.readLine() }
        try await onLoop { loop in
            var connector = connector(to: server.port, .none, on: loop)
            let gate = Gate(try await connector.connect(by: .after(seconds: 10)))
            let session = try TLSSession(over: gate, serverName: nil)
            while let readiness = try session.handshake() {
                try await gate.wait(for: readiness, by: .after(seconds: 10))
            }
            gate.isShut = true
            #expect(!session.finishSending())
            gate.isShut = false
            #expect(session.finishSending())
            // The server sees it, and ends.
            var byte: UInt8 = 0
            while true {
                let read = withUnsafeMutableBytes(of: &byte) { room in
                    Result { () throws(FetchError) in try session.receive(into: room) }
                }
                guard case .wouldBlock(let readiness) = try read.get() else {
                    #expect(try read.get() == .ended(.closeNotify))
                    break
                }
                try await gate.wait(for: readiness, by: .after(seconds: 10))
            }
        }
    }

    @Test(arguments: [
        ("example.test", "example.test"), ("example.test.", "example.test"),
        ("localhost", "localhost"), ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("127.0.0.1", nil),
    ])
    func aNameIsSentInSNIAndALiteralIsNot(_ host: String, _ expected: String?) async throws {
        let server = try LoopbackServer(tls: .shared) { _ in }
        try await onLoop { loop in
            var connector = connector(to: server.port, as: host, .tls, on: loop)
            _ = try await connector.connect(by: .after(seconds: 10))
            #expect(connector.connection?.tls?.serverName == expected)
        }
        #expect(try server.waitForConnections(1).map(\.serverName) == [expected])
    }

    @Test(arguments: [
        ("RSA", 2047, 2048), ("RSA-PSS", 2047, 2048), ("DSA", 1024, 2048), ("EC", 192, 224),
    ])
    func aKeyIsWeakBelowItsBound(_ type: String, _ weak: Int, _ strong: Int) {
        #expect(CertificateReader.weakness(ofKey: type, bits: weak) == "\(type) with \(weak) bits")
        #expect(CertificateReader.weakness(ofKey: type, bits: strong) == nil)
        #expect(CertificateReader.weakness(ofKey: "ED25519", bits: 256) == nil)
    }

    @Test(arguments: TestCertificate.Key.allCases)
    func theFactsOfACertificateAreRight(_ key: TestCertificate.Key) async throws {
        let certificate = TestCertificate.make(
            names: ["example.test", "*.wild.test"], ips: ["127.0.0.1"], notBefore: 1_000_000_000,
            notAfter: 1_900_000_000, key: key, commonName: "Ärger")
        let server = try LoopbackServer(tls: certificate) { _ in }
        for (host, matches) in [
            ("example.test", true), ("a.wild.test", true), ("127.0.0.1", true),
            ("other.test", false),
        ] {
            try await onLoop { loop in
                var connector = connector(to: server.port, as: host, .tls, on: loop)
                _ = try await connector.connect(by: .after(seconds: 10))
                let facts = try #require(connector.connection?.tls)
                #expect(facts.version == "TLSv1.3")
                #expect(facts.certificate.sha256 == certificate.sha256)
                #expect(facts.certificate.spkiSHA256 == certificate.spkiSHA256)
                #expect(facts.certificate.notBefore == 1_000_000_000)
                #expect(facts.certificate.notAfter == 1_900_000_000)
                #expect(facts.certificate.subject == facts.certificate.issuer)
                #expect(facts.certificate.matchesHost == matches, "\(host)")
                #expect((facts.certificate.weakKey != nil) == (key == .rsa1024))
                #expect(facts.certificate.weakDigest == nil)
            }
        }
    }

    @Test func tls12IsSpokenAndOlderIsRefused() async throws {
        let two = try LoopbackServer(tls: .shared, versions: TLSVersion.two...TLSVersion.two) {
            $0.write("x")
        }
        #expect(try await startFailure(two.port) == nil)
        let old = try LoopbackServer(tls: .shared, versions: TLSVersion.oneOne...TLSVersion.oneOne)
        {
            $0.write("x")
        }
        let error = try await startFailure(old.port)
        #expect(error?.outcome == .tls)
        #expect(try old.waitForConnections(1).first?.handshakeFailure != nil)
    }

    private func startFailure(_ port: UInt16) async throws -> FetchError? {
        try await onLoop { loop in
            await failure { () async throws(FetchError) in
                _ = try await stream(to: port, .tls, on: loop)
            }
        }
    }

    @Test func whateverIsNotTLSIsATLSFailure() async throws {
        let plain = try LoopbackServer { $0.write("20 text/plain\r\nnot encrypted\r\n") }
        let closing = try LoopbackServer { $0.fin() }
        let hello = try LoopbackServer { peer in
            // The first bytes of the ClientHello, and no answer.
            _ = peer.read(5)
        }
        let resetting = try LoopbackServer { peer in
            _ = peer.read(5)
            peer.reset()
        }
        for server in [plain, closing, hello, resetting] {
            let error = try await startFailure(server.port)
            #expect(error?.outcome == .tls)
            #expect(error?.phase == .tls)
            #expect(server.clientSockets == 0)
        }
    }

    @Test func aRefusedConnectionIsAConnectFailure() async throws {
        let refusing = try RefusingPort()
        let error = try await startFailure(refusing.port)
        #expect(error?.outcome == .connect)
        #expect(error?.errnoName == "ECONNREFUSED")
    }

    @Test func nothingIsSentToAServerThatIsNotTrusted() async throws {
        let server = try LoopbackServer(tls: .shared) { _ = $0.readLine() }
        try await onLoop { loop in
            let error = await failure { () async throws(FetchError) in
                _ = try await stream(to: server.port, .tls, on: loop) {
                    _, facts async throws(FetchError) in
                    throw FetchError(.untrusted, .tls, facts.version)
                }
            }
            #expect(error?.outcome == .untrusted)
        }
        let connection = try #require(try server.waitForConnections(1).first)
        #expect(connection.handshakeFailure == nil)
        #expect(connection.received == [])
        #expect(server.clientSockets == 0)
    }
}

/// A carrier that takes nothing while it is shut.
private final class Gate: Carrier {
    var isShut = false
    private let carrier: any Carrier

    init(_ carrier: any Carrier) { self.carrier = carrier }

    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(FetchError) -> TransportRead {
        try carrier.receive(into: buffer)
    }

    func send(_ bytes: UnsafeRawBufferPointer) throws(FetchError) -> TransportWrite {
        isShut ? .wouldBlock(.writable) : try carrier.send(bytes)
    }

    func wait(for readiness: Readiness, by deadline: Instant) async throws(FetchError) {
        try await carrier.wait(for: readiness, by: deadline)
    }
}
