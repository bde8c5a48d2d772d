// SPDX-License-Identifier: MIT

extension Head {
    /// A header as received, with the offsets of its fields, which are decoded on access.
    public struct Fields: Sendable, Hashable {
        /// All lines, line ends included.
        public private(set) var bytes: [UInt8] = []
        /// Offsets of a field's start, colon and end, without the line end.
        private var spans: [Span] = []

        private struct Span: Hashable {
            let start, colon, end: Int
        }

        /// No fields.
        public init() {}

        /// Takes the next line. A line that is not a field is kept in ``bytes`` alone.
        package mutating func add(line: [UInt8], isField: Bool) {
            let start = bytes.count
            bytes += line
            var end = bytes.count
            while end > start,
                bytes[end - 1] == ASCII.lineFeed || bytes[end - 1] == ASCII.carriageReturn
            { end -= 1 }
            guard isField, let colon = bytes[start..<end].firstIndex(of: ASCII.colon), colon > start
            else { return }
            spans.append(Span(start: start, colon: colon, end: end))
        }

        /// All fields in order, with repeated ones.
        public var all: [(name: String, value: String)] {
            spans.map { span in
                (
                    String(decoding: bytes[span.start..<span.colon], as: UTF8.self),
                    String(decoding: value(span), as: UTF8.self)
                )
            }
        }

        /// The first value of a field, by its name in lower case.
        public subscript(name: String) -> String? {
            bytes(of: name).map { String(decoding: $0, as: UTF8.self) }
        }

        /// The first value as received, without leading blanks, by the field's name in lower case.
        public func bytes(of name: String) -> ArraySlice<UInt8>? {
            let name = name.utf8
            return spans.first { span in
                span.colon - span.start == name.count
                    && zip(bytes[span.start..<span.colon], name).allSatisfy {
                        $0 == $1 || ASCII.isLetter($0) && $0 | 0x20 == $1
                    }
            }.map(value)
        }

        private func value(_ span: Span) -> ArraySlice<UInt8> {
            bytes[(span.colon + 1)..<span.end].drop(while: ASCII.isBlank)
        }
    }
}
