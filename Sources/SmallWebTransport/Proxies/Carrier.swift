// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// What carries bytes below a target's TLS, or without it: a socket, what a command reads and
/// writes, TLS to a proxy. Nothing of it blocks; one task uses it.
protocol Carrier: AnyObject {
    /// How the other side ended, once ``receive(into:)`` has seen it. Never `closeNotify`: that
    /// would be the proxy's, and says nothing about the target.
    var ending: ByteStream.Ending? { get }
    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(FetchError) -> TransportRead
    func send(_ bytes: UnsafeRawBufferPointer) throws(FetchError) -> TransportWrite
    /// - Throws: `timeout`, `interrupted`.
    func wait(for readiness: Readiness, by deadline: Instant) async throws(FetchError)
    /// What there is to wait for; `nil` at the end of its turn, which this begins anew.
    func interests(_ readiness: Readiness) -> [Interest]?
    /// Nothing more is sent, which the other side may be told.
    func endSending()
}

extension Carrier {
    func endSending() {}
}

/// TLS to a proxy: what it carries is the target's.
final class SecureCarrier: Carrier {
    private let session: TLSSession
    private let carrier: any Carrier
    private(set) var ending: ByteStream.Ending?

    init(_ session: TLSSession, over carrier: any Carrier) {
        self.session = session
        self.carrier = carrier
    }

    deinit { session.close() }

    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(FetchError) -> TransportRead {
        let read = try session.receive(into: buffer)
        guard case .ended(let how) = read else { return read }
        ending = how == .reset ? .reset : .endOfFile
        return .ended(how == .reset ? .reset : .endOfFile)
    }

    func send(_ bytes: UnsafeRawBufferPointer) throws(FetchError) -> TransportWrite {
        try session.send(bytes)
    }

    func wait(for readiness: Readiness, by deadline: Instant) async throws(FetchError) {
        try await carrier.wait(for: readiness, by: deadline)
    }

    func interests(_ readiness: Readiness) -> [Interest]? { carrier.interests(readiness) }
}

extension Carrier {
    /// Sends all of `bytes`.
    ///
    /// - Throws: `send`, `timeout`, `interrupted`.
    func writeAll(_ bytes: [UInt8], by deadline: Instant) async throws(FetchError) {
        var sent = 0
        while sent < bytes.count {
            let written = bytes[sent...].withUnsafeBytes { piece in
                Result { () throws(FetchError) in try send(piece) }
            }
            switch try written.get() {
            case .bytes(let count): sent += count
            case .wouldBlock(let readiness): try await wait(for: readiness, by: deadline)
            }
        }
    }

    /// Receives just so many bytes; `nil` when the other side ends before.
    ///
    /// - Throws: `receive`, `timeout`, `interrupted`.
    func readExactly(_ count: Int, by deadline: Instant) async throws(FetchError) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let read = bytes.withUnsafeMutableBytes { buffer in
                Result { () throws(FetchError) in
                    try receive(into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]))
                }
            }
            switch try read.get() {
            case .bytes(let count): filled += count
            case .wouldBlock(let readiness): try await wait(for: readiness, by: deadline)
            case .ended: return nil
            }
        }
        return bytes
    }
}
