// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebFormats

/// A link of a page, or a line of a menu that is none.
struct Link {
    /// Absolute; `nil` when it leads nowhere, or its target is no URL.
    let uri: URI?
    /// The target as written.
    let raw: [UInt8]
    /// For people, as it came.
    let text: [UInt8]
    let kind: Item.Kind
    /// In the page, from 1.
    let line: Int
    /// What the page's protocol alone knows of it.
    var facts = Facts()

    /// A gemtext link.
    ///
    /// - Parameter base: The page's own URI, after redirects.
    init(_ line: GemtextLine, base: URI) {
        raw = line.target
        uri = Self.resolve(line.target, base: base)
        text = line.text
        kind = Self.kind(of: uri)
        self.line = line.number
    }

    /// A line of a menu or listing.
    init(_ item: Item, line: Int) {
        uri = item.url.flatMap { Self.resolve(Array($0.utf8), base: nil) }
        raw = item.target ?? Array(item.text.utf8)
        text = Array(item.text.utf8)
        kind = item.kind
        self.line = line
        facts = item.facts
    }

    /// Whether it is meant to lead somewhere.
    var isLink: Bool { kind != .info && kind != .error }

    private static func resolve(_ target: [UInt8], base: URI?) -> URI? {
        guard let text = String(validating: target, as: UTF8.self) else { return nil }
        do throws(FetchError) {
            let uri: URI
            if let base {
                uri = try base.resolving(text) { Settings.plugins[$0]?.scheme.pathForm == .opaque }
            } else {
                uri = try URI(parsing: text)
            }
            do throws(FetchError) {
                return try uri.withASCIIHost()
            } catch {
                // Without libidn2 nobody can tell; whoever fetches it will be told.
                return error.outcome == .notBuiltIn ? uri : nil
            }
        } catch {
            return nil
        }
    }

    /// What a gemtext link leads to, as far as its URL says: the scheme if it is not one of ours,
    /// otherwise the end of the name.
    private static func kind(of uri: URI?) -> Item.Kind {
        guard let uri else { return .link }
        if ["telnet", "tn3270", "ssh"].contains(uri.scheme) { return .telnet }
        guard Settings.plugins[uri.scheme] != nil else { return .external }
        let name = uri.path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return .link }
        return kinds[name[name.index(after: dot)...].lowercased()] ?? .link
    }

    private static let kinds: [String: Item.Kind] = {
        let words: [Item.Kind: String] = [
            .image: "avif bmp gif ico jpeg jpg png svg tif tiff webp",
            .text: "asc csv diff json log markdown md patch text toml txt xml yaml yml",
            .binary: "7z aac apk avi bin bz2 deb djvu epub exe flac gz iso jar m4a midi mkv mov "
                + "mp3 mp4 mpeg odt ogg opus pdf rar rpm tar tgz wav webm xz zip zst",
        ]
        return words.reduce(into: [:]) { kinds, entry in
            for word in entry.value.split(separator: " ") { kinds[String(word)] = entry.key }
        }
    }()
}

/// Finds the links of one page while it arrives: in gemtext, and among the lines of whatever its
/// plugin gives the lines of.
struct LinkReader {
    private var gemtext: GemtextReader?
    private let charset: CharsetConverter?
    private let base: URI
    private var itemsCount = 0

    /// - Parameter base: The page's own URI, after redirects.
    init(_ head: Head, base: URI) {
        self.base = base
        let isGemtext = head.mediaType?.essence == "text/gemini"
        gemtext = isGemtext ? GemtextReader() : nil
        charset = isGemtext ? head.mediaType?.charset.flatMap(CharsetConverter.init(from:)) : nil
        isOfUse = isGemtext || head.mediaType?.essence == "application/gopher-menu"
    }

    /// False while the page is of a kind that has no links, as far as we read it.
    private(set) var isOfUse: Bool

    mutating func links(in bytes: ArraySlice<UInt8>) -> [Link] {
        let text = charset.map { $0.convert(bytes)[...] } ?? bytes
        return (gemtext?.add(text) ?? []).compactMap(link)
    }

    mutating func link(_ item: Item) -> Link {
        isOfUse = true
        itemsCount += 1
        return Link(item, line: itemsCount)
    }

    /// The last line's, when no line feed ended it.
    mutating func finish() -> Link? { gemtext?.finish().flatMap(link) }

    private func link(_ line: GemtextLine) -> Link? {
        line.kind == .link ? Link(line, base: base) : nil
    }
}
