// SPDX-License-Identifier: MIT
internal import SmallWeb

extension Command {
    static let head = Command("head URL…", taker: .head) { settings, operands throws(FetchError) in
        var settings = settings
        settings.fetch.wantsHeadAlone = true
        return try GetCommand(settings, operands).run()
    }.with(\.aliases, ["info"])
}

/// Output of `head` for one URL, with HTTP's reply header below it.
struct HeadOutput: EventSink {
    let url: String
    let sink: BodySink
    let log: FetchLog
    let usesColor: Bool

    func take(_ event: Event) {}

    func finish(_ ending: Ending) throws(FetchError) {
        let head = ending.head ?? Head(.success)
        try sink.begin(head)
        let block = HeadBlock(url, ending, redirects: log.redirects, usesColor: usesColor)
        try sink.writeSafe(Array(block.text.utf8)[...])
        // The full header, which ends with an empty line like the block.
        if head.fields != nil { try sink.write(head.header[...]) }
        try sink.commit(ending)
    }
}

struct HeadBlock {
    private(set) var text = ""

    /// - Parameter url: The URL in the user's spelling.
    init(_ url: String, _ ending: Ending, redirects: [Ending.Redirect], usesColor: Bool) {
        let name = TerminalText.escapeLine(URI.shown(url))
        text = usesColor ? "\u{1B}[1m\(name)\u{1B}[0m\n" : name + "\n"
        for redirect in redirects {
            let status = redirect.status.map { "\($0) " } ?? ""
            row("redirect", "\(status)to \(redirect.to.display)")
        }
        let head = ending.head
        let said = [head?.status.map { "\($0)" }, head?.meta].compactMap { $0 }
        row("status", said.isEmpty ? "none" : said.joined(separator: " "))
        row("class", (head?.replyClass ?? .success).rawValue)
        if let type = head?.mediaType { row("type", type.description) }
        if let bytes = head?.bodyBytes { row("size", "\(bytes) bytes") }
        rows(head?.facts ?? Facts(), within: "")
        if let connection = ending.connection { rows(connection) }
        if let time = ending.timings.total { row("time", "\(Int(time.inSeconds * 1000)) ms") }
        text += "\n"
    }

    /// Adds rows such as `git protocol` and `git object format`.
    private mutating func rows(_ facts: Facts, within name: String) {
        for fact in facts.members {
            let label = name + fact.name.map { $0 == "_" ? " " : $0 }
            if case .object(let inner) = fact.value {
                rows(inner, within: label + " ")
            } else {
                row(label, Self.text(fact.value))
            }
        }
    }

    private static func text(_ fact: Facts.Value) -> String {
        switch fact {
        case .none, .object: ""
        case .text(let text): text
        case .bytes(let bytes): String(decoding: bytes, as: UTF8.self)
        case .number(let number): "\(number)"
        case .flag(let flag): flag ? "yes" : "no"
        case .list(let list): list.map(text).joined(separator: " ")
        }
    }

    private mutating func rows(_ connection: Connection) {
        row(
            "address",
            connection.address.map { "\($0) port \(connection.port)" } ?? "looked up by the proxy")
        if let proxy = connection.proxy { row("proxy", proxy) }
        guard let tls = connection.tls else { return }
        row("tls", "\(tls.version), \(tls.cipher)")
        let certificate = tls.certificate
        row("certificate", certificate.subject + " by " + certificate.issuer)
        row("valid", certificate.validity(at: UTCDate.now))
        row("cert hash", "sha256:\(certificate.sha256.hex)")
        row("key hash", "sha256:\(certificate.spkiSHA256.hex)")
        if let trust = connection.trust { row("trust", trust.sentence) }
    }

    private mutating func row(_ name: String, _ value: String) {
        if value.isEmpty { return }
        let label = Help.padded(TerminalText.escapeLine(name), 12)
        text += "  \(label) \(TerminalText.escapeLine(value))\n"
    }
}
