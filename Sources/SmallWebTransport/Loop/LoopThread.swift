// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
package import SmallWebCore

/// An event loop on a thread of its own, which ends with this object at the latest. Signals to the
/// process are left to other threads.
package final class LoopThread: Sendable {
    package let loop: EventLoop
    /// `nil` once it has ended.
    private let thread: Locked<pthread_t?>

    /// - Throws: `connect` when the process has no descriptor left, `resolve` when the system
    ///   refuses another thread.
    package init() throws(FetchError) {
        let loop = try EventLoop()
        self.loop = loop
        thread = Locked(
            try Thread.start {
                // If this fails, a signal on this thread is noted as on any other thread.
                _ = swposix_block_signals()
                loop.run()
            })
    }

    deinit {
        loop.stop()
        // The last reference may be released on the thread itself, which cannot join itself.
        if let thread = thread.withLock({ $0 }) { pthread_detach(thread) }
    }

    /// Ends the thread when its jobs are done, and waits for it. From another thread.
    package func end() {
        loop.stop()
        if let thread = thread.withLock({ $0.take() }) { pthread_join(thread, nil) }
    }

    /// Interrupts a blocking system call on the thread, so that it sees the request to stop.
    package func interrupt() {
        thread.withLock { if let thread = $0 { swposix_interrupt(thread) } }
    }
}

extension EventLoop {
    /// Runs code of others away from the loop: it may wait as it likes, and block its thread. At
    /// the deadline, or when this task is cancelled, its task is cancelled and left alone, and what
    /// it returns later is dropped. It is not run if either has come already.
    ///
    /// - Throws: Errors of `body`; `interrupted` for a cancelled task, `late` at the deadline.
    package func away<Value: Sendable>(
        by deadline: Instant, or late: FetchError = LongWork.late,
        _ body: @escaping @Sendable () async throws(FetchError) -> Value
    ) async throws(FetchError) -> Value {
        if Task.isCancelled { throw .cancelled }
        guard Instant.now < deadline else { throw late }
        let result = Locked<Result<Value, FetchError>?>(nil)
        let waiter = Waiter(deadline: deadline)
        let task = Task {
            let value: Result<Value, FetchError>
            do throws(FetchError) {
                value = .success(try await body())
            } catch {
                value = .failure(error)
            }
            result.withLock { $0 = value }
            perform { self.finish(waiter, .ready) }
        }
        if await wait(waiter) == .ready, !Task.isCancelled,
            let value = result.withLock({ $0 })
        {
            return try value.get()
        }
        task.cancel()
        throw Task.isCancelled ? .cancelled : late
    }

    /// Runs `body` on the loop's thread and waits for it. From another thread.
    package func performAndWait<Value: Sendable>(_ body: @escaping @Sendable () -> Value) -> Value {
        let done = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
        sem_init(done, 0, 0)
        defer {
            sem_destroy(done)
            done.deallocate()
        }
        // @unchecked: this function waits for the action, so the semaphore outlives it.
        nonisolated(unsafe) let semaphore = done
        let result = Locked<Value?>(nil)
        perform {
            let value = body()
            result.withLock { $0 = value }
            sem_post(semaphore)
        }
        while true {
            if sem_wait(done) == 0, let value = result.withLock({ $0 }) { return value }
        }
    }
}

/// Number of processors that this process may use.
package func processorCount() -> Int { Int(swposix_processor_count()) }

/// A thread for blocking calls, or for an event loop.
enum Thread {
    private final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// - Throws: `resolve` when the system refuses another thread: threads are used to resolve
    ///   names.
    static func detach(_ run: @escaping @Sendable () -> Void) throws(FetchError) {
        pthread_detach(try start(run))
    }

    /// - Returns: A thread to be joined or detached.
    /// - Throws: `resolve` when the system refuses another thread.
    static func start(_ run: @escaping @Sendable () -> Void) throws(FetchError) -> pthread_t {
        let body = Unmanaged.passRetained(Body(run))
        var thread = pthread_t()
        let status = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, body.toOpaque())
        guard status == 0 else {
            body.release()
            let error = SystemError(number: status)
            throw FetchError(
                .resolve, .resolve, "no thread to resolve with", error, remedy: .raise(.threads))
        }
        return thread
    }
}
