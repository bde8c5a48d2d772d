// SPDX-License-Identifier: MIT

/// Reads a page of Markdown, whose bytes arrive in arbitrary pieces: CommonMark 0.31 and GitHub's
/// tables. Emphasis is left as written, but not in headings and links. Pure; never fails: anything
/// unknown is text.
///
/// A link may be defined behind its use, so that a page of up to 16 MiB is held until it ends.
/// Blocks of a longer one come while it arrives, with the definitions before them.
public struct MarkdownReader: Sendable {
    private var markdown = MarkdownHTML()
    private var html: HTMLReader
    /// HTML that is not read yet: a megabyte of it may have blocks of fifty.
    private var rest: ArraySlice<UInt8> = []

    /// - Parameter robotNames: As in ``HTMLReader``, for HTML within the page.
    public init(robotNames: [String] = ["robots"]) { html = HTMLReader(robotNames: robotNames) }

    /// The reference in the first `base` of HTML within the page; `nil` without one.
    public var base: [UInt8]? { html.base }

    /// True if HTML within the page forbids robots to follow its links, as far as it was read.
    public var isNofollow: Bool { html.isNofollow }

    /// Blocks before the next bytes, in UTF-8; none of a page that is held.
    public mutating func add(_ bytes: ArraySlice<UInt8>) -> [TextBlock] {
        rest += markdown.add(bytes)
        return html.add(piece())
    }

    /// All blocks that are left at the end of the page.
    public mutating func finish() -> [TextBlock] {
        var found: [TextBlock] = []
        while let next = next() { found += next }
        return found
    }

    /// The next blocks at the end of the page; `nil` behind the last.
    public mutating func next() -> [TextBlock]? {
        while rest.isEmpty, let next = markdown.next() { rest = next[...] }
        return rest.isEmpty ? html.next() : html.add(piece())
    }

    /// The next HTML, at most 64 KiB.
    private mutating func piece() -> ArraySlice<UInt8> {
        defer { rest = rest.dropFirst(65_536) }
        return rest.prefix(65_536)
    }
}
