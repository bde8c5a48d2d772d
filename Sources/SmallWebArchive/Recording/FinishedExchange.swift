// SPDX-License-Identifier: MIT
internal import SmallWebCore

enum Block {
    case bytes([UInt8])
    /// Bytes, followed by the content of a spool from an offset on.
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

/// The reason why a block is truncated (WARC 1.1, section 5.13).
package enum Truncation: String, Sendable {
    case length, time, disconnect, unspecified
}

/// A finished exchange with its secrets masked, ready for the archive.
struct FinishedExchange {
    let target: String
    let date: RecordDate
    /// Subtype of the messages' media type; `nil` for HTTP.
    var subtype: String?
    var connection: Connection?
    var ending: ByteStream.Ending?
    var request: Block?
    var response: Block?
    /// Offsets of the payloads of HTTP messages.
    var (requestHeadBytes, responseHeadBytes) = (0, 0)
    /// True if the response's spool has hashed exactly the block that is written.
    var isResponseHashed = false
    /// HTTP version of the reply, and its original head where the recorded one was changed.
    var version: String?
    var replyHead: [UInt8]?
    var status = 0
    var truncated: Truncation?
    var failure: FetchError?
    var turns: [UInt8] = []
    var traffic = Ending.Traffic()
    var attempts = 1
    var isMasked = false
    /// Options of the request other than the URL, as JSON; `nil` for none.
    var asked: [UInt8]?

    init(target: String, date: RecordDate) { (self.target, self.date) = (target, date) }

    /// Media subtype of the blocks, below "application".
    var mediaSubtype: String { subtype ?? MessageHead.subtype }

    /// Protocols of the connection and of the messages, lowest layer first.
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

    /// Data for which WARC has no field, as JSON.
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
