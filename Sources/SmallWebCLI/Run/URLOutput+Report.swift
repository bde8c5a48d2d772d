// SPDX-License-Identifier: MIT
internal import SmallWeb

/// What a person is told at the end.
extension URLOutput {
    /// - Returns: What the run makes of `result`, and why it is a failure.
    func report(_ result: Attempt) -> (Outcome, message: String?) {
        switch result {
        case .ended(let ending): return report(ending)
        case .failed(let error):
            if error.outcome != .interrupted {
                say(
                    error.outcome, error.message, error.details,
                    hint: context.messages.advice(error), error.phase)
            }
            return (error.outcome, error.fullMessage)
        }
    }

    /// With the place that a redirect has led to: the URL alone does not tell where it went wrong.
    private func say(
        _ outcome: Outcome, _ message: String, _ details: [String] = [], hint: String?,
        _ phase: FetchError.Phase = .header
    ) {
        // A file that cannot be written has nothing to do with that place.
        let target = phase == .output ? nil : log?.redirects.last?.to
        let place = target.map { "redirected to \($0.display): " } ?? ""
        context.messages.error(
            order.url, outcome, place + message, details: details, hint: hint)
    }

    private func report(_ ending: Ending) -> (Outcome, message: String?) {
        let isRefusal = ending.head.map { $0.replyClass != .success } ?? false
        if isRefusal && settings.fetch.refusal == .accept { return (.ok, nil) }
        if settings.fetch.failsWithoutMatch && ending.outcome == .ok && ending.bodyBytes == 0 {
            let message = "no reference matches"
            say(.permanentFailure, message, hint: "without a pattern all are listed")
            return (.permanentFailure, message)
        }
        guard let message = ending.message else { return (ending.outcome, nil) }
        var hint = ending.remedy?.hint
        switch ending.outcome {
        case .needsInput: hint = "give it with -d TEXT, or keep it secret with -d @FILE"
        case .truncated where plan.destination.isFile && leftover == nil:
            hint = "the file was not written; to keep the part that came, redirect standard output"
        default: break
        }
        say(ending.outcome, message, hint: hint)
        return (ending.outcome, message)
    }
}
