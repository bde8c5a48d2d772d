// SPDX-License-Identifier: MIT
package import SmallWebCore

/// What became of the URLs of a run.
package struct Tally: Sendable {
    /// What an exit status says of a run.
    package enum Status: String, Sendable, CaseIterable {
        /// Whether every request got its record.
        case run
        /// How the first failing URL ended.
        case first
    }

    package private(set) var requests = 0
    /// Done already, as the ledger said.
    package var skipped = 0
    package private(set) var ok = 0
    package private(set) var bytes = 0
    /// How often each exit status came.
    package private(set) var exits = [Int](repeating: 0, count: 256)
    private var firstFailure: (n: Int, exit: Int32)?
    /// Of lists that could not be read.
    private var unreadList: Int32?
    /// Those that there was no time for.
    package private(set) var postponed = 0
    package let started = Instant.now

    package init() {}

    /// Notes what became of one URL.
    ///
    /// - Parameters:
    ///   - n: Its position in the run.
    ///   - bytes: Those of its body.
    ///   - isPostponed: Whether there was no time left for it.
    ///   - isUnreadList: Whether it stands for a list that could not be read.
    mutating func count(
        _ outcome: Outcome, n: Int, bytes: Int, isPostponed: Bool, isUnreadList: Bool
    ) {
        requests += 1
        if isPostponed { postponed += 1 }
        if isUnreadList { unreadList = unreadList ?? outcome.exitStatus }
        self.bytes += bytes
        exits[Int(outcome.exitStatus)] += 1
        if outcome == .ok {
            ok += 1
        } else if outcome != .interrupted, n < firstFailure?.n ?? .max {
            // Requests that were given up because of a failure do not hide it.
            firstFailure = (n, outcome.exitStatus)
        }
    }

    /// Of a run that has done its work.
    package func exitStatus(_ rule: Status) -> Int32 {
        switch rule {
        case .run: unreadList ?? 0
        case .first: postponed > 0 ? Outcome.interrupted.exitStatus : firstFailure?.exit ?? 0
        }
    }
}
