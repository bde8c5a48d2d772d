// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Which references of a repository are wanted.
struct RefQuery: Hashable {
    /// Of those below `refs/heads/` and `refs/tags/`; neither is all.
    var onlyHeads = false
    var onlyTags = false
    /// Shell patterns that match the last parts of a name (git-ls-remote(1)); none is all.
    var patterns: [String] = []
    /// Whether anything but a list of references is refused.
    var isRequired = false
    /// Whether the body says what `HEAD` stands for.
    var showsSymrefs = false
    /// Whether each comes with its date.
    var showsDates = false

    init() {}

    init(_ request: Request) {
        onlyHeads = request.options.flag("heads")
        onlyTags = request.options.flag("tags")
        showsSymrefs = request.options.flag("symref")
        showsDates = request.options.flag("dates")
        patterns = request.referencePatterns ?? []
        isRequired = request.referencePatterns != nil
    }

    var isEmpty: Bool { self == RefQuery() }

    /// By the names that git-ls-remote(1) gives them.
    static let options = [
        Request.Option(
            "heads", .flag, for: .references,
            .init(
                group, "only branches",
                manual: "Lists references below refs/heads/; with --tags also those below it.",
                example: "smallweb refs --heads git://example.org/repo.git")),
        Request.Option(
            "tags", .flag, for: .references,
            .init(
                group, "only tags; describe: not only annotated ones",
                manual: "Lists references below refs/tags/; with --heads also those below it. "
                    + "With describe, tags that are not annotated count as well.",
                example: "smallweb refs --tags https://example.org/repo.git 'v1.*'")),
        Request.Option(
            "dates", .flag, for: .references,
            .init(
                group, "with the date of each",
                manual: "Puts the date of each reference behind its name: when an annotated tag "
                    + "was made, or the commit that it names, in UTC.",
                example: "smallweb refs --tags --dates https://example.org/repo.git")),
        Request.Option(
            "symref", .flag, for: .references,
            .init(
                group, "say what HEAD stands for",
                manual: "Puts a line with the name it stands for before each symbolic reference.",
                example: "smallweb refs --symref git://example.org/repo.git HEAD")),
    ]

    private static let group = "References (refs)"
}
