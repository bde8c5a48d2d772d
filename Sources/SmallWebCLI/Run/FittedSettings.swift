// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

/// The settings of one URL, without those of config files that its scheme does not have.
struct FittedSettings {
    private(set) var settings: Settings
    /// Notes on ignored settings of the config file.
    private(set) var notes: [Note] = []
    /// The error for an option that was given and that the scheme does not have.
    private var refusal: FetchError?

    init(_ settings: Settings) { self.settings = settings }

    /// Asks for the reply without its body.
    mutating func wantsHeadAlone() { settings.fetch.wantsHeadAlone = true }

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
        _ made: Request, for asked: RequestLine, to destination: BodySink.Destination,
        _ registry: Registry, sendsInput: Bool = true
    ) throws(FetchError) -> Request {
        if let refusal { throw refusal }
        var request = made
        if settings.fetch.referencePatterns != nil && !request.scheme.hasReferences {
            let names = registry.schemes.filter(\.hasReferences).map(\.name)
            throw usageError(
                "\(request.scheme.name) has no references",
                hint: "they are for \(names.joined(separator: ", ")), and the https:// URL of a "
                    + "repository")
        }
        try configure(&request, destination, registry)
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
    private func addCondition(
        to request: inout Request, _ destination: BodySink.Destination
    ) throws(FetchError) {
        if let text = try settings.fetch.condition?.validator() {
            request.validator = Request.Validator(text, of: request.uri)
            request.validator?.isForAll = true
        } else if settings.output.existing == .updated,
            let path = BodySink.path(destination, request.uri, settings.output),
            let text = KeptFile.validator(path, of: request)
        {
            request.validator = Request.Validator(text, of: request.uri)
        }
    }

    /// Adds the options, limits, condition and place to continue from; input and uploads are not
    /// among them.
    func configure(
        _ request: inout Request, _ destination: BodySink.Destination, _ registry: Registry
    ) throws(FetchError) {
        request.wantsRawBody = settings.fetch.wantsRawBody
        request.allowsEmptyReply = settings.fetch.allowsEmptyReply
        request.options = settings.fetch.options
        addLogin(to: &request, registry)
        request.referencePatterns = settings.fetch.referencePatterns
        request.upload = settings.fetch.upload
        request.wantsItems =
            settings.output.listing == .links || settings.output.withLinks
            || settings.output.followsLinks
            || settings.records.areWanted && settings.output.listing != nil
            || !destination.isFile && settings.output.laysPagesOut || settings.rendersFiles
        request.wantsHeadAlone = settings.fetch.wantsHeadAlone
        if !settings.crawl.mediaTypes.isEmpty { request.mediaTypes = settings.crawl.mediaTypes }
        if settings.fetch.keepsRefusals { request.keepsRefusals = true }
        request.limits.connectSeconds = settings.fetch.connectSeconds
        request.limits.idleSeconds = settings.fetch.readSeconds
        request.limits.totalSeconds = settings.fetch.totalSeconds
        switch settings.fetch.bodyBytesMax {
        case 0?: request.limits.bodyBytesMax = nil
        case let size?: request.limits.bodyBytesMax = size
        case nil where destination.isFile: request.limits.bodyBytesMax = nil
        // Limits standard output only: a record contains its body.
        case nil: request.limits.isUsualForBodies = destination != .nowhere
        }
        try addCondition(to: &request, destination)
        switch settings.fetch.resume {
        case .fromStart: break
        case .from(let offset):
            request.resumeOffset = offset
            let path = BodySink.path(destination, request.uri, settings.output)
            if let before = try? path.map(PartFile.beginning), before.count == offset {
                request.bodyState = before.state
            }
        case .fromFile:
            guard let path = BodySink.path(destination, request.uri, settings.output) else {
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
