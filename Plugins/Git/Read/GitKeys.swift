// SPDX-License-Identifier: MIT
internal import SmallWebCore

extension GitQuestion {
    /// A key of a query: the form of its value, and the option that puts it into the URL.
    struct Key: Sendable {
        enum Form: Sendable {
            /// `1`, or no value.
            case flag
            /// Without control characters.
            case text
            case bytes
            /// From the root, without a slash at its end.
            case path
            /// A branch, tag, full reference or object id; never empty.
            case version
            case number(ClosedRange<Int>)
            /// A number of digits of an object id.
            case digits
            case word([String])
            case date
        }

        let name: String
        private let form: Form
        /// `nil` for a key that only URLs have.
        let option: Request.Option?

        init(_ name: String, _ form: Form) { (self.name, self.form, option) = (name, form, nil) }

        /// - Parameter option: The option's name, if it is another one.
        init(
            _ name: String, _ form: Form, option: String? = nil, short: Character? = nil,
            _ kind: Request.Option.Kind, for purpose: Request.Option.Purpose = .verbs,
            _ texts: Request.Option.Texts
        ) {
            (self.name, self.form) = (name, form)
            let (plain, word) = (Key(name, form), option ?? name)
            let values = if case .word(let words) = form { words } else { [String]() }
            self.option = Request.Option(
                word, short: short, kind, for: purpose, texts, values: values
            ) { text throws(FetchError) in
                if let refusal = plain.refusal(of: text, option: word) { throw refusal.usage }
            }.inURL(as: name)
        }

        /// The decoded value.
        ///
        /// - Parameter value: Not decoded; `nil` for a key alone.
        /// - Throws: `bad-url`.
        func checked(_ value: String?) throws(FetchError) -> [UInt8] {
            if case .flag = form {
                guard ["1", "", nil].contains(value) else {
                    throw .badURL(
                        "\"\(name)=\(value ?? "")\" means nothing",
                        hint: "write &\(name)=1, or leave it out")
                }
                return []
            }
            let bytes = PercentEncoding.decode(value ?? "")
            guard !bytes.contains(ASCII.nul) else {
                throw .badURL("a NUL in the value of \"\(name)\"")
            }
            switch form {
            case .flag, .bytes: return bytes
            case .path:
                let names = bytes.split(separator: ASCII.slash)
                guard !names.isEmpty,
                    !names.contains(where: { $0.count <= 2 && $0.allSatisfy { $0 == ASCII.dot } })
                else {
                    throw .badURL("\"\(name)=\(value ?? "")\" is not a path in a repository")
                }
                return Array(names.joined(separator: [ASCII.slash]))
            case .version:
                guard !bytes.isEmpty, bytes.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
                    throw .badURL("\"\(name)=\" names no version")
                }
                return bytes
            case .text, .number, .digits, .word, .date:
                guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }),
                    let text = String(validating: bytes, as: UTF8.self)
                else { throw .badURL("a control character in the value of \"\(name)\"") }
                if let refusal = refusal(of: text) { throw refusal.badURL }
                return bytes
            }
        }

        /// The errors for an invalid value, in a URL and of the option; `nil` for a valid one.
        private func refusal(
            of text: String, option: String = ""
        ) -> (badURL: FetchError, usage: FetchError)? {
            let field = "\"\(name)=\(text)\""
            switch form {
            case .number, .digits:
                let range = if case .number(let range) = form { range } else { 0...64 }
                let limits = "a number from \(range.lowerBound) to \(range.upperBound)"
                guard let number = ASCII.decimal(text.utf8, max: range.upperBound),
                    range.contains(number)
                else {
                    return (
                        .badURL("\(field) is not \(limits)"),
                        usageError("\(option) wants \(limits), not \"\(text)\"")
                    )
                }
                guard case .digits = form, 1..<4 ~= number else { return nil }
                let why = "an id has at least 4 digits, or 0 for none"
                return (.badURL("&\(name)=\(number): \(why)"), usageError(why))
            case .word(let words) where !words.contains(text):
                let known = words.sorted().joined(separator: ", ")
                let either = words.joined(separator: " or ")
                return (
                    .badURL("\(field) means nothing", hint: "it is one of \(known)"),
                    usageError("the \(name) is \(either), not \"\(text)\"")
                )
            case .date where GitQuestion.seconds(text) == nil:
                let hint = "write 2026-11-20 or 2026-11-20T22:17:13Z"
                return (
                    .badURL("\(field) is not a date", hint: hint),
                    usageError("\"\(text)\" is not a date", hint: hint)
                )
            default: return nil
            }
        }
    }
}

extension GitQuestion.Key {
    static let tar = Self(
        "tar", .flag, .flag, for: .fetches,
        .init(
            group, "a directory with all in it, as a tar archive",
            manual: "Fetches a directory of a Git repository, or all of a version, as "
                + "git-archive makes a tar archive of it: with what .gitattributes say. "
                + "The URL gets ?tar.",
            example: "smallweb get --tar -o docs.tar git+https://example.org/repo.git//docs"))
    /// The version of a tar archive or a file.
    static let version = Self("ref", .version)
    static let prefix = Self(
        "prefix", .bytes, .text("TEXT"), for: .fetches,
        .init(
            group, "begin each name in the archive with TEXT",
            manual: "With --tar: puts TEXT before each name in the archive. It ends with a "
                + "slash if it is a directory.",
            example: "smallweb get --tar --prefix=a/ -o a.tar git://example.org/a.git"))
    static let strip = Self(
        "strip", .number(0...1000), .text("N"), for: .fetches,
        .init(
            group, "leave N directories out of each name",
            manual: "With --tar: leaves out the first N directories of each name in the "
                + "archive, and what has no more than those.",
            example: "smallweb get --tar --strip 1 -o a.tar git://example.org/a.git//docs"))
    static let largeFiles = Self(
        "lfs", .flag, .flag, for: .fetches,
        .init(
            group, "files in Git LFS instead of pointers",
            manual: "With --tar: asks the Git LFS server of the repository for each file "
                + "whose .gitattributes say filter=lfs, and compares its SHA-256 and size "
                + "with what the pointer says. The server may name another host for a "
                + "file. Over git:// pointers stay.",
            example: "smallweb get --tar --lfs -o a.tar git+https://example.org/repo.git"))
    static let count = Self(
        "n", .number(1...GitQuestion.countMax), option: "max-count", short: "n", .text("N"),
        .init(
            historyGroup, "at most N commits",
            manual: "Lists at most N commits.",
            example: "smallweb log -n 20 https://example.org/repo.git"))
    static let since = Self(
        "since", .date, .text("DATE"),
        .init(
            historyGroup, "commits from DATE on",
            manual: "Lists commits from DATE on: 2026-11-20, which is midnight in UTC, or "
                + "2026-11-20T22:17:13Z.",
            example: "smallweb log --since 2026-11-01 https://example.org/repo.git"))
    static let format = Self(
        "format", .word(["line", "full"]), .text("FORMAT"),
        .init(
            historyGroup, "line (default) or full",
            manual: "How commits are shown: line is one line for each, with its id, the "
                + "author's date, the author and the subject between tabs; full is all of the "
                + "message, as 'git log --no-abbrev' shows it.",
            example: "smallweb log --format full -n 1 https://example.org/repo.git"))
    static let path = Self("path", .path)
    /// Has the option of the references, whose own URLs have no such key.
    static let tags = Self("tags", .flag)
    static let long = Self(
        "long", .flag, .flag,
        .init(
            describeGroup, "always with the count and the id",
            manual: "Shows the number of commits and the id also where a tag is exactly at "
                + "the version.",
            example: "smallweb describe --long https://example.org/repo.git"))
    static let match = Self(
        "match", .text, .list("PATTERN"),
        .init(
            describeGroup, "only tags that match PATTERN",
            manual: "Takes only tags whose name matches a shell pattern. Repeatable: one of "
                + "the patterns must match. @FILE reads patterns from a file.",
            example: "smallweb describe --match 'v*' https://example.org/repo.git"))
    static let digits = Self(
        "abbrev", .digits, .text("N"),
        .init(
            describeGroup, "N digits of the id (10), 0 for the tag alone",
            manual: "How many digits of the id are shown: 4 or more, and exactly so many, "
                + "since a server does not say which are unique. 0 shows the tag alone.",
            example: "smallweb describe --abbrev 12 https://example.org/repo.git"))
    static let exact = Self(
        "exact-match", .flag, .flag,
        .init(
            describeGroup, "only a tag that is exactly at the version",
            manual: "Takes only a tag that is at the version itself, which the list of "
                + "references tells, and fails where there is none.",
            example: "smallweb describe --exact-match https://example.org/repo.git"))
    static let raw = Self("raw", .flag)
    static let patch = Self(
        "patch", .flag, short: "p", .flag,
        .init(
            differenceGroup, "the lines that differ, as a patch",
            manual: "Asks for the files that differ as well, and shows their lines as a patch "
                + "that 'git apply' takes. Files that are not text, or larger than 16 MiB, are "
                + "named only.",
            example: "smallweb diff --patch https://example.org/repo.git v1.0..v2.0 -- lib"))
    static let dates = Self("dates", .flag)

    fileprivate static let differenceGroup = "Differences (diff)"
    private static let describeGroup = "Names of versions (describe)"
    private static let group = "Archives of repositories"
    private static let historyGroup = "Commits (log)"
}

extension GitQuestion {
    static let options =
        ([.tar] + Kind.allCases.flatMap(\.keys)).compactMap(\.option) + [
            Request.Option(
                "null", short: "z", .flag, for: .verbs,
                .init(
                    Key.differenceGroup, "end fields by NUL",
                    manual: "Ends the fields of each line by NUL and leaves paths as they are, as "
                        + "'git diff -z' does.",
                    example: "smallweb diff -z https://example.org/repo.git v1.0..v2.0"))
        ]

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
        verb.optionKeys = [("tags", "tags")] + Kind.describe.optionKeys
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
        verb.optionKeys = Kind.difference.optionKeys
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
        verb.optionKeys = Kind.log.optionKeys
        return verb
    }()
}
