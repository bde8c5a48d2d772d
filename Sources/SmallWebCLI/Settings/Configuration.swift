// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb
internal import SmallWebPlugins

/// Parsed config files: options by long name, for all URLs or those of a scheme or host.
struct Configuration: Sendable {
    enum Scope: Sendable, Hashable {
        case all
        case scheme(String)
        case host(HostPattern)

        /// Order of application: more specific settings come later and override.
        var rank: Int {
            switch self {
            case .all: 0
            case .scheme: 1
            case .host: 2
            }
        }

        /// - Parameter port: Returns the URL's port; called only if needed, as the default port
        ///   costs time.
        func covers(_ uri: URI?, port: () -> UInt16?) -> Bool {
            switch self {
            case .all: true
            case .scheme(let name): uri?.scheme == name
            case .host(let pattern): pattern.covers(uri?.host ?? "", port: port)
            }
        }

        var section: (kind: String, name: String)? {
            switch self {
            case .all: nil
            case .scheme(let name): ("scheme", name)
            case .host(let pattern): ("host", pattern.description)
            }
        }
    }

    struct Entry: Sendable {
        let scope: Scope
        let option: Option
        let value: String
        /// `FILE:LINE`.
        let origin: String
        /// The value with secrets masked.
        var shownValue: String { option.isSecret ? "***" : value }
        fileprivate var setting: Setting {
            Setting(option: option, value: value, origin: .file(origin))
        }
    }

    /// Entries in the order of their application.
    private(set) var entries: [Entry] = []
    private(set) var isRead = false
    /// Plugins of the command line, and those named before the first section.
    private var known = ConnectionSettings()
    /// Options declared by plugin programs, and the plugins known when they were read.
    private var programs: (of: [String], options: [Option])?
    /// Errors in sections; the lines behind such an error are skipped.
    private(set) var problems: [FetchError] = []
    /// Warnings about lines that no installed plugin supports.
    private(set) var warnings: [String] = []

    /// True if URLs of one run can have different settings.
    var hasSections: Bool { entries.contains { $0.scope != .all } }

    func hasSections(with options: Set<Option.ID>) -> Bool {
        entries.contains { $0.scope != .all && $0.option.id.map(options.contains) ?? false }
    }

    /// Removes options that the command does not accept.
    func limited(to command: Command) -> Configuration {
        var configuration = self
        configuration.entries.removeAll { !command.takes($0.option) }
        // Makes `config` read the files again, as it lists all settings.
        configuration.isRead = false
        return configuration
    }

    /// Reads the system's file and the user's, or the file given by the options.
    ///
    /// - Parameter keepsProblems: True to collect errors in ``problems`` instead of throwing the
    ///   first.
    /// - Throws: `usage` with file and line, `read` for a given file that cannot be read.
    static func load(
        _ settings: Settings, keepsProblems: Bool = false
    ) throws(FetchError) -> Configuration {
        let configuration = try load(settings)
        if let problem = configuration.problems.first, !keepsProblems { throw problem }
        return configuration
    }

    private static func load(_ settings: Settings) throws(FetchError) -> Configuration {
        if settings.configuration.isRead { return settings.configuration }
        var configuration = Configuration()
        configuration.isRead = true
        configuration.known = settings.connection
        guard settings.invocation.readsConfiguration else { return configuration }
        // An empty variable means no file, unlike with `Environment.variable`.
        let variable = getenv("SMALLWEB_CONFIG").map { String(systemName: $0) }
        if let path = settings.invocation.configFile ?? variable {
            if path.isEmpty { return configuration }
            let patience = Patience(seconds: settings.fetch.totalSeconds)
            try configuration.read(
                try UserFiles.content(of: path, "the config file", patience), from: path)
        } else {
            // An existing file must not be skipped if unreadable: it may have the trust policy.
            for path in paths where UserFiles.exists(path) {
                try configuration.read(
                    try UserFiles.content(of: path, "the config file"), from: path)
            }
        }
        // Stable order: of two entries of one rank, the later one overrides.
        configuration.entries = (0...2).flatMap { rank in
            configuration.entries.filter { $0.scope.rank == rank }
        }
        return configuration
    }

    /// Paths of the system's files, then the user's, which overrides them.
    private static var paths: [String] {
        let system = Environment.variable("XDG_CONFIG_DIRS") ?? "/etc/xdg"
        let directories = system.split(separator: ":").filter { $0.hasPrefix("/") }.reversed()
        let user = UserFiles.path("XDG_CONFIG_HOME", ".config", "config")
        return directories.map { "\($0)/smallweb/config" } + (user.map { [$0] } ?? [])
    }

    private mutating func read(_ bytes: [UInt8], from path: String) throws(FetchError) {
        var scope: Scope? = .all
        let lines = String(systemBytes: Array(bytes[...].withoutByteOrderMark)).split(
            omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for (index, line) in lines.enumerated() {
            let text = Self.trimmed(line)
            if text.isEmpty || text.hasPrefix("#") { continue }
            let origin = "\(path):\(index + 1)"
            do throws(FetchError) {
                if text.hasPrefix("[") {
                    scope = nil
                    scope = try section(text, origin)
                } else if let scope {
                    try add(text, scope, origin)
                }
            } catch {
                guard scope == nil else { throw error.located(at: origin) }
                problems.append(error.located(at: origin))
            }
        }
    }

    /// - Returns: `nil` for a scheme that no installed plugin supports.
    private mutating func section(
        _ text: String, _ origin: String
    ) throws(FetchError) -> Scope? {
        let words = text.dropFirst().dropLast().split(separator: " ")
        guard text.hasSuffix("]"), words.count == 2 else {
            throw usageError("a section is [scheme NAME] or [host PATTERN], not \(text)")
        }
        let name = words[1].lowercased()
        switch words[0] {
        case "host": return .host(try HostPattern(parsing: name))
        case "scheme":
            let registry = try known.registry()
            // libcurl is loaded only for schemes without a plugin.
            let all = registry[name] == nil ? try? Registry.builtInWithCurl() : registry
            guard all?[name] == nil else { return .scheme(name) }
            try passOver(Self.unknown("scheme", name, registry.schemes.map(\.name)), origin)
            return nil
        case let kind: throw Self.unknown("kind of section", String(kind), ["scheme", "host"])
        }
    }

    private mutating func add(
        _ text: String, _ scope: Scope, _ origin: String
    ) throws(FetchError) {
        let name = Self.trimmed(text.prefix { $0 != "=" })
        let option = option(name[...])
        guard option?.scope != .commandLine else {
            throw usageError("\(name) cannot be set in a config file: it is for the command line")
        }
        guard let option else {
            let words = text.split(separator: " ", maxSplits: 1)
            if words.count == 2, let option = self.option(words[0]), !text.contains("=") {
                throw usageError("write a setting as NAME = VALUE: \(option.long) = \(words[1])")
            }
            let names = Option.all.filter { $0.scope != .commandLine }.map(\.long)
            return try passOver(Self.unknown("option", name, names), origin)
        }
        guard scope == .all || option.scope == .url else {
            throw usageError("\(name) holds for a whole run: write it before the first section")
        }
        var value = text.contains("=") ? Self.trimmed(text.drop { $0 != "=" }.dropFirst()) : "true"
        if value.count >= 2, value.hasPrefix("\""), value.hasSuffix("\"") {
            value = String(value.dropFirst().dropLast())
        }
        value = option.inHome(value)
        guard !value.hasSystemEscapes || option.takesAnyBytes(value) else {
            throw usageError("the value of \(name) is not UTF-8")
        }
        guard scope == .all || value != "@-" else {
            throw usageError("standard input can be read only once, not for each URL")
        }
        let entry = Entry(scope: scope, option: option, value: value, origin: origin)
        var settings = Settings()
        settings.connection = known
        try settings.apply(entry.setting)
        // The caller adds the line to errors.
        settings.origins = [:]
        try settings.checkSchemes()
        if scope == .all { known = settings.connection }
        entries.append(entry)
    }

    private mutating func option(_ name: Substring) -> Option? {
        if let option = Option.named(name, where: { $0.scope != .commandLine }) { return option }
        if programs?.of != known.plugins {
            programs = (known.plugins, Option.ofPrograms(known.plugins))
        }
        return programs?.options.first { $0.long == name }
    }

    /// Applies the settings for all URLs if `url` is `nil`, else those of the URL's sections. The
    /// command line and the environment take precedence.
    func applied(to settings: Settings, for url: String?) throws(FetchError) -> Settings {
        var settings = settings
        let uri = url.flatMap { try? URI(parsing: $0).withASCIIHost() }
        let base = settings
        let port = { () -> UInt16? in
            guard let uri, uri.port == nil else { return uri?.port }
            return (try? base.registry())?[uri.scheme]?.scheme.defaultPort
        }
        for entry in entries
        where (entry.scope == .all) == (url == nil) && entry.scope.covers(uri, port: port)
            && !isDecided(entry.option, settings)
        {
            do throws(FetchError) {
                try settings.apply(entry.setting)
            } catch {
                throw error.located(at: entry.origin)
            }
        }
        return settings
    }

    private func isDecided(_ option: Option, _ settings: Settings) -> Bool {
        if !settings.invocation.given.isEmpty {
            if settings.invocation.given.contains(option.long) { return true }
            if settings.rivals(of: option).contains(where: settings.isGiven) { return true }
        }
        return switch option.id {
        case .color:
            ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"].contains {
                Environment.variable($0) != nil
            }
        case .history: Environment.variable("SMALLWEB_NO_HISTORY") != nil
        default: false
        }
    }

    /// Ignores an unknown name with a warning, as its plugin may have been removed. Throws if it
    /// resembles a known name.
    private mutating func passOver(
        _ error: FetchError, _ origin: String
    ) throws(FetchError) {
        guard error.hint == nil else { throw error }
        warnings.append("\(origin): \(error.message) is ignored: no plugin that is here has it")
    }

    private static func unknown(_ kind: String, _ name: String, _ names: [String]) -> FetchError {
        usageError(
            "unknown \(kind) \"\(name)\"",
            hint: (kind == "option" ? Advice.option(name) : nil)
                ?? Nearest.question(name, among: names))
    }

    private static func trimmed(_ text: some StringProtocol) -> String {
        let rest = text.drop(while: \.isWhitespace)
        guard let last = rest.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return String(rest[...last])
    }
}

extension FetchError {
    /// Prefixes the message with a line of a config file.
    func located(at origin: String) -> FetchError {
        FetchError(outcome, .input, "\(origin): \(message)", hint: advice)
    }
}
