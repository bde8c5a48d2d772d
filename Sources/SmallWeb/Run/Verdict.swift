// SPDX-License-Identifier: MIT
internal import SmallWebCore
package import SmallWebText

/// The exit status of a run, made of what is missing: 0 if and only if nothing is.
package struct Verdict: Sendable {
    /// In the order of precedence, by ``row``.
    package enum Missing: Sendable, Hashable {
        case signal(Int32)
        /// The run failed: its list, its state, or its output.
        case run(Outcome)
        /// URLs were not asked for: a deadline, a limit of pages, an early end.
        case unasked
        /// The first URL given that failed.
        case url(Outcome)
        /// A URL given has come, and is nothing that the command can read.
        case unusable(Outcome)
        case link
        case linkForNow
        /// The links of a page were not read beyond the limit of its size.
        case cutPage
        /// Pages wait that failed for now.
        case waiting

        fileprivate var row: (rank: Int, status: Int32) {
            switch self {
            case .signal(let number): (0, 128 + number)
            case .run(let outcome): (1, outcome.exitStatus)
            case .unasked: (2, Outcome.interrupted.exitStatus)
            case .url(let outcome): (3, outcome.exitStatus)
            case .unusable(let outcome): (4, outcome.exitStatus)
            case .link: (5, Outcome.permanentFailure.exitStatus)
            case .linkForNow: (6, Outcome.temporaryFailure.exitStatus)
            case .cutPage: (7, Outcome.tooLarge.exitStatus)
            case .waiting: (8, Outcome.temporaryFailure.exitStatus)
            }
        }
    }

    /// The condition that the exit status reports.
    package enum Rule: String, Sendable, CaseIterable {
        /// Success if every request got its record.
        case run
        /// The status of the first failed URL.
        case first
    }

    /// The first by precedence; of one rank the one that came first.
    package private(set) var worst: Missing?
    /// True if something is new, which is the success of a command that tells; `nil` for others.
    package var news: Bool?

    /// - Parameter signal: 0 for none.
    package init(signal: Int32 = 0, failure: FetchError? = nil) {
        if signal != 0 { miss(.signal(signal)) }
        if let failure { miss(.run(failure.outcome)) }
    }

    package mutating func miss(_ missing: Missing) {
        precondition(missing.row.status != 0, "success is not missing")
        if missing.row.rank < worst?.row.rank ?? .max { worst = missing }
    }

    /// Adds the requests of a run that failed, or were not made.
    ///
    /// - Parameter isStopped: True if the run ended early.
    package mutating func miss(_ tally: Tally, by rule: Rule = .first, isStopped: Bool = false) {
        if rule == .run, !isStopped {
            if let list = tally.unreadList { miss(.url(list)) }
            return
        }
        let failure = tally.firstFailure?.outcome
        if tally.postponed > 0 || isStopped && failure == nil { miss(.unasked) }
        if let failure { miss(.url(failure)) }
    }

    package var status: Int32 {
        let status = worst?.row.status ?? 0
        guard let news else { return status }
        let isOfRun = worst.map { $0.row.rank <= Missing.unasked.row.rank } ?? false
        if news, !isOfRun { return 0 }
        // 1 says that nothing is new.
        return status == 0 ? 1 : status == 1 ? Outcome.usage.exitStatus : status
    }
}
