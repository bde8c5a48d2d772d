// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Connects to the first of several addresses that answers (Happy Eyeballs, RFC 8305): each attempt
/// gets a head start, then the next one begins in parallel.
struct TCPConnector {
    let loop: EventLoop
    let deadline: Instant
    let onAttempt: (SocketAddress) async throws(FetchError) -> Void

    /// RFC 8305 §5 "Connection Attempt Delay".
    static let headStart = 0.25

    private var attempts: [TCPSocket] = []
    private var lastFailure: SystemError?

    init(
        loop: EventLoop, deadline: Instant,
        onAttempt: @escaping (SocketAddress) async throws(FetchError) -> Void
    ) {
        self.loop = loop
        self.deadline = deadline
        self.onAttempt = onAttempt
    }

    /// - Parameter meanwhile: Work to do while the first attempt is under way.
    /// - Throws: `connect` with the last attempt's reason, `timeout`, `interrupted`.
    mutating func connect(
        to addresses: [SocketAddress], named name: @autoclosure () -> String,
        meanwhile: () throws(FetchError) -> Void
    ) async throws(FetchError) -> TCPSocket {
        var waiting = addresses[...]
        var isFirst = true
        while true {
            if let address = waiting.popFirst() {
                try await onAttempt(address)
                do throws(SystemError) {
                    attempts.append(try TCPSocket(connectingTo: address, on: loop))
                } catch {
                    lastFailure = error
                }
            }
            if isFirst { try meanwhile() }
            isFirst = false
            let pause = waiting.isEmpty ? deadline : min(deadline, .after(seconds: Self.headStart))
            if let winner = try await firstConnected(by: pause) { return winner }
            if attempts.isEmpty && waiting.isEmpty { throw failure(name()) }
            if Instant.now >= deadline {
                throw FetchError(
                    .timeout, .connect, "connecting to \(name()) took too long",
                    remedy: .raise(.connectTime))
            }
        }
    }

    /// Waits until an attempt succeeds, all have failed, or `pause` has come.
    private mutating func firstConnected(by pause: Instant) async throws(FetchError) -> TCPSocket? {
        while true {
            // Checked before each wait: an attempt may have ended before it was waited for.
            for (index, attempt) in attempts.enumerated().reversed() {
                do throws(SystemError) {
                    if try attempt.isConnected() { return attempt }
                } catch {
                    lastFailure = error
                    attempts.remove(at: index)
                }
            }
            // A failure does not wait for the head start to pass.
            if attempts.isEmpty { return nil }
            let interests = attempts.map { Interest(descriptor: $0.number, readiness: .writable) }
            switch await loop.wait(for: interests, by: pause) {
            case .timedOut: return nil
            case .cancelled: throw .cancelled
            case .ready: break
            }
        }
    }

    private func failure(_ name: String) -> FetchError {
        let reason = lastFailure?.sentence ?? "no address"
        var error = FetchError(
            .connect, .connect, "cannot connect to \(name): \(reason)",
            errnoName: lastFailure?.name, remedy: lastFailure?.remedy)
        if error.remedy == nil { error.hint = "check the port, and that the server is running" }
        return error
    }
}
