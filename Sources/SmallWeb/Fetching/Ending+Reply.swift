// SPDX-License-Identifier: MIT
internal import SmallWebCore

extension FetchError {
    static func redirect(_ message: String) -> FetchError {
        FetchError(.redirectRefused, .header, message, remedy: .allowRedirectScheme)
    }
}

extension Ending {
    convenience init(
        _ uri: URI, _ head: Head?, _ completeness: Completeness, bodyBytes: Int,
        _ timings: Ending.Timings
    ) {
        let outcome =
            head?.replyClass.refusal ?? (completeness == .truncated ? .truncated : .ok)
        self.init(
            outcome: outcome, completeness: completeness, uri: uri, head: head,
            bodyBytes: bodyBytes, message: Self.message(outcome, head), timings: timings)
        if outcome == .needsIdentity { remedy = .bindIdentity(uri) }
    }

    /// Marks that data was sent, and may have been taken by the server.
    func noteData() {
        hasSentData = true
        guard outcome.isRetryable, let said = message else { return }
        message = said + Ending.afterData
    }

    func refuse(_ error: FetchError) {
        outcome = error.outcome
        message = error.message
        remedy = error.remedy
    }

    private static func message(_ outcome: Outcome, _ head: Head?) -> String? {
        if outcome == .ok { return nil }
        let status = head?.status.map { "\($0)" } ?? ""
        let meta = head?.meta.map(URI.shown) ?? ""
        let words = [status, meta].filter { !$0.isEmpty }.joined(separator: " ")
        let said = [words, head?.explanation ?? ""].filter { !$0.isEmpty }.map { ": " + $0 }
            .joined()
        switch outcome {
        case .truncated:
            return "the body may be cut off: the connection ended without the sign of its end"
        case .needsInput: return "the server asks for input\(said)"
        case .redirectRefused: return "not following the redirect\(said)"
        case .needsIdentity: return "the server asks for a client certificate\(said)"
        default: return "the server refused\(said)"
        }
    }
}
