// SPDX-License-Identifier: MIT

/// Four or sixteen bytes in network order; `nil` for anything but an IP literal (as of inet_pton).
package func addressBytes(_ literal: String) -> [UInt8]? {
    // Most hosts are names.
    guard let first = literal.utf8.first, first == ASCII.colon || ASCII.hexValue(first) != nil
    else { return nil }
    let bytes = Array(literal.utf8)
    return bytes.contains(ASCII.colon) ? ipv6Bytes(bytes[...]) : ipv4Bytes(bytes[...])
}

/// An IPv6 address in its shortest form (RFC 5952), equal for all its spellings; `nil` for anything
/// else.
package func shortestIPv6(_ literal: String) -> String? {
    guard literal.holds(ASCII.colon), let bytes = addressBytes(literal) else { return nil }
    let groups = (0..<8).map { Int(bytes[2 * $0]) << 8 | Int(bytes[2 * $0 + 1]) }
    // The first of the longest runs of two zero groups or more.
    var (run, longest) = (0..<0, 0..<0)
    for (index, group) in groups.enumerated() {
        run = group == 0 ? (run.isEmpty ? index : run.lowerBound)..<(index + 1) : 0..<0
        if run.count > max(1, longest.count) { longest = run }
    }
    // An IPv4 address in it is written as one (§5).
    let isMapped = longest == 0..<5 && groups[5] == 0xFFFF || longest == 0..<6
    var parts = groups.map { String($0, radix: 16) }
    if isMapped { parts[6...] = [bytes[12...].map(String.init).joined(separator: ".")] }
    guard !longest.isEmpty else { return parts.joined(separator: ":") }
    return parts[..<longest.lowerBound].joined(separator: ":") + "::"
        + parts[longest.upperBound...].joined(separator: ":")
}

private func ipv4Bytes(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    let parts = text.split(separator: ASCII.dot, omittingEmptySubsequences: false)
    let bytes = parts.compactMap { part in
        // One with a leading zero may be octal.
        part.count > 1 && part.first == UInt8(ascii: "0")
            ? nil : ASCII.decimal(part, max: 255).map(UInt8.init)
    }
    return parts.count == 4 && bytes.count == 4 ? bytes : nil
}

private func ipv6Bytes(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    guard text.count <= 45 else { return nil }
    var (bytes, gap, rest) = ([UInt8](), Int?.none, text)
    if rest.starts(with: "::".utf8) {
        (gap, rest) = (0, rest.dropFirst(2))
    }
    while !rest.isEmpty {
        let part = rest.prefix { $0 != ASCII.colon }
        rest = rest.dropFirst(part.count)
        if rest.isEmpty, part.contains(ASCII.dot) {
            guard let last = ipv4Bytes(part) else { return nil }
            bytes += last
            break
        }
        guard 1...4 ~= part.count else { return nil }
        var group = 0
        for digit in part {
            guard let value = ASCII.hexValue(digit) else { return nil }
            group = group << 4 | Int(value)
        }
        bytes += [UInt8(group >> 8), UInt8(group & 0xFF)]
        guard !rest.isEmpty else { break }
        rest = rest.dropFirst()
        if rest.first == ASCII.colon {
            guard gap == nil else { return nil }
            (gap, rest) = (bytes.count, rest.dropFirst())
        } else if rest.isEmpty {
            return nil
        }
    }
    guard let gap else { return bytes.count == 16 ? bytes : nil }
    guard bytes.count < 16 else { return nil }
    bytes.insert(contentsOf: [UInt8](repeating: 0, count: 16 - bytes.count), at: gap)
    return bytes
}
