// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Heads of HTTP messages in the archive's form: always HTTP/1.1, whatever the engine spoke.
enum MessageHead {
    static let mediaType = "application/http"
    static let subtype = String(mediaType.dropFirst("application/".count))
    static let version = Array("HTTP/1.1".utf8)

    /// The lines of a head with their line ends.
    private static func lines(_ head: [UInt8]) -> [ArraySlice<UInt8>] {
        var (lines, start) = ([ArraySlice<UInt8>](), 0)
        while let end = head[start...].firstLineFeed {
            lines.append(head[start...end])
            start = end + 1
        }
        if start < head.count { lines.append(head[start...]) }
        return lines
    }

    private static func isField(_ line: ArraySlice<UInt8>, _ name: String) -> Bool {
        let said = line.prefix { $0 != ASCII.colon }
        return said.count == name.utf8.count
            && zip(said, name.utf8).allSatisfy { ASCII.lowercased($0) == $1 }
    }

    /// A request's head without the fields for a proxy.
    static func ofRequest(_ head: [UInt8]) -> [UInt8] {
        let lines = lines(head)
        guard let first = lines.first else { return [] }
        var words = first.filter { !$0.isLineEnd }.split(separator: ASCII.space)
        if words.count == 3 {
            words[1] = path(words[1])
            words[2] = version[...]
        }
        return Array(words.joined(separator: [ASCII.space])) + ASCII.crlf
            + lines.dropFirst().filter { !isField($0, "proxy-authorization") }.joined()
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
        var lines = lines(reply.fields.bytes)
        guard let first = lines.first else { return [] }
        let rest = first.drop { $0 != ASCII.space && !$0.isLineEnd }
        lines[0] = (version + rest)[...]
        while let last = lines.last, last.allSatisfy(\.isLineEnd) { lines.removeLast() }
        if let bodyBytes, isChanged || !isFinal(reply) {
            lines.removeAll {
                isField($0, "transfer-encoding") || isField($0, "content-length")
            }
            lines.append(Array("Content-Length: \(bodyBytes)\r\n".utf8)[...])
        }
        return Array(lines.joined()) + ASCII.crlf
    }
}

extension UInt8 {
    fileprivate var isLineEnd: Bool { self == ASCII.lineFeed || self == ASCII.carriageReturn }
}

extension Exchange {
    func begin(_ reply: HTTPReply) {
        var parts = engine ?? EngineParts()
        parts.reply = reply
        if MessageHead.isFinal(reply) {
            parts.head = MessageHead.ofReply(reply, bodyBytes: nil)
        }
        engine = parts
        received = received.empty(head: parts.head)
    }
}
