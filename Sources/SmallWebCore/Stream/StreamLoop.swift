// SPDX-License-Identifier: MIT

/// The event loop of a fetch, as seen by code that others call from anywhere: streams, dialers and
/// `emit` return to it by themselves.
package protocol StreamLoop: TaskExecutor {
    /// True on the loop's thread.
    var isCurrent: Bool { get }

    /// Runs `action` on the loop's thread. From any thread.
    func perform(_ action: @escaping @Sendable () -> Void)
}

extension StreamLoop {
    /// Runs `body` on the loop. The caller goes on where it was.
    package func run<Value>(
        _ body: () async throws(FetchError) -> Value
    ) async throws(FetchError) -> Value {
        if isCurrent { return try await body() }
        // @unchecked: the caller waits, so nothing is used by two threads at a time.
        nonisolated(unsafe) let body = body
        nonisolated(unsafe) var value: Value?
        try await withTaskExecutorPreference(self) { () async throws(FetchError) in
            // Keeps the hop to the loop: Swift 6.3.1 drops it from closures that only await.
            precondition(isCurrent)
            value = try await body()
        }
        guard let value else { preconditionFailure("the body returns or throws") }
        return value
    }

    /// Returns on the loop, for a task that prefers it: Swift 6.3.1 leaves a caller on the thread
    /// of an actor that code of others, which does not return by itself, has called last.
    @concurrent
    package func enter() async { precondition(isCurrent) }
}
