// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

/// What holds for one URL, of the command line, the config files' sections and its own line. Most
/// URLs of a run share one.
final class URLSettings: Sendable {
    /// The long names of the options that were given.
    let given: [String]
    /// `FILE:LINE` of the options that the config files have set, by long names.
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

    /// The same without settings that the scheme of a URL cannot follow, and their origins.
    private init(_ settings: URLSettings, without names: [String]) {
        var fetch = settings.fetch
        if names.contains(where: Self.resumes.contains) { fetch.resume = .fromStart }
        if names.contains("data") { (fetch.input, fetch.isInputSecret) = (nil, false) }
        self.fetch = fetch
        var connection = settings.connection
        if names.contains(where: Self.identities.contains) {
            (connection.identityName, connection.certificateFile) = (nil, nil)
            connection.keyFile = nil
        }
        self.connection = connection
        given = settings.given
        origins = settings.origins.filter { !names.contains($0.key) }
        output = settings.output
        records = settings.records
    }

    private static let resumes = ["continue", "continue-at"]
    private static let identities = ["identity", "cert", "key"]

    /// The settings that hold for a request, and a note for each one of the config file that is
    /// ignored. On the command line and in a line of a list such a setting is an error: see
    /// ``RequestPlan/makeRequest(sendsInput:)``.
    func limited(to request: Request) -> (URLSettings, [Note]) {
        if origins.isEmpty { return (self, []) }
        let ignored = (unfit(for: request) + unused(for: request)).filter {
            origins[$0.name] != nil && !given.contains($0.name)
        }
        guard !ignored.isEmpty else { return (self, []) }
        let notes = ignored.map { name, reason in
            var note = Note(
                "setting-ignored", "\(origins[name] ?? ""): \(name) is ignored for \(reason)")
            note.place = request.uri.hostAndPort
            return note
        }
        return (URLSettings(self, without: ignored.map(\.name)), notes)
    }

    /// The options of which the request's scheme makes no use, each with the scheme and why.
    private func unused(for request: Request) -> [(name: String, reason: String)] {
        let scheme = request.scheme
        return
            (scheme.identityScheme != nil
            ? [] : Self.identities.map { ($0, "\(scheme.name), which has no identities") })
            + (scheme.input != nil ? [] : [("data", "\(scheme.name), which takes no data")])
    }

    /// The options that promise what the request's scheme cannot do: each with the scheme and why.
    func unfit(for request: Request) -> [(name: String, reason: String)] {
        // A key that must be known, or vouched for, must not be passed over.
        let policy = connection.trust.flatMap(TrustStore.Policy.init)
        let demands =
            (policy?.isDemanding ?? false ? ["trust"] : [])
            + (connection.pin == nil ? [] : ["pin"])
        let resumes = fetch.resume == .fromStart ? [] : Self.resumes
        // Most runs.
        if demands.isEmpty && resumes.isEmpty { return [] }
        let (scheme, hasTLS) = (request.scheme, (try? request.endpoint.security) == .tls)
        let unfit =
            (scheme.canResume ? [] : resumes.map { ($0, "\(scheme.name), which cannot resume") })
            + (hasTLS ? [] : demands.map { ($0, "\(scheme.name), which has no TLS") })
        return unfit.filter { name, _ in given.contains(name) || origins[name] != nil }
    }
}

extension URLSettings {
    /// The URL with the options that are a part of it.
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
    /// The values of an option, as they stand in a URL.
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
    /// Names options and commands.
    static let commandLine = ErrorWording(hint: \.advice, expected: \.expectation)
}

/// What is fetched: the request, the limits, and what counts as success.
struct FetchSettings: Sendable {
    var redirects = RedirectPolicy()
    /// Lists of schemes, as they were given.
    var redirectSchemes: String?
    var schemes: String?

    var input: InputSource.Origin?
    /// Whether it came from a file, and must not be kept.
    var isInputSecret = false
    var promptsAllowed = true
    /// What the plugins declare.
    var options = Request.Options()
    /// The values of their options that may be repeated, each as it was given: the text itself, or
    /// `@FILE` for the lines of a file.
    var lists: [(option: Request.Option, value: String)] = []
    /// By their keys: the files of secrets, and those to be asked for.
    var secretFiles: [String: String] = [:]
    var secretsToAsk: Set<String> = []
    /// `--netrc`, and what the file has, once it is read.
    var usesNetrc = false
    private(set) var netrc: Netrc?
    /// For `put`.
    var upload: Request.Upload?
    var deletes = false
    /// For `refs`.
    var referencePatterns: [String]?
    var failsWithoutMatch = false

    var wantsRawBody = false
    /// Whether a reply without a byte is a success, also where the protocol calls it a failure.
    var allowsEmptyReply = false
    /// `-I`, `head`: the reply without its body.
    var wantsHeadAlone = false
    /// `-C`: nothing, what is there already, or an offset.
    enum Resume: Sendable, Hashable {
        case fromStart, fromFile
        case from(Int)
    }
    var resume = Resume.fromStart

    /// What to do with the body of a refusal.
    enum Refusal: Sendable {
        /// Say what was refused, exit with its status.
        case fail
        /// The same, but deliver the body.
        case failWithBody
        /// Deliver the body and count it as success.
        case accept
    }
    var refusal = Refusal.fail

    var connectSeconds = 15.0
    var readSeconds = 60.0
    var totalSeconds = 0.0
    /// `nil` for the default, which depends on where the body goes.
    var bodyBytesMax: Int?
    /// Of the body, in a second; 0 for no limit.
    var bytesPerSecond = 0

    /// Whether a reply that begins like this is delivered.
    func wantsBody(of head: Head) -> Bool {
        !wantsHeadAlone && (head.replyClass == .success || keepsRefusals)
    }

    /// An error page must not be added to what an earlier attempt has saved.
    var keepsRefusals: Bool { refusal != .fail && resume == .fromStart }

    /// Reads the files that options for all URLs of a run name: once, though there are many URLs.
    ///
    /// - Throws: `read`, `usage` for a line that makes no sense.
    mutating func readFiles() throws(FetchError) {
        if let input {
            isInputSecret = input.isSecret
            self.input = .bytes(try input.read(within: totalSeconds))
        }
        try readLists()
    }

    /// Of these, those that belong to a plugin's option, and ~/.netrc.
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

/// Whether results are JSON records, and what is in them.
struct RecordSettings: Sendable {
    var areWanted = false
    var options = RecordOptions()
    var keepsInputOrder = false
}

/// Which URLs of a run are fetched, and how.
struct RunSettings: Sendable {
    /// Lists, as operands.
    var lists: [String] = []
    /// The hosts whose URLs are fetched; `nil` for all.
    var shard: Shard?
    /// For `shard`: whether lines get their `host:port`.
    var showsAuthority = false
    var policy = RunPolicy()

    /// What the exit status says.
    var status = Tally.Status.first

    var ledger: String?
    /// The outcomes that are fetched again; `nil` for all but `ok`.
    var ledgerOutcomes: Set<Outcome>?
}
