// SPDX-License-Identifier: MIT

/// What carries bytes both ways, connected when it is handed out: a socket, TLS over another
/// carrier, what a command reads and writes, a recording.
///
/// Reads and writes never block and move what they can; waiting is a call of its own. A carrier
/// belongs to the one task that uses it. Its last owner closes it by letting go.
package protocol Carrier: AnyObject {
    /// Moves up to `buffer.count` (at least 1) received bytes into `buffer`.
    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(FetchError) -> TransportRead

    /// Sends a prefix of `bytes`, which is not empty.
    func send(_ bytes: UnsafeRawBufferPointer) throws(FetchError) -> TransportWrite

    /// Suspends until it may be ready.
    ///
    /// - Throws: `timeout` at `deadline`, `interrupted` when the task is cancelled.
    func wait(for readiness: Readiness, by deadline: Instant) async throws(FetchError)

    /// What there is to wait for; `nil` at the end of its turn; this begins the next one.
    func interests(_ readiness: Readiness) -> [Interest]?

    /// Nothing more is sent, which the other side is told where that is possible.
    func endSending()

    /// The same where the end of what is sent has a meaning of its own, as in FTP: over TLS, too,
    /// with close_notify, which some servers of other protocols take for the end of everything.
    ///
    /// - Returns: `false` when there is no room for that now: it is to be called again.
    func finishSending() -> Bool

    /// Says goodbye as far as that works without waiting. Idempotent; nothing is moved after it.
    func close()

    /// When it will be readable without any descriptor saying so; never for most.
    var readableAt: Instant { get }

    /// Whether each piece stands for itself, and the next is asked for when it has been read.
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
    package var readableAt: Instant { .never }
}

/// A carrier that looks at what another one carries.
package protocol CarrierWrapper: Carrier {
    var wrapped: any Carrier { get set }
}

/// A descriptor and what is awaited of it.
package struct Interest: Sendable {
    package let descriptor: Int32
    package let readiness: Readiness

    package init(descriptor: Int32, readiness: Readiness) {
        self.descriptor = descriptor
        self.readiness = readiness
    }
}

/// What a carrier waits for.
package enum Readiness: Sendable, Hashable {
    case readable, writable
    /// Whichever comes first.
    case either
}

/// What one attempt to receive came to.
package enum TransportRead: Sendable, Hashable {
    /// At least 1.
    case bytes(Int)
    case wouldBlock(Readiness)
    case ended(ByteStream.Ending)
}

/// What one attempt to send came to.
package enum TransportWrite: Sendable, Hashable {
    /// At least 1.
    case bytes(Int)
    case wouldBlock(Readiness)
}

extension ByteStream {
    /// How the peer ended its side.
    public enum Ending: Sendable, Hashable {
        /// TLS close_notify: nothing can be missing.
        case closeNotify
        /// A FIN and nothing more.
        case endOfFile
        /// A reset, after which earlier bytes may have been lost.
        case reset
    }
}

extension ByteStream.Ending {
    /// What this ending proves where the end of the connection is the end of the body.
    public var completenessOfClose: Completeness {
        switch self {
        case .closeNotify: .complete
        case .endOfFile: .unverified
        case .reset: .truncated
        }
    }
}
