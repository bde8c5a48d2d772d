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
    private let scheme: Scheme
    private let attempt: Int
    private let redaction: Redaction
    private let target: String
    private let inputToMask: Bool
    private let asked: [UInt8]?
    private var hasDialled = false
    private var connection: Connection?
    private var exchanges: [Exchange] = []
    /// True while an exchange of the engine runs; `waiting` has those that wait for its end.
    private var isBusy = false
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private let date = RecordDate.now

    init(_ request: Request, _ hop: Hop, _ archive: ArchiveWriter) {
        self.archive = archive
        scheme = request.scheme
        attempt = hop.attempt
        redaction = Redaction(request, hop.registry, keepsSecrets: archive.keepsSecrets)
        asked = Self.asked(request, keepsSecrets: archive.keepsSecrets)
        inputToMask = request.isInputSecret && !archive.keepsSecrets
        target = Self.target(request.uri, redaction, keepsSecrets: archive.keepsSecrets)
    }

    /// The form of a URL to record.
    static func target(_ uri: URI, _ redaction: Redaction, keepsSecrets: Bool) -> String {
        let uri = uri.withoutFragment
        return keepsSecrets ? uri.description : redaction.masked(text: uri.display)
    }

    /// Options of a request other than the URL, without secrets, as a replay needs them.
    private static func asked(_ request: Request, keepsSecrets: Bool) -> [UInt8]? {
        let isInputKept = request.input != nil && (keepsSecrets || !request.isInputSecret)
        let options = request.options.isEmpty ? [] : request.options.keys.sorted()
        guard
            isInputKept || !options.isEmpty || request.wantsRawBody || request.wantsHeadAlone
                || !request.wantsItems
        else { return nil }
        var line = JSONWriter.line { writer in
            if isInputKept, let input = request.input {
                writer.member(named: "input", bytes: input)
            }
            if request.wantsRawBody { writer.member("raw", true) }
            if request.wantsHeadAlone { writer.member("head", true) }
            if !request.wantsItems { writer.member("items", false) }
            writer.member("options", object: options.isEmpty ? nil : options) { writer, names in
                for name in names {
                    switch request.options[name] {
                    case .flag(let flag)?: writer.member(named: name) { $0.value(flag) }
                    case .text(let text)?: writer.member(named: name) { $0.value(text) }
                    case .list(let list)?:
                        let masked = list.map { line in
                            keepsSecrets
                                ? line
                                : String(
                                    decoding: SecretFields.masked(Array(line.utf8)),
                                    as: UTF8.self)
                        }
                        writer.member(named: name) { $0.array(masked) { $0.value($1) } }
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
        let exchange = Exchange(
            target: target, directory: archive.directory, keepsDatagrams: keepsDatagrams)
        exchange.connection = connection
        exchanges.append(exchange)
        return TeeCarrier(carrier, exchange)
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
        let exchange = Exchange(
            target: Self.target(
                request.uri, redaction, keepsSecrets: archive.keepsSecrets),
            directory: archive.directory)
        exchange.engine = Exchange.EngineParts()
        exchange.engine?.body = request.options.body
        exchanges.append(exchange)
        return exchange
    }

    func note(sent header: [UInt8], _ traffic: Ending.Traffic) {
        guard let exchange = exchanges.last else { return }
        exchange.engine?.sent = header
        exchange.traffic = traffic
    }

    func note(_ event: Event) {
        switch event {
        case .connected(let connection):
            self.connection = connection
            exchanges.last?.connection = connection
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
            throw error
        }
    }

    private func write(_ end: HopEnd) throws(FetchError) {
        let error: FetchError? = if case .failed(let error) = end { error } else { nil }
        // An interrupted exchange will be fetched again, so nothing is recorded.
        if error?.outcome == .interrupted { return }
        for (index, exchange) in exchanges.enumerated() {
            let isLast = index == exchanges.count - 1
            try archive.write(
                finished(exchange, isLast ? end : .replied(.complete)))
        }
        if exchanges.isEmpty, hasDialled, let error, error.isOfServer {
            var finished = FinishedExchange(target: target, date: date)
            finished.failure = error
            describe(connection, &finished)
            finished.attempts = attempt
            try archive.write(finished)
        }
    }

    private func finished(_ exchange: Exchange, _ end: HopEnd) throws(FetchError)
        -> FinishedExchange
    {
        var finished = FinishedExchange(target: exchange.target, date: exchange.date)
        finished.attempts = attempt
        describe(exchange.connection ?? connection, &finished)
        finished.ending = exchange.ending
        switch end {
        case .replied(.truncated):
            finished.truncated = .disconnect
            finished.failure = FetchError(
                .truncated, .body,
                "the body may be cut off: the connection ended without the sign of its end")
        case .replied: break
        case .headAlone:
            if exchange.ending == nil { finished.truncated = .unspecified }
        case .failed(let error):
            finished.failure = error.isOfServer ? error : nil
            finished.truncated =
                switch error.outcome {
                case .tooLarge: .length
                case .timeout: .time
                case .truncated, .receive, .send, .connect: .disconnect
                // A protocol error can follow a complete reply.
                case .protocolError, .permanentFailure, .emptyReply:
                    exchange.ending == nil && exchange.engine == nil ? .unspecified : nil
                default: exchange.ending == nil ? .unspecified : nil
                }
        }
        if exchange.engine == nil {
            try describe(exchange, &finished)
        } else {
            try describeEngine(exchange, &finished)
        }
        return finished
    }

    private func describe(_ connection: Connection?, _ finished: inout FinishedExchange) {
        finished.connection = connection
        finished.asked = asked
        finished.subtype = scheme.messageSubtype ?? scheme.name
    }

    private func describe(
        _ exchange: Exchange, _ finished: inout FinishedExchange
    ) throws(FetchError) {
        finished.traffic = Ending.Traffic(
            sent: exchange.sent.count, received: exchange.received.count)
        if let sent = exchange.sent.whole {
            let masked = redaction.masked(sent)
            finished.isMasked = masked.isMasked
            if !sent.isEmpty { finished.request = .bytes(masked.bytes) }
            finished.turns = exchange.turnsText(masked.offset)
        } else {
            try describeUpload(exchange, &finished)
        }
        guard exchange.hasReply, exchange.received.count > 0 || finished.failure == nil else {
            return
        }
        let received = exchange.received
        if let reply = received.whole {
            finished.response = .bytes(redaction.masked(reply: reply))
        } else {
            finished.response = .of(try redaction.masked(received) ?? received)
        }
        if let count = finished.response?.count, count != received.count {
            // Masking has changed the lengths of the turns.
            finished.isMasked = true
            exchange.setTurns(sent: finished.request?.count ?? 0, received: count)
            finished.turns = exchange.turnsText { $0 }
        }
    }

    /// Records an upload too large for memory; secrets may be in its header.
    private func describeUpload(
        _ exchange: Exchange, _ finished: inout FinishedExchange
    ) throws(FetchError) {
        guard !inputToMask else {
            finished.isMasked = true
            finished.request = .bytes(SecretMask.mark)
            finished.turns = exchange.turnsText { min($0, SecretMask.mark.count) }
            return
        }
        let clean = try redaction.masked(exchange.sent)
        let sent = clean ?? exchange.sent
        let head = try sent.prefix(BlockSpool.headBytesMax)
        let masked = redaction.masked(header: head, isMasked: clean != nil)
        finished.isMasked = masked.isMasked || clean != nil
        finished.request =
            masked.isMasked
            ? .spool(masked.bytes, sent, from: head.count) : .spool([], sent, from: 0)
        let moved = masked.offset(of: head.count) - head.count
        // The offsets of secrets masked earlier are unknown, and so are the turns.
        if let clean, clean.count != exchange.sent.count {
            exchange.setTurns(sent: clean.count + moved, received: exchange.received.count)
            finished.turns = exchange.turnsText { $0 }
            return
        }
        finished.turns = exchange.turnsText { offset in
            offset <= head.count ? masked.offset(of: offset) : offset + moved
        }
    }

    private func describeEngine(
        _ exchange: Exchange, _ finished: inout FinishedExchange
    ) throws(FetchError) {
        guard let engine = exchange.engine else { return }
        finished.subtype = nil
        finished.traffic = exchange.traffic ?? Ending.Traffic()
        let keepsSecrets = archive.keepsSecrets
        if !engine.sent.isEmpty {
            let head = MessageHead.ofRequest(engine.sent)
            var block =
                keepsSecrets ? head : redaction.masked(reply: SecretFields.masked(head))
            let body = engine.body ?? []
            let masked = inputToMask && !body.isEmpty ? SecretMask.mark : body
            finished.isMasked = block != head || masked != body
            finished.requestHeadBytes = block.count
            block += masked
            finished.request = .bytes(block)
        }
        let sentBytes = finished.request?.count ?? 0
        guard let reply = engine.reply else {
            exchange.setTurns(sent: sentBytes, received: 0)
            finished.turns = exchange.turnsText { $0 }
            return
        }
        // For protocols other than HTTP libcurl reports a body and nothing else.
        guard !reply.version.isEmpty else {
            finished.subtype = scheme.messageSubtype ?? scheme.name
            finished.request = nil
            let received = exchange.received
            finished.response = .of(try redaction.masked(received) ?? received)
            exchange.setTurns(sent: 0, received: finished.response?.count ?? 0)
            finished.turns = exchange.turnsText { $0 }
            return
        }
        let received = exchange.received
        let body = received.whole.map(redaction.masked(reply:))
        let spool = body == nil ? try redaction.masked(received) ?? received : received
        let isBodyMasked = (body?.count ?? spool.count) != received.count
        let original =
            isBodyMasked
            ? MessageHead.ofReply(
                reply, bodyBytes: body?.count ?? spool.count, isChanged: true)
            : engine.head ?? MessageHead.ofReply(reply, bodyBytes: received.count)
        let head =
            keepsSecrets ? original : redaction.masked(reply: SecretFields.masked(original))
        if head != original || isBodyMasked { finished.isMasked = true }
        finished.version = reply.version
        if original != reply.fields.bytes, !isBodyMasked {
            finished.replyHead =
                keepsSecrets
                ? reply.fields.bytes
                : redaction.masked(reply: SecretFields.masked(reply.fields.bytes))
        }
        finished.status = reply.status
        finished.responseHeadBytes = head.count
        finished.response =
            body.map { .bytes(head + $0) } ?? .spool(head, spool, from: 0)
        finished.isResponseHashed = engine.head != nil && head == original && spool === received
        exchange.setTurns(sent: sentBytes, received: finished.response?.count ?? 0)
        finished.turns = exchange.turnsText { $0 }
    }
}

extension FetchError {
    /// True if the error is about the server or the network, not about this machine.
    fileprivate var isOfServer: Bool {
        switch outcome {
        case .interrupted, .write, .read, .internal, .usage, .badURL, .identityUnusable,
            .notBuiltIn, .unsupportedScheme, .notRecorded:
            false
        default: true
        }
    }
}
