// SPDX-License-Identifier: MIT

/// Header fields whose values are secrets: what is shown or logged has `***` instead.
package enum SecretFields {
    private static let names: Set<String> = [
        "authorization", "cookie", "proxy-authorization", "set-cookie",
    ]

    /// One of HTTP's own, or what services call their keys.
    private static func isSecret(_ name: ArraySlice<UInt8>) -> Bool {
        // A blank before the colon makes it no other field to many servers.
        let bare = name.prefix { !ASCII.isBlank($0) }
        let text = String(decoding: bare, as: UTF8.self).lowercased()
        return names.contains(text) || text.hasSuffix("token") || text.hasSuffix("api-key")
    }

    /// Where the values are, without the blanks before them.
    static func ranges(in header: [UInt8]) -> [Range<Int>] {
        guard header.contains(ASCII.colon) else { return [] }
        return header.split(separator: ASCII.lineFeed).compactMap { line in
            let name = line.prefix { $0 != ASCII.colon }
            guard name.count < line.count, isSecret(name) else { return nil }
            let value = line[(name.endIndex + 1)...].drop(while: ASCII.isBlank)
            return value.startIndex..<value.endIndex - (value.last == ASCII.carriageReturn ? 1 : 0)
        }
    }

    /// The same header with its secrets masked.
    package static func masked(_ header: [UInt8]) -> [UInt8] { header.masking(ranges(in: header)) }
}

extension [UInt8] {
    /// The same bytes with `***` for each of `ranges`, which ascend.
    package func masking(_ ranges: [Range<Int>]) -> [UInt8] {
        guard !ranges.isEmpty else { return self }
        var (masked, end) = ([UInt8](), 0)
        for range in ranges {
            masked += self[end..<range.lowerBound] + Array("***".utf8)
            end = range.upperBound
        }
        return masked + self[end...]
    }
}

extension ProtocolHandler {
    /// Where the values of header fields such as Authorization are.
    public func secrets(in sent: [UInt8]) -> [Range<Int>] { SecretFields.ranges(in: sent) }

    /// Request bytes as they may be shown to others.
    package func redacted(_ sent: [UInt8]) -> [UInt8] { sent.masking(secrets(in: sent)) }
}
