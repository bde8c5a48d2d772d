// SPDX-License-Identifier: MIT
internal import SmallWebCore

extension GitQuestion {
    /// Options for keys of the query.
    static let options =
        [
            Request.Option(
                "tar", .flag,
                .init(
                    group, "a directory with all in it, as a tar archive",
                    manual: "Fetches a directory of a Git repository, or all of a version, as "
                        + "git-archive makes a tar archive of it: with what .gitattributes say. "
                        + "The URL gets ?tar.",
                    example: "smallweb get --tar -o docs.tar git+https://example.org/repo.git//docs"
                )
            ).inURL(as: "tar"),
            Request.Option(
                "prefix", .text("TEXT"),
                .init(
                    group, "begin each name in the archive with TEXT",
                    manual: "With --tar: puts TEXT before each name in the archive. It ends with a "
                        + "slash if it is a directory.",
                    example: "smallweb get --tar --prefix=a/ -o a.tar git://example.org/a.git")
            ).inURL(as: "prefix"),
            Request.Option(
                "strip", .text("N"),
                .init(
                    group, "leave N directories out of each name",
                    manual: "With --tar: leaves out the first N directories of each name in the "
                        + "archive, and what has no more than those.",
                    example: "smallweb get --tar --strip 1 -o a.tar git://example.org/a.git//docs"),
                check: number("strip", 0...1000)
            ).inURL(as: "strip"),
            Request.Option(
                "lfs", .flag,
                .init(
                    group, "files in Git LFS instead of pointers",
                    manual: "With --tar: asks the Git LFS server of the repository for each file "
                        + "whose .gitattributes say filter=lfs, and compares its SHA-256 and size "
                        + "with what the pointer says. The server may name another host for a "
                        + "file. Over git:// pointers stay.",
                    example: "smallweb get --tar --lfs -o a.tar git+https://example.org/repo.git")
            ).inURL(as: "lfs"),
        ] + ofVerbs

    private static let ofVerbs = [
        Request.Option(
            "max-count", short: "n", .text("N"), for: .verbs,
            .init(
                historyGroup, "at most N commits",
                manual: "Lists at most N commits.",
                example: "smallweb log -n 20 https://example.org/repo.git"),
            check: number("max-count", 1...LogQuestion.countMax)
        ).inURL(as: "n"),
        Request.Option(
            "since", .text("DATE"), for: .verbs,
            .init(
                historyGroup, "commits from DATE on",
                manual: "Lists commits from DATE on: 2026-11-20, which is midnight in UTC, or "
                    + "2026-11-20T22:17:13Z.",
                example: "smallweb log --since 2026-11-01 https://example.org/repo.git")
        ) { text throws(FetchError) in
            guard LogQuestion.seconds(text) != nil else {
                throw usageError(
                    "\"\(text)\" is not a date",
                    hint: "write 2026-11-20 or 2026-11-20T22:17:13Z")
            }
        }.inURL(as: "since"),
        Request.Option(
            "format", .text("FORMAT"), for: .verbs,
            .init(
                historyGroup, "line (default) or full",
                manual: "How commits are shown: line is one line for each, with its id, the "
                    + "author's date, the author and the subject between tabs; full is all of the "
                    + "message, as 'git log --no-abbrev' shows it.",
                example: "smallweb log --format full -n 1 https://example.org/repo.git"),
            values: ["line", "full"]
        ) { text throws(FetchError) in
            guard ["line", "full"].contains(text) else {
                throw usageError("the format is line or full, not \"\(text)\"")
            }
        }.inURL(as: "format"),
        Request.Option(
            "long", .flag, for: .verbs,
            .init(
                describeGroup, "always with the count and the id",
                manual: "Shows the number of commits and the id also where a tag is exactly at "
                    + "the version.",
                example: "smallweb describe --long https://example.org/repo.git")
        ).inURL(as: "long"),
        Request.Option(
            "match", .list("PATTERN"), for: .verbs,
            .init(
                describeGroup, "only tags that match PATTERN",
                manual: "Takes only tags whose name matches a shell pattern. Repeatable: one of "
                    + "the patterns must match. @FILE reads patterns from a file.",
                example: "smallweb describe --match 'v*' https://example.org/repo.git")
        ).inURL(as: "match"),
        Request.Option(
            "abbrev", .text("N"), for: .verbs,
            .init(
                describeGroup, "N digits of the id (10), 0 for the tag alone",
                manual: "How many digits of the id are shown: 4 or more, and exactly so many, "
                    + "since a server does not say which are unique. 0 shows the tag alone.",
                example: "smallweb describe --abbrev 12 https://example.org/repo.git")
        ) { text throws(FetchError) in
            try number("abbrev", 0...64)(text)
            guard !["1", "2", "3"].contains(text) else {
                throw usageError("an id has at least 4 digits, or 0 for none")
            }
        }.inURL(as: "abbrev"),
        Request.Option(
            "exact-match", .flag, for: .verbs,
            .init(
                describeGroup, "only a tag that is exactly at the version",
                manual: "Takes only a tag that is at the version itself, which the list of "
                    + "references tells, and fails where there is none.",
                example: "smallweb describe --exact-match https://example.org/repo.git")
        ).inURL(as: "exact-match"),
        Request.Option(
            "patch", short: "p", .flag, for: .verbs,
            .init(
                differenceGroup, "the lines that differ, as a patch",
                manual: "Asks for the files that differ as well, and shows their lines as a patch "
                    + "that 'git apply' takes. Files that are not text, or larger than 16 MiB, are "
                    + "named only.",
                example: "smallweb diff --patch https://example.org/repo.git v1.0..v2.0 -- lib")
        ).inURL(as: "patch"),
        Request.Option(
            "null", short: "z", .flag, for: .verbs,
            .init(
                differenceGroup, "end fields by NUL",
                manual: "Ends the fields of each line by NUL and leaves paths as they are, as "
                    + "'git diff -z' does.",
                example: "smallweb diff -z https://example.org/repo.git v1.0..v2.0")),
    ]

    private static let differenceGroup = "Differences (diff)"
    private static let describeGroup = "Names of versions (describe)"
    private static let group = "Archives of repositories"
    private static let historyGroup = "Commits (log)"

    static let verbs: [Verb] = [log, describe, difference]

    private static let describe: Verb = {
        var verb = Verb(
            "describe URL [VERSION]", key: "describe",
            summary: "name a version of a Git repository by its latest tag",
            manual: "Names a branch, tag or commit (HEAD) by the latest annotated tag before it, "
                + "as git-describe does, without a clone: the tag, the number of commits since "
                + "then, and g with the first digits of the id. A version that a tag is exactly at "
                + "has the name of the tag. With --tags every tag counts.",
            examples: [
                "smallweb describe https://example.org/repo.git": "What the default branch is at",
                "smallweb describe --abbrev 0 https://example.org/repo.git":
                    "The latest release",
            ])
        verb.optionKeys = [
            ("tags", "tags"), ("long", "long"), ("match", "match"), ("abbrev", "abbrev"),
            ("exact-match", "exact-match"),
        ]
        return verb
    }()

    private static let difference: Verb = {
        var verb = Verb(
            "diff URL RANGE [-- PATH…]", key: "diff",
            summary: "list what differs between two versions of a Git repository",
            manual: "Lists the files that differ between A and B of A..B, as "
                + "'git diff --no-renames --name-status' does, without a clone and without the "
                + "files: A for added, D for deleted, M for changed, T for something else than a "
                + "file, then a tab and the path. Paths behind -- limit it. With --patch the lines "
                + "that differ are shown, for which those files are asked for. With --json each "
                + "file is "
                + "a record.",
            examples: [
                "smallweb diff https://example.org/repo.git v1.0..v2.0": "What a release changes",
                "smallweb diff https://example.org/repo.git v1.0.. -- docs lib":
                    "The same below two directories, up to now",
                "smallweb diff -p https://example.org/repo.git v1..v2 -- lib > lib.patch":
                    "A patch of one directory",
            ])
        verb.operandKey = "path"
        verb.optionKeys = [("patch", "patch")]
        verb.options = ["raw", "null"]
        return verb
    }()

    private static let log: Verb = {
        var verb = Verb(
            "log URL [RANGE] [-- PATH…]", key: "log",
            summary: "list the commits of a Git repository",
            manual: "Lists commits as git-log does, without a clone: those of a branch, tag or "
                + "commit (HEAD), or with A..B those that B has and A has not. A line for each: "
                + "its id, the author's date, the author and the subject, between tabs. The "
                + "server is asked for commits alone. Paths behind -- limit it to the commits that "
                + "change them, for which their directories are asked for as well. With --json "
                + "each is a "
                + "record.",
            examples: [
                "smallweb log -n 20 https://example.org/repo.git": "The latest commits",
                "smallweb log https://example.org/repo.git v1.0..v2.0":
                    "What is new in a release",
                "smallweb log https://example.org/repo.git v1.0.. -- docs":
                    "What has changed in a directory since then",
            ])
        verb.operandKey = "path"
        verb.optionKeys = [("max-count", "n"), ("since", "since"), ("format", "format")]
        return verb
    }()

    static func number(
        _ name: String, _ range: ClosedRange<Int>
    ) -> @Sendable (String) throws(FetchError) -> Void {
        { text throws(FetchError) in
            guard let number = ASCII.decimal(text.utf8, max: range.upperBound),
                range.contains(number)
            else {
                throw usageError(
                    "\(name): a number from \(range.lowerBound) to \(range.upperBound)")
            }
        }
    }
}
