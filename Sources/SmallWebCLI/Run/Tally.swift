// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

/// What became of the URLs of a run.
struct Tally {
    private(set) var requests = 0
    /// Done already, as the ledger said.
    var skipped = 0
    private(set) var ok = 0
    private var bytes = 0
    /// How often each exit status came.
    private var exits = [Int](repeating: 0, count: 256)
    private var firstFailure: (n: Int, exit: Int32)?
    /// Of lists that could not be read.
    private var unreadList: Int32?
    /// Those that there was no time for.
    private(set) var postponed = 0
    private let started = Instant.now

    mutating func count(_ one: OneURL, bytes: Int) {
        let (outcome, n) = (one.outcome, one.order.subject.n)
        requests += 1
        if one.isPostponed { postponed += 1 }
        if one.order.isUnreadList { unreadList = unreadList ?? outcome.exitStatus }
        self.bytes += bytes
        exits[Int(outcome.exitStatus)] += 1
        if outcome == .ok {
            ok += 1
        } else if outcome != .interrupted, n < firstFailure?.n ?? .max {
            // What was given up because of a failure does not hide it.
            firstFailure = (n, outcome.exitStatus)
        }
    }

    /// Of a run that has done its work.
    func exitStatus(_ rule: RunSettings.Status) -> Int32 {
        switch rule {
        case .run: unreadList ?? 0
        case .first: postponed > 0 ? Outcome.interrupted.exitStatus : firstFailure?.exit ?? 0
        }
    }

    /// The record `summary`.
    func record(exit: Int32) -> [UInt8] {
        JSONWriter.line { writer in
            writer.begin("summary")
            writer.member("requests", requests)
            writer.member("ok", ok)
            writer.member("failed", requests - ok)
            writer.member("skipped", skipped)
            writer.member("bytes", bytes)
            writer.member("time", object: Instant.now.seconds(since: started)) {
                $0.member("total", seconds: $1)
            }
            writer.member("exit", Int(exit))
            writer.member("by_exit", object: exits) { writer, exits in
                for (exit, count) in exits.enumerated() where count > 0 {
                    writer.member(named: "\(exit)") { $0.value(count) }
                }
            }
        }
    }
}
