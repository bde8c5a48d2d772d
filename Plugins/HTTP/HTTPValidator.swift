// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// The validator of a reply, and the conditional request by it (RFC 9110 §8.8, §13.1): `etag` and
/// an entity tag, or `date` and the value of Last-Modified. Pure.
struct HTTPValidator {
    let fields: [HTTPField]

    /// Longer ones are not kept.
    private static let lengthMax = 1024

    /// `nil` for a request that is conditional or partial already, or is neither GET nor HEAD.
    init?(_ request: Request, _ options: HTTPOptions) {
        guard let text = request.validator?.text,
            ["GET", "HEAD"].contains(options.method ?? "GET"),
            options.body == nil, options.resumeOffset == nil,
            !options.fields.contains(where: { Self.conditions.contains($0.name.lowercased()) })
        else { return nil }
        let parts = text.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, Self.isValue(parts[1]) else { return nil }
        switch parts[0] {
        case "etag": fields = [HTTPField("If-None-Match", String(parts[1]))]
        case "date": fields = [HTTPField("If-Modified-Since", String(parts[1]))]
        default: return nil
        }
    }

    static let conditions: Set<String> = [
        "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since",
        "range",
    ]

    /// - Parameter now: When the reply came, in seconds since 1970.
    static func text(of reply: HTTPReply, at now: Int = UTCDate.now) -> String? {
        guard reply.status == 200 || reply.status == 304 else { return nil }
        if let tag = reply["etag"], isTag(tag) { return "etag " + tag }
        let sent = reply["date"].flatMap { HTTPDate.unixSeconds($0) }
        return reply["last-modified"].flatMap {
            isStrong($0, sent: sent ?? now) ? "date " + $0 : nil
        }
    }

    /// True for a Last-Modified at least a second before the reply: what was changed in its second
    /// may have changed again in it (§8.8.2.2).
    static func isStrong(_ modified: String, sent: Int?) -> Bool {
        guard let moment = HTTPDate.unixSeconds(modified), let sent else { return false }
        return moment < sent
    }

    /// `"x"` or `W/"x"` (RFC 9110 §8.8.3).
    static func isTag(_ text: String) -> Bool {
        let tag = text.hasPrefix("W/") ? text.dropFirst(2) : text[...]
        return tag.utf8.count >= 2 && tag.hasPrefix("\"") && tag.hasSuffix("\"")
            && !tag.dropFirst().dropLast().contains("\"") && isValue(text)
    }

    static func isValue(_ text: some StringProtocol) -> Bool {
        1...lengthMax ~= text.utf8.count
            && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }
}
