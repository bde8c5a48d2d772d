// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb

/// Host pattern of a section of the config file: a shell pattern such as `*.example.org`,
/// optionally with `:PORT`. IPv6 addresses are in brackets.
struct HostPattern: Sendable, Hashable, CustomStringConvertible {
    private let host: String
    /// `nil` for any port.
    private let port: UInt16?
    private let isV6: Bool

    init(parsing text: String) throws(FetchError) {
        let bracket = text.firstIndex(of: "]") ?? text.startIndex
        // Brackets without a colon in them are a shell pattern: [ab].example.org.
        isV6 = text.hasPrefix("[") && text[..<bracket].contains(":")
        let end = isV6 ? bracket : text.lastIndex(of: ":") ?? text.endIndex
        let written = Self.withoutLastDot(text[..<end].dropFirst(isV6 ? 1 : 0).lowercased())
        // Converted label by label, so that *.bücher.example works, too.
        var labels: [String] = []
        for label in written.split(separator: ".", omittingEmptySubsequences: false) {
            labels.append(try InternationalHostName.toASCII(String(label)))
        }
        host = labels.joined(separator: ".")
        let rest = text[end...].dropFirst(isV6 ? 1 : 0)
        if isV6 {
            guard Self.address(host) != nil else {
                throw usageError("\(host) is not an IPv6 address")
            }
            guard rest.isEmpty || rest.hasPrefix(":") else {
                throw usageError("behind the address of [host \(text)] only :PORT may stand")
            }
        } else {
            guard !host.contains(":") else {
                throw usageError(
                    "an IPv6 address stands in brackets", hint: "write [host [\(text)]]")
            }
            guard !host.isEmpty else { throw usageError("[host \(text)] has no host") }
        }
        guard !rest.isEmpty else {
            port = nil
            return
        }
        guard let number = ASCII.decimal(rest.dropFirst().utf8, max: 65_535), number > 0 else {
            throw usageError("a port is a number from 1 to 65535, not \"\(rest.dropFirst())\"")
        }
        port = UInt16(number)
    }

    /// - Parameters:
    ///   - host: Host with A-labels.
    ///   - port: Called only if needed.
    func covers(_ host: String, port: () -> UInt16?) -> Bool {
        let host = Self.withoutLastDot(host)
        let isHost =
            isV6 ? Self.address(self.host) == Self.address(host) : fnmatch(self.host, host, 0) == 0
        return isHost && (self.port == nil || self.port == port())
    }

    var description: String {
        (isV6 ? "[\(host)]" : host) + (port.map { ":\($0)" } ?? "")
    }

    /// A trailing dot denotes the DNS root and does not change the name.
    private static func withoutLastDot(_ host: String) -> String {
        host.utf8.last == ASCII.dot ? String(host.dropLast()) : host
    }

    private static func address(_ text: String) -> [UInt8]? {
        addressBytes(text).flatMap { $0.count == 16 ? $0 : nil }
    }
}
