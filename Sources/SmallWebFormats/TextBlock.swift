// SPDX-License-Identifier: MIT

/// One block of a page: what a page says, whatever it was written in.
///
/// Readers of pages make blocks, one after the other; terminals, markup, feeds, lists of links and
/// comparisons take them. Text is bytes as received: it need not be UTF-8, and may have control
/// characters.
public struct TextBlock: Sendable, Hashable {
    /// The kind of a block.
    public enum Kind: Sendable, Hashable {
        /// The level, 1 to 6.
        case heading(Int)
        case paragraph
        /// An item of a list.
        ///
        /// - Parameters:
        ///   - depth: From 1; lists within lists are deeper.
        ///   - number: `nil` in a list without numbers.
        case item(depth: Int = 1, number: Int? = nil)
        /// Depth from 1.
        case quote(depth: Int = 1)
        /// A line that keeps its blanks.
        case preformatted
        /// The line before or behind preformatted ones; its text describes them.
        case fence
        /// An empty line.
        case blank
        /// A link on a line of its own.
        case link
    }

    /// A part of the text, which leads somewhere or not.
    public struct Run: Sendable, Hashable {
        /// For a link its label, which may be empty.
        public var text: [UInt8]
        /// `nil` for text that leads nowhere.
        public var link: Link?

        /// Text, or a link with its label.
        public init(_ text: [UInt8], link: Link? = nil) { (self.text, self.link) = (text, link) }
    }

    /// The reference of a link.
    public struct Link: Sendable, Hashable {
        /// The reference as written, never empty.
        public var target: [UInt8]
        /// True for a link that asks for input.
        public var isPrompt = false

        /// A link to a reference as written.
        public init(_ target: [UInt8], isPrompt: Bool = false) {
            (self.target, self.isPrompt) = (target, isPrompt)
        }
    }

    /// The kind of the block.
    public var kind: Kind
    /// The text in its order.
    public var runs: [Run]
    /// Line number in the source, from 1, where the block begins.
    public var line: Int

    /// A block of a page.
    public init(_ kind: Kind, _ runs: [Run], line: Int) {
        (self.kind, self.runs, self.line) = (kind, runs, line)
    }

    /// A block without links.
    public init(_ kind: Kind, _ text: [UInt8] = [], line: Int) {
        self.init(kind, text.isEmpty ? [] : [Run(text)], line: line)
    }

    /// All of its text.
    public var text: [UInt8] {
        runs.count == 1 ? runs[0].text : runs.flatMap(\.text)
    }

    /// Its links, in their order.
    public var links: some Sequence<Link> { runs.lazy.compactMap(\.link) }
}
