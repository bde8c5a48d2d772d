// SPDX-License-Identifier: MIT
internal import SmallWeb

/// What a person is told at the end.
extension URLOutput {
    func report(_ result: Attempt) -> Outcome {
        let report = FetchReport(messages: context.messages, url: order.url, log: log)
        switch result {
        case .ended(let ending): return self.report(ending, report)
        case .failed(let error):
            report.failure(error)
            return error.outcome
        }
    }

    private func report(_ ending: Ending, _ report: FetchReport) -> Outcome {
        let isRefusal = ending.head.map { $0.replyClass != .success } ?? false
        if isRefusal && settings.fetch.refusal == .accept { return .ok }
        if settings.fetch.failsWithoutMatch && ending.outcome == .ok && ending.bodyBytes == 0 {
            report.say("no reference matches", hint: "without a pattern all are listed")
            return .permanentFailure
        }
        let isUnwritten =
            ending.outcome == .truncated && plan.destination.isFile && leftover == nil
        report.refusal(
            ending,
            hint: isUnwritten
                ? "the file was not written; to keep what came, redirect standard output" : nil)
        return ending.outcome
    }
}
