// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebFormats

struct FeedSettings: Sendable {
    /// `nil` for Atom, or for the page's own feed format.
    var format: FeedFormat?
    var entriesMax = 100
    var takesUndated = false
    var heading: String?
    var stateFile: String?
    var stateName: String?

    var showsDifference = false
    var comparesLinks = false
    /// Regular expressions of lines to ignore.
    var ignored: [String] = []
    /// Interval between rounds; `nil` for a single round.
    var everySeconds: Double?
    var command: String?
}

extension Option {
    static let feeds: [Option] = [
        Option(
            .format, .feeds.with(takers: .feed), "feed: atom, rss, jsonfeed or gemtext",
            manual: "The format of the feed: atom (RFC 4287, the default), rss (RSS 2.0), jsonfeed "
                + "(JSON Feed 1.1) or gemtext, a page of dated links. Without it a page that "
                + "is a feed already, if it is the only URL, passes through byte for byte.",
            example: "smallweb feed --format rss gemini://example.org/gemlog/",
            .choice("FORM") { $0.feeds.format = $1 }),
        Option(
            .maxEntries, .feeds.with(takers: .feed), "feed: at most N entries, the newest (100)",
            manual: "The maximum number of entries: the newest ones.",
            example: "smallweb feed --max-entries 20 gemini://example.org/gemlog/",
            .value("N", OptionValue.count) { $0.feeds.entriesMax = $1 }),
        Option(
            .new, .feeds.with(takers: .feed), "feed: also entries of undated links",
            manual: "Makes an entry of every link, even without a date: it gets the time when it "
                + "was first seen, which the state keeps.",
            example: "smallweb feed --new gopher://example.org/1/phlog",
            .flag { settings, isOn in settings.feeds.takesUndated = isOn }),
        Option(
            .under, .feeds, "only the part below this heading",
            manual: "Takes only the section below the first heading line of a gemtext page with "
                + "this text, up to the next heading of its level or above. Without such a "
                + "heading, watch fails with 8, and feed exits with 8.",
            example: "smallweb feed --under Posts gemini://example.org/",
            .value("HEADING") { settings, value in settings.feeds.heading = value }),
        Option(
            .state, .feeds.with(takers: [.subscriptions, .crawl]), "keep the state in FILE",
            manual: "The file that keeps the state from one run to the next. It is replaced "
                + "atomically, has the mode 0600, and is locked while in use. /dev/null keeps "
                + "nothing.",
            example: "smallweb watch --state pages.state gemini://example.org/",
            .value("FILE") { settings, value in settings.feeds.stateFile = value }),
        Option(
            .name, .feeds.with(takers: [.subscriptions, .crawl]),
            "the state's name (made of the URLs)",
            manual: "The name of the state below $XDG_STATE_HOME/smallweb/. By default it is made "
                + "of the URLs: the first 16 hexadecimal digits of the SHA-256 of their sorted "
                + "list. With a name the list of URLs may change.",
            example: "smallweb watch --name morning @pages.txt",
            .value("NAME") { settings, value throws(FetchError) in
                settings.feeds.stateName = try OptionValue.stateName(value)
            }),
        Option(
            .diff, .feeds.with(takers: .watch), "watch: show the changes of a text",
            manual: "Prints the differences of a changed text, in the unified format of diff(1). "
                + "For that a copy of each text is kept next to the state, up to 1 MiB each, of "
                + "1,000 pages: the previous run needs --diff as well.",
            example: "smallweb watch --diff gemini://example.org/",
            .flag { settings, isOn in settings.feeds.showsDifference = isOn }),
        Option(
            .links, .feeds.with(takers: .watch), "watch: compare the set of links",
            manual: "Compares the set of a page's links instead of its bytes, and prints those "
                + "added (+) and removed (-).",
            example: "smallweb watch --links gemini://example.org/gemlog/",
            .flag { settings, isOn in settings.feeds.comparesLinks = isOn }),
        Option(
            .ignore, .feeds.with(takers: .watch), "watch: ignore lines that match REGEX",
            manual: "Ignores lines that match an extended regular expression (regex(7)) when "
                + "texts are compared. Repeatable. Bytes are characters, as in the locale C. It "
                + "has at most 1 KiB, no back-references, and counts up to 255, which must not be "
                + "nested into thousands.",
            example: "smallweb watch --ignore '^Visitors: [0-9]+$' gemini://example.org/",
            .value("REGEX") { settings, value throws(FetchError) in
                _ = try OptionValue.expression(value, "--ignore")
                settings.feeds.ignored.append(value)
            }),
        Option(
            .every, .feeds.with(takers: .watch), "watch: keep running, check at intervals",
            manual: "Keeps running and checks again after this time, or up to a tenth later: a "
                + "number of seconds, or one with s, m, h, d or w. At least 60 seconds.",
            example: "smallweb watch --every 15m gemini://example.org/",
            .value("TIME") { settings, value throws(FetchError) in
                let seconds = try OptionValue.duration(value, "--every")
                guard seconds >= 60 else {
                    throw usageError(
                        "--every wants at least 60 seconds, not \"\(value)\"",
                        hint: "servers of the small web are small: 15m is often enough")
                }
                settings.feeds.everySeconds = seconds
            }),
        Option(
            .exec, .feeds.with(takers: .watch), "watch: run CMD for each page with news",
            manual: "Runs CMD with sh for each page that is new, changed or gone, one after the "
                + "other, with the page's JSON record on its standard input. Its output goes to "
                + "standard error. It may take ten minutes. If it fails, the state of the page "
                + "does not change, so that the next run reports it again.",
            example: "smallweb watch --exec 'jq -r .url >> changed.txt' gemini://example.org/",
            .value("CMD") { settings, value throws(FetchError) in
                guard !value.isEmpty else { throw usageError("--exec names no command") }
                settings.feeds.command = value
            }),
    ]
}

extension OptionValue {
    /// An extended regular expression that takes neither exponential time nor memory.
    static func expression(
        _ pattern: String, _ option: String
    ) throws(FetchError) -> ExtendedExpression {
        func refuse(_ why: String) -> FetchError {
            usageError(
                "\(option): \"\(pattern.prefix(80))\" \(why)", hint: "regex(7) describes them")
        }
        guard !pattern.isEmpty else { throw refuse("is empty, and would match everything") }
        do throws(ExtendedExpression.Problem) {
            return try ExtendedExpression(pattern)
        } catch {
            throw refuse(error.message)
        }
    }

    /// Checks a name for a file in the state directory.
    static func stateName(_ text: String) throws(FetchError) -> String {
        let isName =
            1...200 ~= text.utf8.count && !text.hasPrefix(".")
            && text.utf8.allSatisfy { byte in
                ASCII.isLetter(byte) || ASCII.isDigit(byte) || "._-+".utf8.contains(byte)
            }
        guard isName else {
            throw usageError(
                "--name wants letters, digits and ._-+, not \"\(text)\"",
                hint: "--state takes any file")
        }
        return text
    }
}
