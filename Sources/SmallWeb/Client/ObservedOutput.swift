// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// An output whose steps are reported.
final class ObservedOutput: Output {
    private let output: any Output
    private let asked: RunRequest
    private let onEvent: @Sendable (RunOptions.Event) -> Void

    init(
        _ output: any Output, _ asked: RunRequest,
        _ onEvent: @escaping @Sendable (RunOptions.Event) -> Void
    ) {
        (self.output, self.asked, self.onEvent) = (output, asked, onEvent)
    }

    func begin(_ job: Job) throws(FetchError) -> Step {
        onEvent(.started(asked, attempt: job.attempts))
        return try output.begin(job)
    }

    func step(after ending: Ending, _ fetcher: Fetcher) throws(FetchError) -> Step {
        try output.step(after: ending, fetcher)
    }

    func end(_ result: Attempt) { output.end(result) }

    var canBeRepeated: Bool { output.canBeRepeated }

    func restSeconds(after result: Attempt, _ job: Job) -> Double {
        output.restSeconds(after: result, job)
    }

    func repeats(_ result: Attempt, _ retry: Retry) throws(FetchError) {
        onEvent(.retrying(asked, after: result.outcome, pause: .seconds(retry.waitSeconds)))
        try output.repeats(result, retry)
    }

    func conclude(_ result: Attempt, _ job: Job) async throws(FetchError) -> Outcome {
        let outcome = try await output.conclude(result, job)
        let seconds = job.started.map { Instant.now.seconds(since: $0) } ?? 0
        onEvent(
            .ended(
                asked, outcome, bytes: result.ending?.bodyBytes ?? 0, duration: .seconds(seconds)))
        return outcome
    }

    func deliver() async throws(FetchError) { try await output.deliver() }
}
