// SPDX-License-Identifier: MIT

/// A POSIX extended regular expression, as regcomp(3) reads it in the locale C with GNU's escapes,
/// without back-references. It finds only the existence of a match, in time at most the number of
/// bytes times ``stepsMax``. Pure.
///
/// The automaton of regexec(3) takes minutes and hundreds of megabytes for a kilobyte of text and
/// expressions such as `(a|b)*a(a|b){200}`.
package struct ExtendedExpression: Sendable {
    /// The reason why a text is rejected; `message` continues a sentence about the expression.
    package struct Problem: Error, Hashable {
        package let message: String
    }

    /// Longest expression, in bytes.
    package static let bytesMax = 1024
    /// Largest count of a repetition.
    package static let countMax = 255
    /// Largest automaton, in steps; a repetition's steps count as often as it repeats.
    package static let stepsMax = 4000

    fileprivate enum Step: Sendable {
        case set(ByteSet, next: Int)
        case split(Int, Int)
        case anchor(Anchor, next: Int)
        case match
    }

    /// An assertion about a position in the bytes.
    fileprivate enum Anchor: Sendable {
        case start, end, wordStart, wordEnd, wordEdge, noWordEdge
    }

    /// The expression as written.
    package let text: String
    private var steps: [Step] = []
    private var start = 0

    /// - Throws: ``Problem`` for an invalid expression, or one beyond the limits.
    package init(_ text: String) throws(Problem) {
        guard text.utf8.count <= Self.bytesMax else {
            throw Problem(message: "has more than 1 KiB")
        }
        self.text = text
        var parser = ExpressionParser(Array(text.utf8))
        let tree = try parser.parse()
        steps.append(.match)
        start = try emit(tree, before: 0)
    }

    // MARK: The automaton

    private mutating func add(_ step: Step) throws(Problem) -> Int {
        guard steps.count < Self.stepsMax else {
            throw Problem(message: "is too large: its repetitions are nested or many")
        }
        steps.append(step)
        return steps.count - 1
    }

    /// - Returns: The first step of `tree`, which continues with `next`.
    private mutating func emit(_ tree: ExpressionTree, before next: Int) throws(Problem) -> Int {
        switch tree {
        case .set(let set): return try add(.set(set, next: next))
        case .anchor(let kind): return try add(.anchor(kind, next: next))
        case .sequence(let parts):
            var next = next
            for part in parts.reversed() { next = try emit(part, before: next) }
            return next
        case .choice(let parts):
            var first = try emit(parts[parts.count - 1], before: next)
            for part in parts.dropLast().reversed() {
                first = try add(.split(try emit(part, before: next), first))
            }
            return first
        case .repetition(let part, let least, let most):
            var first = next
            if let most {
                for _ in 0..<max(0, most - least) {
                    first = try add(.split(try emit(part, before: first), next))
                }
            } else {
                first = try add(.split(next, next))
                steps[first] = .split(try emit(part, before: first), next)
            }
            for _ in 0..<least {
                let after = first
                first = try emit(part, before: after)
                // Repeating an empty expression adds no steps, but takes time.
                if first == after { break }
            }
            return first
        }
    }

    // MARK: Matching

    /// True if there is a match anywhere in `bytes`.
    ///
    /// - Throws: `interrupted`, `timeout`.
    package func matches(in bytes: ArraySlice<UInt8>) throws(FetchError) -> Bool {
        try bytes.withUnsafeBufferPointer { bytes in
            Result { () throws(FetchError) in try matches(in: bytes) }
        }.get()
    }

    private func matches(in bytes: UnsafeBufferPointer<UInt8>) throws(FetchError) -> Bool {
        // By step: the last position at which it was entered.
        var entered = [Int](repeating: -1, count: steps.count)
        var (present, waiting, stack): ([Int], [Int], [Int]) = ([], [], [])
        for place in 0...bytes.count {
            if place & 0x3FF == 0x3FF { try LongWork.check() }
            // A match may begin anywhere.
            present.append(start)
            for first in present {
                stack.append(first)
                while let index = stack.popLast() {
                    guard entered[index] != place else { continue }
                    entered[index] = place
                    switch steps[index] {
                    case .match: return true
                    case .split(let one, let other):
                        stack.append(other)
                        stack.append(one)
                    case .anchor(let kind, let next):
                        if Self.isAt(kind, place, bytes) { stack.append(next) }
                    case .set(let set, let next):
                        if place < bytes.count, set.contains(bytes[place]) { waiting.append(next) }
                    }
                }
            }
            swap(&present, &waiting)
            waiting.removeAll(keepingCapacity: true)
        }
        return false
    }

    private static func isAt(
        _ kind: Anchor, _ place: Int, _ bytes: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        let before = place > 0 && isWord(bytes[place - 1])
        let after = place < bytes.count && isWord(bytes[place])
        switch kind {
        case .start: return place == 0
        case .end: return place == bytes.count
        case .wordStart: return !before && after
        case .wordEnd: return before && !after
        case .wordEdge: return before != after
        case .noWordEdge: return before == after
        }
    }

    fileprivate static func isWord(_ byte: UInt8) -> Bool {
        ASCII.isLetter(byte) || ASCII.isDigit(byte) || byte == UInt8(ascii: "_")
    }
}

private struct ByteSet: Sendable {
    private var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

    init() {}

    init(where predicate: (UInt8) -> Bool) {
        for byte in UInt8.min...UInt8.max where predicate(byte) { insert(byte) }
    }

    func contains(_ byte: UInt8) -> Bool {
        let bit = UInt64(1) << UInt64(byte & 63)
        switch byte >> 6 {
        case 0: return words.0 & bit != 0
        case 1: return words.1 & bit != 0
        case 2: return words.2 & bit != 0
        default: return words.3 & bit != 0
        }
    }

    mutating func insert(_ byte: UInt8) {
        let bit = UInt64(1) << UInt64(byte & 63)
        switch byte >> 6 {
        case 0: words.0 |= bit
        case 1: words.1 |= bit
        case 2: words.2 |= bit
        default: words.3 |= bit
        }
    }

    var inverted: ByteSet { ByteSet { !contains($0) } }
}

private indirect enum ExpressionTree {
    case set(ByteSet)
    case anchor(ExtendedExpression.Anchor)
    case sequence([ExpressionTree])
    case choice([ExpressionTree])
    /// The minimum and maximum count; unbounded if `nil`.
    case repetition(ExpressionTree, Int, Int?)
}

/// Parses an expression: POSIX.1-2017, Base Definitions §9.4.
private struct ExpressionParser {
    private let bytes: [UInt8]
    private var at = 0
    private var depth = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func parse() throws(ExtendedExpression.Problem) -> ExpressionTree { try choice() }

    private var byte: UInt8? { at < bytes.count ? bytes[at] : nil }

    private func problem(_ message: String) -> ExtendedExpression.Problem {
        ExtendedExpression.Problem(message: message)
    }

    private mutating func choice() throws(ExtendedExpression.Problem) -> ExpressionTree {
        var parts = [try sequence()]
        while byte == UInt8(ascii: "|") {
            at += 1
            parts.append(try sequence())
        }
        return parts.count == 1 ? parts[0] : .choice(parts)
    }

    private mutating func sequence() throws(ExtendedExpression.Problem) -> ExpressionTree {
        var parts: [ExpressionTree] = []
        while let byte, byte != UInt8(ascii: "|"), byte != UInt8(ascii: ")") || depth == 0 {
            let part = try atom()
            if case .anchor = part { parts.append(part) } else { parts.append(try repeated(part)) }
        }
        return .sequence(parts)
    }

    private mutating func atom() throws(ExtendedExpression.Problem) -> ExpressionTree {
        let byte = bytes[at]
        at += 1
        switch byte {
        case UInt8(ascii: "("):
            depth += 1
            // Limits the recursion: an expression may consist of opening brackets alone.
            guard depth <= 100 else { throw problem("has groups that are nested too deeply") }
            let inner = try choice()
            guard self.byte == UInt8(ascii: ")") else { throw problem("has a ( without its )") }
            at += 1
            depth -= 1
            // Wrapped, because a place in a group can be repeated.
            return .sequence([inner])
        case UInt8(ascii: "["): return .set(try set())
        case ASCII.dot: return .set(ByteSet { $0 != 0 })
        case UInt8(ascii: "^"): return .anchor(.start)
        case UInt8(ascii: "$"): return .anchor(.end)
        case UInt8(ascii: "\\"): return try escape()
        case UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "?"), UInt8(ascii: "{"):
            throw problem("has a repetition of nothing")
        default: return .set(ByteSet { $0 == byte })
        }
    }

    private mutating func escape() throws(ExtendedExpression.Problem) -> ExpressionTree {
        guard let byte else { throw problem("ends with a \\") }
        at += 1
        switch byte {
        case 0x31...0x39: throw problem("has a back-reference")
        case UInt8(ascii: "w"): return .set(ByteSet(where: ExtendedExpression.isWord))
        case UInt8(ascii: "W"): return .set(ByteSet(where: ExtendedExpression.isWord).inverted)
        case UInt8(ascii: "s"): return .set(ByteSet(where: ASCII.isWhiteSpace))
        case UInt8(ascii: "S"): return .set(ByteSet(where: ASCII.isWhiteSpace).inverted)
        case UInt8(ascii: "b"): return .anchor(.wordEdge)
        case UInt8(ascii: "B"): return .anchor(.noWordEdge)
        case UInt8(ascii: "<"): return .anchor(.wordStart)
        case UInt8(ascii: ">"): return .anchor(.wordEnd)
        case UInt8(ascii: "`"): return .anchor(.start)
        case UInt8(ascii: "'"): return .anchor(.end)
        default: return .set(ByteSet { $0 == byte })
        }
    }

    private mutating func repeated(
        _ part: ExpressionTree
    ) throws(ExtendedExpression.Problem) -> ExpressionTree {
        var (part, count) = (part, 0)
        while let byte {
            switch byte {
            case UInt8(ascii: "*"): part = .repetition(part, 0, nil)
            case UInt8(ascii: "+"): part = .repetition(part, 1, nil)
            case UInt8(ascii: "?"): part = .repetition(part, 0, 1)
            case UInt8(ascii: "{"):
                let (least, most) = try counts()
                part = .repetition(part, least, most)
            default: return part
            }
            at += 1
            count += 1
            guard count <= 100 else { throw problem("repeats repetitions too often") }
        }
        return part
    }

    /// Parses `{1}`, `{1,}`, `{,2}` or `{1,2}`, up to its closing bracket.
    private mutating func counts() throws(ExtendedExpression.Problem) -> (Int, Int?) {
        guard let end = bytes[at...].firstIndex(of: UInt8(ascii: "}")) else {
            throw problem("has a { without its }")
        }
        let numbers = bytes[(at + 1)..<end].split(
            separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        at = end
        let isCount = numbers.allSatisfy { $0.allSatisfy(ASCII.isDigit) }
        guard isCount, numbers.count <= 2, numbers.contains(where: { !$0.isEmpty }) else {
            throw problem("has a { that is not followed by a count and }")
        }
        let values = numbers.map { ASCII.decimal($0, max: ExtendedExpression.countMax) }
        guard zip(numbers, values).allSatisfy({ $0.isEmpty || $1 != nil }) else {
            throw problem("has a count above 255")
        }
        let least = values[0] ?? 0
        let most = values.count == 1 ? least : values[1]
        guard most.map({ $0 >= least }) ?? true else {
            throw problem("has a count that ends before it begins")
        }
        return (least, most)
    }

    // MARK: Sets

    private mutating func set() throws(ExtendedExpression.Problem) -> ByteSet {
        var set = ByteSet()
        let isInverted = byte == UInt8(ascii: "^")
        if isInverted { at += 1 }
        var isFirst = true
        while let byte, byte != UInt8(ascii: "]") || isFirst {
            isFirst = false
            if let members = try characterClass() {
                for member in UInt8.min...UInt8.max where members.contains(member) {
                    set.insert(member)
                }
                continue
            }
            let low = try element()
            guard self.byte == UInt8(ascii: "-"), at + 1 < bytes.count,
                bytes[at + 1] != UInt8(ascii: "]")
            else {
                set.insert(low)
                continue
            }
            at += 1
            let high = try element()
            guard low <= high else { throw problem("has a range that ends before it begins") }
            for member in low...high { set.insert(member) }
        }
        guard byte != nil else { throw problem("has a [ without its ]") }
        at += 1
        return isInverted ? set.inverted : set
    }

    /// Parses `[:digit:]` and the like; `nil` without one.
    private mutating func characterClass() throws(ExtendedExpression.Problem) -> ByteSet? {
        guard bytes[at...].starts(with: "[:".utf8) else { return nil }
        let name = bytes[(at + 2)...].prefix { $0 != ASCII.colon }
        guard bytes[name.endIndex...].starts(with: ":]".utf8),
            ASCII.isMember(0, of: name) != nil
        else { throw problem("has an unknown class of characters") }
        at = name.endIndex + 2
        return ByteSet { ASCII.isMember($0, of: name) ?? false }
    }

    /// Parses a byte of a set, also as `[.a.]` or `[=a=]`.
    private mutating func element() throws(ExtendedExpression.Problem) -> UInt8 {
        guard let byte else { throw problem("has a [ without its ]") }
        guard byte == UInt8(ascii: "["), at + 1 < bytes.count, ".=".utf8.contains(bytes[at + 1])
        else {
            at += 1
            return byte
        }
        let mark = bytes[at + 1]
        guard at + 4 < bytes.count, bytes[at + 3] == mark, bytes[at + 4] == UInt8(ascii: "]") else {
            throw problem("has an element of more than one character")
        }
        at += 5
        return bytes[at - 3]
    }
}
