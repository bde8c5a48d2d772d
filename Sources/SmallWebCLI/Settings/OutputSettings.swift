// SPDX-License-Identifier: MIT
internal import SmallWebFormats
internal import SmallWebRecords

struct OutputSettings: Sendable {
    /// File names in the order of the URLs; `-` is standard output.
    var files: [String] = []
    var usesRemoteName = false
    /// `-J`: the name in Content-Disposition, where there is one.
    var takesServersName = false
    var directory: String?
    var createsDirectories = false
    /// False to keep no part of a body that was cut off.
    var keepsParts = true
    /// With -O: create `host/path` below the directory.
    var keepsTree = false
    /// Shared by all URLs of a run.
    let made = MadeFiles()
    enum Existing: Sendable {
        /// Replaced by `-o`, kept by `-O`, which takes another name.
        case asNamed
        case replaced, kept
        /// The fetch is skipped.
        case enough
        /// Replaced if other bytes come.
        case updated
    }
    var existing = Existing.asNamed
    /// `-R`: files get the time that the server names.
    var takesRemoteTime = false
    /// `--etag-save`
    var tagFile: String?
    var showsHeader = false
    /// Text to write after each URL; `@FILE` until that is read.
    var format: String?
    var writeOut: WriteOut?
    var headerFile: String?

    /// Output of a list instead of the body.
    var listing: ListForm?
    /// True for a crawl, which needs the links of each page.
    var followsLinks = false
    /// True to write records of a page's links before its own.
    var withLinks = false
    /// For `links`: true to include lines without a link.
    var listsAll = false

    /// Unchanged bytes on standard output, or a page that is laid out.
    enum Rendering: String, Sendable, CaseIterable {
        /// Laid out on a terminal, otherwise unchanged.
        case auto
        /// Plain text, or text with the terminal's escape sequences.
        case plain, text, ansi
        /// A markup fragment for other programs.
        case html, markdown, md

        /// `nil` for text.
        var markup: MarkupWriter.Format? {
            switch self {
            case .auto, .plain, .text, .ansi: nil
            case .html: .html
            case .markdown, .md: .markdown
            }
        }
    }
    var rendering = Rendering.auto
    var hyperlinks = Settings.When.auto
    /// `open`: lay out pages for reading, in a pager.
    var isReading = false
    /// `open`: the page being opened, or the file saved in its place.
    var page: OpenedPage?

    /// Puts a relative file name into the directory, if one is set.
    func place(of name: String) -> String {
        name.hasPrefix("/") ? name : directory.map { "\($0)/\(name)" } ?? name
    }
}

extension Settings {
    /// True if files and records get pages laid out: that is for the command line to say.
    var rendersAlways: Bool {
        output.rendering != .auto && isGiven(.render) && !fetch.wantsRawBody
    }
}
