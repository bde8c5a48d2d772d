// SPDX-License-Identifier: MIT
internal import SmallWeb

/// A record of a table that says more than its initializer takes.
protocol Adjustable {}

extension Adjustable {
    func with<Value>(_ member: WritableKeyPath<Self, Value>, _ value: Value) -> Self {
        var record = self
        record[keyPath: member] = value
        return record
    }
}

/// One option: the parser, `--help` and whatever else describes the command line read this record.
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

        /// In the order of texts: those that only plugins name stand in the middle.
        package static let all =
            beforeProtocols + others(Option.ofPlugins, than: beforeProtocols + afterProtocols)
            + afterProtocols

        /// The same with those of further options.
        static func of(_ options: [Option]) -> [Group] { all + others(options, than: all) }

        private static func others(_ options: [Option], than known: [Group]) -> [Group] {
            options.map(\.group).reduce(into: []) { groups, group in
                if !(known + groups).contains(group) { groups.append(group) }
            }
        }
    }

    enum Action: Sendable {
        /// A switch; with its `--no-` form it is given `false`.
        case flag(@Sendable (inout Settings, Bool) -> Void)
        /// The value's name in help texts, what a shell offers for it, and what to do with one,
        /// where errors name the option.
        case value(String, Values, Setter)

        typealias Setter =
            @Sendable (inout Settings, _ value: String, _ option: String) throws(FetchError) -> Void
    }

    enum Values: Sendable {
        case none, files, directories, schemes, identities, plugins
        /// Made when a shell asks: no other run should pay for it.
        case oneOf(@Sendable () -> [String])
        /// Several of them, separated by commas.
        case someOf(@Sendable () -> [String])
    }

    package let long: String
    package let short: Character?
    package internal(set) var aliases: [String] = []
    package let group: Group
    /// For `--help`: a few words.
    package let summary: String
    /// For the manual: full sentences.
    package let manual: String
    package let example: String
    let action: Action
    var values: Values
    /// Whether its value must not be shown, and is never an argument: a config file may have it.
    var isSecret = false
    /// For an option of a plugin: which requests have a use for it.
    var purpose: Request.Option.Purpose?
    /// For an option of a plugin: the key that its value has in the URL.
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

    /// - Parameter word: With or without its hyphens, and with or without a value.
    static func typed(_ word: String, among options: [Option]) -> Option? {
        let name = word.drop { $0 == "-" }.prefix { $0 != "=" }
        return options.first {
            $0.long == name || $0.aliases.contains(String(name))
                || $0.short.map { "-\($0)" } == word
        }
    }

    /// Whether `value` names a file, or is sent as it is, and need not be UTF-8.
    func takesAnyBytes(_ value: String) -> Bool {
        switch values {
        case .files, .directories: true
        default: long == "data" || value.hasPrefix("@")
        }
    }

    /// The value of a config file, whose names of files may begin with `~/`.
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

    /// Where a config file may set an option.
    package enum Scope: Sendable {
        /// Nowhere: it asks for one run alone, or belongs to one command.
        case commandLine
        /// Before the first section: it holds for a whole run, or belongs to a command without
        /// URLs.
        case run
        /// In sections, too: it is read again for each URL.
        case url
    }

    package var scope: Scope {
        let isOfCommand =
            group == .feeds || group == .archive || purpose == .verbs || purpose == .references
        // What is in the URL is asked of one resource.
        if Self.ofCommandLine.contains(long) || isOfCommand || urlKey != nil {
            return .commandLine
        }
        let isOfRuns = group == .bulk || group == .messages || Self.ofRuns.contains(long)
        return isOfRuns || Self.ofStores.contains(long) ? .run : .url
    }

    private static let ofCommandLine: Set<String> = [
        "help", "version", "config", "no-config", "show-origin", "output",
    ]

    /// Beside those of whole groups: what is opened or decided once, before the first URL.
    private static let ofRuns: Set<String> = [
        "dump-header", "input", "json", "ordered", "summary", "write-out",
    ]

    /// The value's name in help texts; `nil` for a switch.
    package var valueName: String? {
        guard case .value(let name, _, _) = action else { return nil }
        return name
    }
}
