// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX

/// Ends computations at the deadline and at a signal. All code that a server, an archive or a
/// ledger can keep busy calls it at least every 50 ms.
package enum LongWork {
    /// Set by ``within(_:_:)`` and by the fetch.
    @TaskLocal package static var deadline = Instant.never

    /// - Throws: `interrupted` once a signal has come or the task is cancelled, `timeout` from the
    ///   deadline on.
    package static func check() throws(FetchError) { try check(deadline) }

    /// Same, for a given deadline.
    package static func check(_ deadline: Instant) throws(FetchError) {
        guard swposix_pending_signal() == 0, !Task.isCancelled else { throw .cancelled }
        guard deadline == .never || Instant.now < deadline else { throw late }
    }

    package static let late = FetchError(
        .timeout, .body, "it took longer than allowed", remedy: .raise(.totalTime))

    /// Same, after yielding to other tasks on the event loop.
    package static func pause() async throws(FetchError) {
        await Task.yield()
        try check()
    }

    /// Runs `body` with a deadline `seconds` from now; 0 for none.
    ///
    /// - Parameter name: The file that is read, for the message of a timeout.
    package static func within<Value>(
        _ seconds: Double, reading name: String, _ body: () throws(FetchError) -> Value
    ) throws(FetchError) -> Value {
        let result = $deadline.withValue(.after(seconds: seconds)) {
            Result { () throws(FetchError) in try body() }
        }
        do throws(FetchError) {
            return try result.get()
        } catch  where error.outcome == .timeout {
            throw FetchError(
                .timeout, .input, "reading \(name) took longer than \(seconds.shortest) s",
                remedy: .raise(.totalTime))
        }
    }

    /// Runs `body`, which looks at `deadline` by ``check()``.
    package static func within<Value>(
        _ deadline: Instant, _ body: () async throws(FetchError) -> Value
    ) async throws(FetchError) -> Value {
        try await $deadline.withValue(deadline) {
            () async -> Result<Value, FetchError> in
            do throws(FetchError) {
                return .success(try await body())
            } catch {
                return .failure(error)
            }
        }.get()
    }
}
