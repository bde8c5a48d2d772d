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

/// One option. The parser, the help texts, the manual and the completions are generated from this
/// and its entry of `Texts/options.txt`.
package struct Option: Sendable, Adjustable {
    package struct Group: Sendable, Equatable {
        package let title: String
        let takers: Takers
        let scope: Scope

        init(_ title: String, takers: Takers = .fetches, scope: Scope = .url) {
            (self.title, self.takers, self.scope) = (title, takers, scope)
        }

        /// For an option that differs from the others of the group.
        func with(takers: Takers? = nil, scope: Scope? = nil) -> Group {
            Group(title, takers: takers ?? self.takers, scope: scope ?? self.scope)
        }

        package static func == (left: Group, right: Group) -> Bool { left.title == right.title }

        static let output = Group("Output", takers: .bodies)
        static let json = Group("JSON records", takers: [.results, .crawl])
        static let requests = Group("Requests")
        static let bulk = Group("Many URLs", takers: .lists, scope: .run)
        static let links = Group("Links (links)", takers: .links)
        static let feeds = Group(
            "What is new (feed, watch)", takers: .subscriptions, scope: .commandLine)
        static let crawl = Group(
            "Following links (crawl)", takers: .crawl, scope: .run)
        static let refs = Group("References (refs)", takers: .refs)
        static let uploads = Group("Uploads (put, edit)", takers: .uploads)
        static let limits = Group("Limits")
        static let archive = Group("Recording and replay", takers: .runs, scope: .commandLine)
        static let connection = Group("Connection and trust")
        static let store = Group(
            "Keys, identities, plugins (trust, identity, plugin)", takers: [], scope: .run)
        static let messages = Group("Messages", takers: .all, scope: .run)
        static let config = Group("Configuration (config)", takers: [], scope: .commandLine)

        private static let beforeProtocols = [
            output, json, requests, bulk, links, feeds, crawl, refs, uploads,
        ]
        private static let afterProtocols = [
            limits, archive, connection, store, messages, config,
        ]

        /// Groups in the order of help texts: those declared by plugins only are in the middle.
        package static let all =
            beforeProtocols + others(Option.ofPlugins, than: beforeProtocols + afterProtocols)
            + afterProtocols

        /// All groups, followed by the groups of further options.
        static func of(_ options: [Option]) -> [Group] { all + others(options, than: all) }

        private static func others(_ options: [Option], than known: [Group]) -> [Group] {
            options.map(\.group).reduce(into: []) { groups, group in
                if !(known + groups).contains(group) { groups.append(group) }
            }
        }
    }

    /// The commands that accept an option. Commands without fetches name those besides `all`.
    package struct Takers: OptionSet, Sendable {
        package let rawValue: UInt16

        package init(rawValue: UInt16) { self.rawValue = rawValue }

        static let get = Takers(rawValue: 1)
        static let head = Takers(rawValue: 2)
        static let links = Takers(rawValue: 4)
        static let open = Takers(rawValue: 8)
        static let put = Takers(rawValue: 16)
        static let refs = Takers(rawValue: 32)
        /// Commands declared by plugins (``Verb``).
        static let verbs = Takers(rawValue: 64)
        static let feed = Takers(rawValue: 128)
        static let watch = Takers(rawValue: 256)
        static let explain = Takers(rawValue: 512)
        /// Commands without fetches, and those of them that read config files.
        static let others = Takers(rawValue: 1024)
        package static let configured = Takers(rawValue: 2048)
        static let crawl = Takers(rawValue: 4096)
        static let edit = Takers(rawValue: 8192)

        /// Several URLs, each with a result.
        static let lists: Takers = [.get, .head, .links, .refs, .verbs]
        static let bodies: Takers = [.get, .put, .refs, .verbs, .explain]
        /// Output to standard output or files, as the options say.
        static let results: Takers = [.bodies, .head, .links]
        static let subscriptions: Takers = [.feed, .watch]
        static let uploads: Takers = [.put, .edit, .explain]
        /// Pages of URLs that a person names.
        static let readers: Takers = [.get, .head, .links, .open, .subscriptions]
        static let fetches: Takers = [.results, .open, .edit, .subscriptions, .crawl]
        static let downloads = fetches.subtracting(.put)
        /// Commands that may be recorded or answered by a recording.
        static let runs = fetches.subtracting([.edit, .explain])
        static let all: Takers = [.fetches, .others, .configured]
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

    /// Long names, which decide nothing outside of the table and messages.
    package enum ID: String, CaseIterable, Sendable {
        case output, remoteName = "remote-name",
            remoteHeaderName = "remote-header-name", outputDir = "output-dir", tree,
            noClobber = "no-clobber", overwrite, skipExisting = "skip-existing",
            ifChanged = "if-changed", remoteTime = "remote-time", createDirs = "create-dirs", fail,
            failWithBody = "fail-with-body", allowEmpty = "allow-empty",
            showHeaders = "show-headers", dumpHeader = "dump-header", continueAt = "continue-at",
            `continue`, timeCond = "time-cond", etagCompare = "etag-compare",
            etagSave = "etag-save", writeOut = "write-out", raw, compressed, head, render, slice,
            hyperlink, all, exitCode = "exit-code", data, netrc, local, fromDir = "from-dir",
            contentType = "content-type", base, input, location, maxRedirs = "max-redirs",
            noPrivate = "no-private", publicOnly = "public-only", proto,
            protoRedir = "proto-redir", maxTime = "max-time",
            connectTimeout = "connect-timeout", readTimeout = "read-timeout",
            limitRate = "limit-rate", maxFilesize = "max-filesize", insecure, ipv4, ipv6, resolve
        case json, fields, body, inlineMax = "inline-max", stream, withLinks = "with-links",
            events, ordered, summary, inputFile = "input-file", parallel, jobs,
            perHost = "per-host", loops, rate, perHostDelay = "per-host-delay", retry,
            retryDelay = "retry-delay", retryMaxTime = "retry-max-time", retryData = "retry-data",
            failEarly = "fail-early", ledger, only, stopKnown = "stop-known", shard, deadline,
            exitStatus = "exit-status", authority
        case format, maxEntries = "max-entries", new, under, state, name, diff, links, ignore,
            every, exec, crawl, news, failuresAfter = "failures-after"
        case scope, depth, maxPages = "max-pages", perHostPages = "per-host-pages", include,
            exclude, types, robots, `as`, add, check, mirror, update,
            noEmbedded = "no-embedded"
        case warc, warcSecrets = "warc-secrets", replay, replayLoose = "replay-loose", cache,
            cacheSize = "cache-size", maxAge = "max-age", offline
        case proxy, noproxy, proxyAuth = "proxy-auth", proxyCommand = "proxy-command", isolate,
            connectTo = "connect-to", unixSocket = "unix-socket", fallbackCurl = "fallback-curl"
        case plugin, lang
        case trust, pin, knownHosts = "known-hosts", within, from, to, opml, replace, force,
            identity, cert, key, keyPasswordFile = "key-password-file", keyType = "key-type",
            delete
        case config, color, quiet, silent, showError = "show-error", verbose, help, version,
            progress, progressBar = "progress-bar", history, noConfig = "no-config",
            showOrigin = "show-origin"
        // Of plugins; all others of theirs are known by their records alone.
        case header, request, mime, tar, maxCount = "max-count", tokenFile = "token-file"
    }

    /// The option's row in the table, without a search.
    private let own: ID?
    package internal(set) var long: String
    package let short: Character?
    package internal(set) var aliases: [String] = []
    package let group: Group
    package var takers: Takers { group.takers }
    package var scope: Scope { group.scope }
    /// Of a plugin's option; `nil` for one that ``Texts/options`` has.
    private let declared: Request.Option.Texts?
    /// A few words for `--help`.
    package var summary: String { declared?.summary ?? texts.summary }
    /// Full sentences for the manual.
    package var manual: String { declared?.manual ?? texts.manual }
    package var example: String { declared?.example ?? texts.examples.first?.line ?? "" }
    private var texts: Texts { Texts.option(long) }
    let action: Action
    var values: Values
    /// True for a secret value: never shown, and allowed in config files but not as an argument.
    var isSecret = false
    /// For a plugin's option: its key in requests, and the query key of its value in the URL.
    var (key, urlKey): (String?, String?)
    /// Takes a value back that does not fit a request; a switch is turned off.
    private var undo: (@Sendable (inout Settings) -> Void)?

    init(
        _ id: ID?, short: Character? = nil, _ group: Group, _ action: Action,
        texts: Request.Option.Texts? = nil
    ) {
        own = id
        long = id?.rawValue ?? ""
        self.short = short
        self.group = group
        declared = texts
        self.action = action
        values = if case .value(_, let values, _) = action { values } else { .none }
    }

    /// `nil` for an option that plugins alone know.
    var id: ID? { own ?? ID(rawValue: long) }

    func undone(by undo: @escaping @Sendable (inout Settings) -> Void) -> Option {
        var option = self
        option.undo = undo
        return option
    }

    /// Takes its effect back.
    func undo(in settings: inout Settings) {
        if case .flag(let set) = action { set(&settings, false) } else { undo?(&settings) }
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
        default: id == .data || value.hasPrefix("@")
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

    /// The value's placeholder in help texts; `nil` for a switch.
    package var valueName: String? {
        guard case .value(let name, _, _) = action else { return nil }
        return name
    }
}
