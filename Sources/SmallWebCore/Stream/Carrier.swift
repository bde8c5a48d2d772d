// SPDX-License-Identifier: MIT

/// A bidirectional byte transport, connected when it is handed out: a socket, TLS over another
/// carrier, a command's input and output, a recording.
///
/// Reads and writes never block and may be short; waiting is a separate call. A carrier belongs to
/// the one task that uses it. Its last owner closes it by releasing it.
package protocol Carrier: AnyObject {
    /// Moves up to `buffer.count` (at least 1) received bytes into `buffer`.
    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(FetchError) -> TransportRead

    /// Sends a prefix of `bytes`, which is not empty.
    func send(_ bytes: UnsafeRawBufferPointer) throws(FetchError) -> TransportWrite

    /// Suspends until it may be ready; spurious wake-ups are possible.
    ///
    /// - Throws: `timeout` at `deadline`, `interrupted` when the task is cancelled.
    func wait(for readiness: Readiness, by deadline: Instant) async throws(FetchError)

    /// Descriptors to poll. `nil` ends the current turn; the next call starts a new one.
    func interests(_ readiness: Readiness) -> [Interest]?

    /// Ends sending, and tells the other side where that is possible.
    func endSending()

    /// Ends sending where that end has a meaning of its own, as in FTP: also over TLS, with
    /// close_notify, which some servers of other protocols take for the end of everything.
    ///
    /// - Returns: `false` when there is no room for that now: call it again.
    func finishSending() -> Bool

    /// Sends a goodbye if that works without waiting. Idempotent; nothing is moved afterwards.
    func close()

    /// True if each piece is a message of its own, and the next is only requested once it was read.
    var keepsPieces: Bool { get }
}

extension Carrier {
    package func interests(_ readiness: Readiness) -> [Interest]? { [] }
    package func endSending() {}
    package func finishSending() -> Bool {
        endSending()
        return true
    }
    package func close() {}
    package var keepsPieces: Bool { false }
}

/// A carrier that observes the bytes of another one. By default it passes on every call.
package protocol CarrierWrapper: Carrier {
    var wrapped: any Carrier { get set }
}

extension CarrierWrapper {
    package func receive(
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(FetchError) -> TransportRead {
        try wrapped.receive(into: buffer)
    }

    package func send(_ bytes: UnsafeRawBufferPointer) throws(FetchError) -> TransportWrite {
        try wrapped.send(bytes)
    }

    package func wait(for readiness: Readiness, by deadline: Instant) async throws(FetchError) {
        try await wrapped.wait(for: readiness, by: deadline)
    }

    package func interests(_ readiness: Readiness) -> [Interest]? { wrapped.interests(readiness) }
    package func endSending() { wrapped.endSending() }
    package func finishSending() -> Bool { wrapped.finishSending() }
    package func close() { wrapped.close() }
    package var keepsPieces: Bool { wrapped.keepsPieces }
}

/// A carrier that receives no more than a number of bytes, or has ended sending.
final class BoundedCarrier: CarrierWrapper {
    var wrapped: any Carrier
    private let receivesMax: Int
    private let sends: Bool
    private var received = 0

    init(_ wrapped: any Carrier, receivesMax: Int, sends: Bool) {
        (self.wrapped, self.receivesMax, self.sends) = (wrapped, receivesMax, sends)
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(FetchError) -> TransportRead {
        let read = try wrapped.receive(into: buffer)
        if case .bytes(let count) = read { received += count }
        guard received <= receivesMax else { throw .tooLarge(receivesMax) }
        return read
    }

    func send(_ bytes: UnsafeRawBufferPointer) throws(FetchError) -> TransportWrite {
        guard sends else { throw usageError("nothing can be written after the end of writing") }
        return try wrapped.send(bytes)
    }

    func finishSending() -> Bool { !sends || wrapped.finishSending() }
}

package struct Interest: Sendable {
    package let descriptor: Int32
    package let readiness: Readiness

    package init(descriptor: Int32, readiness: Readiness) {
        self.descriptor = descriptor
        self.readiness = readiness
    }
}

package enum Readiness: Sendable, Hashable {
    case readable, writable
    case either
}

package enum TransportRead: Sendable, Hashable {
    /// Byte count, at least 1.
    case bytes(Int)
    case wouldBlock(Readiness)
    case ended(ByteStream.Ending)
}

package enum TransportWrite: Sendable, Hashable {
    /// Byte count, at least 1.
    case bytes(Int)
    case wouldBlock(Readiness)
}

extension ByteStream {
    /// The kind of end of the peer's side.
    @nonexhaustive
    public enum Ending: Sendable, Hashable {
        /// TLS close_notify: nothing can be missing.
        case closeNotify
        /// A FIN alone.
        case endOfFile
        /// A reset: earlier bytes may have been lost.
        case reset
    }
}

extension ByteStream.Ending {
    /// The proof this ending gives where the end of the connection is the end of the body.
    public var completenessOfClose: Completeness {
        switch self {
        case .closeNotify: .complete
        case .endOfFile: .unverified
        case .reset: .truncated
        }
    }
}
