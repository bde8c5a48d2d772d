// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebPlugins
internal import SmallWebRecords

/// What the command line asks for, as plain values, each for the room that uses it. Nothing has
/// been read or opened when it is complete.
struct Settings: Sendable {
    var invocation = Invocation()
    var fetch = FetchSettings()
    var connection = ConnectionSettings()
    var output = OutputSettings()
    var records = RecordSettings()
    var run = RunSettings()
    var feeds = FeedSettings()
    var archive = ArchiveSettings()
    var messages = MessageSettings()
    var stores = StoreSettings()
    /// What the config files say; ``Invocation/given`` says what they must leave alone.
    var configuration = Configuration()
    /// `FILE:LINE` of the options that they have set, by long names.
    var origins: [String: String] = [:]

    enum When: String, Sendable, CaseIterable {
        case auto, always, never
    }

    /// The protocols of this run.
    ///
    /// - Throws: `usage` for a plugin that is not there, `plugin` for one that cannot be used.
    func registry() throws(FetchError) -> Registry { try connection.registry() }

    /// The same with what the config files say, as far as they can be read.
    func configured() -> Settings {
        guard let configuration = try? Configuration.load(self, keepsProblems: true),
            var settings = try? configuration.applied(to: self, for: nil)
        else { return self }
        settings.configuration = configuration
        return settings
    }

    /// Whether a plugin is named by its folder.
    static func isFolder(_ name: String) -> Bool { name.contains("/") || name.hasPrefix(".") }

    /// A plugin by the path of its folder, or by its name.
    ///
    /// - Throws: `usage` when none has that name.
    static func pluginFolder(_ name: String) throws(FetchError) -> PluginFolder {
        if isFolder(name) { return PluginFolder(name) }
        if let folder = PluginFolders.named(name) { return folder }
        throw usageError(
            "no plugin is called \"\(name)\"",
            hint:
                "'smallweb plugin list' shows those that there are; a folder is named as ./\(name)")
    }

    /// Which redirects are followed, among the schemes of `registry`.
    ///
    /// - Throws: `usage` for a scheme that no plugin handles.
    func redirects(_ registry: Registry) throws(FetchError) -> RedirectPolicy {
        var policy = fetch.redirects
        if let list = fetch.redirectSchemes {
            policy.otherSchemes.formUnion(
                try schemes(list, of: "proto-redir", from: [], registry))
        }
        return policy
    }

    /// The schemes that may be fetched; `nil` for all.
    ///
    /// - Throws: `usage` for a scheme that no plugin handles.
    func allowedSchemes(_ registry: Registry) throws(FetchError) -> Set<String>? {
        try fetch.schemes.map { list throws(FetchError) in
            try schemes(list, of: "proto", from: Set(registry.schemes.map(\.name)), registry)
        }
    }

    /// - Throws: `usage` for the name of a scheme that no run could fetch.
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

    /// The schemes of a list, the value of `option`.
    ///
    /// - Throws: `usage` for a scheme that the run has not, with its place in a config file.
    private func schemes(
        _ list: String, of option: String, from start: Set<String>, _ registry: Registry
    ) throws(FetchError) -> Set<String> {
        do throws(FetchError) {
            return try OptionValue.schemes(list, from: start, registry)
        } catch {
            throw origins[option].map(error.located) ?? error
        }
    }
}

/// The words of the command line, and the options that say what becomes of the others.
struct Invocation: Sendable {
    /// All words, as they were given.
    var words: [String] = []
    var operands: [String] = []
    /// How many of them, the last ones, stand behind `--`.
    var lastOperands = 0
    /// The long names of the options on the command line.
    var given: [String] = []
    /// How each of them was written last: `-p`, `--patch`.
    var typed: [String: String] = [:]
    /// What programs declare, where the words have a name that the table lacks.
    var programOptions: [Option] = []
    var wantsHelp = false
    var wantsVersion = false
    var configFile: String?
    var readsConfiguration = true
    var showsOrigin = false
}

/// For `trust`, `identity` and `plugin`.
struct StoreSettings: Sendable {
    /// What expires in so many seconds expires soon.
    var within = 14.0 * 86_400
    /// The clients of import and export.
    var importClient: String?
    var exportFormat: TrustFormat?
    var replacesPins = false
    /// Whether what cannot be undone is done without a question.
    var isForced = false
    var keyType = ClientIdentity.KeyType.ecdsa
    /// Of a new plugin.
    var language = PluginTemplate.Language.sh
}
