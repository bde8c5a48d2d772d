// SPDX-License-Identifier: MIT
internal import SmallWeb

/// Prints the notes of a fetch to standard error, and with `isVerbose` the lines of its trace.
struct Trace: EventSink {
    let url: String
    let messages: Messages
    let isVerbose: Bool

    func take(_ event: Event) {
        if case .note(let note) = event { messages.note(url, note) }
        if case .connected(let connection) = event, connection.trust?.verdict == .firstUse {
            messages.pinned(connection.endpoint.description)
        }
        guard isVerbose else { return }
        for (mark, line) in Self.lines(event) { messages.trace(mark, line) }
    }

    private static func lines(_ event: Event) -> [(Character, String)] {
        switch event {
        case .connecting(_, let address): [("*", "connecting to \(address)")]
        case .connected(let connection): lines(connection).map { ("*", $0) }
        case .sent(let bytes, _):
            bytes == SecretMask.mark
                ? [(">", "(input not shown)")] : lines(bytes).map { (">", $0) }
        case .redirect(let redirect):
            received(redirect.header)
                + [
                    (
                        "*",
                        "\(redirect.status.map { "\($0) " } ?? "")redirect to "
                            + redirect.to.display
                    )
                ]
        case .head(let head): received(head.header)
        case .diagnostics(let bytes): lines(bytes).map { ("!", $0) }
        case .body, .facts, .item, .note, .end: []
        }
    }

    private static func received(_ header: [UInt8]) -> [(Character, String)] {
        lines(SecretFields.masked(header)).map { ("<", $0) }
    }

    private static func lines(_ bytes: [UInt8]) -> [String] {
        let text = String(decoding: bytes, as: UTF8.self)
        return text.split(whereSeparator: \.isNewline).map(String.init)
            + (bytes == ASCII.crlf ? ["(empty line)"] : [])
    }

    private static func lines(_ connection: Connection) -> [String] {
        let way = [connection.address, connection.proxy.map { "through " + $0 }]
        var lines = [
            "connected to \(connection.endpoint) "
                + "(\(way.compactMap { $0 }.joined(separator: ", ")))"
        ]
        guard let tls = connection.tls else { return lines }
        let certificate = tls.certificate
        lines += [
            "\(tls.version), \(tls.cipher), SNI \(tls.serverName ?? "none")"
                + (tls.isResumed ? ", resumed" : ""),
            "certificate \(certificate.subject), issuer \(certificate.issuer)",
            "valid " + certificate.validity(),
            "certificate sha256:\(certificate.sha256.hex)",
            "public key sha256:\(certificate.spkiSHA256.hex)",
        ]
        if let identity = tls.shownIdentity?.hex {
            lines.append("client certificate sha256:\(identity)")
        }
        guard let trust = connection.trust else { return lines }
        return lines + ["trust: " + trust.sentence]
    }
}

/// The file of `--dump-header`, for all URLs of a run.
final class HeaderFile: EventSink {
    private let stream: StandardStream?
    private let file: FileOutput?
    private var isOfUse = false

    /// `-` is standard output, `%` standard error.
    init(_ name: String, _ patience: Patience) throws(FetchError) {
        stream = name == "-" ? .output : name == "%" ? .error : nil
        guard stream == nil else {
            file = nil
            return
        }
        file = try FileOutput(
            name, clash: .overwrite, createsDirectories: false, patience: patience)
    }

    func take(_ event: Event) throws(FetchError) {
        if case .head(let head) = event { try write(head.header) }
    }

    func write(_ header: [UInt8]) throws(FetchError) {
        isOfUse = true
        try stream?.writeForeign(header)
        try file?.write(header[...])
    }

    /// Deletes the file if no reply had a header.
    func commit() throws(FetchError) {
        if isOfUse { try file?.commit() } else { file?.discard() }
    }
}

/// Buffers the header of one attempt for the file of `--dump-header`.
final class HeldHeader: EventSink {
    /// `nil` without a reply.
    private(set) var bytes: [UInt8]?

    func take(_ event: Event) {
        if case .head(let head) = event { bytes = (bytes ?? []) + head.header }
    }
}

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
            ? "give it with -d TEXT, or keep it secret with -d @FILE, from a pipe with -d @-"
            : ending.remedy?.hint
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
        // A URL that was not found may end with a mark of the text that it was copied from.
        let isMissing = [.resolve, .permanentFailure].contains(outcome)
        let word = isMissing && url.flatMap(URI.scheme(of:)) != nil ? url : nil
        let meant = word.flatMap { Advice.reading(of: $0, .builtIn)?.uri.display }
        messages.error(url, outcome, place + message, details: details, hint: meant ?? hint)
    }
}
