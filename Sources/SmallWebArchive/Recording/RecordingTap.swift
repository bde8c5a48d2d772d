// SPDX-License-Identifier: MIT
package import SmallWeb
internal import SmallWebCore

extension Network {
    /// This network with a recorder for all its traffic.
    package func recorded(in archive: ArchiveWriter) -> Network {
        tapped { request, hop in RecordingTap(request, hop, archive) }
    }
}

/// Records one hop: its exchanges, or the error.
final class RecordingTap: HopTap {
    private let archive: ArchiveWriter
    private let redaction: Redaction
    private let inputToMask: Bool
    /// Everything that the exchanges of the hop have in common.
    private var common: Capture
    private var hasDialled = false
    private var exchanges: [Exchange] = []
    /// True while an exchange of the engine runs; `waiting` has those that wait for its end.
    private var isBusy = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ request: Request, _ hop: Hop, _ archive: ArchiveWriter) {
        self.archive = archive
        redaction = Redaction(request, hop.registry, keepsSecrets: archive.keepsSecrets)
        inputToMask = request.isInputSecret && !archive.keepsSecrets
        common = Capture(target: redaction.target(request.uri))
        common.subtype = request.scheme.messageSubtype ?? request.scheme.name
        common.attempts = hop.attempt
        common.asked = Self.asked(request, keepsSecrets: archive.keepsSecrets)
    }

    /// Options of a request other than the URL, without secrets, as a replay needs them.
    private static func asked(_ request: Request, keepsSecrets: Bool) -> [UInt8]? {
        let isInputKept = request.input != nil && (keepsSecrets || !request.isInputSecret)
        let options = request.options.isEmpty ? [] : request.options.keys.sorted()
        guard
            isInputKept || !options.isEmpty || request.wantsRawBody || request.wantsHeadAlone
                || !request.wantsItems || request.upload != nil
        else { return nil }
        var line = JSONWriter.line { writer in
            if isInputKept, let input = request.input {
                writer.member(named: "input", bytes: input)
            }
            if request.wantsRawBody { writer.member("raw", true) }
            if request.wantsHeadAlone { writer.member("head", true) }
            if !request.wantsItems { writer.member("items", false) }
            writer.member("upload", object: request.upload) { writer, upload in
                writer.member("bytes", upload.byteCount)
                writer.member("mime", upload.mediaType)
            }
            writer.member("options", object: options.isEmpty ? nil : options) { writer, names in
                for name in names {
                    switch request.options[name] {
                    case .flag(let flag)?: writer.member(named: name) { $0.value(flag) }
                    case .text(let text)?: writer.member(named: name) { $0.value(text) }
                    case .list(let list)?:
                        writer.member(named: name) {
                            $0.array(list) { $0.value(keepsSecrets ? $1 : SecretFields.masked($1)) }
                        }
                    case .secret?, nil: break
                    }
                }
            }
        }
        line.removeLast()
        return line
    }

    func dials() { hasDialled = true }

    func tee(_ carrier: any Carrier, keepsDatagrams: Bool) -> any Carrier {
        TeeCarrier(carrier, begin(common, keepsDatagrams: keepsDatagrams))
    }

    func tee(_ client: any HTTPClient) -> any HTTPClient { TeeClient(client: client, tap: self) }

    /// Serializes the engine's exchanges: reports apply to the last one begun.
    func awaitTurn() async {
        while isBusy { await withCheckedContinuation { waiting.append($0) } }
        isBusy = true
    }

    func endTurn() {
        isBusy = false
        if !waiting.isEmpty { waiting.removeFirst().resume() }
    }

    /// Begins the exchange of another request of the engine, with a URL of its own.
    func begin(_ request: HTTPRequest) -> Exchange {
        var capture = common
        capture.target = redaction.target(request.uri)
        capture.connection = nil
        let exchange = begin(capture)
        exchange.engine = Exchange.EngineParts(body: request.options.body)
        return exchange
    }

    private func begin(_ capture: Capture, keepsDatagrams: Bool = false) -> Exchange {
        let exchange = Exchange(capture, for: archive, keepsDatagrams: keepsDatagrams)
        exchange.capture.date = ArchiveFile.now
        exchanges.append(exchange)
        return exchange
    }

    func note(sent header: [UInt8], _ traffic: Ending.Traffic) {
        guard let exchange = exchanges.last else { return }
        exchange.engine?.sent = header
        exchange.capture.traffic = traffic
    }

    func note(_ event: Event) {
        switch event {
        case .connected(let connection):
            common.connection = connection
            exchanges.last?.capture.connection = connection
        case .sent(let bytes, _):
            guard let exchange = exchanges.last, let engine = exchange.engine else { return }
            exchange.note(bytes.count + (engine.body?.count ?? 0), isSent: true)
        default: break
        }
    }

    func end(_ end: HopEnd) throws(FetchError) {
        do throws(FetchError) {
            if let problem = exchanges.lazy.compactMap(\.problem).first { throw problem }
            try write(end)
        } catch {
            archive.fail(error)
            // A full disk keeps no page from its reader.
            if !archive.keepsPagesAlone { throw error }
        }
    }

    private func write(_ end: HopEnd) throws(FetchError) {
        let error: FetchError? = if case .failed(let error) = end { error } else { nil }
        // An interrupted exchange will be fetched again, so nothing is recorded.
        if error?.outcome == .interrupted { return }
        if let most = archive.pageBytesMax {
            // Heads, metadata and a certificate need some room, too.
            let bytes = exchanges.reduce(0) { $0 + $1.received.count + 4096 }
            guard end.isPage, bytes <= most, !exchanges.contains(where: \.isNotToBeStored) else {
                return
            }
        }
        for (index, exchange) in exchanges.enumerated() {
            let isLast = index == exchanges.count - 1
            let capture = try capture(exchange, isLast ? end : .replied(.complete, nil))
            if archive.keepsPagesAlone, capture.isMasked { continue }
            try archive.write(capture)
        }
        if exchanges.isEmpty, hasDialled, let error, error.isOfServer {
            common.failure = error
            try archive.write(common)
        }
    }

    private func capture(_ exchange: Exchange, _ end: HopEnd) throws(FetchError) -> Capture {
        var capture = exchange.capture
        capture.connection = capture.connection ?? common.connection
        switch end {
        case .replied(.truncated, _):
            capture.truncated = .disconnect
            capture.failure = FetchError(
                .truncated, .body,
                "the body may be cut off: the connection ended without the sign of its end")
        case .replied: break
        case .headAlone:
            if capture.ending == nil { capture.truncated = .unspecified }
        case .failed(let error):
            capture.failure = error.isOfServer ? error : nil
            capture.truncated =
                switch error.outcome {
                case .tooLarge: .length
                case .timeout: .time
                case .truncated, .receive, .send, .connect: .disconnect
                // A protocol error can follow a complete reply.
                case .protocolError, .permanentFailure, .emptyReply:
                    capture.ending == nil && exchange.engine == nil ? .unspecified : nil
                default: capture.ending == nil ? .unspecified : nil
                }
        }
        let moved = try describe(exchange, &capture)
        if moved == nil {
            exchange.turns.join(
                sent: capture.request?.count ?? 0, received: capture.response?.count ?? 0)
        }
        capture.turns = exchange.turns.json(moved ?? { $0 })
        return capture
    }

    /// Adds the request and the reply, with their secrets masked.
    ///
    /// - Returns: A map of offsets in the sent bytes to those of the recorded request; `nil` if the
    ///   lengths of the turns are not known.
    private func describe(
        _ exchange: Exchange, _ capture: inout Capture
    ) throws(FetchError) -> ((Int) -> Int)? {
        if let engine = exchange.engine {
            try describe(engine, exchange.received, &capture)
            return nil
        }
        let (sent, received) = (exchange.sent, exchange.received)
        capture.traffic = Ending.Traffic(sent: sent.count, received: received.count)
        var moved: ((Int) -> Int)?
        if let whole = sent.whole {
            let masked = redaction.masked(whole)
            capture.isMasked = masked.isMasked
            if !whole.isEmpty { capture.request = Block(masked.bytes) }
            moved = masked.offset
        } else {
            moved = try describe(upload: sent, &capture)
        }
        guard exchange.hasReply, received.count > 0 || capture.failure == nil else {
            return moved
        }
        let reply = try redaction.masked(received)
        capture.response = reply
        guard reply.count != received.count else { return moved }
        capture.isMasked = true
        return nil
    }

    /// Adds an upload too large for memory; secrets may be in its header.
    private func describe(
        upload sent: BlockSpool, _ capture: inout Capture
    ) throws(FetchError) -> ((Int) -> Int)? {
        guard !inputToMask else {
            capture.isMasked = true
            capture.request = Block(SecretMask.mark)
            return { min($0, SecretMask.mark.count) }
        }
        let clean = try redaction.masked(sent)
        let hasSecrets = clean.spool !== sent
        let head = try clean.spool?.prefix(BlockSpool.headBytesMax) ?? clean.bytes
        let masked = redaction.masked(header: head, isMasked: hasSecrets)
        capture.isMasked = masked.isMasked || hasSecrets
        capture.request =
            masked.isMasked
            ? Block(masked.bytes, clean.spool, from: clean.spool == nil ? 0 : head.count) : clean
        // The offsets of secrets masked earlier are unknown, and so are the turns.
        guard clean.count == sent.count else { return nil }
        return { offset in
            masked.offset(of: min(offset, head.count)) + max(0, offset - head.count)
        }
    }

    private func describe(
        _ engine: Exchange.EngineParts, _ received: BlockSpool, _ capture: inout Capture
    ) throws(FetchError) {
        capture.subtype = nil
        if !engine.sent.isEmpty {
            let sent = MessageHead.ofRequest(engine.sent)
            let head = redaction.masked(head: sent)
            let body = engine.body ?? []
            let masked = inputToMask && !body.isEmpty ? SecretMask.mark : body
            capture.isMasked = head != sent || masked != body
            capture.requestHeadBytes = head.count
            capture.request = Block(head + masked)
        }
        guard let reply = engine.reply else { return }
        let body = try redaction.masked(received)
        // For protocols other than HTTP libcurl reports a body and nothing else.
        guard !reply.version.isEmpty else {
            (capture.subtype, capture.request, capture.response) = (common.subtype, nil, body)
            return
        }
        let isBodyMasked = body.count != received.count
        let original =
            isBodyMasked
            ? MessageHead.ofReply(reply, bodyBytes: body.count, isChanged: true)
            : engine.head ?? MessageHead.ofReply(reply, bodyBytes: received.count)
        let head = redaction.masked(head: original)
        if head != original || isBodyMasked { capture.isMasked = true }
        capture.version = reply.version
        if original != reply.fields.bytes, !isBodyMasked {
            capture.replyHead = redaction.masked(head: reply.fields.bytes)
        }
        capture.status = reply.status
        capture.responseHeadBytes = head.count
        capture.response = Block(head + body.bytes, body.spool)
        capture.isResponseHashed =
            engine.head != nil && head == original && body.spool === received
    }
}

extension FetchError {
    /// True if the error is about the server or the network, not about this machine.
    fileprivate var isOfServer: Bool {
        switch outcome {
        case .interrupted, .write, .read, .internal, .usage, .badURL, .identityUnusable,
            .notBuiltIn, .unsupportedScheme, .notRecorded, .refusedAddress:
            false
        default: true
        }
    }
}

extension HopEnd {
    /// True for a whole reply that will do later, too.
    fileprivate var isPage: Bool {
        guard case .replied(let completeness, let head) = self, completeness != .truncated else {
            return false
        }
        switch head?.replyClass ?? .success {
        case .success: return head?.isUnchanged != true
        case .redirect: return true
        // Other refusals would hide the page.
        case .permanentFailure: return head?.isMissing ?? false
        default: return false
        }
    }
}
