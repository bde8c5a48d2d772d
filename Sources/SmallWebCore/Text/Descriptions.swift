// SPDX-License-Identifier: MIT

extension Request.Carried: TerminalText.Line {}
extension Head.Fields: TerminalText.Line {}

extension Request: TerminalText.Line {
    /// The URL, and what is sent with it.
    public var description: String {
        Self.line(self.uri.display, self.input, self.upload, self.options)
    }

    package static func line(
        _ url: String, _ input: [UInt8]?, _ upload: Upload?, _ options: Options
    ) -> String {
        let parts = [
            url, input.map { "\($0.count) bytes of input" },
            upload.map { "an upload of \($0.byteCount) bytes" },
            options.isEmpty ? nil : "\(options)",
        ]
        return TerminalText.escapeLine(parts.compactMap(\.self).joined(separator: ", "))
    }
}

extension Request.Options: TerminalText.Line {
    /// The options by their keys.
    public var description: String {
        let shown = keys.sorted().compactMap { key in self[key].map { "\(key): \($0)" } }
        return "[" + shown.joined(separator: ", ") + "]"
    }
}

extension Request.Options.Value: TerminalText.Line {
    /// The value; `***` for a secret, and for that of a header field that may be one.
    public var description: String {
        switch self {
        case .flag(let isOn): "\(isOn)"
        case .text(let text): URI.display(text)
        case .list(let texts): "\(texts.map(SecretFields.shown))"
        case .secret: "***"
        }
    }
}

extension Head: TerminalText.Line {
    /// Status, class, and the protocol's own text.
    public var description: String {
        let status = self.status.map { "\($0) " } ?? ""
        let meta = (self.meta ?? "").prefix(200)
        return TerminalText.escapeLine("\(status)\(self.replyClass.rawValue) \(meta)")
    }
}

extension Ending.Redirect: TerminalText.Line {
    /// Both URLs.
    public var description: String {
        TerminalText.escapeLine("\(from.display) to \(to.display)")
    }
}

extension Ending: TerminalText.Line {
    /// The outcome, the URL, and the message if there is one.
    public var description: String {
        let said = message.map { ": " + URI.display($0) } ?? ""
        return TerminalText.escapeLine("\(outcome.rawValue) \(uri.display)\(said)")
    }
}

extension Event: TerminalText.Line {
    /// The name of the case, and its value as one line; of bytes their number.
    public var description: String {
        switch self {
        case .connecting(let endpoint, let address): "connecting \(endpoint) at \(address)"
        case .connected(let connection): "connected \(connection)"
        case .sent(let bytes, _): "sent \(bytes.count) bytes"
        case .redirect(let redirect): "redirect \(redirect)"
        case .head(let head): "head \(head)"
        case .facts(let facts): "facts \(facts.members.count)"
        case .item(let item): "item \(item)"
        case .body(let bytes): "body \(bytes.count) bytes"
        case .diagnostics(let bytes): "diagnostics \(bytes.count) bytes"
        case .note(let note):
            TerminalText.escapeLine("note \(note.code) \(URI.display(note.message))")
        case .end(let ending): "end \(ending.outcome)"
        }
    }
}

extension Connection: TerminalText.Line {
    /// Server, address, proxy, TLS and trust.
    public var description: String {
        let parts = [
            address.map { "at \($0.bracketedHost):\(port)" }, proxy.map { "by \($0)" },
            tls?.version, trust?.sentence,
        ]
        return ([endpoint.description] + parts.compactMap(\.self)).joined(separator: ", ")
    }
}
