// SPDX-License-Identifier: MIT
internal import SmallWeb

/// Progress of several concurrent URLs, summed up in one line.
//
// @unchecked: `transfer` has its lock, all else lives on the event loop of the run alone.
final class RunMeter: @unchecked Sendable {
    private let messages: Messages
    private let transfer = Locked(Transfer())
    private var task: Task<Void, Never>?

    init(_ messages: Messages) { self.messages = messages }

    /// Counts bytes sent or received for any of the URLs.
    func move(_ count: Int) { transfer.withLock { $0.bytes += count } }

    /// - Parameter state: Number of URLs done, those of them that failed, and the total if known.
    func start(
        on loop: EventLoop, _ state: @escaping () -> (done: Int, failed: Int, total: Int?)
    ) {
        // @unchecked: called on the event loop alone.
        nonisolated(unsafe) let state = state
        task = Task(executorPreference: loop) {
            await loop.sleep(until: .after(seconds: 1))
            while !Task.isCancelled {
                self.draw(state())
                await loop.sleep(until: .after(seconds: 0.2))
            }
        }
    }

    func stop() {
        task?.cancel()
        if task != nil { messages.showTransient("") }
        task = nil
    }

    private func draw(_ state: (done: Int, failed: Int, total: Int?)) {
        let transfer = transfer.withLock { transfer in
            transfer.sample()
            return transfer
        }
        let total = state.total.map { " of \($0)" } ?? ""
        let failed = state.failed > 0 ? ", \(state.failed) failed" : ""
        messages.showTransient(
            "\(state.done)\(total) done\(failed), \(Transfer.size(transfer.bytes)), "
                + "\(Transfer.size(Int(transfer.rate ?? 0)))/s")
    }
}
