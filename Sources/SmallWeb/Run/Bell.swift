// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Wakes a task that waits, or the next one to wait.
package final class Bell: Sendable {
    private let state = Locked<(waiter: UnsafeContinuation<Void, Never>?, hasRung: Bool)>(
        (nil, false))

    package init() {}

    package func ring() {
        state.withLock { state in
            defer { state.waiter = nil }
            if state.waiter == nil { state.hasRung = true }
            return state.waiter
        }?.resume()
    }

    /// Returns after a ring since the last one, or when the task is cancelled.
    package func wait() async {
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                let hasRung = state.withLock { state in
                    defer { state.hasRung = false }
                    if !state.hasRung && !Task.isCancelled { state.waiter = continuation }
                    return state.hasRung || Task.isCancelled
                }
                if hasRung { continuation.resume() }
            }
        } onCancel: {
            ring()
        }
    }
}
