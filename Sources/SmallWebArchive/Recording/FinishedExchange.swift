// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// The block of a record that is to be written.
enum Block {
    case bytes([UInt8])
    /// Bytes, and behind them those of a spool from an offset on.
    case spool([UInt8], BlockSpool, from: Int)

    static func of(_ spool: BlockSpool) -> Block {
        spool.whole.map { .bytes($0) } ?? .spool([], spool, from: 0)
    }

    var count: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .spool(let head, let spool, let start): head.count + spool.count - start
        }
    }
}

/// Why a block is not all that there was (WARC 1.1, section 5.13).
package enum Truncation: String, Sendable {
    case length, time, disconnect, unspecified
}

/// An exchange that is over, with its secrets masked, as it goes into an archive.
struct FinishedExchange {
    let target: String
    let date: RecordDate
    /// Of the messages' media type; `nil` for those of HTTP.
    var subtype: String?
    var connection: Connection?
    var ending: ByteStream.Ending?
    var request: Block?
    var response: Block?
    /// Where the payloads begin, of messages of HTTP.
    var (requestHeadBytes, responseHeadBytes) = (0, 0)
    /// Whether the spool of the response has hashed the block as it is written.
    var isResponseHashed = false
    /// HTTP's: of the reply, and the head as it came where it was changed.
    var version: String?
    var replyHead: [UInt8]?
    var status = 0
    var truncated: Truncation?
    var failure: FetchError?
    var turns: [UInt8] = []
    var traffic = Ending.Traffic()
    var attempts = 1
    var isMasked = false
    /// What was asked for beside the URL, as JSON; `nil` for nothing.
    var asked: [UInt8]?

    init(target: String, date: RecordDate) { (self.target, self.date) = (target, date) }

    /// Of the type of its messages' blocks, below "application".
    var mediaSubtype: String { subtype ?? MessageHead.subtype }

    /// The protocols below and of the messages, from the lowest on.
    var protocols: [String] {
        var protocols: [String] = []
        if let version = connection?.tls?.version, version.hasPrefix("TLSv") {
            protocols.append("tls/\(version.dropFirst(4))")
        }
        if let subtype {
            protocols.append(subtype.hasPrefix("x-") ? String(subtype.dropFirst(2)) : subtype)
        } else if let version {
            protocols.append(version.hasPrefix("2") ? "h2" : "http/\(version)")
        }
        return protocols
    }

    /// What WARC has no field for.
    var facts: [UInt8] {
        JSONWriter.line { writer in
            writer.member("attempts", attempts)
            writer.member("remote", object: connection) { writer, connection in
                writer.member("port", Int(connection.port))
                writer.member("proxy", connection.proxy)
            }
            writer.member("tls", object: connection?.tls) { writer, tls in
                writer.member("version", tls.version)
                writer.member("cipher", tls.cipher)
                writer.member("alpn", tls.applicationProtocol)
                writer.member("sni", tls.serverName)
                writer.member("resumed", tls.isResumed)
                writer.member("close_notify", ending.map { $0 == .closeNotify })
                writer.member("client_cert", tls.shownIdentity.map { "sha256:" + $0.hex })
                writer.member("cert", "sha256:" + tls.certificate.sha256.hex)
                writer.member("chain", tls.chainLength)
            }
            writer.member("ending", ending?.word)
            writer.member("bytes", object: traffic) { writer, traffic in
                writer.member("sent", traffic.sent)
                writer.member("received", traffic.received)
            }
            if isMasked { writer.member("masked", true) }
            if let asked { writer.member(named: "request") { $0.raw(asked[...]) } }
            if let replyHead { writer.member(named: "head", bytes: replyHead) }
        }
    }

    /// Why it failed, as `application/warc-fields`.
    func failureFields(_ error: FetchError) -> [UInt8] {
        var fields: [(String, String?)] = [
            ("outcome", error.outcome.rawValue), ("exit", String(error.outcome.exitStatus)),
            ("message", error.message), ("phase", error.phase.rawValue),
            ("errno", error.errnoName), ("expected", error.expected), ("actual", error.actual),
        ]
        fields.append(("hint", error.hint))
        if case .raise(let limit)? = error.remedy { fields.append(("limit", limit.word)) }
        var text: [UInt8] = []
        for case (let name, let value?) in fields {
            text.append(name + ": ")
            text += value.utf8.map { $0 < ASCII.space ? ASCII.space : $0 }
            text += ASCII.crlf
        }
        return text
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
    private static let all: [FetchError.Remedy.Limit] = [
        .connectTime, .silence, .totalTime, .bodyBytes,
    ]

    var word: String? {
        switch self {
        case .connectTime: "connect-time"
        case .silence: "silence"
        case .totalTime: "total-time"
        case .bodyBytes: "body-bytes"
        default: nil
        }
    }

    init?(word: String) {
        guard let limit = Self.all.first(where: { $0.word == word }) else { return nil }
        self = limit
    }
}
