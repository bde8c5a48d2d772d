// SPDX-License-Identifier: MIT

/// Header fields with secret values, which are masked by `***` when shown or logged.
package enum SecretFields {
    private static let names: Set<String> = [
        "authorization", "cookie", "proxy-authorization", "set-cookie",
    ]

    /// One of HTTP's own, or a common name for a service's API key.
    private static func isSecret(_ name: ArraySlice<UInt8>) -> Bool {
        // Many servers ignore a blank before the colon.
        let bare = name.prefix { !ASCII.isBlank($0) }
        let text = String(decoding: bare, as: UTF8.self).lowercased()
        return names.contains(text) || text.hasSuffix("token") || text.hasSuffix("api-key")
    }

    /// Ranges of the secret values, without leading blanks.
    static func ranges(in header: [UInt8]) -> [Range<Int>] {
        guard header.contains(ASCII.colon) else { return [] }
        return header.split(separator: ASCII.lineFeed).compactMap { line in
            let name = line.prefix { $0 != ASCII.colon }
            guard name.count < line.count, isSecret(name) else { return nil }
            let value = line[(name.endIndex + 1)...].drop(while: ASCII.isBlank)
            return value.startIndex..<value.endIndex - (value.last == ASCII.carriageReturn ? 1 : 0)
        }
    }

    package static func masked(_ header: [UInt8]) -> [UInt8] { header.masking(ranges(in: header)) }

    package static func masked(_ header: String) -> String {
        String(decoding: masked(Array(header.utf8)), as: UTF8.self)
    }
}

extension [UInt8] {
    /// A copy with `***` for each of `ranges`, which ascend.
    package func masking(_ ranges: [Range<Int>]) -> [UInt8] {
        guard !ranges.isEmpty else { return self }
        var (masked, end) = ([UInt8](), 0)
        for range in ranges {
            masked += self[end..<range.lowerBound] + SecretMask.mark
            end = range.upperBound
        }
        return masked + self[end...]
    }
}

extension ProtocolHandler {
    /// Ranges of the values of header fields such as Authorization.
    public func secrets(in sent: [UInt8]) -> [Range<Int>] { SecretFields.ranges(in: sent) }

    /// Request bytes that are safe to show to others.
    package func redacted(_ sent: [UInt8]) -> [UInt8] { sent.masking(secrets(in: sent)) }
}
