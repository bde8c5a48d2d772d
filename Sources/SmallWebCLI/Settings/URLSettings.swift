// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

/// Settings of one URL from the command line, the config files' sections and its own line. Shared
/// by most URLs of a run.
final class URLSettings: Sendable {
    /// Long names of the options given.
    let given: [String]
    /// `FILE:LINE` of the options set by config files, by long name.
    let origins: [String: String]
    let fetch: FetchSettings
    let connection: ConnectionSettings
    let output: OutputSettings
    let records: RecordSettings

    init(_ settings: Settings) {
        given = settings.invocation.given
        origins = settings.origins
        fetch = settings.fetch
        connection = settings.connection
        output = settings.output
        records = settings.records
    }

    /// A copy without these settings of the config file, which the scheme does not have.
    private init(_ settings: URLSettings, without names: [String]) {
        var (fetch, connection) = (settings.fetch, settings.connection)
        if names.contains(where: Self.resumes.contains) { fetch.resume = .fromStart }
        if names.contains("data") { (fetch.input, fetch.isInputSecret) = (nil, false) }
        if names.contains(where: Self.identities.contains) {
            (connection.identityName, connection.certificateFile) = (nil, nil)
            connection.keyFile = nil
        }
        (self.fetch, self.connection) = (fetch, connection)
        given = settings.given
        origins = settings.origins.filter { !names.contains($0.key) }
        output = settings.output
        records = settings.records
    }

    private static let resumes = ["continue", "continue-at"]
    private static let identities = ["identity", "cert", "key"]

    /// The settings without those of the config file that do not fit the request, and a note for
    /// each. On the command line or in a line of a list such a setting is an error.
    func without(_ misfits: [Misfit], for request: Request) -> (URLSettings, [Note]) {
        let ignored = misfits.filter {
            $0.reason != nil && origins[$0.name] != nil && !given.contains($0.name)
        }
        guard !ignored.isEmpty else { return (self, []) }
        let notes = ignored.map { misfit in
            let place = origins[misfit.name] ?? ""
            var note = Note(
                "setting-ignored",
                "\(place): \(misfit.name) is ignored for \(request.scheme.name), "
                    + (misfit.reason ?? ""))
            note.place = request.uri.hostAndPort
            return note
        }
        return (URLSettings(self, without: ignored.map(\.name)), notes)
    }

    /// An option that a scheme does not have.
    struct Misfit {
        /// Long name of the option.
        let name: String
        /// For a note on a setting of a config file; `nil` where only given options count.
        let reason: String?
        let refusal: FetchError
    }

    func cannotCarryData(_ scheme: Scheme) -> FetchError {
        usageError("\(scheme.name) requests cannot carry --data")
    }

    /// The one judgement of the options that fit a request.
    func misfits(for request: Request, _ registry: Registry) -> [Misfit] {
        var misfits: [Misfit] = []
        let scheme = request.scheme
        func add(_ names: [String], _ reason: String?, _ refusal: (String) -> FetchError) {
            for name in names where given.contains(name) || origins[name] != nil {
                misfits.append(Misfit(name: name, reason: reason, refusal: refusal(name)))
            }
        }
        func unusable(_ reason: String, hint: String? = nil) -> (String) -> FetchError {
            { usageError("--\($0) cannot be used with \(scheme.name), \(reason)", hint: hint) }
        }
        if fetch.resume != .fromStart && !scheme.canResume {
            let reason = "which cannot resume"
            add(Self.resumes, reason, unusable(reason))
        }
        let policy = connection.trust.flatMap(TrustStore.Policy.init)
        let isDemanding = policy?.isDemanding ?? false
        if isDemanding || connection.pin != nil, (try? request.endpoint.security) != .tls {
            // A key that must be known or certified must never be ignored.
            let reason = "which has no TLS"
            let hint = scheme.secureForm.map { "\($0):// is the same over TLS" }
            add(
                (isDemanding ? ["trust"] : []) + (connection.pin == nil ? [] : ["pin"]), reason,
                unusable(reason, hint: hint))
        }
        if connection.identityName ?? connection.certificateFile != nil,
            scheme.identityScheme == nil
        {
            add(Self.identities, "which has no identities") { _ in
                usageError(
                    "no identity can be shown over \(scheme.name)",
                    hint: Identities.hint(registry))
            }
        }
        // Where it is given, the scheme may still take it as an upload.
        if fetch.input != nil && scheme.input == nil && !given.contains("data") {
            add(["data"], "which takes no data") { _ in cannotCarryData(scheme) }
        }
        func foreign(_ name: String) -> FetchError {
            usageError("\(scheme.name) requests do not take --\(name)")
        }
        if !fetch.options.isEmpty {
            let known = (registry[scheme.name]?.handler.options ?? []).filter {
                $0.schemes?.contains(scheme.name) ?? true
            }
            let unknown = fetch.options.keys.subtracting(known.map(\.key))
            // In the order in which they were given; those of a config file are for other schemes.
            add(given.filter(unknown.contains), nil, foreign)
        }
        if !scheme.dialsForItself && connection.http.isSpecial {
            add(given.filter { name in Option.engine.contains { $0.long == name } }, nil, foreign)
        }
        return misfits
    }
}

extension URLSettings {
    /// The URL with the options that are encoded in it.
    func url(_ url: String, _ registry: Registry) -> String {
        guard !fetch.options.isEmpty, let scheme = URI.scheme(of: url),
            let handler = registry[scheme]?.handler
        else { return url }
        return handler.options.reduce(url) { url, option in
            guard let key = option.urlKey else { return url }
            return fetch.options.fields(option.key).reduce(url) {
                $0.adding(queryField: key, $1)
            }
        }
    }
}

extension Request.Options {
    /// The values of an option as query fields of a URL.
    func fields(_ key: String) -> [String.UTF8View?] {
        switch self[key] {
        case .flag(let isOn): isOn ? [nil] : []
        case .text(let text): [text.utf8]
        case .list(let texts): texts.map(\.utf8)
        case .secret, nil: []
        }
    }
}

extension RecordScope {
    init(_ settings: URLSettings) {
        self.init()
        wantsHeadAlone = settings.fetch.wantsHeadAlone
        isRest = settings.fetch.resume != .fromStart
        keepsRefusals = settings.fetch.keepsRefusals
        listing = settings.output.listing
        withLinks = settings.output.withLinks
        guard let directory = settings.output.directory else { return }
        let createsDirectories = settings.output.createsDirectories
        overflow = { body, log throws(FetchError) in
            let name = log.map { FileName.name(for: $0.origin, head: $0.head) } ?? "index"
            let file = try FileOutput(
                "\(directory)/\(name)", clash: .number, createsDirectories: createsDirectories)
            try await body.drain { bytes throws(FetchError) in try file.write(bytes) }
            try file.commit()
            return FileOutput.absolute(file.path)
        }
    }
}

extension ErrorWording {
    /// Wording that names options and commands.
    static let commandLine = ErrorWording(hint: \.advice, expected: \.expectation)
}

/// Settings for the request, its limits and the criteria of success.
struct FetchSettings: Sendable {
    var redirects = RedirectPolicy()
    /// Lists of schemes, unparsed.
    var redirectSchemes: String?
    var schemes: String?

    var input: InputSource.Origin?
    /// True if the input came from a file and must not be recorded.
    var isInputSecret = false
    var promptsAllowed = true
    /// Values of the options that plugins declare.
    var options = Request.Options()
    /// Unparsed values of repeatable plugin options: the text itself, or `@FILE` for the lines of a
    /// file.
    var lists: [(option: Request.Option, value: String)] = []
    /// By option key: files with secrets, and secrets to ask for.
    var secretFiles: [String: String] = [:]
    var secretsToAsk: Set<String> = []
    /// `--netrc`, and the parsed file once it is read.
    var usesNetrc = false
    private(set) var netrc: Netrc?
    var upload: Request.Upload?
    var deletes = false
    var referencePatterns: [String]?
    var failsWithoutMatch = false

    var wantsRawBody = false
    /// True if an empty reply is a success, even if the protocol calls it a failure.
    var allowsEmptyReply = false
    /// `-I`, `head`: the reply without its body.
    var wantsHeadAlone = false
    /// `-C`: start from the beginning, continue the file, or from an offset.
    enum Resume: Sendable, Hashable {
        case fromStart, fromFile
        case from(Int)
    }
    var resume = Resume.fromStart

    enum Refusal: Sendable {
        /// Print an error and exit with its status.
        case fail
        /// Like `fail`, but deliver the body.
        case failWithBody
        /// Deliver the body and count it as success.
        case accept
    }
    var refusal = Refusal.fail

    var connectSeconds = 15.0
    var readSeconds = 60.0
    var totalSeconds = 0.0
    /// `nil` for the default, which depends on the destination.
    var bodyBytesMax: Int?
    /// Rate limit for the body; 0 for none.
    var bytesPerSecond = 0

    func wantsBody(of head: Head) -> Bool {
        !wantsHeadAlone && (head.replyClass == .success || keepsRefusals)
    }

    /// An error page must not be appended to the beginning of a body saved earlier.
    var keepsRefusals: Bool { refusal != .fail && resume == .fromStart }

    /// Reads the files of options that apply to all URLs, once for the run.
    ///
    /// - Throws: `read`, `usage` for an invalid line.
    mutating func readFiles() throws(FetchError) {
        if let input {
            isInputSecret = input.isSecret
            self.input = .bytes(try input.read(within: totalSeconds))
        }
        try readLists()
    }

    /// Reads the files of plugin options, and ~/.netrc.
    mutating func readLists() throws(FetchError) {
        for (option, value) in lists {
            for line in try InputSource.lines(value) {
                try option.check(line)
                options.append(line, to: option.key)
            }
        }
        lists = []
        if usesNetrc && netrc == nil { netrc = try Netrc.read() }
    }
}

struct RecordSettings: Sendable {
    var areWanted = false
    var options = RecordOptions()
    var keepsInputOrder = false
}

/// Settings for choosing the URLs of a run and running their requests.
struct RunSettings: Sendable {
    /// Lists of requests, as operands.
    var lists: [String] = []
    /// Part of the hosts to fetch; `nil` for all.
    var shard: Shard?
    /// For `shard`: true to print `host:port` for each line.
    var showsAuthority = false
    var policy = RunPolicy()

    /// The condition that the exit status reports.
    var status = Tally.Status.first

    var ledger: String?
    /// Outcomes to fetch again; `nil` for all but `ok`.
    var ledgerOutcomes: Set<Outcome>?
}
