// SPDX-License-Identifier: MIT
public import SmallWebCore

extension Client {
    /// Makes the elements of ``Events`` and ``Results`` in a task that begins with the first
    /// `next()`, and is cancelled with this object, or with the task that waits for an element.
    public final class Iterator<Element: Sendable>: AsyncIteratorProtocol {
        private let handoff = Handoff<Element>()
        private let task = Locked<Task<Void, Never>?>(nil)
        private let produce: @Sendable (Handoff<Element>) async throws(FetchError) -> Void
        private var unread: Element?
        /// True once its last element was taken: noted by those who read on behalf of others.
        var hasEnded = false

        /// - Parameter produce: Puts one element after the other; returns at the end.
        init(_ produce: @escaping @Sendable (Handoff<Element>) async throws(FetchError) -> Void) {
            self.produce = produce
        }

        deinit { task.withLock { $0 }?.cancel() }

        /// Makes an element that was read the next one again.
        func unread(_ element: Element) { unread = element }

        /// The next element; `nil` after the last.
        ///
        /// - Throws: Once, and then it has ended. For events, the reason for a missing or
        ///   incomplete reply. For results, `interrupted` when the task is cancelled, and errors of
        ///   the URLs' own sequence.
        public func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(FetchError) -> Element? {
            try await next()
        }

        /// The next element; `nil` after the last.
        public func next() async throws(FetchError) -> Element? {
            if let element = unread.take() { return element }
            let task = task.withLock { task in
                if let task { return task }
                let (produce, handoff) = (produce, handoff)
                // The one unstructured task of the library: a sequence has no scope that a
                // structured one could live in. It ends with the iterator.
                let started = Task {
                    do throws(FetchError) {
                        try await produce(handoff)
                        handoff.finish(nil)
                    } catch {
                        handoff.finish(error)
                    }
                }
                task = started
                return started
            }
            let result = await withTaskCancellationHandler {
                await handoff.take()
            } onCancel: {
                task.cancel()
            }
            return try result.get()
        }
    }
}

/// Passes elements from one task to another, one at a time.
final class Handoff<Element: Sendable>: Sendable {
    private typealias Taken = Result<Element?, FetchError>
    private typealias Watcher = CheckedContinuation<Void, Never>

    private struct State {
        var element: Element?
        var end: Taken?
        var taker: CheckedContinuation<Taken, Never>?
        var putter: CheckedContinuation<Bool, Never>?
        /// The task in ``untilWanted()``.
        var watcher: Watcher?
        var isCancelled = false
    }

    private let state = Locked(State())

    /// Returns when the element before this one has been taken.
    func put(_ element: Element) async throws(FetchError) {
        let hasRoom = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
                let answer: Bool? = state.withLock { state in
                    if state.isCancelled { return false }
                    if state.element == nil { return true }
                    state.putter = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let putter = state.withLock { state in
                state.isCancelled = true
                return state.putter.take()
            }
            putter?.resume(returning: false)
        }
        guard hasRoom else { throw .cancelled }
        let taker = state.withLock { state in
            if state.taker == nil { state.element = element }
            return state.taker.take()
        }
        taker?.resume(returning: .success(element))
    }

    func finish(_ error: FetchError?) {
        let end: Taken = error.map { .failure($0) } ?? .success(nil)
        let taker = state.withLock { state in
            // An error is thrown once, and the sequence has ended.
            state.end = state.taker == nil ? end : .success(nil)
            return state.taker.take()
        }
        taker?.resume(returning: end)
    }

    func take() async -> Result<Element?, FetchError> {
        await withCheckedContinuation { (continuation: CheckedContinuation<Taken, Never>) in
            let (result, putter, watcher) = state.withLock {
                state -> (Taken?, CheckedContinuation<Bool, Never>?, Watcher?) in
                if let element = state.element.take() {
                    return (.success(element), state.putter.take(), nil)
                }
                if let end = state.end {
                    state.end = .success(nil)
                    return (end, nil, nil)
                }
                state.taker = continuation
                return (nil, nil, state.watcher.take())
            }
            putter?.resume(returning: true)
            watcher?.resume()
            if let result { continuation.resume(returning: result) }
        }
    }

    /// Returns when the taker waits and there is nothing for it, or the task is cancelled.
    func untilWanted() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: Watcher) in
                let isWanted = state.withLock { state in
                    if state.taker != nil || state.isCancelled || Task.isCancelled { return true }
                    state.watcher = continuation
                    return false
                }
                if isWanted { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.watcher.take() }?.resume()
        }
    }
}
