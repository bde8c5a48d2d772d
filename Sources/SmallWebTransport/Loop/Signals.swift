// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import SmallWebCore

extension EventLoop {
    /// Suspends until one of `signals` arrives and returns it; 0 when the task is cancelled.
    ///
    /// The first signal is only noted, so that the program can clean up; the second of its kind has
    /// its default action again.
    package func firstSignal(of signals: [Int32]) async -> Int32 {
        // A signal noted earlier counts: the next one has its default action.
        guard swposix_pending_signal() == 0 else { return swposix_pending_signal() }
        let number = swposix_event()
        guard number >= 0 else { return 0 }
        let event = Descriptor(owning: number)
        guard (try? attach(event.borrowed)) != nil else { return 0 }
        // A signal that cannot be caught keeps its action.
        for signal in signals { _ = swposix_signal_to_event(signal, event.borrowed) }
        // The handler must not write to the number once the descriptor is closed.
        defer {
            for signal in signals { swposix_forget_signal(signal) }
            swposix_forget_event()
        }
        let interest = Interest(descriptor: event.borrowed, readiness: .readable)
        while swposix_pending_signal() == 0 {
            if await wait(for: [interest], by: .never) == .cancelled { break }
        }
        return swposix_pending_signal()
    }

    /// Suspends until the reader of `descriptor`, a pipe or a socket, has closed its end.
    ///
    /// - Returns: False when the task is cancelled, and at once for other files.
    package func untilUnread(_ descriptor: Int32) async -> Bool {
        precondition(isCurrent)
        let waiter = Waiter(deadline: .never)
        do throws(SystemError) {
            // Errors are reported without being asked for.
            try watch(descriptor, readable: false, writable: false) { _, _, hasFailed in
                if hasFailed { self.finish(waiter, .ready) }
            }
        } catch {
            return false
        }
        let result = await wait(waiter)
        unwatch(descriptor)
        return result == .ready
    }
}
