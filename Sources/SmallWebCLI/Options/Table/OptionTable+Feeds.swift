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
    /// The state of a crawl to tell the news of.
    var crawl: String?

    var showsDifference = false
    var comparesLinks = false
    /// Regular expressions of lines to ignore.
    var ignored: [String] = []
    /// Interval between rounds; `nil` for a single round.
    var everySeconds: Double?
    var command: String?
    /// True to say nothing but news, and failures that last.
    var showsNews = false
    /// Failures in a row after which a page's failure is said.
    var failuresMax = 3
}

extension Option {
    static let feeds: [Option] = [
        Option(.format, .feeds.with(takers: .feed), .choice("FORM") { $0.feeds.format = $1 }),
        Option(
            .maxEntries, .feeds.with(takers: .feed),
            .value("N", OptionValue.count) { $0.feeds.entriesMax = $1 }),
        Option(.new, .feeds.with(takers: .feed), .flag { $0.feeds.takesUndated = $1 }),
        Option(.under, .feeds, .value("HEADING") { $0.feeds.heading = $1 }),
        Option(
            .state, .feeds.with(takers: [.subscriptions, .crawl]),
            .value("FILE") { $0.feeds.stateFile = $1 }),
        Option(
            .name, .feeds.with(takers: [.subscriptions, .crawl]),
            .value("NAME") { settings, value throws(FetchError) in
                settings.feeds.stateName = try OptionValue.stateName(value)
            }),
        Option(.crawl, .feeds.with(takers: .watch), .value("STATE") { $0.feeds.crawl = $1 })
            .with(\.values, .files),
        Option(.diff, .feeds.with(takers: .watch), .flag { $0.feeds.showsDifference = $1 }),
        Option(.links, .feeds.with(takers: .watch), .flag { $0.feeds.comparesLinks = $1 }),
        Option(
            .ignore, .feeds.with(takers: .watch),
            .value("REGEX") { settings, value throws(FetchError) in
                _ = try OptionValue.expression(value, "--ignore")
                settings.feeds.ignored.append(value)
            }),
        Option(
            .every, .feeds.with(takers: .watch),
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
            .exec, .feeds.with(takers: .watch),
            .value("CMD") { settings, value throws(FetchError) in
                guard !value.isEmpty else { throw usageError("--exec names no command") }
                settings.feeds.command = value
            }),
        Option(.news, .feeds.with(takers: .watch, scope: .run), .flag { $0.feeds.showsNews = $1 }),
        Option(
            .failuresAfter, .feeds.with(takers: .watch, scope: .run),
            .value("N", OptionValue.positive) { $0.feeds.failuresMax = $1 }),
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
