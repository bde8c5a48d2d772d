// SPDX-License-Identifier: MIT
internal import SmallWeb

struct FetchReport {
    let messages: Messages
    /// The URL in the user's spelling.
    let url: String?
    let log: FetchLog?

    func failure(_ error: FetchError) {
        guard error.outcome != .interrupted else { return }
        say(
            error.outcome, error.message, error.details, hint: messages.advice(error), error.phase)
    }

    /// - Parameter hint: Replaces the default hint.
    func refusal(_ ending: Ending, hint: String? = nil) {
        guard let message = ending.message else { return }
        let usual =
            ending.outcome == .needsInput
            ? "give it with -d TEXT, or keep it secret with -d @FILE" : ending.remedy?.hint
        say(ending.outcome, message, hint: hint ?? usual)
    }

    /// Adds the redirect's target: the URL alone would not show the failing server.
    func say(
        _ outcome: Outcome, _ message: String, _ details: [String] = [], hint: String?,
        _ phase: FetchError.Phase = .header
    ) {
        // A write error is unrelated to the redirect.
        let target = phase == .output ? nil : log?.redirects.last?.to
        let place = target.map { "redirected to \($0.display): " } ?? ""
        messages.error(url, outcome, place + message, details: details, hint: hint)
    }
}
