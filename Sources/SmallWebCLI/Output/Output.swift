// SPDX-License-Identifier: MIT
internal import SmallWebFormats
internal import SmallWebRecords

/// Where bodies go, and what of a reply is put out.
struct OutputSettings: Sendable {
    /// The n-th goes with the n-th URL; `-` is standard output.
    var files: [String] = []
    var usesRemoteName = false
    var directory: String?
    var createsDirectories = false
    /// With -O: `host/path` below the directory.
    var keepsTree = false
    /// Shared by all URLs of a run.
    let made = MadeFiles()
    /// What becomes of a file that is there already.
    enum Existing: Sendable {
        /// `-o` replaces it, `-O` takes another name.
        case asNamed
        case replaced, kept
        /// Nothing is fetched.
        case enough
    }
    var existing = Existing.asNamed
    var showsHeader = false
    /// What is written after each URL; `@FILE` until that is read.
    var format: String?
    var writeOut: WriteOut?
    var headerFile: String?

    /// What a command lists instead of delivering bodies.
    var listing: Listing?
    /// Whether a page's links become records before its own.
    var withLinks = false
    /// For `links`: also the lines of a menu that lead nowhere.
    var listsAll = false

    /// Whether standard output gets the bytes, or a page that is laid out.
    enum Rendering: String, Sendable, CaseIterable {
        /// A terminal gets the page, anything else the bytes.
        case auto
        /// The page as text alone, or with the terminal's codes.
        case plain, ansi
        /// The page as a fragment for other programs.
        case html, markdown

        /// `nil` for what a person reads.
        var markup: MarkupWriter.Format? {
            switch self {
            case .auto, .plain, .ansi: nil
            case .html: .html
            case .markdown: .markdown
            }
        }
    }
    var rendering = Rendering.auto
    var hyperlinks = Settings.When.auto
    /// `open`: pages are laid out for reading, in a pager.
    var isReading = false
    /// Of `open`: the page that is being opened, or what is known of a file that is saved.
    var page: OpenedPage?

    /// The name of a file, which belongs into the directory if there is one.
    func place(of name: String) -> String {
        name.hasPrefix("/") ? name : directory.map { "\($0)/\(name)" } ?? name
    }

    /// Whether standard output gets pages as a person reads them.
    var laysPagesOut: Bool {
        rendering != .auto || isReading || Environment.isTerminal(1)
    }
}

extension BodySink.Destination {
    init(_ order: Order, _ settings: URLSettings) {
        let (output, records) = (settings.output, settings.records)
        if let path = order.output {
            self = .file(output.place(of: path))
        } else if order.subject.n < output.files.count {
            let name = output.files[order.subject.n]
            self = name == "-" ? .rawStandardOutput : .file(output.place(of: name))
        } else if output.usesRemoteName || records.options.body == .file {
            self = .remoteName(directory: output.directory)
        } else {
            let isUnwanted = records.areWanted || records.options.body == .none
            self = isUnwanted ? .nowhere : .standardOutput
        }
    }
}
