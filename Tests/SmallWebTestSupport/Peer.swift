// SPDX-License-Identifier: MIT
internal import CSmallWebTLS
internal import Glibc
internal import SmallWebCore

/// A client of a ``LoopbackServer``, as its handler sees it. Blocking, used by one thread.
///
/// A handler that just returns ends politely: close_notify, FIN, and then whatever the client still
/// sends is read, so that no reset destroys the reply on its way.
public final class Peer {
    /// Host name in the client's SNI; `nil` without TLS or without SNI.
    public private(set) var serverName: String?
    /// The first bytes that the client sent, above TLS, as far as they were read.
    public private(set) var received: [UInt8] = []
    /// OpenSSL's error if there was no TLS connection.
    public private(set) var handshakeFailure: String?
    /// Protocol version, which the peer's certificate and cipher do not tell: `TLSv1.3`.
    public private(set) var tlsVersion: String?

    /// SHA-256 of the client's certificate.
    public private(set) var identity: [UInt8]?
    /// Number of certificates that the client sent.
    public private(set) var identityChainCount = 0

    private let descriptor: Int32
    private let ssl: OpaquePointer?
    private var unread: [UInt8] = []
    private var isOver = false
    private var isReset = false

    /// Bytes kept in ``received``.
    private static let receivedMax = 65_536

    /// - Parameter descriptor: Stays the caller's, and is closed after ``finish()``.
    init(descriptor: Int32, context: OpaquePointer?) {
        self.descriptor = descriptor
        ssl = context.flatMap { SSL_new($0) }
        setNagle(false)
    }

    deinit { SSL_free(ssl) }

    /// True if the handler can be called.
    func handshake() -> Bool {
        guard let ssl else { return true }
        ERR_clear_error()
        SSL_set_fd(ssl, descriptor)
        guard SSL_accept(ssl) == 1 else {
            let reason = ERR_reason_error_string(ERR_peek_last_error())
            handshakeFailure = reason.map { String(cString: $0) } ?? "the client went away"
            isOver = true
            return false
        }
        serverName = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name).map { String(cString: $0) }
        tlsVersion = SSL_get_version(ssl).map { String(cString: $0) }
        if let certificate = SSL_get1_peer_certificate(ssl) {
            defer { X509_free(certificate) }
            var digest = [UInt8](repeating: 0, count: 32)
            X509_digest(certificate, EVP_sha256(), &digest, nil)
            identity = digest
            // A server's chain is without the certificate itself.
            identityChainCount = 1 + Int(OPENSSL_sk_num(SSL_get_peer_cert_chain(ssl)))
        }
        return true
    }

    /// Says goodbye as far as the handler has not, and waits for the client to do the same.
    func finish() {
        guard !isReset else { return }
        if !isOver { closeNotify() }
        shutdown(descriptor, Int32(SHUT_WR))
        drain(milliseconds: 2000)
    }

    /// The server's own port.
    public var localPort: UInt16 { port(getsockname) }

    private func port(
        _ name: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> UInt16 {
        var place = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &place) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                _ = name(descriptor, pointer, &size)
            }
        }
        return UInt16(bigEndian: place.sin_port)
    }

    /// `true` when the client, on this machine, has read all that was written.
    public var isAllRead: Bool {
        var unsent: Int32 = 0
        guard ioctl(descriptor, UInt(TIOCOUTQ), &unsent) == 0, unsent == 0 else { return false }
        return LoopbackServer.unreadBytes(from: localPort, at: port(getpeername)) == 0
    }

    // MARK: Reading

    /// A line with its line feed; the rest if the client ends before one; `nil` if there are no
    /// bytes.
    public func readLine() -> [UInt8]? {
        while true {
            if let end = unread.firstIndex(of: 0x0A) { return take(end + 1) }
            if !fill() { return unread.isEmpty ? nil : take(unread.count) }
        }
    }

    /// A request's header, up to its empty line.
    public func readHeader() -> String {
        var header: [UInt8] = []
        while let line = readLine(), line.count > 2 { header += line }
        return String(decoding: header, as: UTF8.self)
    }

    /// `count` bytes, or fewer when the client ends before.
    public func read(_ count: Int) -> [UInt8] {
        while unread.count < count, fill() {}
        return take(min(count, unread.count))
    }

    private func take(_ count: Int) -> [UInt8] {
        defer { unread.removeFirst(count) }
        return Array(unread.prefix(count))
    }

    private func fill() -> Bool {
        let bytes = [UInt8](unsafeUninitializedCapacity: 16_384) { buffer, count in
            if let ssl {
                ERR_clear_error()
                count = Int(max(0, SSL_read(ssl, buffer.baseAddress, Int32(buffer.count))))
            } else {
                let status = Result { () throws(SystemError) in
                    try systemCall { recv(descriptor, buffer.baseAddress, buffer.count, 0) }
                }
                count = (try? status.get()) ?? 0
            }
        }
        received += bytes.prefix(Self.receivedMax - received.count)
        unread += bytes
        return !bytes.isEmpty
    }

    /// Asks for another handshake (TLS 1.2), and reads the client's reaction.
    public func renegotiate() {
        guard let ssl else { return }
        SSL_renegotiate(ssl)
        SSL_do_handshake(ssl)
        _ = fill()
    }

    // MARK: Writing

    /// Sends all of `bytes`, at the client's pace. False when the client has gone.
    @discardableResult
    public func write(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { write($0) } }

    @discardableResult
    public func write(_ text: String) -> Bool { write(Array(text.utf8)) }

    @discardableResult
    public func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var rest = bytes
        while let start = rest.baseAddress, !rest.isEmpty {
            let count: Int
            if let ssl {
                ERR_clear_error()
                count = Int(SSL_write(ssl, start, Int32(clamping: rest.count)))
            } else {
                let status = Result { () throws(SystemError) in
                    try systemCall { send(descriptor, start, rest.count, Int32(MSG_NOSIGNAL)) }
                }
                count = (try? status.get()) ?? 0
            }
            guard count > 0 else { return false }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
        return true
    }

    /// Sends `step` bytes per segment, and per TLS record.
    ///
    /// - Parameter pauseMilliseconds: Between two of them; for people who watch.
    @discardableResult
    public func writeSlowly(
        _ bytes: [UInt8], step: Int = 1, pauseMilliseconds: Int32 = 0
    ) -> Bool {
        for start in stride(from: 0, to: bytes.count, by: step) {
            guard write(Array(bytes[start..<min(start + step, bytes.count)])) else { return false }
            if pauseMilliseconds > 0 { poll(nil, 0, pauseMilliseconds) }
        }
        return true
    }

    /// Sends until the client has taken nothing for a while. Plain TCP only.
    ///
    /// - Returns: The bytes that went out, about `most` when the client took them all.
    public func writeUntilBlocked(most: Int) -> Int {
        var total = 0
        while total < most {
            let count = DemoSites.block.withUnsafeBytes {
                send(
                    descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            }
            total += max(0, count)
            var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            if poll(&waiting, 1, 300) == 0 { break }
        }
        return total
    }

    /// Makes a small segment wait until the client acknowledges the one before. Off by default.
    public func setNagle(_ isOn: Bool) {
        setOption(Int32(IPPROTO_TCP), TCP_NODELAY, Int32(isOn ? 0 : 1))
    }

    // MARK: Passing on

    /// Carries bytes both ways between the client and a connected socket until either ends.
    ///
    /// - Parameter first: Bytes that the client has already sent.
    public func relay(_ other: Int32, first: [UInt8] = []) {
        unread = first + unread
        var scratch = [UInt8](repeating: 0, count: 65_536)
        while true {
            let bytes = take(unread.count)
            guard bytes.isEmpty || Self.deliver(bytes, to: other) else { return }
            var waiting = [descriptor, other].map {
                pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
            }
            let hasPending = ssl.map { SSL_pending($0) > 0 } ?? false
            let ready = poll(&waiting, 2, hasPending ? 0 : -1)
            if ready < 0 && errno == EINTR { continue }
            if hasPending || waiting[0].revents != 0, !fill() { return }
            guard waiting[1].revents != 0 else { continue }
            let count = recv(other, &scratch, scratch.count, 0)
            guard count > 0, write(Array(scratch.prefix(count))) else { return }
        }
    }

    private static func deliver(_ bytes: [UInt8], to other: Int32) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(other, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    // MARK: Ending

    /// Ends TLS properly; TCP stays open until the handler returns.
    public func closeNotify() {
        isOver = true
        guard let ssl else { return }
        ERR_clear_error()
        SSL_shutdown(ssl)
    }

    /// Ends TCP without a word to TLS.
    public func fin() {
        isOver = true
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Ends TCP with a reset, at the latest when the handler returns.
    public func reset() {
        isOver = true
        isReset = true
        setOption(SOL_SOCKET, SO_LINGER, linger(l_onoff: 1, l_linger: 0))
        // Dissolving the association of a connected socket resets it at once.
        var nobody = sockaddr()
        nobody.sa_family = sa_family_t(AF_UNSPEC)
        connect(descriptor, &nobody, socklen_t(MemoryLayout<sockaddr>.size))
    }

    /// Says nothing more, until the client closes or the server is stopped.
    public func hang() {
        drain(milliseconds: -1)
        isOver = true
    }

    /// As ``hang()``, but the client cannot send more than the buffers between us hold.
    public func hangWithoutReading() {
        // POLLRDHUP, which Swift's Glibc module lacks.
        var waiting = pollfd(fd: descriptor, events: 0x2000, revents: 0)
        while poll(&waiting, 1, -1) < 0 && errno == EINTR {}
        isOver = true
    }

    /// Reads and forgets until the client closes or is silent for that long.
    private func drain(milliseconds: Int32) {
        var scratch = [UInt8](repeating: 0, count: 65_536)
        while true {
            var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let ready = poll(&waiting, 1, milliseconds)
            if ready < 0 && errno == EINTR { continue }
            guard ready > 0, recv(descriptor, &scratch, scratch.count, 0) > 0 else { return }
        }
    }

    private func setOption<Value>(_ level: Int32, _ name: Int32, _ value: Value) {
        withUnsafeBytes(of: value) {
            _ = setsockopt(descriptor, level, name, $0.baseAddress, socklen_t($0.count))
        }
    }
}
