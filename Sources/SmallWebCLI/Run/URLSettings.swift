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

    /// A copy without the named settings, which the scheme does not support, and their origins.
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

    /// The settings for a request, and a note for each setting of the config file that is ignored.
    /// On the command line or in a line of a list such a setting is an error: see
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

    /// Options that the request's scheme ignores, each with the scheme and the reason.
    private func unused(for request: Request) -> [(name: String, reason: String)] {
        let scheme = request.scheme
        return
            (scheme.identityScheme != nil
            ? [] : Self.identities.map { ($0, "\(scheme.name), which has no identities") })
            + (scheme.input != nil ? [] : [("data", "\(scheme.name), which takes no data")])
    }

    /// Options that the request's scheme cannot satisfy, each with the scheme and the reason.
    func unfit(for request: Request) -> [(name: String, reason: String)] {
        // A key that must be known or certified must never be ignored.
        let policy = connection.trust.flatMap(TrustStore.Policy.init)
        let demands =
            (policy?.isDemanding ?? false ? ["trust"] : [])
            + (connection.pin == nil ? [] : ["pin"])
        let resumes = fetch.resume == .fromStart ? [] : Self.resumes
        // Fast path for most runs.
        if demands.isEmpty && resumes.isEmpty { return [] }
        let (scheme, hasTLS) = (request.scheme, (try? request.endpoint.security) == .tls)
        let unfit =
            (scheme.canResume ? [] : resumes.map { ($0, "\(scheme.name), which cannot resume") })
            + (hasTLS ? [] : demands.map { ($0, "\(scheme.name), which has no TLS") })
        return unfit.filter { name, _ in given.contains(name) || origins[name] != nil }
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
