// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// A shell pattern as Git's wildmatch reads it. Pure; the time is bounded by the product of both
/// lengths, whatever the pattern.
struct Wildmatch: Sendable {
    private let pattern: [UInt8]
    /// Whether a slash is matched by itself and by `**` alone.
    private let isPath: Bool

    init(_ pattern: some Sequence<UInt8>, isPath: Bool) {
        (self.pattern, self.isPath) = (Array(pattern), isPath)
    }

    func matches(_ text: some Sequence<UInt8>) -> Bool {
        var attempt = Attempt(text: Array(text))
        return matches(0, 0, &attempt)
    }

    private struct Attempt {
        let text: [UInt8]
        /// Places in pattern and text from where there is no match.
        var failed: Set<Int> = []
    }

    private func matches(_ start: Int, _ from: Int, _ attempt: inout Attempt) -> Bool {
        let text = attempt.text
        var (at, from) = (start, from)
        while at < pattern.count {
            if pattern[at] == UInt8(ascii: "*") { return matchesStar(at, start, from, &attempt) }
            guard from < text.count, let next = step(at, text[from]) else { return false }
            at = next
            from += 1
        }
        return from == text.count
    }

    private func matchesStar(
        _ star: Int, _ start: Int, _ from: Int, _ attempt: inout Attempt
    ) -> Bool {
        let text = attempt.text
        var at = star
        while at < pattern.count && pattern[at] == UInt8(ascii: "*") { at += 1 }
        var takesSlashes = !isPath
        if isPath && at - star > 1 && (star == 0 || pattern[star - 1] == ASCII.slash) {
            // Two stars between slashes are any number of directories, none too.
            let rest = pattern[at...]
            takesSlashes =
                rest.isEmpty || rest.first == ASCII.slash || rest.starts(with: "\\/".utf8)
            if takesSlashes && rest.first == ASCII.slash && matches(at + 1, from, &attempt) {
                return true
            }
        }
        if at == pattern.count { return takesSlashes || !text[from...].contains(ASCII.slash) }
        var from = from
        while true {
            let place = at * (text.count + 1) + from
            // What was tried from there went on to all places behind it.
            guard !attempt.failed.contains(place) else { return false }
            if matches(at, from, &attempt) { return true }
            attempt.failed.insert(place)
            guard from < text.count, takesSlashes || text[from] != ASCII.slash else { return false }
            from += 1
        }
    }

    /// Where the pattern goes on after matching one byte; `nil` if it does not.
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

    /// A bracket expression, from behind its `[`.
    private func set(_ start: Int, _ byte: UInt8) -> Int? {
        var at = start
        let isNegated = at < pattern.count && (pattern[at] == 0x21 || pattern[at] == 0x5E)
        if isNegated { at += 1 }
        let first = at
        var isFound = false
        while at < pattern.count, pattern[at] != UInt8(ascii: "]") || at == first {
            if let name = className(at) {
                guard let isMember = Self.isMember(byte, of: name) else { return nil }
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

    /// A byte of a bracket expression, without the backslash that may come before it.
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

    /// - Returns: `nil` for a class that does not exist.
    private static func isMember(_ byte: UInt8, of name: ArraySlice<UInt8>) -> Bool? {
        let isGraphic = 0x21..<0x7F ~= byte
        let isAlphanumeric = ASCII.isLetter(byte) || ASCII.isDigit(byte)
        return switch String(decoding: name, as: UTF8.self) {
        case "alnum": isAlphanumeric
        case "alpha": ASCII.isLetter(byte)
        case "blank": byte == ASCII.space || byte == ASCII.tab
        case "cntrl": byte < 0x20 || byte == 0x7F
        case "digit": ASCII.isDigit(byte)
        case "graph": isGraphic
        case "lower": 0x61...0x7A ~= byte
        case "print": isGraphic || byte == ASCII.space
        case "punct": isGraphic && !isAlphanumeric
        case "space": byte == ASCII.space || 0x09...0x0D ~= byte
        case "upper": 0x41...0x5A ~= byte
        case "xdigit": ASCII.hexValue(byte) != nil
        default: nil
        }
    }
}
