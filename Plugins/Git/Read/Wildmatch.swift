// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// A shell pattern with the syntax of Git's wildmatch. Pure. The time is bounded by the product of
/// both lengths.
struct Wildmatch: Sendable {
    private let pattern: [UInt8]
    /// True if a slash is matched only by itself and by `**`.
    private let isPath: Bool

    init(_ pattern: some Sequence<UInt8>, isPath: Bool) {
        (self.pattern, self.isPath) = (Array(pattern), isPath)
    }

    func matches(_ text: some Sequence<UInt8>) -> Bool {
        let text = Array(text)
        // The latest star within a name, and the latest one that matches slashes. Backtracking to
        // an earlier one cannot succeed if these fail.
        var (star, deepStar): (Star?, Star?)
        var (at, from) = (0, 0)
        while at < pattern.count || from < text.count {
            if at < pattern.count, pattern[at] == UInt8(ascii: "*") {
                let found = self.star(at, from)
                if found.reach == .name { star = found } else { (star, deepStar) = (nil, found) }
                at = found.next
            } else if from < text.count, let next = step(at, text[from]) {
                (at, from) = (next, from + 1)
            } else if let next = star?.takeMore(of: text) {
                (at, from) = next
            } else if let next = deepStar?.takeMore(of: text) {
                (at, from) = next
                star = nil
            } else {
                return false
            }
        }
        return true
    }

    private struct Star {
        enum Reach { case name, directories, everything }

        let reach: Reach
        /// Position after the star in the pattern.
        let next: Int
        /// End of the matched text so far.
        var end: Int

        /// Extends the star's match; `nil` if it cannot be longer.
        mutating func takeMore(of text: [UInt8]) -> (at: Int, from: Int)? {
            repeat {
                guard end < text.count, reach != .name || text[end] != ASCII.slash else {
                    return nil
                }
                end += 1
            } while reach == .directories && text[end - 1] != ASCII.slash
            return (next, end)
        }
    }

    /// The star or stars at `start`, with an empty match.
    private func star(_ start: Int, _ from: Int) -> Star {
        let next = pattern[start...].firstIndex { $0 != UInt8(ascii: "*") } ?? pattern.count
        guard isPath else { return Star(reach: .everything, next: next, end: from) }
        let rest = pattern[next...]
        guard next - start > 1 && (start == 0 || pattern[start - 1] == ASCII.slash) else {
            return Star(reach: .name, next: next, end: from)
        }
        // Two stars between slashes match any number of directories, also none.
        if rest.first == ASCII.slash {
            return Star(reach: .directories, next: next + 1, end: from)
        }
        let isLast = rest.isEmpty || rest.starts(with: "\\/".utf8)
        return Star(reach: isLast ? .everything : .name, next: next, end: from)
    }

    /// Position in the pattern after matching one byte; `nil` if it does not match.
    private func step(_ at: Int, _ byte: UInt8) -> Int? {
        guard at < pattern.count else { return nil }
        switch pattern[at] {
        case UInt8(ascii: "?"): return isPath && byte == ASCII.slash ? nil : at + 1
        case UInt8(ascii: "["): return isPath && byte == ASCII.slash ? nil : set(at + 1, byte)
        case UInt8(ascii: "\\"):
            return at + 1 < pattern.count && pattern[at + 1] == byte ? at + 2 : nil
        case byte: return at + 1
        default: return nil
        }
    }

    /// Matches a bracket expression, from after its `[`.
    private func set(_ start: Int, _ byte: UInt8) -> Int? {
        var at = start
        let isNegated = at < pattern.count && (pattern[at] == 0x21 || pattern[at] == 0x5E)
        if isNegated { at += 1 }
        let first = at
        var isFound = false
        while at < pattern.count, pattern[at] != UInt8(ascii: "]") || at == first {
            if let name = className(at) {
                guard let isMember = ASCII.isMember(byte, of: name) else { return nil }
                if isMember { isFound = true }
                at = name.endIndex + 2
                continue
            }
            let low = literal(&at)
            var high = low
            if at + 1 < pattern.count, pattern[at] == UInt8(ascii: "-"),
                pattern[at + 1] != UInt8(ascii: "]")
            {
                at += 1
                high = literal(&at)
            }
            if low <= byte && byte <= high { isFound = true }
        }
        return at < pattern.count && isFound != isNegated ? at + 1 : nil
    }

    /// A byte of a bracket expression, without an escaping backslash.
    private func literal(_ at: inout Int) -> UInt8 {
        if pattern[at] == UInt8(ascii: "\\") && at + 1 < pattern.count { at += 1 }
        defer { at += 1 }
        return pattern[at]
    }

    /// The name in `[:name:]`.
    private func className(_ at: Int) -> ArraySlice<UInt8>? {
        guard pattern[at...].starts(with: "[:".utf8) else { return nil }
        let name = pattern[(at + 2)...].prefix { ASCII.isLetter($0) }
        return pattern[name.endIndex...].starts(with: ":]".utf8) ? name : nil
    }
}
