// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

extension URLOutput {
    /// - Returns: The outcome in this run, and the error message of a failure.
    func report(_ result: Attempt) -> (Outcome, message: String?) {
        switch result {
        case .ended(let ending): return report(ending)
        case .failed(let error):
            told.failure(error)
            return (error.outcome, error.fullMessage)
        }
    }

    /// Lazy, as most fetches succeed.
    private var told: FetchReport {
        FetchReport(messages: context.messages, url: asked.url, log: log)
    }

    private func report(_ ending: Ending) -> (Outcome, message: String?) {
        let isRefusal = ending.head.map { $0.replyClass != .success } ?? false
        if isRefusal && settings.fetch.refusal == .accept { return (.ok, nil) }
        if settings.fetch.failsWithoutMatch && ending.outcome == .ok && ending.bodyBytes == 0 {
            let message = "no reference matches"
            told.say(.permanentFailure, message, hint: "without a pattern all are listed")
            return (.permanentFailure, message)
        }
        guard ending.message != nil else { return (ending.outcome, nil) }
        let isUnwritten =
            ending.outcome == .truncated && destination.isFile && leftover == nil
        told.refusal(
            ending,
            hint: isUnwritten
                ? "the file was not written; to keep the part that came, redirect standard output"
                : nil)
        return (ending.outcome, ending.message)
    }
}
