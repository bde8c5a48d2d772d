// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

/// The forms in which one URL is written, and where to: made once, from its settings without those
/// of config files that its scheme does not have.
struct URLPlan {
    enum Form {
        case body
        /// A page that is laid out, as text or markup.
        case page
        case head, links, refs
        /// The records of a verb.
        case records
    }

    enum Destination: Hashable {
        case standardOutput
        /// `-o -`: unfiltered, even binary data to a terminal.
        case rawStandardOutput
        case file(String)
        /// `-O`: a name from the URL.
        case remoteName
        /// The body is in the record, or not wanted.
        case nowhere

        /// True to keep an existing file and choose a free name.
        var takesFreeName: Bool { self == .remoteName }

        var isFile: Bool { if case .file = self { true } else { takesFreeName } }
    }

    private(set) var settings: Settings
    private(set) var form: Form
    let destination: Destination
    /// True if standard output gets pages and lists laid out.
    let isLaidOut: Bool
    private let takesItems: Bool
    /// True if a person sees standard output.
    private let isWatched = Environment.isTerminal(1)
    /// Notes on ignored settings of the config file.
    private(set) var notes: [Note] = []
    /// The error for an option that was given and that the scheme does not have.
    private var refusal: FetchError?

    init(_ settings: Settings, to destination: Destination) {
        (self.settings, self.destination) = (settings, destination)
        let laysPagesOut =
            settings.output.rendering != .auto || settings.output.isReading
            || isWatched && settings.records.slice == nil
        isLaidOut = laysPagesOut && destination == .standardOutput
        takesItems = laysPagesOut && !destination.isFile || settings.rendersAlways
        let isKept = destination.isFile || settings.records.areWanted && destination == .nowhere
        let isPage = isLaidOut || isKept && settings.rendersAlways
        form =
            switch settings.output.listing {
            case _ where settings.fetch.wantsHeadAlone: .head
            case .links: .links
            case .refs: .refs
            case .records: .records
            case nil: isPage ? .page : .body
            }
    }

    /// Asks for the reply without its body.
    mutating func leaveOutBody() { form = .head }

    var writesRecords: Bool { settings.records.areWanted }

    /// True if a record has all that is asked for.
    var isInRecord: Bool { writesRecords && !destination.isFile }

    var recordsBody: Bool { isInRecord && settings.records.options.body != .none && form != .head }

    var recordsLinks: Bool { writesRecords && form != .head }

    var showsHeader: Bool { settings.output.showsHeader && !writesRecords && form != .head }

    /// True if a file begins as the body does, so that another request can continue it.
    var keepsPart: Bool {
        settings.output.keepsParts && !settings.output.takesServersName && form == .body
    }

    private var wantsItems: Bool {
        let output = settings.output
        return form == .links || output.withLinks || output.followsLinks
            || writesRecords && output.listing != nil
            || takesItems
    }

    /// True for a page that is laid out because of the command, not of a terminal, and for links;
    /// an archive has pages in the form for all.
    private var prefersText: Bool {
        let isAsked =
            settings.output.isReading
            || settings.output.rendering != .auto && !settings.fetch.wantsRawBody
        return (form == .links || form == .page && isAsked) && settings.archive.file == nil
    }

    /// True if a person sees the form, as it goes to a terminal.
    var isSeen: Bool { isWatched && !destination.isFile }

    /// True if standard output may get no control characters of a server.
    var isFiltered: Bool { isWatched && destination != .rawStandardOutput }

    /// - Parameter leavesOut: True to leave out given options, too, but none that demand a key: for
    ///   pages of several schemes.
    mutating func fit(_ request: Request, _ registry: Registry, leavesOut: Bool = false) {
        let misfits = settings.misfits(for: request, registry)
        guard !misfits.isEmpty else { return }
        refusal =
            misfits.first { misfit in
                settings.invocation.given.contains(misfit.option.long)
                    && !(leavesOut && misfit.mayBeLeftOut)
            }?.refusal
        notes = settings.leaveOut(misfits, for: request, given: leavesOut)
    }

    /// Completes the request of an attempt, with what may change until then: files to read, and
    /// those to continue.
    ///
    /// - Parameter sendsInput: True to answer a prompt with the data of the settings.
    func complete(
        _ made: Request, for asked: RequestLine, _ registry: Registry, sendsInput: Bool = true
    ) throws(FetchError) -> Request {
        if let refusal { throw refusal }
        if settings.records.slice != nil && destination.isFile {
            throw usageError("a part of a page goes to no file", hint: "leave out output or slice")
        }
        var request = made
        if settings.fetch.referencePatterns != nil && !request.scheme.hasReferences {
            let names = registry.schemes.filter(\.hasReferences).map(\.name)
            throw usageError(
                "\(request.scheme.name) has no references",
                hint: "they are for \(names.joined(separator: ", ")), and the https:// URL of a "
                    + "repository")
        }
        try configure(&request, registry)
        let seconds = settings.fetch.totalSeconds
        if let upload = asked.upload {
            request.upload = try PutCommand.upload(
                bytes: upload.read(within: seconds), to: request.scheme)
        }
        if sendsInput, let input = try settings.fetch.input?.read(within: seconds) {
            switch request.scheme.input {
            case .line: request.input = InputSource.withoutLineEnd(input)
            case .body: request.input = input
            case nil: throw Misfit.cannotCarryData(request.scheme)
            }
            request.isInputSecret = settings.fetch.isInputSecret
        }
        return request
    }

    /// Adds the login of ~/.netrc, if the protocol has header fields and the user gives no
    /// credentials.
    private func addLogin(to request: inout Request, _ registry: Registry) {
        let uri = request.uri
        let parts = (uri.userinfo ?? "").split(separator: ":", maxSplits: 1)
        guard settings.fetch.usesNetrc, parts.count < 2, let host = uri.host,
            registry.hasHeaderFields(uri.scheme),
            !request.options.list("header").contains(where: {
                $0.prefix { $0 != ":" }.lowercased().hasPrefix("authorization")
            }),
            let login = settings.fetch.netrc?.login(
                for: host, user: parts.first.map { PercentEncoding.decode($0) })
        else { return }
        request.options.append("Authorization: Basic " + Base64.encode(login), to: "header")
        // libcurl would send the user name alone.
        request.uri.userinfo = nil
    }

    /// The condition of the options, or of the file that is there.
    private func addCondition(to request: inout Request) throws(FetchError) {
        if let text = try settings.fetch.condition?.validator() {
            request.validator = Request.Validator(text, of: request.uri)
            request.validator?.isForAll = true
        } else if settings.output.existing == .updated,
            let path = path(of: request.uri), let text = KeptFile.validator(path, of: request)
        {
            request.validator = Request.Validator(text, of: request.uri)
        }
    }

    /// Adds the options, limits, condition and place to continue from; input and uploads are not
    /// among them.
    func configure(_ request: inout Request, _ registry: Registry) throws(FetchError) {
        request.wantsRawBody = settings.fetch.wantsRawBody
        request.allowsEmptyReply = settings.fetch.allowsEmptyReply
        request.options = settings.fetch.options
        request.mayHaveOtherOptions = true
        addLogin(to: &request, registry)
        request.contentType = settings.fetch.contentType
        request.base = try settings.fetch.base.map { base throws(FetchError) in
            try request.uri.resolving(base, in: registry)
        }
        request.referencePatterns = settings.fetch.referencePatterns
        request.upload = settings.fetch.upload
        request.wantsItems = wantsItems
        request.wantsHeadAlone = form == .head
        request.prefersText = prefersText
        if !settings.crawl.mediaTypes.isEmpty { request.mediaTypes = settings.crawl.mediaTypes }
        if settings.fetch.keepsRefusals { request.keepsRefusals = true }
        settings.fetch.limit(&request.limits)
        switch settings.fetch.bodyBytesMax {
        case 0?: request.limits.bodyBytesMax = nil
        case let size?: request.limits.bodyBytesMax = size
        case nil where destination.isFile: request.limits.bodyBytesMax = nil
        // Limits standard output only: a record contains its body.
        case nil: request.limits.isUsualForBodies = destination != .nowhere
        }
        try addCondition(to: &request)
        switch settings.fetch.resume {
        case .fromStart: break
        case .from(let offset):
            request.resumeOffset = offset
            if let before = try? path(of: request.uri).map(PartFile.beginning),
                before.count == offset
            {
                request.bodyState = before.state
            }
        case .fromFile:
            guard let path = path(of: request.uri) else {
                // In a config file it is for files.
                guard !destination.isFile,
                    Settings.resumes.contains(where: settings.isGiven)
                else { break }
                throw usageError("-C - needs a file to continue", hint: "name it with -o or -O")
            }
            let before = try PartFile.beginning(of: path)
            if before.count > 0 {
                (request.resumeOffset, request.bodyState) = (before.count, before.state)
            }
        }
    }
}

extension URLPlan {
    /// The file of the body; `nil` without one, or if its name depends on the reply and `head` is
    /// missing.
    ///
    /// - Parameter uri: The requested URL: a redirect must not choose the name of a file.
    func path(of uri: URI, head: Head? = nil) -> String? {
        switch destination {
        case .standardOutput, .rawStandardOutput, .nowhere: return nil
        case .file(let path): return path
        case .remoteName:
            let name =
                head.map { FileName.name(for: uri, head: $0, settings.output) }
                ?? FileName.name(for: uri, settings.output)
            let place = try? place(of: uri, makes: false)
            return name.map { name in place.map { "\($0)/\(name)" } ?? name }
        }
    }

    /// The directory of a file named by its URL or by the reply; `nil` for the present one.
    ///
    /// - Throws: `write` if it cannot be made.
    func place(of uri: URI, makes: Bool) throws(FetchError) -> String? {
        let output = settings.output
        guard output.keepsTree else { return output.directory }
        return try FileOutput.tree(FileName.tree(for: uri), in: output.directory, makes: makes)
    }

    /// True if the body continues an existing file: with `-C -` none that the reply names.
    func continuesFile(of uri: URI) -> Bool {
        switch settings.fetch.resume {
        case .fromStart: false
        case .from: true
        case .fromFile:
            !destination.takesFreeName || FileName.name(for: uri, settings.output) != nil
        }
    }

    /// True if `--skip-existing` applies. Does not count files written for other URLs of this run,
    /// nor with `-C -` one that has a part of a newer one.
    func isEnough(_ path: String, of uri: URI) -> Bool {
        settings.output.existing == .enough && FileOutput.isTaken(path)
            && !settings.output.made.has(path, ofOtherThan: uri)
            && (settings.fetch.resume != .fromFile
                || (try? PartFile.beginning(of: path))?.part == nil)
    }

    var recordScope: RecordScope {
        var scope = RecordScope()
        scope.isRest = settings.fetch.resume != .fromStart
        scope.listing = settings.output.listing
        scope.withLinks = settings.output.withLinks
        scope.slice = settings.records.slice
        scope.rendering =
            form == .page && (settings.rendersAlways || scope.slice != nil)
            ? settings.output.rendering.rawValue : nil
        guard let directory = settings.output.directory, scope.slice == nil else { return scope }
        let createsDirectories = settings.output.createsDirectories
        scope.overflow = { body, log throws(FetchError) in
            let name = log.map { FileName.name(for: $0.origin, head: $0.head) } ?? "index"
            let file = try FileOutput(
                "\(directory)/\(name)", clash: .number, createsDirectories: createsDirectories)
            try await body.drain { bytes throws(FetchError) in try file.write(bytes) }
            try file.commit()
            return FileOutput.absolute(file.path)
        }
        return scope
    }
}

extension Settings {
    /// True if pages are in records, an archive or the cache.
    var keepsPages: Bool { records.areWanted || archive.file != nil || archive.hasCache }

    /// The destination of a body that has no file of its own.
    var usualDestination: URLPlan.Destination {
        if output.usesRemoteName || records.options.body == .file { return .remoteName }
        return records.areWanted || records.options.body == .none ? .nowhere : .standardOutput
    }

    func destination(of asked: RequestLine) -> URLPlan.Destination {
        if let path = asked.output { return .file(output.place(of: path)) }
        guard asked.subject.n < output.files.count else { return usualDestination }
        let name = output.files[asked.subject.n]
        return name == "-" ? .rawStandardOutput : .file(output.place(of: name))
    }

    /// Has all URLs of a run listed.
    mutating func list(_ listing: ListForm) {
        output.listing = listing
        // The records contain all the data of the body.
        if records.areWanted { records.options.body = .none }
    }
}
