// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import SmallWebTransport

/// Recorded metadata of a connection and of how it ended.
struct CaptureFacts {
    private(set) var port: UInt16?
    private(set) var ending: ByteStream.Ending?
    private(set) var traffic = Ending.Traffic()
    /// Original head of a reply, if the block has another one.
    private(set) var head: [UInt8]?
    private(set) var certificate: [UInt8]?
    private(set) var proxy: String?
    private(set) var failure: FetchError?
    /// Options of the request other than the URL.
    private(set) var asked: JSONValue?
    private var tls: JSONValue?

    /// Longest metadata or failure record to read, in bytes.
    static let textBytesMax = 1 << 20

    init() {}

    /// - Parameter number: Index of the recording.
    init(_ number: Int, _ replayer: Replayer) throws(FetchError) {
        let recording = replayer.index.recordings[number]
        let texts = try replayer.blocks(
            [recording.facts, recording.failure], notOver: Self.textBytesMax)
        self.init(texts[0])
        failure = texts[1].flatMap { FetchError(warcFields: $0) }
    }

    /// - Parameter json: Untrusted input; malformed values are ignored.
    init(_ json: [UInt8]?) {
        guard let json, let facts = try? JSONValue.parse(WarcHeader.json(of: json)) else { return }
        port = facts["remote"]?["port"]?.integer.flatMap { UInt16(exactly: $0) }
        ending = facts["ending"]?.string.flatMap { ByteStream.Ending(word: $0) }
        traffic.sent = Self.count(facts["bytes"]?["sent"])
        traffic.received = Self.count(facts["bytes"]?["received"])
        head =
            facts["head"]?.string.map { Array($0.utf8) }
            ?? facts["head_base64"]?.string.flatMap(Base64.decode)
        asked = facts["request"]
        tls = facts["tls"]
        certificate = Self.digest(tls?["cert"])
    }

    /// Bounded, since the counts of all exchanges of a fetch are added.
    private static func count(_ value: JSONValue?) -> Int {
        value?.integer.flatMap { (0...bytesMax).contains($0) ? $0 : nil } ?? 0
    }

    /// Limit of a byte count; 32,767 of them can be added without overflow.
    static let bytesMax = 1 << 48

    private static func digest(_ value: JSONValue?) -> [UInt8]? {
        guard let text = value?.string, text.hasPrefix("sha256:") else { return nil }
        return ASCII.bytes(hex: text.utf8.dropFirst(7))
    }

    func handshake(_ chain: [[UInt8]]) -> RecordedHandshake {
        var handshake = RecordedHandshake(chain: chain)
        handshake.version = tls?["version"]?.string ?? ""
        handshake.cipher = tls?["cipher"]?.string ?? ""
        handshake.serverName = tls?["sni"]?.string
        handshake.applicationProtocol = tls?["alpn"]?.string
        handshake.isResumed = tls?["resumed"]?.bool ?? false
        handshake.chainLength = tls?["chain"]?.integer
        handshake.shownIdentity = Self.digest(tls?["client_cert"])
        return handshake
    }
}

extension FetchError {
    /// The error as `application/warc-fields`.
    var warcFields: [UInt8] {
        var fields: [(String, String?)] = [
            ("outcome", outcome.rawValue), ("exit", String(outcome.exitStatus)),
            ("message", message), ("phase", phase.rawValue), ("errno", errnoName),
            ("expected", expected), ("actual", actual), ("hint", hint),
        ]
        if case .raise(let limit)? = remedy { fields.append(("limit", limit.word)) }
        var text: [UInt8] = []
        for case (let name, let value?) in fields {
            text.append(name + ": ")
            text += value.utf8.map { $0 < ASCII.space ? ASCII.space : $0 }
            text += ASCII.crlf
        }
        return text
    }

    /// Parses an error recorded as `application/warc-fields`; `nil` if it is malformed.
    init?(warcFields text: [UInt8]) {
        var fields: [String: String] = [:]
        for line in text.split(whereSeparator: { $0 == 10 || $0 == 13 }) {
            guard let colon = line.firstIndex(of: ASCII.colon) else { continue }
            let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
            let value = line[(colon + 1)...].drop(while: ASCII.isBlank)
            fields[name] = String(decoding: value, as: UTF8.self)
        }
        guard let outcome = fields["outcome"].flatMap(Outcome.init(rawValue:)), outcome != .ok,
            outcome != .interrupted
        else { return nil }
        self.init(
            outcome, fields["phase"].flatMap(Phase.init(rawValue:)) ?? .connect,
            fields["message"] ?? outcome.summary, errnoName: fields["errno"],
            hint: fields["hint"], expected: fields["expected"], actual: fields["actual"])
        if let limit = fields["limit"].flatMap({ Remedy.Limit(word: $0) }) {
            remedy = .raise(limit)
        }
    }
}

extension ByteStream.Ending {
    var word: String {
        switch self {
        case .closeNotify: "close_notify"
        case .endOfFile: "fin"
        case .reset: "reset"
        }
    }

    init?(word: String) {
        let all: [ByteStream.Ending] = [.closeNotify, .endOfFile, .reset]
        guard let ending = all.first(where: { $0.word == word }) else { return nil }
        self = ending
    }
}

extension FetchError.Remedy.Limit {
    private static let words: KeyValuePairs<FetchError.Remedy.Limit, String> = [
        .connectTime: "connect-time", .silence: "silence", .totalTime: "total-time",
        .bodyBytes: "body-bytes",
    ]

    var word: String? { Self.words.first { $0.key == self }?.value }

    init?(word: String) {
        guard let limit = Self.words.first(where: { $0.value == word }) else { return nil }
        self = limit.key
    }
}

extension JSONValue {
    var integer: Int? {
        if case .number(let text) = self { Int(text) } else { nil }
    }
}
