// SPDX-License-Identifier: MIT
@testable import SmallWeb
import Testing

/// All rows of the table of exit statuses.
struct VerdictTests {
    private static let failures = Outcome.allCases.filter { $0 != .ok }

    /// Every row, in the order of precedence, with the status of each of its members.
    private static let rows: [[(Verdict.Missing, status: Int32)]] = [
        [(.signal(2), 130), (.signal(15), 143)],
        failures.map { (.run($0), $0.exitStatus) },
        [(.unasked, 130)],
        failures.map { (.url($0), $0.exitStatus) },
        failures.map { (.unusable($0), $0.exitStatus) },
        [(.link, 22)], [(.linkForNow, 75)], [(.cutPage, 63)], [(.waiting, 75)],
    ]

    private func verdict(_ missing: Verdict.Missing..., news: Bool? = nil) -> Verdict {
        var verdict = Verdict()
        verdict.news = news
        for missing in missing { verdict.miss(missing) }
        return verdict
    }

    @Test func zeroSaysThatNothingIsMissing() {
        #expect(Verdict().status == 0)
        for (missing, status) in Self.rows.joined() {
            #expect(status != 0 && verdict(missing).status == status, "\(missing)")
        }
    }

    @Test func theFirstRowCountsWhateverCameFirst() {
        for (index, row) in Self.rows.enumerated() {
            for (missing, status) in row {
                for (other, _) in Self.rows[(index + 1)...].joined() {
                    #expect(verdict(missing, other).status == status, "\(missing), \(other)")
                    #expect(verdict(other, missing).status == status, "\(other), \(missing)")
                }
                for (other, _) in row {
                    #expect(verdict(missing, other).status == status, "\(missing), \(other)")
                }
            }
        }
    }

    @Test func newsAreSuccessUnlessTheRunFailed() {
        #expect(verdict(news: true).status == 0)
        #expect(verdict(news: false).status == 1)
        for (index, row) in Self.rows.enumerated() {
            for (missing, status) in row {
                // 1 says that nothing is new.
                let status = status == 1 ? 2 : status
                #expect(verdict(missing, news: false).status == status, "\(missing)")
                #expect(
                    verdict(missing, news: true).status == (index < 3 ? status : 0), "\(missing)")
            }
        }
    }

    /// The status of a run of requests with these outcomes, each way.
    private func status(
        _ outcomes: [Outcome], _ rule: Verdict.Rule, postponed: Bool = false,
        isStopped: Bool = false,
        list: Bool = false
    ) -> Int32 {
        var tally = Tally()
        // They are done in another order than that of the run.
        for (n, outcome) in outcomes.enumerated().reversed() {
            tally.count(
                outcome, n: n, bytes: 0, isPostponed: postponed && n == outcomes.count - 1,
                isUnreadList: list && n == 0)
        }
        var verdict = Verdict()
        verdict.miss(tally, by: rule, isStopped: isStopped)
        return verdict.status
    }

    @Test func requestsCountByTheRule() {
        #expect(status([.ok, .ok], .first) == 0)
        #expect(status([.ok, .ok], .run) == 0)
        for outcome in Self.failures where outcome != .interrupted {
            let all: [Outcome] = [.ok, outcome, .timeout]
            #expect(status(all, .first) == outcome.exitStatus)
            #expect(status(all, .run) == 0)
            #expect(status([outcome, .ok], .run, list: true) == outcome.exitStatus)
            // --fail-early: requests without records are missing by each rule.
            for rule in Verdict.Rule.allCases {
                #expect(status([.ok, outcome], rule, isStopped: true) == outcome.exitStatus)
            }
            #expect(status([outcome, .interrupted], .first, postponed: true) == 130)
            #expect(status([outcome, .interrupted], .run, postponed: true) == 0)
        }
        // Nothing failed, but its reader has gone.
        for rule in Verdict.Rule.allCases {
            #expect(status([.ok, .interrupted], rule, isStopped: true) == 130)
        }
    }
}
