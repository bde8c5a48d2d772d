// SPDX-License-Identifier: MIT
import SmallWeb
import SmallWebTestSupport
import SmallWebTransport
import Testing

/// Runs with a faulty source or output. (A handler cannot emit after its end: its emitter does not
/// escape.)
@Suite(.timeLimit(.minutes(30)))
struct EngineTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    /// Jobs of a list, and perhaps an error at their end.
    //
    // @unchecked: made in one task and used on the loop of its run.
    private final class List: Source, @unchecked Sendable {
        private var jobs: ArraySlice<Job>
        private let failure: FetchError?
        private(set) var asked = 0

        init(_ jobs: [Job], failure: FetchError? = nil) {
            (self.jobs, self.failure) = (jobs[...], failure)
        }

        func take(isLast: Bool) -> Taken {
            asked += 1
            return jobs.popFirst().map(Taken.job) ?? .end(failure)
        }
    }

    /// Records the calls for a request, and fails at `fault`.
    //
    // @unchecked: used by one attempt at a time, and looked at after the run.
    private final class Notes: Output, EventSink, @unchecked Sendable {
        enum Fault { case begin, take, finish, conclude, deliver }

        let request: Request
        private let fault: Fault?
        private(set) var calls: [String] = []

        init(_ request: Request, _ fault: Fault? = nil) {
            (self.request, self.fault) = (request, fault)
        }

        private func call(_ name: String, _ fault: Fault) throws(FetchError) {
            if calls.last != name { calls.append(name) }
            if self.fault == fault { throw FetchError(.write, .output, "no space") }
        }

        func begin(_ job: Job) throws(FetchError) -> Step {
            try call("begin", .begin)
            return .fetch(
                Reply(
                    to: request, FetchLog(request.uri), job.fetcher.registry, watchers: [self]))
        }

        func take(_ event: Event) throws(FetchError) { try call("take", .take) }
        func finish(_ ending: Ending) throws(FetchError) { try call("finish", .finish) }
        func end(_ result: Attempt) {
            if let error = result.error { calls.append("fail \(error.outcome.rawValue)") }
        }
        var canBeRepeated: Bool { true }

        func conclude(_ result: Attempt, _ job: Job) throws(FetchError) -> Outcome {
            try call("conclude \(result.outcome.rawValue)", .conclude)
            return result.outcome
        }

        func deliver() throws(FetchError) { try call("deliver", .deliver) }
    }

    private func echo() throws -> LoopbackServer {
        try LoopbackServer { peer in
            guard let line = peer.readLine() else { return }
            peer.write(String(decoding: line.dropLast(2), as: UTF8.self))
        }
    }

    /// A run over requests whose outputs fail like that, one after the other.
    private func run(
        _ faults: [Notes.Fault?], failure: FetchError? = nil
    ) async throws -> (engine: Engine, outputs: [Notes]) {
        let (server, fetcher) = (try echo(), bench.fetcher())
        let outputs = try faults.enumerated().map { number, fault in
            Notes(try fetcher.request(server.url("/\(number)", scheme: "finger")), fault)
        }
        let jobs = outputs.enumerated().map { number, output in
            Job(n: number, output.request, place: "x:1", problem: nil, fetcher, output)
        }
        let engine = Engine(List(jobs, failure: failure), RunPolicy(), fetcher)
        let loop = bench.loop
        await withTaskExecutorPreference(loop) { () async in
            precondition(loop.isCurrent)
            await engine.run()
        }
        return (engine, outputs)
    }

    private static let well = ["begin", "take", "finish", "conclude ok", "deliver"]

    @Test func eachRequestGoesItsWay() async throws {
        let (engine, outputs) = try await run([nil, nil])
        #expect(outputs.map(\.calls) == [Self.well, Self.well])
        #expect(engine.failure == nil && !engine.isStopping)
        #expect(engine.tally.requests == 2 && engine.tally.ok == 2)
    }

    @Test func anOutputThatThrowsIsToldOnceAndConcluded() async throws {
        let (engine, outputs) = try await run([.begin, .take, .finish, nil])
        #expect(
            outputs.map(\.calls) == [
                ["begin", "conclude write", "deliver"],
                ["begin", "take", "fail write", "conclude write", "deliver"],
                ["begin", "take", "finish", "fail write", "conclude write", "deliver"],
                Self.well,
            ])
        #expect(engine.failure == nil)
        #expect(engine.tally.requests == 4 && engine.tally.ok == 1)
    }

    @Test(arguments: [Notes.Fault.conclude, .deliver])
    private func whatCannotBeSaidEndsTheRun(_ fault: Notes.Fault) async throws {
        let (engine, outputs) = try await run([nil, fault, nil, nil])
        #expect(engine.failure?.outcome == .write && engine.isStopping)
        #expect(outputs[0].calls == Self.well)
        // Each job that was begun is concluded once, and delivered as long as delivering works.
        for output in outputs[2...] {
            let end = output.calls.last == "deliver"
            #expect(end == (fault != .deliver && !output.calls.isEmpty))
            #expect(output.calls.filter { $0.hasPrefix("conclude") }.count <= 1)
        }
    }

    @Test func aSourceThatFailsEndsTheRunAfterWhatItGave() async throws {
        let failure = FetchError(.read, .input, "the list is gone")
        let (engine, outputs) = try await run([nil, nil], failure: failure)
        #expect(outputs.map(\.calls) == [Self.well, Self.well])
        #expect(engine.failure?.outcome == .read)
        #expect(engine.tally.ok == 2)
    }
}
