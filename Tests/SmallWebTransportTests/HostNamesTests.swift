// SPDX-License-Identifier: MIT
import Glibc
import SmallWebCore
import SmallWebTestSupport
import Testing

@testable import SmallWebTransport

/// Look-ups that fetches share, with a system that answers when a test says so.
@Suite(.timeLimit(.minutes(30)))
struct HostNamesTests {
    /// Answers by name: `absent.*` is none, `busy.*` cannot be asked now, all others have an
    /// address.
    private final class FakeSystem: Sendable {
        struct State {
            var asked: [String] = []
            var running = 0
            var runningMax = 0
            /// False while look-ups block.
            var answers = true
        }
        let state = Monitor(State())

        var asked: [String] { state.update { $0.asked } }

        func lookUp(_ host: String, _ family: Resolver.Family) -> HostNames.Answer {
            state.update { state in
                state.asked.append(host)
                state.running += 1
                state.runningMax = max(state.runningMax, state.running)
            }
            try? state.wait(for: "it answers") { $0.answers ? () : nil }
            state.update { $0.running -= 1 }
            let isAbsent = host.hasPrefix("absent.")
            if isAbsent || host.hasPrefix("busy.") {
                let error = FetchError(.resolve, .resolve, "no \(host)")
                return .init(result: .failure(error), isAbsence: isAbsent)
            }
            let literal = family == .v6 ? "::7" : "127.0.0.7"
            return .init(
                result: .success([SocketAddress(literal: literal, port: 0)].compactMap(\.self)))
        }
    }

    private let system = FakeSystem()

    private func names(keepSeconds: Double = 0) -> HostNames {
        HostNames(keepSeconds: keepSeconds) { [system] in system.lookUp($0, $1) }
    }

    /// The addresses, or the word for the failure.
    private func ask(
        _ names: HostNames, _ host: String, _ family: Resolver.Family = .any, on loop: EventLoop,
        seconds: Double = 30
    ) async -> String {
        do throws(FetchError) {
            return try await names.addresses(
                of: host, family, on: loop, by: .after(seconds: seconds)
            ).map(\.host).joined(separator: " ")
        } catch {
            return error.outcome.rawValue
        }
    }

    private func untilAsked(_ count: Int) throws {
        try system.state.wait(for: "it is asked \(count) times") {
            $0.asked.count >= count ? () : nil
        }
    }

    @Test func manyLoopsShareOneLookUp() async throws {
        let names = names()
        let threads = try (0..<3).map { _ in try LoopThread() }
        let loops = threads.map(\.loop)
        system.state.update { $0.answers = false }
        // On a thread of its own: the threads of tasks may be busy with other tests.
        try onThread { [system] in
            try? system.state.wait(for: "it is asked") { $0.asked.isEmpty ? nil : () }
            system.state.update { $0.answers = true }
        }
        let answers = await withTaskGroup(of: (String, Bool).self) { group in
            for number in 0..<60 {
                let loop = loops[number % 3]
                group.addTask(executorPreference: loop) {
                    let host = number % 2 == 0 ? "a.test" : "A.Test"
                    return (await ask(names, host, on: loop), loop.isCurrent)
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.count == 60)
        #expect(answers.allSatisfy { $0 == ("127.0.0.7", true) })
        #expect(system.asked == ["a.test"])
    }

    @Test func anAnswerIsKeptAndSoIsItsAbsence() async throws {
        let names = names()
        let answers = try await onLoop { loop in
            var answers: [String] = []
            for host in [
                "a.test", "a.test", "absent.test", "absent.test", "busy.test", "busy.test",
            ] {
                answers.append(await ask(names, host, on: loop))
            }
            answers.append(await ask(names, "a.test", .v6, on: loop))
            return answers
        }
        let none = "resolve"
        #expect(answers == ["127.0.0.7", "127.0.0.7", none, none, none, none, "::7"])
        #expect(
            system.asked == ["a.test", "absent.test", "busy.test", "busy.test", "a.test"],
            "what could not be asked is asked again")
    }

    @Test func anAnswerIsKeptNoLongerThanAskedFor() async throws {
        let names = names(keepSeconds: 1e-9)
        for _ in 0..<2 { _ = try await onLoop { await ask(names, "a.test", on: $0) } }
        #expect(system.asked == ["a.test", "a.test"])
    }

    @Test func eachWaitEndsByItself() async throws {
        let names = names()
        system.state.update { $0.answers = false }
        let outcomes = try await onLoop { loop in
            let cancelled = Task(executorPreference: loop) {
                await ask(names, "a.test", on: loop)
            }
            let patient = Task(executorPreference: loop) {
                await ask(names, "a.test", on: loop)
            }
            let late = await ask(names, "a.test", on: loop, seconds: 0.01)
            cancelled.cancel()
            let ended = await cancelled.value
            system.state.update { $0.answers = true }
            return [late, ended, await patient.value]
        }
        #expect(outcomes == ["timeout", "interrupted", "127.0.0.7"])
        #expect(system.asked == ["a.test"])
    }

    @Test func fewThreadsAskAndEndWhenThereIsNothingToAsk() async throws {
        let names = names()
        let most = HostNames.threadsMax
        system.state.update { $0.answers = false }
        let answers = try await onLoop { loop in
            let tasks = (0..<100).map { number in
                Task(executorPreference: loop) { await ask(names, "h\(number).test", on: loop) }
            }
            let given = Task(executorPreference: loop) {
                await ask(names, "given-up.test", on: loop, seconds: 0.01)
            }
            let answer = await given.value
            try untilAsked(most)
            #expect(names.threadCount == most)
            system.state.update { $0.answers = true }
            var answers = [answer]
            for task in tasks { answers.append(await task.value) }
            return answers
        }
        #expect(answers == ["timeout"] + [String](repeating: "127.0.0.7", count: 100))
        #expect(system.state.update { $0.runningMax } == most)
        #expect(system.asked.count == 100, "what is of no more use is not asked")
        while names.threadCount > 0 { sched_yield() }
    }

    @Test func theOldestOfTooManyNamesAreForgotten() async throws {
        let names = names()
        let count = 2 * HostNames.keptNames + 1
        try await onLoop { loop in
            for number in 0..<count { _ = await ask(names, "h\(number)", on: loop) }
            _ = await ask(names, "h\(count - 1)", on: loop)
            _ = await ask(names, "h0", on: loop)
        }
        #expect(system.asked.count == count + 1)
    }

    @Test func theSystemKnowsWhatIsThereAndWhatIsAbsent() async throws {
        let absent = HostNames.lookUpInSystem(String(repeating: "a", count: 64) + ".invalid", .any)
        #expect(absent.isAbsence)
        let present = HostNames.lookUpInSystem("localhost", .v4)
        #expect(try present.result.get().first?.host.hasPrefix("127.") == true)
    }
}
