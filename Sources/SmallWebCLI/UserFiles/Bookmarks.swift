// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb

/// URLs that a person wants to be offered: `URL<TAB>TITLE` per line. A plain file, to be edited and
/// kept under version control by whoever likes to.
enum Bookmarks {
    struct Bookmark: Hashable {
        let url: String
        let title: String

        init?(line: Substring) {
            let fields = line.split(separator: "\t", maxSplits: 1, omittingEmptySubsequences: false)
            guard let url = fields.first, !url.isEmpty, !url.hasPrefix("#") else { return nil }
            self.url = String(url)
            title = fields.count > 1 ? String(fields[1]) : ""
        }
    }

    static func all() -> [Bookmark] { lines().compactMap { Bookmark(line: $0) } }

    private static func lines() -> [Substring] {
        guard let path = UserFiles.bookmarks, let bytes = UserFiles.read(path) else { return [] }
        return String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
    }

    /// Adds a bookmark, or gives the one of the same URL a new title.
    static func add(_ url: String, title: String) throws(FetchError) {
        let uri = try URI(parsing: url)
        let oneLine = title.split { $0 == "\t" || $0.isNewline }.joined(separator: " ")
        try change { lines in
            lines.removeAll { Bookmark(line: $0)?.url == uri.description }
            lines.append("\(uri.description)\t\(oneLine)")
        }
    }

    /// - Parameter text: Its URL as it is listed, or as it was added.
    static func remove(_ text: String) throws(FetchError) {
        let isListed = all().contains { $0.url == text }
        let url = isListed ? text : (try? URI(parsing: text).description) ?? text
        guard all().contains(where: { $0.url == url }) else {
            let nearest = Nearest.name(to: url, among: all().map(\.url))
            throw usageError(
                "\(url) is no bookmark", hint: nearest.map { "did you mean \($0)?" })
        }
        try change { lines in lines.removeAll { Bookmark(line: $0)?.url == url } }
    }

    private static func change(_ edit: (inout [Substring]) -> Void) throws(FetchError) {
        guard let path = UserFiles.bookmarks else {
            throw usageError("no home directory for the bookmarks", hint: "set HOME")
        }
        do throws(SystemError) {
            let file = try UserFiles.openLocked(path)
            defer { close(file) }
            var lines = lines()
            edit(&lines)
            try UserFiles.replace(path, by: lines.flatMap { Array($0.utf8) + [ASCII.lineFeed] })
        } catch {
            throw FetchError(.write, .output, "cannot write the bookmarks: \(error.sentence)")
        }
    }
}

extension Command {
    static let bookmarks = Command(
        name: "bookmarks", synopsis: "bookmarks [ACTION [URL]]",
        summary: "URLs that completion offers first",
        manual: "Lists the bookmarks as URL, tab, title (list); adds one, or gives it another "
            + "title (add URL TITLE); removes one (remove URL). They are "
            + "lines of a plain file that can be edited by hand.",
        examples: [
            (
                "smallweb bookmarks add gemini://geminiprotocol.net/ 'Project Gemini'",
                "Bookmark a page"
            ),
            ("smallweb bookmarks | cut -f1", "All bookmarked URLs"),
        ],
        operands: [.choice(["list", "add", "remove"]), .url, .text],
        takes: { $0.isForAll }
    ) { _, operands throws(FetchError) in
        switch (operands.first ?? "list", operands.count) {
        case ("list", ...1):
            if let path = UserFiles.bookmarks, UserFiles.exists(path) {
                _ = try UserFiles.content(of: path, "the bookmarks")
            }
            let lines = Bookmarks.all().map { "\($0.url)\t\($0.title)\n" }
            try StandardStream.output.writeForeign(Array(lines.joined().utf8))
        case ("add", 2...):
            try Bookmarks.add(operands[1], title: operands.dropFirst(2).joined(separator: " "))
        case ("remove", 2):
            try Bookmarks.remove(operands[1])
        default:
            throw usageError("bookmarks takes list, add URL [TITLE] or remove URL")
        }
        return 0
    }
}
