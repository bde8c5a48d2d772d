// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// The value of `Content-Range` in a 206 (RFC 9110 §14.4). Pure.
struct ContentRange: Hashable {
    let first: Int
    /// Position of the last byte, which is part of the range. Less than ``first`` for an empty
    /// range at the end, which no server should send, but some do instead of a 416.
    let last: Int
    /// Size of the whole in bytes; `nil` when the server does not know.
    let total: Int?

    /// Largest position, low enough to rule out overflows.
    static let positionMax = 1 << 52

    /// Parses `bytes 0-499/1234` or `bytes 0-499/*`; `nil` for others, such as a range that ends
    /// beyond the whole.
    init?(parsing text: String) {
        guard let parts = Self.parts(text) else { return nil }
        let ends = parts[0].split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard ends.count == 2,
            let first = ASCII.decimal(ends[0], max: Self.positionMax),
            let last = ASCII.decimal(ends[1], max: Self.positionMax)
        else { return nil }
        self.first = first
        self.last = last
        if parts[1].elementsEqual("*".utf8) {
            guard first <= last else { return nil }
            total = nil
        } else {
            guard let total = ASCII.decimal(parts[1], max: Self.positionMax),
                last < total, first <= last || first == total && last == total - 1
            else { return nil }
            self.total = total
        }
    }

    /// Size of the whole by a 416: `bytes */1234`.
    static func total(unsatisfied text: String) -> Int? {
        guard let parts = parts(text), parts[0].elementsEqual("*".utf8) else { return nil }
        return ASCII.decimal(parts[1], max: positionMax)
    }

    /// The parts before and after the slash.
    private static func parts(_ text: String) -> [Substring.UTF8View]? {
        let unit = "bytes "
        guard text.prefix(unit.utf8.count).lowercased() == unit else { return nil }
        let parts = text.utf8.dropFirst(unit.utf8.count).split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return parts.count == 2 ? parts : nil
    }

    var count: Int { last - first + 1 }

    /// Bytes from the beginning of the range to the end of the whole, or of the range if that is
    /// unknown.
    var countToEnd: Int { (total ?? last + 1) - first }
}
