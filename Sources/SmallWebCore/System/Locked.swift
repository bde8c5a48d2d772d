// SPDX-License-Identifier: MIT
internal import Glibc

/// A value behind a POSIX mutex.
///
/// `Synchronization.Mutex` hands a contended lock over within the kernel, where the thread
/// sanitizer cannot see it: every contended access would be reported as a race, and a real one
/// would drown in the reports.
//
// @unchecked: `value` is touched under `mutex` alone.
package final class Locked<Value: Sendable>: @unchecked Sendable {
    private var value: Value
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    package init(_ value: Value) {
        self.value = value
        mutex = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs `body` with the lock held; it must not wait for anything.
    package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}
