// SPDX-License-Identifier: MIT
internal import CSmallWebTLS
internal import Glibc
package import SmallWebCore

/// A server inside the process, on a port of 127.0.0.1 that the system picks: one thread accepts,
/// one serves each connection.
///
/// It ends with ``stop()`` or its last reference; either waits for its threads, so afterwards
/// ``connections`` is complete and no descriptor is left.
public final class LoopbackServer: Sendable {
    /// The facts about a closed connection.
    public struct Connection: Sendable, Hashable {
        /// The name in SNI.
        public let serverName: String?
        /// The application bytes that the handler has read.
        public let received: [UInt8]
        /// The error of a failed TLS handshake.
        public let handshakeFailure: String?
        /// SHA-256 of the certificate that the client showed, and how many came with it.
        public let identity: [UInt8]?
        public let identityChainCount: Int
    }

    /// Policy for client certificates. Any issuer will do, as for Gemini servers.
    public enum IdentityDemand: Sendable {
        case none, requested, required
        /// It refuses whatever it gets; it fails when it gets one.
        case refusing, failing
        /// As `requested`, but it breaks off when a client resumes a session: the context that
        /// OpenSSL wants sessions to have is not set.
        case carelessly
    }

    private struct State {
        var isStopping = false
        var open: Set<Int32> = []
        var acceptedCount = 0
        /// By the order in which they were accepted: threads may end in another.
        var finished: [Int: Connection] = [:]

        var connections: [Connection] {
            finished.sorted { $0.key < $1.key }.map(\.value)
        }
    }

    /// IPv4, numeric.
    public let address: String
    public let port: UInt16

    private let listener: Int32
    private let acceptor: pthread_t
    private let state: Monitor<State>

    /// - Parameters:
    ///   - tls: The certificate, or `nil` for plain TCP.
    ///   - versions: TLS versions that are spoken, in OpenSSL's numbers.
    ///   - identity: Whether clients are asked for a certificate.
    ///   - address: Any of 127.0.0.0/8.
    ///   - beforeHandshake: Called on the thread of a connection before TLS.
    ///   - inClear: Talks before TLS, for STARTTLS; `false` ends the connection.
    ///   - handler: Serves one connection, on a thread of its own. It must not call ``stop()``.
    package init(
        tls: TestCertificate? = nil,
        versions: ClosedRange<Int32> = TLSVersion.two...TLSVersion.three,
        identity: IdentityDemand = .none,
        address: String = "127.0.0.1", beforeHandshake: (@Sendable () -> Void)? = nil,
        inClear: (@Sendable (Peer) -> Bool)? = nil, handler: @escaping @Sendable (Peer) -> Void
    ) throws(SystemError) {
        let context = tls.map { ServerContext($0, versions: versions, identity: identity) }
        let (listener, port) = try boundSocket(address, port: 0)
        listen(listener, 512)
        let state = Monitor(State())
        self.address = address
        self.port = port
        self.listener = listener
        self.state = state
        acceptor = startThread {
            Self.accept(on: listener, state) { descriptor, number in
                blockBrokenPipeSignal()
                let peer = Peer(descriptor: descriptor, context: context?.pointer)
                beforeHandshake?()
                let hasAgreed = inClear?(Peer(descriptor: descriptor, context: nil)) ?? true
                if hasAgreed && peer.handshake() { handler(peer) }
                peer.finish()
                let connection = Connection(
                    serverName: peer.serverName, received: peer.received,
                    handshakeFailure: peer.handshakeFailure, identity: peer.identity,
                    identityChainCount: peer.identityChainCount)
                state.update { state in
                    // Under the lock, so that `stop` never shuts down a number used anew.
                    close(descriptor)
                    state.open.remove(descriptor)
                    state.finished[number] = connection
                }
            }
        }
    }

    deinit { stop() }

    /// The connections that are over, in the order in which they began.
    public var connections: [Connection] { state.update { $0.connections } }

    /// Blocks until `count` connections are over.
    ///
    /// - Throws: `Overdue`.
    public func waitForConnections(
        _ count: Int, file: String = #fileID, line: Int = #line
    ) throws -> [Connection] {
        try state.wait(for: "\(count) connections are over", file: file, line: line) {
            $0.finished.count >= count ? $0.connections : nil
        }
    }

    /// Blocks until a connection is being served.
    ///
    /// - Throws: `Overdue`.
    public func waitForClient(file: String = #fileID, line: Int = #line) throws {
        try state.wait(for: "a client has come", file: file, line: line) {
            $0.open.isEmpty && $0.finished.isEmpty ? nil : ()
        }
    }

    /// Number of sockets of this machine that are connected, or connecting, to the server.
    public var clientSockets: Int { Self.clientSockets(address, port: port) }

    /// Ends all connections and waits for the threads. Idempotent.
    public func stop() {
        let isFirst = state.update { state in
            defer { state.isStopping = true }
            for descriptor in state.open { shutdown(descriptor, Int32(SHUT_RDWR)) }
            return !state.isStopping
        }
        guard isFirst else { return }
        // Makes the blocked accept fail.
        shutdown(listener, Int32(SHUT_RDWR))
        pthread_join(acceptor, nil)
        try? state.wait(for: "all connections are over") { $0.open.isEmpty ? () : nil }
        close(listener)
    }

    private static func accept(
        on listener: Int32, _ state: Monitor<State>,
        serve: @escaping @Sendable (_ descriptor: Int32, _ number: Int) -> Void
    ) {
        while true {
            let accepted = Glibc.accept(listener, nil, nil)
            let number = errno
            guard accepted >= 0 else {
                if [EINTR, ECONNABORTED].contains(number) { continue }
                // Descriptors come back when other connections end.
                guard [EMFILE, ENFILE].contains(number), !state.update({ $0.isStopping }) else {
                    return
                }
                poll(nil, 0, 10)
                continue
            }
            _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
            let place: Int? = state.update { state in
                guard !state.isStopping else { return nil }
                state.open.insert(accepted)
                state.acceptedCount += 1
                return state.acceptedCount
            }
            guard let place else {
                close(accepted)
                return
            }
            pthread_detach(startThread { serve(accepted, place) })
        }
    }

    /// Open sockets whose other end is `address:port`, established or still connecting. A leak is
    /// seen even while other tests open and close their sockets.
    static func clientSockets(_ address: String, port: UInt16) -> Int {
        var number = in_addr()
        inet_pton(AF_INET, address, &number)
        // As the kernel writes it: both as numbers of this machine's byte order.
        let place = hex(Int(number.s_addr), digits: 8) + ":" + hex(Int(port), digits: 4)
        // A set: while sockets come and go the kernel may list one of them twice.
        var inodes: Set<Substring> = []
        eachSocket { if $0[2] == place, $0[9] != "0" { inodes.insert($0[9]) } }
        return inodes.count
    }

    /// Bytes that the open socket of 127.0.0.1:`port` has not read yet of those of `server`.
    static func unreadBytes(from server: UInt16, at port: UInt16) -> Int? {
        let (local, remote) = (hex(Int(port), digits: 4), hex(Int(server), digits: 4))
        var count: Int?
        eachSocket { fields in
            if fields[1].hasSuffix(":" + local), fields[2].hasSuffix(":" + remote) {
                count = Int(fields[4].suffix(8), radix: 16)
            }
        }
        return count
    }

    /// The fields of each line: sl local remote state queues timer retransmits uid timeout inode.
    private static func eachSocket(_ body: ([Substring]) -> Void) {
        guard let file = fopen("/proc/net/tcp", "re") else { return }
        defer { fclose(file) }
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { free(line) }
        while getline(&line, &capacity, file) > 0, let line {
            let fields = String(cString: line).split(separator: " ")
            if fields.count > 9 { body(fields) }
        }
    }

    private static func hex(_ number: Int, digits: Int) -> String {
        let text = String(number, radix: 16, uppercase: true)
        return String(repeating: "0", count: digits - text.count) + text
    }
}

/// OpenSSL's numbers of TLS versions.
public enum TLSVersion {
    public static let one: Int32 = TLS1_VERSION
    public static let oneOne: Int32 = TLS1_1_VERSION
    public static let two: Int32 = TLS1_2_VERSION
    public static let three: Int32 = TLS1_3_VERSION
}

/// A server's `SSL_CTX`.
//
// @unchecked: not changed after `init`; OpenSSL counts references under its own lock.
private final class ServerContext: @unchecked Sendable {
    let pointer: OpaquePointer

    init(
        _ certificate: TestCertificate, versions: ClosedRange<Int32>,
        identity: LoopbackServer.IdentityDemand
    ) {
        guard let pointer = SSL_CTX_new(TLS_server_method()) else {
            preconditionFailure("OpenSSL makes contexts")
        }
        self.pointer = pointer
        // Versions before 1.2 exist only at the lowest security level.
        if versions.lowerBound < TLSVersion.two {
            SSL_CTX_set_cipher_list(pointer, "DEFAULT:@SECLEVEL=0")
        }
        SSL_CTX_ctrl(pointer, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(versions.lowerBound), nil)
        SSL_CTX_ctrl(pointer, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(versions.upperBound), nil)
        // Nor would a weak certificate be shown.
        SSL_CTX_set_security_level(pointer, 0)
        SSL_CTX_use_certificate_ASN1(pointer, Int32(certificate.der.count), certificate.der)
        for der in certificate.chain {
            let authority = der.withUnsafeBufferPointer { bytes -> OpaquePointer? in
                var start = bytes.baseAddress
                return d2i_X509(nil, &start, bytes.count)
            }
            // SSL_CTX_add0_chain_cert, which is a macro and takes ownership.
            SSL_CTX_ctrl(
                pointer, SSL_CTRL_CHAIN_CERT, 0, authority.map { UnsafeMutableRawPointer($0) })
        }
        if identity != .none {
            let fails = identity == .required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0
            // A C function captures nothing: one for each.
            switch identity {
            case .refusing:
                SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER) { _, context in
                    X509_STORE_CTX_set_error(context, X509_V_ERR_CERT_REJECTED)
                    return 0
                }
            case .failing:
                SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER) { _, context in
                    X509_STORE_CTX_set_error(context, X509_V_ERR_OUT_OF_MEM)
                    return 0
                }
            default: SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER | fails) { _, _ in 1 }
            }
            let context = identity == .carelessly ? [] : Array("smallweb".utf8)
            SSL_CTX_set_session_id_context(pointer, context, UInt32(context.count))
        }
        let key = certificate.keyDER.withUnsafeBufferPointer { bytes -> OpaquePointer? in
            var start = bytes.baseAddress
            return d2i_AutoPrivateKey(nil, &start, bytes.count)
        }
        defer { EVP_PKEY_free(key) }
        let status = SSL_CTX_use_PrivateKey(pointer, key)
        precondition(status == 1, "the key belongs to the certificate")
    }

    deinit { SSL_CTX_free(pointer) }
}
