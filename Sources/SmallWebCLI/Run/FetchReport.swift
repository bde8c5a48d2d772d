// SPDX-License-Identifier: MIT
internal import SmallWeb

/// What a person is told of a fetch that did not go well.
struct FetchReport {
    let messages: Messages
    /// As the user gave it.
    let url: String?
    let log: FetchLog?

    func failure(_ error: FetchError) {
        guard error.outcome != .interrupted else { return }
        say(
            error.outcome, error.message, error.details, hint: messages.advice(error), error.phase)
    }

    /// - Parameter hint: Instead of the one that the ending has.
    func refusal(_ ending: Ending, hint: String? = nil) {
        guard let message = ending.message else { return }
        let usual =
            ending.outcome == .needsInput
            ? "give it with -d TEXT, or keep it secret with -d @FILE" : ending.remedy?.hint
        say(ending.outcome, message, hint: hint ?? usual)
    }

    /// With the place that a redirect has led to: the URL alone does not tell where it went wrong.
    func say(
        _ outcome: Outcome, _ message: String, _ details: [String] = [], hint: String?,
        _ phase: FetchError.Phase = .header
    ) {
        // A file that cannot be written has nothing to do with that place.
        let target = phase == .output ? nil : log?.redirects.last?.to
        let place = target.map { "redirected to \($0.display): " } ?? ""
        messages.error(url, outcome, place + message, details: details, hint: hint)
    }
}
