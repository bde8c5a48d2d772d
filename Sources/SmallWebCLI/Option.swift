// SPDX-License-Identifier: MIT
internal import SmallWeb

/// One option: the parser, `--help` and whatever else describes the command line read this record.
struct Option: Sendable {
    enum Group: String, Sendable, CaseIterable {
        case output = "Output"
        case json = "JSON records"
        case requests = "Requests"
        case bulk = "Many URLs"
        case refs = "References (refs)"
        case http = "HTTP"
        case limits = "Limits"
        case connection = "Connection and trust"
        case store = "Keys and identities (trust, identity)"
        case messages = "Messages"
    }

    enum Action: Sendable {
        /// A switch; with its `--no-` form it is given `false`.
        case flag(@Sendable (inout Settings, Bool) -> Void)
        /// The value's name in help texts, and what to do with a value.
        case value(String, @Sendable (inout Settings, String) throws(FetchError) -> Void)
    }

    let long: String
    let short: Character?
    /// Other long names that mean the same.
    let aliases: [String]
    let group: Group
    /// For `--help`: a few words.
    let summary: String
    /// For the manual: full sentences.
    let manual: String
    /// A command line that shows the option at work.
    let example: String
    let action: Action

    init(
        _ long: String, short: Character? = nil, aliases: [String] = [], _ group: Group,
        _ summary: String, manual: String, example: String, _ action: Action
    ) {
        self.long = long
        self.short = short
        self.aliases = aliases
        self.group = group
        self.summary = summary
        self.manual = manual
        self.example = example
        self.action = action
    }
}
