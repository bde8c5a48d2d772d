// SPDX-License-Identifier: MIT
public import SmallWebText

/// A block of a page, whatever the page was written in: a heading, a paragraph, an item of a list.
///
/// A long block comes in parts, whose texts joined are its text. A block that continues an item
/// behind another block (a second paragraph, text below a nested list) is not the first of it, and
/// gets no mark.
public struct TextBlock: Sendable, Hashable {
    /// The kind of a block.
    @nonexhaustive
    public enum Kind: Sendable, Hashable {
        /// The level, 1 to 6.
        case heading(Int)
        /// Text to be wrapped.
        case paragraph
        /// The depth begins with 1. Only items of ordered lists have a number.
        case item(depth: Int = 1, number: Int? = nil)
        /// The depth begins with 1.
        case quote(depth: Int = 1)
        /// One line that keeps its blanks.
        case preformatted
        /// An edge of preformatted lines: begins or ends them; its text describes them.
        case fence
        /// A row of a table; see ``TextBlock/cells``.
        case row(isHeader: Bool)
        /// A line between parts of a page, without text.
        case rule
        /// An empty line.
        case blank
        /// A link on a line of its own.
        case link
    }

    /// A link or an embedded resource. A copy takes as long as that of a reference.
    @dynamicMemberLookup
    public struct Link: Sendable, Hashable {
        /// The properties of a link.
        public struct Properties: Sendable, Hashable {
            /// Bytes as written, without blanks around them; empty for the page itself.
            public var target: [UInt8]
            /// `image` for an image, otherwise `link`.
            public var kind = Item.Kind.link
            /// True for a link that asks for input.
            public var isPrompt = false
            /// The name of the element of HTML; otherwise empty.
            public var element = ""
            /// The relations of the target as written, separated by white space.
            public var rel: [UInt8] = []
            /// The media type that the page says of the target; empty if it says none.
            public var type: [UInt8] = []
            /// The time of an entry of a feed in Unix seconds; `nil` elsewhere.
            public var time: Int?
            /// True for a resource that belongs to the page, such as an image.
            public var isEmbedded = false
            /// True if robots must not follow it.
            public var isNofollow = false
            /// Line of the source, from 1.
            public var line: Int
        }

        @usableFromInline var parts: Shared<Properties>

        /// A property, or its change.
        @inlinable
        public subscript<Value>(
            dynamicMember path: WritableKeyPath<Properties, Value>
        ) -> Value {
            @inline(__always) _read { yield parts.value[keyPath: path] }
            @inline(__always) _modify { yield &parts.value[keyPath: path] }
        }

        /// A link to `target`.
        public init(_ target: [UInt8], line: Int) {
            parts = Shared(Properties(target: target, line: line))
        }
    }

    /// A text with one link or none.
    public struct Run: Sendable, Hashable {
        /// Bytes in UTF-8 that need not be valid and may have control characters. White space is
        /// collapsed but in preformatted lines; a line feed breaks the line. Empty for a link that
        /// is not shown.
        public var text: [UInt8]
        /// The link of the text.
        public var link: Link?
        /// True for the first run of a cell.
        public var startsCell: Bool

        /// A run of a text.
        public init(_ text: [UInt8], link: Link? = nil, startsCell: Bool = false) {
            (self.text, self.link, self.startsCell) = (text, link, startsCell)
        }
    }

    /// The kind of the block.
    public var kind: Kind
    /// The text in order; the text of all runs joined is the block's.
    public var runs: [Run]
    /// False for a part that continues a block.
    public var isFirst = true
    /// False for a part that another one follows.
    public var isLast = true
    /// Line of the source where the block begins, from 1.
    public var line: Int

    /// A whole block.
    public init(_ kind: Kind, _ runs: [Run], line: Int) {
        (self.kind, self.runs, self.line) = (kind, runs, line)
    }

    /// A whole block without links.
    public init(_ kind: Kind, text: [UInt8] = [], line: Int) {
        self.init(kind, text.isEmpty ? [] : [Run(text)], line: line)
    }

    /// Its links in their order.
    public var links: some Sequence<Link> { runs.lazy.compactMap(\.link) }

    /// The text of all runs, with a tab between cells.
    public var text: [UInt8] {
        if runs.count == 1 { return runs[0].text }
        return runs.enumerated().reduce(into: []) { text, run in
            if run.element.startsCell && run.offset > 0 { text.append(ASCII.tab) }
            text += run.element.text
        }
    }

    /// The cells of a row, each with its runs; links before the first cell belong to it.
    public var cells: [ArraySlice<Run>] {
        var starts = runs.indices.filter { runs[$0].startsCell }.dropFirst()
        if !runs.isEmpty { starts.insert(0, at: starts.startIndex) }
        return zip(starts, starts.dropFirst() + [runs.count]).map { runs[$0..<$1] }
    }
}

/// Reads a page whose blocks are not its lines.
package protocol MarkupReader: Sendable {
    /// The reference that the page's links are relative to; `nil` if it names none.
    var base: [UInt8]? { get }
    /// True if robots must not follow the links, as far as the page was read.
    var isNofollow: Bool { get }
    mutating func add(_ bytes: ArraySlice<UInt8>) -> [TextBlock]
    /// The next blocks at the end of the page; `nil` behind the last.
    mutating func next() -> [TextBlock]?
}

extension HTMLReader: MarkupReader {}
extension MarkdownReader: MarkupReader {}
