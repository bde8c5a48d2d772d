// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb
internal import SmallWebFormats
internal import SmallWebRecords

/// Bookmarks: `URL<TAB>TITLE` per line. A plain file, to be edited by hand and kept under version
/// control: unchanged lines are preserved byte by byte.
enum Bookmarks {
    struct Bookmark: Hashable {
        let url: String
        let title: String

        /// - Returns: `nil` for a comment or an empty line.
        init?(line: ArraySlice<UInt8>) {
            let text = line.last == ASCII.carriageReturn ? line.dropLast() : line
            let fields = text.split(
                separator: ASCII.tab, maxSplits: 1, omittingEmptySubsequences: false)
            guard let url = fields.first, !url.isEmpty, url.first != UInt8(ascii: "#") else {
                return nil
            }
            self.url = String(decoding: url, as: UTF8.self)
            title = fields.count > 1 ? String(decoding: fields[1], as: UTF8.self) : ""
        }
    }

    static func all() throws(FetchError) -> [Bookmark] {
        try UserFiles.bookmarks.map { file throws(FetchError) in bookmarks(in: try file.read()) }
            ?? []
    }

    /// The URL of the bookmark with a title; `nil` for a URL, and without such a bookmark.
    static func url(titled title: String) -> String? {
        guard !title.contains(text: "://") else { return nil }
        return try? all().first { $0.title.lowercased() == title.lowercased() }?.url
    }

    /// Adds a bookmark, or changes the title of an existing one.
    static func add(_ url: String, title: String) throws(FetchError) {
        let uri = try URI(parsing: url)
        let oneLine = title.split { $0 == "\t" || $0.isNewline }.joined(separator: " ")
        try change { bytes throws(FetchError) in
            remove(uri.description, from: &bytes)
            if let last = bytes.last, last != ASCII.lineFeed { bytes.append(ASCII.lineFeed) }
            bytes += Array("\(uri.description)\t\(oneLine)\n".utf8)
        }
    }

    /// Bookmarks from gemtext links and from lines of URL, tab and title, whose other lines are
    /// skipped; or from OPML.
    ///
    /// - Throws: `read` for a part of an OPML document.
    static func links(
        in bytes: [UInt8], of file: String
    ) throws(FetchError) -> [(url: String, title: String)] {
        if let list = try FeedReader.list(bytes, of: file) { return list }
        return bytes.split(separator: ASCII.lineFeed).compactMap { line in
            var words = line
            if line.starts(with: "=>".utf8) {
                let rest = String(decoding: line.dropFirst(2), as: UTF8.self)
                let parts = rest.split(maxSplits: 1, whereSeparator: \.isWhitespace)
                let title = parts.count > 1 ? parts[1].drop(while: \.isWhitespace) : ""
                words = Array("\(parts.first ?? "")\t\(title)".utf8)[...]
            }
            guard let bookmark = Bookmark(line: words),
                (try? URI(parsing: bookmark.url))?.host != nil
            else { return nil }
            return (bookmark.url, bookmark.title)
        }
    }

    /// - Parameter text: The URL as listed, or as added; or its title.
    static func remove(_ text: String) throws(FetchError) {
        try change { bytes throws(FetchError) in
            let urls = bookmarks(in: bytes).map(\.url)
            let text = url(titled: text) ?? text
            let url = urls.contains(text) ? text : (try? URI(parsing: text).description) ?? text
            guard urls.contains(url) else {
                throw usageError(
                    "\(url) is not bookmarked", hint: Nearest.question(url, among: urls))
            }
            remove(url, from: &bytes)
        }
    }

    private static func bookmarks(in bytes: [UInt8]) -> [Bookmark] {
        bytes.split(separator: ASCII.lineFeed).compactMap { Bookmark(line: $0) }
    }

    private static func remove(_ url: String, from bytes: inout [UInt8]) {
        var kept: [UInt8] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let line = rest[...(rest.firstLineFeed ?? rest.endIndex - 1)]
            rest = rest[line.endIndex...]
            let text = line.last == ASCII.lineFeed ? line.dropLast() : line
            if Bookmark(line: text)?.url != url { kept += line }
        }
        bytes = kept
    }

    private static func change(
        _ edit: (inout [UInt8]) throws(FetchError) -> Void
    ) throws(FetchError) {
        guard let file = UserFiles.bookmarks else {
            throw usageError("no home directory for the bookmarks", hint: "set HOME")
        }
        try file.change(edit)
    }
}

extension Command {
    private static func writeOPML() throws(FetchError) {
        let bookmarks = try Bookmarks.all().map { ($0.url, $0.title) }
        try StandardStream.output.writeForeign(FeedFormat.opml(title: "Bookmarks", bookmarks))
    }

    static let bookmarks = Command(
        "bookmarks [ACTION] …",
        actions: [
            .action("list", options: ["json", "opml"]) { settings, _ throws(FetchError) in
                if settings.stores.writesOPML { return try writeOPML() }
                let bookmarks = try Bookmarks.all()
                if bookmarks.isEmpty && !settings.records.areWanted {
                    try settings.note("no bookmarks yet: 'smallweb bookmarks add URL' adds one")
                }
                try settings.write(bookmarks) { writer, bookmark in
                    writer.begin("bookmark")
                    writer.member("url", bookmark.url)
                    writer.member("title", bookmark.title)
                } text: {
                    "\($0.url)\t\($0.title)\n"
                }
            },
            .action("import FILE|-", operands: [.file]) { settings, operands throws(FetchError) in
                let found = try Bookmarks.links(
                    in: InputSource.read("@" + operands[0]), of: operands[0])
                for (url, title) in found { try Bookmarks.add(url, title: title) }
                if settings.messages.showsNotes {
                    try StandardStream.error.write("imported \(found.count)\n")
                }
            },
            .action("export", options: ["opml"]) { settings, _ throws(FetchError) in
                if settings.stores.writesOPML { return try writeOPML() }
                for bookmark in try Bookmarks.all() {
                    try StandardStream.output.writeForeign(
                        "=> \(bookmark.url) \(bookmark.title)\n")
                }
            },
            .action("add URL [TITLE…]", operands: [.url, .text]) { _, operands throws(FetchError) in
                try Bookmarks.add(operands[0], title: operands.dropFirst().joined(separator: " "))
            },
            .action("remove URL", operands: [.bookmark]) { _, operands throws(FetchError) in
                try Bookmarks.remove(operands[0])
            },
        ])
}
