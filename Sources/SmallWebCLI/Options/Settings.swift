// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebPlugins
internal import SmallWebTransport

/// What the command line asks for, as plain values. Work starts after it is complete.
struct Settings: Sendable {
    enum When: String, Sendable, CaseIterable {
        case auto, always, never
    }

    /// What to do with the body of a refusal.
    enum Refusal: Sendable {
        /// Say what was refused, exit with its status.
        case fail
        /// The same, but deliver the body.
        case failWithBody
        /// Deliver the body and count it as success.
        case accept
    }

    var wantsHelp = false
    var wantsVersion = false
    var operands: [String] = []
    /// The long names of the options on the command line.
    var given: [String] = []

    /// The n-th goes with the n-th URL; `-` is standard output.
    var outputs: [String] = []
    var usesRemoteName = false
    var outputDirectory: String?
    var createsDirectories = false
    var refusal = Refusal.fail
    var showsHeader = false
    var headerFile: String?
    var wantsRawBody = false
    /// `-I`, `head`: the reply without its body.
    var wantsHeadAlone = false

    /// Whether standard output gets the bytes, or a page that is laid out.
    enum Rendering: String, Sendable, CaseIterable {
        /// A terminal gets the page, anything else the bytes.
        case auto
        /// The page as text alone, or with the terminal's codes.
        case plain, ansi
    }
    var rendering = Rendering.auto
    var hyperlinks = When.auto
    /// `open`: pages are laid out for reading, in a pager.
    var isReading = false

    /// With -O: `host/path` below the directory.
    var keepsTree = false

    /// How a body goes into its record.
    enum BodyForm: String, Sendable, CaseIterable {
        case auto, text, base64, file, none
    }
    var writesJSON = false
    /// The members of terminal records; `nil` for all.
    var recordFields: Set<String>?
    var bodyForm = BodyForm.auto
    var inlineBytesMax = 8 << 20
    var streamsBodies = false
    var writesEvents = false
    var keepsInputOrder = false
    var wantsSummary = false

    var redirects = RedirectPolicy()
    /// Lists of schemes, as they were given.
    var redirectSchemes: String?
    var schemes: String?

    var input: [UInt8]?
    /// Whether `--data` took standard input.
    var inputIsStandardInput = false
    var promptsAllowed = true
    /// Lists, as operands.
    var lists: [String] = []
    /// URLs at the same time, and of them at the same host.
    var jobs = 1
    var jobsPerHost = 2
    /// Least seconds between the starts of two requests: of all, and of those to one host.
    var startSeconds = 0.0
    var hostSeconds = 0.0
    var failsEarly = false

    /// Further attempts after the first.
    var retriesMax = 0
    /// `nil` to begin with one second and double it.
    var retryDelaySeconds: Double?
    /// From the first attempt to the start of the last one; 0 for no limit.
    var retrySecondsMax = 0.0

    var ledger: String?
    /// The outcomes that are fetched again; `nil` for all but `ok`.
    var ledgerOutcomes: Set<Outcome>?

    var connectSeconds = 15.0
    var readSeconds = 60.0
    var totalSeconds = 0.0
    /// `nil` for the default, which depends on where the body goes.
    var bodyBytesMax: Int?

    /// What a command lists instead of delivering bodies, one record for each.
    enum Listing: Sendable {
        case refs, links
    }
    var listing: Listing?
    /// For `links`: also the lines of a menu that lead nowhere.
    var listsAll = false
    /// For `refs`.
    var referencePatterns: [String]?
    var failsWithoutMatch = false

    /// What the plugins declare.
    var requestOptions = RequestOptions()
    /// By their keys: the files of secrets, and those to be asked for.
    var secretFiles: [String: String] = [:]
    var secretsToAsk: Set<String> = []
    var connection = {
        var settings = HTTPSettings()
        settings.userAgent = "smallweb/\(Help.version)"
        return settings
    }()
    /// `-C`: nothing, what is there already, or an offset.
    enum Resume: Sendable, Hashable {
        case fromStart, fromFile
        case from(Int)
    }
    var resume = Resume.fromStart
    /// Whether libcurl may fetch what no plugin does.
    var fallsBackToCurl = false

    var skipsTrust = false
    /// `nil` for the scheme's own: first use, or authorities for HTTP.
    var trust: String?
    /// Who we are: a name, or files.
    var identityName: String?
    var certificateFile: String?
    var keyFile: String?
    var keyPasswordFile: String?
    /// For `put`.
    var upload: Upload?
    var deletes = false
    /// For `trust`: seconds, and the clients of import and export.
    var within = 14.0 * 86_400
    var importClient: String?
    var exportFormat: TrustFormat?
    var replacesPins = false
    /// Instead of the usual trust store.
    var knownHostsFile: String?
    /// For `identity new`.
    var keyType = ClientIdentity.KeyType.ecdsa
    var family = AddressFamily.any
    var resolverOverrides: [String: [String]] = [:]

    enum Progress: String, Sendable, CaseIterable {
        case auto, bar, none, json
    }

    var color = When.auto
    var progress = Progress.auto
    var isQuiet = false
    var isSilent = false
    var showsErrorsWhenSilent = false
    var isVerbose = false
    /// `nil`: when there is a terminal.
    var recordsHistory: Bool?
    /// Instead of the usual ones.
    var configFile: String?
    var readsConfiguration = true
    var showsOrigin = false
    /// What the config files say; ``given`` says what they must leave alone.
    var configuration = Configuration()
    /// `FILE:LINE` of the options that they have set, by long names.
    var origins: [String: String] = [:]

    /// The protocols that smallweb comes with: the one place that names the list.
    static let plugins = Registry.builtIn

    /// Those of this run.
    func registry() throws(FetchError) -> Registry {
        fallsBackToCurl ? try .builtInWithCurl() : Self.plugins
    }

    /// Which redirects are followed, among the schemes of `registry`.
    ///
    /// - Throws: `usage` for a scheme that no plugin handles.
    func redirects(_ registry: Registry) throws(FetchError) -> RedirectPolicy {
        var policy = redirects
        if let redirectSchemes {
            policy.otherSchemes.formUnion(
                try schemes(redirectSchemes, of: "proto-redir", from: [], registry))
        }
        return policy
    }

    /// The schemes that may be fetched; `nil` for all.
    ///
    /// - Throws: `usage` for a scheme that no plugin handles.
    func allowedSchemes(_ registry: Registry) throws(FetchError) -> Set<String>? {
        try schemes.map { list throws(FetchError) in
            try schemes(list, of: "proto", from: Set(registry.schemes.map(\.name)), registry)
        }
    }

    /// Whether a run could fetch the scheme: libcurl is loaded only for what no plugin handles.
    static func canFetch(_ scheme: String) -> Bool {
        plugins[scheme] != nil || (try? Registry.builtInWithCurl())?[scheme] != nil
    }

    /// - Throws: `usage` for the name of a scheme that no run could fetch.
    func checkSchemes() throws(FetchError) {
        do throws(FetchError) {
            _ = (try redirects(Self.plugins), try allowedSchemes(Self.plugins))
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

    /// Whether standard output gets pages as a person reads them.
    var laysPagesOut: Bool {
        rendering != .auto || isReading || Environment.isTerminal(1)
    }

    var showsErrors: Bool { !isSilent || showsErrorsWhenSilent }
    var showsNotes: Bool { !isQuiet && !isSilent }
}

/// A mistake on the command line.
func usageError(_ message: String, hint: String? = nil) -> FetchError {
    FetchError(.usage, .input, message, hint: hint)
}
