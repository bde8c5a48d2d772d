// SPDX-License-Identifier: MIT
internal import SmallWeb

extension Option {
    /// Of `smallweb refs`, by the names that git-ls-remote(1) gives them.
    static let refs: [Option] = [
        Option(
            "heads", .refs, "only branches",
            manual: "Lists what is below refs/heads/, and with --tags what is below either.",
            example: "smallweb refs --heads git://example.org/repo.git",
            .flag { settings, isOn in settings.refs.onlyHeads = isOn }),
        Option(
            "tags", .refs, "only tags",
            manual: "Lists what is below refs/tags/, and with --heads what is below either.",
            example: "smallweb refs --tags https://example.org/repo.git 'v1.*'",
            .flag { settings, isOn in settings.refs.onlyTags = isOn }),
        Option(
            "symref", .refs, "say what HEAD stands for",
            manual: "Puts a line with the name it stands for before each symbolic reference.",
            example: "smallweb refs --symref git://example.org/repo.git HEAD",
            .flag { settings, isOn in settings.refs.showsSymrefs = isOn }),
        Option(
            "exit-code", .refs, "fail when nothing is listed",
            manual: "Exits with status 22 when no reference matches.",
            example: "smallweb refs --exit-code --tags git://example.org/repo.git v2.0",
            .flag { settings, isOn in settings.failsWithoutMatch = isOn }),
    ]
}
