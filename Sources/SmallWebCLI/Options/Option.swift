// SPDX-License-Identifier: MIT
internal import SmallWeb

/// A table record with members that its initializer does not set.
protocol Adjustable {}

extension Adjustable {
    func with<Value>(_ member: WritableKeyPath<Self, Value>, _ value: Value) -> Self {
        var record = self
        record[keyPath: member] = value
        return record
    }
}

/// One option. The parser, the help texts, the manual and the completions are generated from this.
package struct Option: Sendable, Adjustable {
    package struct Group: Sendable, Hashable {
        package let title: String

        static let output = Group(title: "Output")
        static let json = Group(title: "JSON records")
        static let requests = Group(title: "Requests")
        static let bulk = Group(title: "Many URLs")
        static let links = Group(title: "Links (links)")
        static let feeds = Group(title: "What is new (feed, watch)")
        static let refs = Group(title: "References (refs)")
        static let uploads = Group(title: "Uploads (put)")
        static let limits = Group(title: "Limits")
        static let archive = Group(title: "Recording and replay")
        static let connection = Group(title: "Connection and trust")
        static let store = Group(title: "Keys, identities, plugins (trust, identity, plugin)")
        static let messages = Group(title: "Messages")
        static let config = Group(title: "Configuration (config)")

        private static let beforeProtocols = [
            output, json, requests, bulk, links, feeds, refs, uploads,
        ]
        private static let afterProtocols = [
            limits, archive, connection, store, messages, config,
        ]

        /// Groups in the order of help texts: those declared by plugins only are in the middle.
        package static let all =
            beforeProtocols + others(Option.ofPlugins, than: beforeProtocols + afterProtocols)
            + afterProtocols

        /// All groups, followed by those of further options.
        static func of(_ options: [Option]) -> [Group] { all + others(options, than: all) }

        private static func others(_ options: [Option], than known: [Group]) -> [Group] {
            options.map(\.group).reduce(into: []) { groups, group in
                if !(known + groups).contains(group) { groups.append(group) }
            }
        }
    }

    enum Action: Sendable {
        /// A switch; its `--no-` form passes `false`.
        case flag(@Sendable (inout Settings, Bool) -> Void)
        /// The value's placeholder in help texts, its candidates for completion, and its setter.
        /// The setter's `option` is the name for errors.
        case value(String, Values, Setter)

        typealias Setter =
            @Sendable (inout Settings, _ value: String, _ option: String) throws(FetchError) -> Void
    }

    enum Values: Sendable {
        case none, files, directories, schemes, identities, plugins
        /// Computed on demand, for completion only.
        case oneOf(@Sendable () -> [String])
        case someOf(@Sendable () -> [String])
    }

    package let long: String
    package let short: Character?
    package internal(set) var aliases: [String] = []
    package let group: Group
    /// A few words for `--help`.
    package let summary: String
    /// Full sentences for the manual.
    package let manual: String
    package let example: String
    let action: Action
    var values: Values
    /// True for a secret value: never shown, and allowed in config files but not as an argument.
    var isSecret = false
    /// For a plugin's option: the kind of requests it applies to.
    var purpose: Request.Option.Purpose?
    /// For a plugin's option: the query key of its value in the URL.
    var urlKey: String?

    init(
        _ long: String, short: Character? = nil, _ group: Group, _ summary: String, manual: String,
        example: String, _ action: Action
    ) {
        self.long = long
        self.short = short
        self.group = group
        self.summary = summary
        self.manual = manual
        self.example = example
        self.action = action
        values = if case .value(_, let values, _) = action { values } else { .none }
    }

    /// - Parameter word: With or without hyphens and value.
    static func typed(_ word: String, among options: [Option]) -> Option? {
        let name = word.drop { $0 == "-" }.prefix { $0 != "=" }
        return options.first {
            $0.long == name || $0.aliases.contains(String(name))
                || $0.short.map { "-\($0)" } == word
        }
    }

    /// True if `value` need not be UTF-8, as a file name or data to send.
    func takesAnyBytes(_ value: String) -> Bool {
        switch values {
        case .files, .directories: true
        default: long == "data" || value.hasPrefix("@")
        }
    }

    /// Expands `~/` in a value of a config file, if it is the name of a file.
    func inHome(_ value: String) -> String {
        var name = value[...]
        var prefix = ""
        switch values {
        case .files, .directories: break
        default: if name.popFirst() == "@" { prefix = "@" } else { return value }
        }
        guard name.hasPrefix("~/"), let home = homeDirectory else { return value }
        return prefix + home + name.dropFirst()
    }

    /// The parts of a config file that may set an option.
    package enum Scope: Sendable {
        /// Not in a config file: for a single run, or of one command only.
        case commandLine
        /// Before the first section: for a whole run, or for a command without URLs.
        case run
        /// In sections, too: evaluated for each URL.
        case url
    }

    package var scope: Scope {
        let isOfCommand =
            group == .feeds || group == .archive || purpose == .verbs || purpose == .references
        // A part of the URL concerns a single resource.
        if Self.ofCommandLine.contains(long) || isOfCommand || urlKey != nil {
            return .commandLine
        }
        let isOfRuns = group == .bulk || group == .messages || Self.ofRuns.contains(long)
        return isOfRuns || Self.ofStores.contains(long) ? .run : .url
    }

    private static let ofCommandLine: Set<String> = [
        "help", "version", "config", "no-config", "show-origin", "output",
    ]

    /// Options for state opened or decided once, before the first URL. Groups of such options are
    /// not repeated here.
    private static let ofRuns: Set<String> = [
        "dump-header", "input", "json", "ordered", "summary", "write-out",
    ]

    /// The value's placeholder in help texts; `nil` for a switch.
    package var valueName: String? {
        guard case .value(let name, _, _) = action else { return nil }
        return name
    }
}
