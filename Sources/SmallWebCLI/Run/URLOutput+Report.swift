// SPDX-License-Identifier: MIT
internal import SmallWeb

/// What a person is told at the end.
extension URLOutput {
    /// - Returns: What the run makes of `result`, and why it is a failure.
    func report(_ result: Attempt) -> (Outcome, message: String?) {
        let report = FetchReport(messages: context.messages, url: order.url, log: log)
        switch result {
        case .ended(let ending): return self.report(ending, report)
        case .failed(let error):
            report.failure(error)
            return (error.outcome, error.fullMessage)
        }
    }

    private func report(
        _ ending: Ending, _ report: FetchReport
    ) -> (Outcome, message: String?) {
        let isRefusal = ending.head.map { $0.replyClass != .success } ?? false
        if isRefusal && settings.fetch.refusal == .accept { return (.ok, nil) }
        if settings.fetch.failsWithoutMatch && ending.outcome == .ok && ending.bodyBytes == 0 {
            let message = "no reference matches"
            report.say(.permanentFailure, message, hint: "without a pattern all are listed")
            return (.permanentFailure, message)
        }
        let isUnwritten =
            ending.outcome == .truncated && plan.destination.isFile && leftover == nil
        report.refusal(
            ending,
            hint: isUnwritten
                ? "the file was not written; to keep the part that came, redirect standard output"
                : nil)
        return (ending.outcome, ending.message)
    }
}
