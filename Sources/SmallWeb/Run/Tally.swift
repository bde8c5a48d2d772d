// SPDX-License-Identifier: MIT
package import SmallWebCore

package struct Tally: Sendable {
    package private(set) var requests = 0
    /// Requests that are in the ledger already.
    package var skipped = 0
    package private(set) var ok = 0
    package private(set) var bytes = 0
    /// Number of requests by exit status.
    package private(set) var exits = [Int](repeating: 0, count: 256)
    private(set) var firstFailure: (n: Int, outcome: Outcome)?
    /// Outcome of the first list that could not be read.
    private(set) var unreadList: Outcome?
    package private(set) var postponed = 0
    package let started = Instant.now

    package init() {}

    /// Counts one finished request.
    ///
    /// - Parameters:
    ///   - n: Its index in the run.
    ///   - bytes: Size of its body.
    ///   - isPostponed: True if there was no time left for it.
    ///   - isUnreadList: True if it stands for a list that could not be read.
    mutating func count(
        _ outcome: Outcome, n: Int, bytes: Int, isPostponed: Bool, isUnreadList: Bool
    ) {
        requests += 1
        if isPostponed { postponed += 1 }
        if isUnreadList { unreadList = unreadList ?? outcome }
        self.bytes += bytes
        exits[Int(outcome.exitStatus)] += 1
        if outcome == .ok {
            ok += 1
        } else if outcome != .interrupted, n < firstFailure?.n ?? .max {
            // Requests that were cancelled because of a failure do not hide it.
            firstFailure = (n, outcome)
        }
    }
}
