// SPDX-License-Identifier: MIT
internal import SmallWeb

/// Takes the events of one URL: trace, header, body, progress.
final class Delivery {
    private let settings: Settings
    private let messages: Messages
    private let headers: HeaderFile?
    private let sink: BodySink
    private let meter: ProgressMeter
    private let recorder: Recorder?
    private let url: String
    /// As the user gave it: a redirect does not choose the name of a file.
    private let uri: URI
    private var redirects: [Redirect] = []
    private var links: LinkReader?
    private lazy var list = LinkList(
        style: Environment.isTerminal(1) && !sink.isFile ? PageStyle(settings) : nil
    ) { [sink] bytes throws(FetchError) in try sink.write(bytes) }
    private var isDelivering = false
    private var refs: RefCache?

    init(
        _ request: Request, url: String, sink: BodySink, recorder: Recorder?, settings: Settings,
        messages: Messages, headers: HeaderFile?, meter: ProgressMeter
    ) {
        self.recorder = recorder
        if settings.listing == .refs { refs = RefCache(url, settings) }
        uri = request.uri
        self.url = url
        self.sink = sink
        self.settings = settings
        self.messages = messages
        self.headers = headers
        self.meter = meter
    }

    /// - Parameter hidesInput: Whether the request line must not be shown.
    func take(_ event: Event, hidesInput: Bool) throws(FetchError) {
        if settings.isVerbose {
            for (mark, line) in Trace.lines(event, hidesInput: hidesInput) {
                messages.trace(mark, line)
            }
        }
        if case .head(let head) = event { isDelivering = isWanted(head) }
        try recorder?.take(event, isDelivered: isDelivering, hidesInput: hidesInput)
        switch event {
        case .connecting(_, let address): meter.connecting(to: address)
        case .connected: meter.connected()
        case .sent, .facts, .end: break
        case .redirect(let redirect): redirects.append(redirect)
        case .head(let head):
            meter.receive(head)
            try begin(head)
        case .body(let bytes):
            meter.move(bytes.count)
            guard isDelivering else { break }
            if settings.listing == .links {
                for link in links?.links(in: bytes) ?? [] { try list(link) }
                try list.flush()
            } else {
                refs?.add(bytes)
                try sink.write(bytes)
            }
        case .item(let item):
            guard isDelivering else { break }
            if settings.listing == .links && item.kind != .reference {
                if let link = links?.link(item) { try list(link) }
            } else {
                try sink.write(item)
            }
        case .note(let note): messages.note(url, note)
        }
    }

    /// What can be said only at the end.
    func finish(_ ending: Ending) throws(FetchError) {
        if settings.wantsHeadAlone {
            guard !settings.writesJSON else { return }
            let head = ending.head ?? Head(.success)
            try sink.begin(head, uri: uri, base: ending.uri)
            let usesColor = Environment.usesColor(settings.color, on: 1) && !sink.isFile
            let block = HeadBlock(url, ending, redirects: redirects, usesColor: usesColor)
            try sink.write(Array(block.text.utf8)[...])
            // It says more than the block, and ends with an empty line too.
            if head.fields != nil { try sink.writeHeader(head.header) }
        }
        guard links != nil else { return }
        // The last line of a page that was cut off may be cut off as well.
        if let link = links?.finish(), ending.completeness != .truncated { try list(link) }
        try list.finish()
        if links?.isOfUse == false {
            let type = ending.head?.mediaType?.essence ?? "a page without a type"
            try take(.note(Note("no-links", "\(type) is not read for links")), hidesInput: false)
        }
    }

    private func list(_ link: Link) throws(FetchError) {
        guard link.isLink || settings.listsAll else { return }
        if settings.writesJSON {
            try recorder?.add(link, base: redirects.last?.to ?? uri)
        } else if link.uri != nil || settings.listsAll {
            try list.add(link)
        }
    }

    /// The fetch has succeeded.
    func remember() { refs?.save() }

    private func isWanted(_ head: Head) -> Bool {
        if settings.wantsHeadAlone { return false }
        // An error page must not be added to what an earlier attempt has saved.
        return head.replyClass == .success
            || settings.refusal != .fail && settings.resume == .fromStart
    }

    private func begin(_ head: Head) throws(FetchError) {
        try headers?.write(head.header)
        guard isDelivering else { return }
        if settings.showsHeader { try sink.writeHeader(head.header) }
        messages.showTransient("")
        let base = redirects.last?.to ?? uri
        try sink.begin(head, uri: uri, base: base)
        if settings.listing == .links { links = LinkReader(head, base: base) }
    }
}

/// Lines of the trace, each with its mark.
enum Trace {
    static func lines(_ event: Event, hidesInput: Bool) -> [(Character, String)] {
        switch event {
        case .connecting(_, let address): [("*", "connecting to \(address)")]
        case .connected(let connection): lines(connection).map { ("*", $0) }
        case .sent(let bytes, _):
            lines(hidesInput ? Array("(input not shown)".utf8) : bytes).map { (">", $0) }
        case .redirect(let redirect):
            [("*", "\(redirect.status.map { "\($0) " } ?? "")redirect to \(redirect.to.display)")]
        case .head(let head): lines(SecretFields.masked(head.header)).map { ("<", $0) }
        case .body, .facts, .item, .note, .end: []
        }
    }

    private static func lines(_ bytes: [UInt8]) -> [String] {
        let text = String(decoding: bytes, as: UTF8.self)
        return text.split(whereSeparator: \.isNewline).map(String.init)
            + (bytes == ASCII.crlf ? ["(empty line)"] : [])
    }

    private static func lines(_ connection: Connection) -> [String] {
        var lines = ["connected to \(connection.endpoint) (\(connection.address))"]
        guard let tls = connection.tls else { return lines }
        let certificate = tls.certificate
        let day = { (time: Int?) in time.map(UTCDate.day) ?? "?" }
        lines += [
            "\(tls.version), \(tls.cipher), SNI \(tls.serverName ?? "none")"
                + (tls.isResumed ? ", resumed" : ""),
            "certificate \(certificate.subject), issuer \(certificate.issuer)",
            "valid \(day(certificate.notBefore)) to \(day(certificate.notAfter))",
            "certificate sha256:\(certificate.sha256.hex)",
            "public key sha256:\(certificate.spkiSHA256.hex)",
        ]
        if let identity = tls.shownIdentity {
            lines.append("client certificate sha256:\(identity.hex)")
        }
        if let trust = connection.trust {
            lines.append(
                "trust: \(trust.verdict.rawValue)"
                    + (trust.firstSeen.map { ", known since \(UTCDate.day($0))" } ?? ""))
        }
        return lines
    }
}

/// The file of `--dump-header`, for all URLs of a run.
final class HeaderFile {
    private enum Target {
        case stream(StandardStream)
        case file(FileOutput)
    }

    private let target: Target
    private var isOfUse = false

    /// `-` is standard output, `%` standard error.
    init(_ name: String, _ patience: Patience) throws(FetchError) {
        switch name {
        case "-": target = .stream(.output)
        case "%": target = .stream(.error)
        default:
            target = .file(
                try FileOutput(
                    name, clash: .overwrite, createsDirectories: false, patience: patience))
        }
    }

    func write(_ header: [UInt8]) throws(FetchError) {
        isOfUse = true
        switch target {
        case .stream(let stream): try stream.writeForeign(header)
        case .file(let file): try file.write(header[...])
        }
    }

    /// Leaves things as they were when no reply had a header.
    func commit() throws(FetchError) {
        guard case .file(let file) = target else { return }
        if isOfUse { try file.commit() } else { file.discard() }
    }
}
