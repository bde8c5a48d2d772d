// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// The value of `Content-Range` in a 206 (RFC 9110 §14.4). Pure.
struct ContentRange: Hashable {
    let first: Int
    /// Of the last byte, which is part of the range.
    let last: Int
    /// Bytes of the whole; `nil` when the server does not know.
    let total: Int?

    /// Largest position, far below where arithmetic could overflow.
    static let positionMax = 1 << 52

    /// `bytes 0-499/1234` or `bytes 0-499/*`; `nil` for anything else, such as a range that ends
    /// before it begins or beyond the whole.
    init?(parsing text: String) {
        let unit = "bytes "
        guard text.prefix(unit.utf8.count).lowercased() == unit else { return nil }
        let parts = text.utf8.dropFirst(unit.utf8.count).split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let ends = parts[0].split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard ends.count == 2,
            let first = ASCII.decimal(ends[0], max: Self.positionMax),
            let last = ASCII.decimal(ends[1], max: Self.positionMax), first <= last
        else { return nil }
        self.first = first
        self.last = last
        if parts[1].elementsEqual("*".utf8) {
            total = nil
        } else {
            guard let total = ASCII.decimal(parts[1], max: Self.positionMax), last < total
            else { return nil }
            self.total = total
        }
    }

    /// Bytes of the range itself.
    var count: Int { last - first + 1 }

    /// Bytes from the beginning of the range to the end of the whole, as far as that is known.
    var countToEnd: Int { (total ?? last + 1) - first }
}
