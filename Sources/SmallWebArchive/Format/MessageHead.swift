// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Heads of HTTP messages in the archive's form: HTTP/1.0 as it came, everything else as HTTP/1.1.
enum MessageHead {
    static let mediaType = "application/http"
    static let subtype = String(mediaType.dropFirst("application/".count))
    static let version = Array("HTTP/1.1".utf8)

    /// A request's head without the fields for a proxy.
    static func ofRequest(_ head: [UInt8]) -> [UInt8] {
        let lines = HeaderText.lines(head[...])
        guard let first = lines.first else { return [] }
        var words = first.withoutLineEnd.split(separator: ASCII.space)
        if words.count == 3 {
            words[1] = path(words[1])
            words[2] = version[...]
        }
        return Array(words.joined(separator: [ASCII.space])) + ASCII.crlf
            + Array(
                lines.dropFirst()
                    .filter { !HeaderText.isField($0, "proxy-authorization") }.joined())
    }

    /// The path and query of an absolute target; any other target unchanged.
    private static func path(_ target: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let mark = Array("://".utf8)
        guard let colon = target.firstIndex(of: ASCII.colon), target[colon...].starts(with: mark)
        else { return target }
        let path = target[(colon + 3)...].drop { $0 != ASCII.slash && $0 != ASCII.questionMark }
        return path.isEmpty ? [ASCII.slash] : path
    }

    /// True if the head of a reply can be recorded before all of its body has arrived.
    static func isFinal(_ reply: HTTPReply) -> Bool { reply["transfer-encoding"] == nil }

    /// A reply's head. The engine has undone the transfer coding, so the body has a length.
    ///
    /// - Parameters:
    ///   - bodyBytes: Length of the body; `nil` for a head that ``isFinal(_:)``.
    ///   - isChanged: True if the body's length differs from the one received.
    static func ofReply(
        _ reply: HTTPReply, bodyBytes: Int?, isChanged: Bool = false
    ) -> [UInt8] {
        var lines = HeaderText.lines(reply.fields.bytes[...])
        guard let first = lines.first else { return [] }
        let rest = first.drop { $0 != ASCII.space && !ASCII.isLineEnd($0) }
        if reply.version != "1.0" { lines[0] = (version + rest)[...] }
        while let last = lines.last, last.allSatisfy(ASCII.isLineEnd) { lines.removeLast() }
        if let bodyBytes, isChanged || !isFinal(reply) {
            lines.removeAll {
                HeaderText.isField($0, "transfer-encoding")
                    || HeaderText.isField($0, "content-length")
            }
            lines.append(Array("Content-Length: \(bodyBytes)\r\n".utf8)[...])
        }
        return Array(lines.joined()) + ASCII.crlf
    }
}
