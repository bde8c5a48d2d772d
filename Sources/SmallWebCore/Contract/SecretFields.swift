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

    /// The same lines with their secrets masked.
    package static func masked(_ header: [UInt8]) -> [UInt8] {
        guard header.contains(ASCII.colon) else { return header }
        let lines = header.split(separator: ASCII.lineFeed, omittingEmptySubsequences: false)
        let masked = lines.map { line -> ArraySlice<UInt8> in
            let name = line.prefix { $0 != ASCII.colon }
            guard name.count < line.count, isSecret(name) else { return line }
            let end = line.last == ASCII.carriageReturn ? "\r" : ""
            return name + Array(": ***\(end)".utf8)
        }
        return Array(masked.joined(separator: [ASCII.lineFeed]))
    }
}
