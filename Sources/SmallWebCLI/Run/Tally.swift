// SPDX-License-Identifier: MIT
internal import SmallWeb

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
    private let started = Instant.now

    mutating func count(_ outcome: Outcome, _ n: Int, bytes: Int) {
        requests += 1
        self.bytes += bytes
        exits[Int(outcome.exitStatus)] += 1
        if outcome == .ok {
            ok += 1
        } else if outcome != .interrupted, n < firstFailure?.n ?? .max {
            // What was given up because of a failure does not hide it.
            firstFailure = (n, outcome.exitStatus)
        }
    }

    /// The first failing URL's, in the order given.
    var exitStatus: Int32 { firstFailure?.exit ?? 0 }

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
                    writer.member("\(exit)", count)
                }
            }
        }
    }
}
