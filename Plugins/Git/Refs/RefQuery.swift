// SPDX-License-Identifier: MIT
internal import SmallWebCore

struct RefQuery: Hashable {
    /// Only references below `refs/heads/` and `refs/tags/`; neither means all.
    var onlyHeads = false
    var onlyTags = false
    /// Shell patterns for the last components of a name (git-ls-remote(1)); empty means all.
    var patterns: [String] = []
    /// True if the URL must ask for a list of references.
    var isRequired = false
    /// True if the body shows targets of symbolic references.
    var showsSymrefs = false
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

    /// Options with the names that git-ls-remote(1) gives them.
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
