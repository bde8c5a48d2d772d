// SPDX-License-Identifier: MIT
@testable internal import SmallWebCore
internal import Testing

@Suite struct LongWorkTests {
    private func outcome(_ body: () throws(FetchError) -> Void) -> Outcome? {
        do throws(FetchError) {
            try body()
            return nil
        } catch {
            return error.outcome
        }
    }

    @Test func itGoesOnWithoutADeadline() {
        #expect(outcome { () throws(FetchError) in try LongWork.check() } == nil)
        #expect(
            outcome { () throws(FetchError) in
                try LongWork.within(0, reading: "it") {
                    () throws(FetchError) in try LongWork.check()
                }
            } == nil)
    }

    @Test func itEndsAtTheDeadline() {
        let past = Instant(nanoseconds: 1)
        #expect(outcome { () throws(FetchError) in try LongWork.check(past) } == .timeout)
        let found = outcome { () throws(FetchError) in
            try LongWork.within(1e-9, reading: "it") { () throws(FetchError) in
                while true { try LongWork.check() }
            }
        }
        #expect(found == .timeout)
    }

    @Test func itEndsWhenTheTaskIsCancelled() async {
        let task = Task { () -> Outcome? in
            withUnsafeCurrentTask { $0?.cancel() }
            return outcome { () throws(FetchError) in try LongWork.check() }
        }
        #expect(await task.value == .interrupted)
    }
}
