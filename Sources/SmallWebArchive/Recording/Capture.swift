// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// The reason why a block is truncated (WARC 1.1, section 5.13).
package enum Truncation: String, Sendable {
    case length, time, disconnect, unspecified
}

/// An exchange with its secrets masked, ready for the archive.
struct Capture {
    var target: String
    var date = ArchiveFile.now
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

    init(target: String) { self.target = target }

    var isHTTP: Bool { subtype == nil }

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
}
