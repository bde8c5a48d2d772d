// SPDX-License-Identifier: MIT
internal import Glibc

/// A value behind a POSIX mutex.
///
/// Not `Synchronization.Mutex`: that hands a contended lock over within the kernel, where the
/// thread sanitizer cannot see it. It would report every contended access as a race, which would
/// bury a real one.
//
// @unchecked: `value` is only accessed under `mutex`.
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

    /// Runs `body` with the lock held; it must not block.
    package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}
