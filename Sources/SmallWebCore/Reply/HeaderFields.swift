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
            let end = bytes[start...].withoutLineEnd.endIndex
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
            spans.first { ASCII.isName(bytes[$0.start..<$0.colon], name) }.map(value)
        }

        /// All values of a field, by its name in lower case.
        package func values(of name: String) -> [String] {
            spans.filter { ASCII.isName(bytes[$0.start..<$0.colon], name) }
                .map { String(decoding: value($0), as: UTF8.self) }
        }

        private func value(_ span: Span) -> ArraySlice<UInt8> {
            bytes[(span.colon + 1)..<span.end].drop(while: ASCII.isBlank)
        }
    }
}
