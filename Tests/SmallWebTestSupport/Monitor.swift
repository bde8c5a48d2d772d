// SPDX-License-Identifier: MIT
internal import Glibc

/// A lock with a condition: state that blocking threads share and wait on.
//
// @unchecked: `state` is touched only between lock and unlock of `mutex`.
public final class Monitor<State>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var state: State

    public init(_ state: State) {
        self.state = state
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        pthread_cond_destroy(condition)
        mutex.deallocate()
        condition.deallocate()
    }

    /// Runs `body` under the lock, then wakes all who wait.
    public func update<Result>(_ body: (inout State) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer {
            pthread_cond_broadcast(condition)
            pthread_mutex_unlock(mutex)
        }
        return body(&state)
    }

    /// Blocks until `body` returns a value.
    ///
    /// - Parameter what: Says what that means, for the message.
    /// - Throws: `Overdue`.
    public func wait<Result>(
        for what: String, file: String = #fileID, line: Int = #line,
        _ body: (State) -> Result?
    ) throws(Overdue) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        var end = timespec()
        clock_gettime(CLOCK_MONOTONIC, &end)
        end.tv_sec += Overdue.seconds
        while true {
            if let result = body(state) { return result }
            guard pthread_cond_timedwait(condition, mutex, &end) == 0 else {
                throw Overdue(what, "\(file):\(line)")
            }
        }
    }
}

/// A thread of a server. It must be joined or detached.
func startThread(_ body: @escaping @Sendable () -> Void) -> pthread_t {
    final class Box {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    var thread = pthread_t()
    let status = pthread_create(
        &thread, nil,
        { argument in
            guard let argument else { return nil }
            Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().body()
            return nil
        }, Unmanaged.passRetained(Box(body)).toOpaque())
    precondition(status == 0, "no thread for a test server")
    return thread
}

/// Keeps a write to a closed connection from killing the process, for the calling thread only:
/// the code under test has to take care of itself.
public func blockBrokenPipeSignal() {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
}
