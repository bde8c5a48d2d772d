// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Makes the key of a URL in an index, as Python's surt package does: host names reversed, and
/// forms of a URL that mostly are one page made equal. Pure, for any bytes.
package enum SurtKey {
    /// Passes of unescaping; more are made for no URL of good will, and would take quadratic time.
    private static let passesMax = 8
    /// Bytes that are not escaped, with letters and digits.
    private static let plain = Set("!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~".utf8)
    /// Names of queries that are sessions, and the length of their values.
    private static let sessions: [(name: [UInt8], count: Int)] = [
        (Array("jsessionid=".utf8), 32), (Array("phpsessid=".utf8), 32), (Array("sid=".utf8), 32),
    ]

    /// For example `org,example)/path?query`; paths and queries in lower case.
    package static func key(of url: String) -> String {
        var bytes = Array(url.utf8).filter { ![10, 13, 9].contains($0) }[...].trimmed
        if let end = bytes.firstIndex(of: UInt8(ascii: "#")) { bytes = bytes[..<end] }
        guard let scheme = URI.scheme(of: String(decoding: bytes, as: UTF8.self)) else {
            return url.replacing(text: " ", with: "%20")
        }
        bytes = bytes.dropFirst(scheme.utf8.count + 1)
        let mark = bytes.firstIndex(of: UInt8(ascii: "?")) ?? bytes.endIndex
        var (path, query) = (bytes[..<mark], bytes[mark...].dropFirst())
        var place: [UInt8]?
        if path.starts(with: "//".utf8) {
            let end = path.dropFirst(2).firstIndex(of: ASCII.slash) ?? path.endIndex
            place = self.place(path[..<end].dropFirst(2), scheme.lowercased())
            guard place != nil else { return url.replacing(text: " ", with: "%20") }
            path = path[end...]
        }
        var whole = unescaped(path)
        if place?.isEmpty == false {
            whole = normalized(whole)
        } else {
            place = Array((scheme + ":").utf8)
        }
        whole = escaped(whole).map(ASCII.lowercased)
        if whole.count > 1, whole.last == ASCII.slash { whole.removeLast() }
        query = sorted(withoutSessions(escaped(unescaped(query)))[...].map(ASCII.lowercased))[...]
        if !query.isEmpty { whole += (whole.isEmpty ? [ASCII.slash] : []) + [0x3F] + query }
        return String(decoding: (place ?? []) + whole, as: UTF8.self)
    }

    /// - Returns: `nil` for a port that is not one.
    private static func place(_ authority: ArraySlice<UInt8>, _ scheme: String) -> [UInt8]? {
        var host = authority[
            (authority.lastIndex(of: UInt8(ascii: "@")).map { $0 + 1 }
                ?? authority.startIndex)...]
        while host.last == ASCII.colon { host.removeLast() }
        var port = host[host.endIndex...]
        if host.first == UInt8(ascii: "["), let end = host.firstIndex(of: UInt8(ascii: "]")) {
            port = host[(end + 1)...].dropFirst()
            host = host[..<end].dropFirst()
        } else if let colon = host.firstIndex(of: ASCII.colon) {
            port = host[(colon + 1)...]
            host = host[..<colon]
        }
        guard let number = port.isEmpty ? 0 : ASCII.decimal(port, max: 65_535) else { return nil }
        var labels = unescaped(host).map(ASCII.lowercased)
            .split(separator: ASCII.dot).map { escaped(Array($0)) }
        if labels.count > 1, let first = labels.first, first.starts(with: "www".utf8),
            first.dropFirst(3).allSatisfy(ASCII.isDigit)
        {
            labels.removeFirst()
        }
        guard !labels.isEmpty else { return [] }
        let isDefault =
            number == 0 || scheme == "http" && number == 80
            || scheme == "https" && number == 443
        let end = (isDefault ? "" : ":\(number)") + ")"
        return Array(labels.reversed().joined(separator: [UInt8(ascii: ",")])) + Array(end.utf8)
    }

    private static func unescaped(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var bytes = Array(bytes)
        for _ in 0..<passesMax {
            var (next, index) = ([UInt8](), 0)
            next.reserveCapacity(bytes.count)
            while index < bytes.count {
                if bytes[index] == ASCII.percent, index + 2 < bytes.count,
                    let byte = ASCII.bytes(hex: bytes[(index + 1)...(index + 2)])?.first
                {
                    next.append(byte)
                    index += 3
                } else {
                    next.append(bytes[index])
                    index += 1
                }
            }
            if next.count == bytes.count { break }
            bytes = next
        }
        return bytes
    }

    private static func escaped(_ bytes: [UInt8]) -> [UInt8] {
        bytes.flatMap { byte in
            ASCII.isLetter(byte) || ASCII.isDigit(byte) || plain.contains(byte)
                ? [byte] : Array(PercentEncoding.encode([byte]).utf8)
        }
    }

    /// Without dot segments and empty ones.
    private static func normalized(_ path: [UInt8]) -> [UInt8] {
        let segments = path.split(separator: ASCII.slash, omittingEmptySubsequences: false)
        var kept: [ArraySlice<UInt8>] = []
        for segment in segments.dropFirst() where !segment.elementsEqual(".".utf8) {
            if segment.elementsEqual("..".utf8), !kept.isEmpty {
                kept.removeLast()
            } else {
                kept.append(segment)
            }
        }
        let last = kept.popLast() ?? []
        return kept.filter { !$0.isEmpty }.reduce(into: [ASCII.slash]) { $0 += $1 + [ASCII.slash] }
            + last
    }

    private static func withoutSessions(_ query: [UInt8]) -> [UInt8] {
        var query = query
        for (name, count) in sessions {
            let lower = query.map(ASCII.lowercased)
            guard query.count >= name.count + count else { continue }
            let found = (0...(query.count - name.count - count)).last { start in
                let end = start + name.count + count
                return lower[start...].starts(with: name)
                    && lower[(start + name.count)..<end].allSatisfy {
                        ASCII.isLetter($0) || ASCII.isDigit($0)
                    } && (end == query.count || query[end] == UInt8(ascii: "&"))
            }
            guard let found else { continue }
            query.removeSubrange(found..<min(query.count, found + name.count + count + 1))
        }
        return query
    }

    private static func sorted(_ query: [UInt8]) -> [UInt8] {
        let parts = query.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
            .map { $0.split(separator: 0x3D, maxSplits: 1, omittingEmptySubsequences: false) }
        let order = parts.sorted { left, right in
            if left[0] != right[0] { return left[0].lexicographicallyPrecedes(right[0]) }
            guard left.count == 2, right.count == 2 else { return left.count < right.count }
            return left[1].lexicographicallyPrecedes(right[1])
        }
        return Array(
            order.map { Array($0.joined(separator: [0x3D])) }
                .joined(separator: [UInt8(ascii: "&")]))
    }
}
