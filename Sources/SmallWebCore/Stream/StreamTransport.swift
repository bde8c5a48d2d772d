// SPDX-License-Identifier: MIT

/// What carries a ``ByteStream``'s bytes: a socket, TLS over a socket, a recording.
///
/// Reads and writes never block and move what they can; waiting is a call of its own. A transport
/// belongs to the one task that owns its stream.
package protocol StreamTransport: AnyObject {
    /// Makes the connection: resolve, connect, handshake, trust. Called once, before anything else.
    func start(by deadline: Instant) async throws(FetchError)

    /// Moves up to `buffer.count` (at least 1) received bytes into `buffer`.
    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(FetchError) -> TransportRead

    /// Sends a prefix of `bytes`, which is not empty.
    func send(_ bytes: UnsafeRawBufferPointer) throws(FetchError) -> TransportWrite

    /// Suspends until the transport may be ready.
    ///
    /// - Throws: `timeout` at `deadline`, `interrupted` when the task is cancelled.
    func wait(for readiness: Readiness, by deadline: Instant) async throws(FetchError)

    /// Says goodbye as far as that works without waiting, and frees everything. Idempotent.
    func close()
}

/// What a transport waits for.
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
