// SPDX-License-Identifier: MIT
public import SmallWebText

/// Parses a listing of Nex, whose bytes arrive in arbitrary pieces, into items: text, and links
/// that begin with `=>`. Pure; holds at most one line. A last line without a line feed is left out,
/// as its target may be truncated.
public struct ListingReader: Sendable {
    private let base: URI
    private var framer: LineFramer

    /// - Parameters:
    ///   - base: The listing's own URI.
    ///   - lineBytesMax: A longer line is an error.
    public init(base: URI, lineBytesMax: Int = 65_536) {
        self.base = base
        framer = LineFramer(lineBytesMax: lineBytesMax)
    }

    /// The items of the lines that end within the next bytes.
    ///
    /// - Throws: `protocol-error` for a line beyond the limit.
    public mutating func add(_ bytes: ArraySlice<UInt8>) throws(FetchError) -> [Item] {
        var lines: [LineFramer.Line] = []
        try framer.add(bytes) { lines.append($0) }
        return lines.map { item($0.bytes) }
    }

    private func item(_ line: ArraySlice<UInt8>) -> Item {
        let text = String(decoding: line, as: UTF8.self)
        guard text.hasPrefix("=>") else { return Item(kind: .info, text: text) }
        let words = text.dropFirst(2).split(maxSplits: 1) { $0 == " " || $0 == "\t" }
        guard let target = words.first else { return Item(kind: .info, text: text) }
        let label = words.count > 1 ? words[1].drop { $0 == " " || $0 == "\t" } : target
        let url = try? base.resolving(String(target)) { _ in false }
        var item = Item(
            kind: target.hasSuffix("/") ? .menu : .link, text: String(label),
            url: url?.description)
        item.target = Array(target.utf8)
        return item
    }
}
