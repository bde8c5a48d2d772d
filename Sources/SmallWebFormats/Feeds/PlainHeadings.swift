// SPDX-License-Identifier: MIT
public import SmallWebText

/// Finds the dated headings of a plain text, line by line. Pure; holds at most one line.
///
/// A heading is a line that begins with a date, or one that begins with `#`, `=` or `*` and a blank
/// and has a date, or one that has a date and is underlined by at least three `=`, `-`, `~`, `*` or
/// `_`.
public struct PlainHeadingReader: Sendable {
    /// A heading with a date.
    public struct Heading: Sendable, Hashable {
        package let dated: DatedText
        /// The heading without its marks.
        public let text: [UInt8]
        /// Line number in the source, from 1.
        public let number: Int
        /// Its date.
        public var day: CivilDay { dated.day }
        /// Its text without the date, a time behind that, and their separators; may be empty.
        public var title: [UInt8] { dated.rest }
    }

    /// Longer lines are not headings.
    private static let lineBytesMax = 1000

    /// The preceding line, if an underline would make it a heading.
    private var previous: [UInt8] = []
    private var number = 0

    /// A reader without input.
    public init() {}

    /// The heading that the next line is or makes of the one before it.
    ///
    /// - Parameters:
    ///   - line: Without its line end; one of more than 1000 bytes is not a heading.
    ///   - number: From 1; pieces of one line have the same.
    public mutating func add(_ line: ArraySlice<UInt8>, number: Int) -> Heading? {
        let (before, isRest) = (previous, number == self.number)
        (previous, self.number) = ([], number)
        if isRest || line.count > Self.lineBytesMax { return nil }
        if Self.isUnderline(line.trimmed) {
            let text = before[...].trimmed
            return DatedText(item: text).map {
                Heading(dated: $0, text: Array(text), number: number - 1)
            }
        }
        let text = Self.withoutMarks(line)
        let isMarked = text.count < line.count
        if let dated = isMarked ? DatedText(item: text) : DatedText(start: text) {
            return Heading(dated: dated, text: Array(text), number: number)
        }
        previous = Array(line)
        return nil
    }

    private static func isUnderline(_ line: ArraySlice<UInt8>) -> Bool {
        guard let first = line.first, line.count >= 3, "=-~*_".utf8.contains(first) else {
            return false
        }
        return line.allSatisfy { $0 == first }
    }

    /// Strips marks: `== A ==` becomes `A`; a line without marks stays.
    private static func withoutMarks(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard let mark = line.first, "#=*".utf8.contains(mark) else { return line }
        let text = line.drop { $0 == mark }
        guard line.count - text.count <= 6, text.first.map(ASCII.isBlank) ?? false else {
            return line
        }
        var inner = text.trimmed
        while inner.last == mark { inner.removeLast() }
        return inner.trimmed
    }
}
