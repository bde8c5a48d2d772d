// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb

/// The hosts of a section of the config file: a pattern as in a shell, such as `*.example.org`, for
/// every port or, with `:PORT` behind it, for one. An IPv6 address is in brackets.
struct HostPattern: Sendable, Hashable, CustomStringConvertible {
    private let host: String
    /// `nil` for every port.
    private let port: UInt16?
    private let isV6: Bool

    /// - Throws: `usage`.
    init(parsing text: String) throws(FetchError) {
        let bracket = text.firstIndex(of: "]") ?? text.startIndex
        // Brackets without a colon in them are a shell's: [ab].example.org.
        isV6 = text.hasPrefix("[") && text[..<bracket].contains(":")
        let end = isV6 ? bracket : text.lastIndex(of: ":") ?? text.endIndex
        let written = Self.withoutLastDot(text[..<end].dropFirst(isV6 ? 1 : 0).lowercased())
        // By its labels, so that *.bücher.example is one as well.
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
    ///   - host: With A-labels.
    ///   - port: Asked only where it matters.
    func covers(_ host: String, port: () -> UInt16?) -> Bool {
        let host = Self.withoutLastDot(host)
        let isHost =
            isV6 ? Self.address(self.host) == Self.address(host) : fnmatch(self.host, host, 0) == 0
        return isHost && (self.port == nil || self.port == port())
    }

    var description: String {
        (isV6 ? "[\(host)]" : host) + (port.map { ":\($0)" } ?? "")
    }

    /// A name is the same with the dot of the root at its end.
    private static func withoutLastDot(_ host: String) -> String {
        host.utf8.last == ASCII.dot ? String(host.dropLast()) : host
    }

    private static func address(_ text: String) -> [UInt8]? {
        addressBytes(text).flatMap { $0.count == 16 ? $0 : nil }
    }
}
