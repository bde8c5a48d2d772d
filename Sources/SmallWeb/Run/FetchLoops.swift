// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import SmallWebTransport

/// The event loops that fetch the requests of a run: its own, and threads with others, which start
/// on first use. Lives on the run's own loop.
final class FetchLoops {
    /// For requests without settings of their own.
    private let common: Fetcher
    /// Each with ``common`` on its loop.
    private var threads: [(loop: LoopThread, fetcher: Fetcher)] = []
    /// Threads still to be started.
    private var missing: Int
    /// The place that the run's own loop serves, among others: a run over one host needs no thread.
    private var home: String?
    private let hasHome: Bool

    init(_ common: Fetcher, _ policy: RunPolicy) {
        self.common = common
        let count = policy.jobs > 1 ? min(policy.jobs, policy.loops ?? processorCount()) : 1
        missing = count > 1 ? count : 0
        hasHome = policy.loops == nil
    }

    /// `fetcher`, moved to the event loop that serves `place`.
    func spread(_ fetcher: Fetcher, _ place: String) -> Fetcher {
        if hasHome {
            home = home ?? place
            if place == home { return fetcher }
        }
        if missing > 0 { startThreads() }
        guard !threads.isEmpty else { return fetcher }
        let there = threads[Int((place.stableHash >> 32) % UInt64(threads.count))]
        return fetcher === common ? there.fetcher : fetcher.moved(to: there.loop.loop)
    }

    /// With fewer threads than wanted the run takes longer; with none its own loop fetches.
    private func startThreads() {
        while missing > 0, let thread = try? LoopThread() {
            threads.append((thread, common.moved(to: thread.loop)))
            missing -= 1
        }
        missing = 0
    }

    /// Makes blocking calls on the loops return, to see that they shall stop.
    func interrupt() { for thread in threads { thread.loop.interrupt() } }

    /// Called when no request is under way any more.
    func end() { for thread in threads { thread.loop.end() } }
}
