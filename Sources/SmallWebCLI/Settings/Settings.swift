// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebPlugins
internal import SmallWebRecords

/// The options of the command line as plain values, grouped by the part of the program that uses
/// them. Parsing neither reads nor opens files.
///
/// Copy-on-write, since each URL of a run keeps its settings.
struct Settings: Sendable {
    private struct Values: Sendable {
        var invocation = Invocation()
        var fetch = FetchSettings()
        var connection = ConnectionSettings()
        var output = OutputSettings()
        var records = RecordSettings()
        var run = RunSettings()
        var feeds = FeedSettings()
        var archive = ArchiveSettings()
        var crawl = CrawlSettings()
        var messages = MessageSettings()
        var stores = StoreSettings()
        var configuration = Configuration()
        var origins: [String: String] = [:]
    }

    private var parts = Shared(Values())

    var invocation: Invocation {
        _read { yield parts.value.invocation }
        _modify { yield &parts.value.invocation }
    }
    var fetch: FetchSettings {
        _read { yield parts.value.fetch }
        _modify { yield &parts.value.fetch }
    }
    var connection: ConnectionSettings {
        _read { yield parts.value.connection }
        _modify { yield &parts.value.connection }
    }
    var output: OutputSettings {
        _read { yield parts.value.output }
        _modify { yield &parts.value.output }
    }
    var records: RecordSettings {
        _read { yield parts.value.records }
        _modify { yield &parts.value.records }
    }
    var run: RunSettings {
        _read { yield parts.value.run }
        _modify { yield &parts.value.run }
    }
    var crawl: CrawlSettings {
        _read { yield parts.value.crawl }
        _modify { yield &parts.value.crawl }
    }
    var feeds: FeedSettings {
        _read { yield parts.value.feeds }
        _modify { yield &parts.value.feeds }
    }
    var archive: ArchiveSettings {
        _read { yield parts.value.archive }
        _modify { yield &parts.value.archive }
    }
    var messages: MessageSettings {
        _read { yield parts.value.messages }
        _modify { yield &parts.value.messages }
    }
    var stores: StoreSettings {
        _read { yield parts.value.stores }
        _modify { yield &parts.value.stores }
    }
    /// Content of the config files; ``Invocation/given`` takes precedence.
    var configuration: Configuration {
        _read { yield parts.value.configuration }
        _modify { yield &parts.value.configuration }
    }
    /// `FILE:LINE` of the options set by config files, by long name.
    var origins: [String: String] {
        _read { yield parts.value.origins }
        _modify { yield &parts.value.origins }
    }

    enum When: String, Sendable, CaseIterable {
        case auto, always, never
    }

    /// The protocols of this run.
    ///
    /// - Throws: `usage` for a plugin that does not exist, `plugin` for one that cannot be used.
    func registry() throws(FetchError) -> Registry {
        guard let (directory, url) = fetch.served else { return try connection.registry() }
        let uri = try URI(parsing: url).withASCIIHost()
        return try connection.registry().serving(directory, at: uri)
    }

    /// Names the URL of `--from-dir`.
    ///
    /// - Throws: `usage` unless there is one alone.
    mutating func serve(_ urls: some Collection<String>) throws(FetchError) {
        guard let url = urls.first, urls.count == 1, run.lists.isEmpty,
            !OperandSource.isList(url)
        else { throw usageError("a directory can have the pages of one URL: name it") }
        fetch.served?.url = url
    }

    /// These settings with the config files applied, as far as they can be read.
    func configured() -> Settings {
        guard let configuration = try? Configuration.load(self, keepsProblems: true),
            var settings = try? configuration.applied(to: self, for: nil)
        else { return self }
        settings.configuration = configuration
        return settings
    }

    /// True for the path of a plugin, false for a name.
    static func isFolder(_ name: String) -> Bool { name.contains("/") || name.hasPrefix(".") }

    /// The plugin with a path or a name.
    ///
    /// - Throws: `usage` for an unknown name.
    static func pluginFolder(_ name: String) throws(FetchError) -> PluginFolder {
        if isFolder(name) { return PluginFolder(name) }
        if let folder = PluginFolders.named(name) { return folder }
        throw usageError(
            "no plugin is called \"\(name)\"",
            hint:
                "'smallweb plugin list' shows those that there are; a path is named as ./\(name)")
    }

    /// The policy for redirects, among the schemes of `registry`.
    ///
    /// - Throws: `usage` for a scheme without a plugin.
    func redirects(_ registry: Registry) throws(FetchError) -> RedirectPolicy {
        var policy = fetch.redirects
        if let list = fetch.redirectSchemes {
            policy.otherSchemes.formUnion(
                try schemes(list, of: .protoRedir, from: [], registry))
        }
        return policy
    }

    /// The schemes that may be fetched; `nil` for all.
    ///
    /// - Throws: `usage` for a scheme without a plugin.
    func allowedSchemes(_ registry: Registry) throws(FetchError) -> Set<String>? {
        try fetch.schemes.map { list throws(FetchError) in
            try schemes(list, of: .proto, from: Set(registry.schemes.map(\.name)), registry)
        }
    }

    /// - Throws: `usage` for an unknown scheme, even with libcurl's schemes included.
    func checkSchemes() throws(FetchError) {
        guard fetch.redirectSchemes != nil || fetch.schemes != nil else { return }
        let registry = try registry()
        do throws(FetchError) {
            _ = (try redirects(registry), try allowedSchemes(registry))
        } catch {
            guard let all = try? Registry.builtInWithCurl() else { throw error }
            _ = (try redirects(all), try allowedSchemes(all))
        }
    }

    /// Parses a list of schemes, the value of `option`.
    ///
    /// - Throws: `usage` for an unsupported scheme, with the location of the option in a config
    ///   file.
    private func schemes(
        _ list: String, of option: Option.ID, from start: Set<String>, _ registry: Registry
    ) throws(FetchError) -> Set<String> {
        do throws(FetchError) {
            return try OptionValue.schemes(list, from: start, registry)
        } catch {
            throw origins[option.rawValue].map(error.located) ?? error
        }
    }
}

/// The words of the command line, and options about the run itself.
struct Invocation: Sendable {
    /// All words, unchanged.
    var words: [String] = []
    var operands: [String] = []
    var command: Command? { operands.first.flatMap(Command.named) }
    /// Number of operands behind `--`.
    var lastOperands = 0
    /// Long names of the options on the command line, turned on or off.
    var given: [String] = []
    /// Those of them, and of the options in config files, that are on.
    var (on, inFiles): ([Option.ID], [Option.ID]) = ([], [])
    /// Last spelling of each option: `-p`, `--patch`.
    var typed: [String: String] = [:]
    /// Options of plugin programs; read only if a word has a name missing in the table.
    var programOptions: [Option] = []
    var wantsHelp = false
    var wantsVersion = false
    var configFile: String?
    var readsConfiguration = true
    var showsOrigin = false
}

struct StoreSettings: Sendable {
    /// Seconds before the expiry of keys to list with `trust expiring`.
    var within = 14.0 * 86_400
    var importClient: String?
    var writesOPML = false
    var exportFormat: TrustFormat?
    var replacesPins = false
    /// True to skip the confirmation of irreversible actions.
    var isForced = false
    var keyType = ClientIdentity.KeyType.ecdsa
    var language = PluginTemplate.Language.sh
}
