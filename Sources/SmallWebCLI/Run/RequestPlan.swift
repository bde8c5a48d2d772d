// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

struct RequestPlan {
    let asked: RequestLine
    let settings: URLSettings
    let fetcher: Fetcher
    /// `nil` if the line or operand is invalid.
    let request: Request?
    let problem: FetchError?
    /// `host:port`; `nil` for a request without a connection.
    let place: String?
    /// Notes on ignored settings of the config file.
    let notes: [Note]
    /// The error for an option that the protocol does not have.
    private let refusal: FetchError?
    private(set) var destination: BodySink.Destination

    init(_ asked: RequestLine, _ context: RunContext) {
        self.asked = asked
        var settings = context.common
        var fetcher = context.fetcher
        var request: Request?
        var problem = asked.problem
        var place: String?
        var notes: [Note] = []
        var refusal: FetchError?
        if problem == nil {
            do throws(FetchError) {
                (settings, fetcher) = try context.settings(for: asked)
                let made = try fetcher.request(
                    settings.url(asked.url ?? "", fetcher.registry))
                let misfits = settings.misfits(for: made, fetcher.registry)
                refusal = misfits.first { settings.given.contains($0.name) }?.refusal
                (settings, notes) = settings.without(misfits, for: made)
                request = made
                place = try made.place
            } catch {
                problem = error
            }
        }
        if asked.subject.line != nil { problem = problem?.inPart }
        (self.settings, self.fetcher) = (settings, fetcher)
        (self.notes, self.refusal) = (notes, refusal)
        (self.request, self.problem, self.place) = (request, problem, place)
        destination = BodySink.Destination(asked, settings)
    }

    /// Creates the request of an attempt.
    ///
    /// - Parameter sendsInput: True to answer a prompt with the data of the settings.
    mutating func makeRequest(sendsInput: Bool = true) throws(FetchError) -> Request {
        guard var request else { throw problem ?? .cancelled }
        if let refusal { throw refusal }
        if settings.fetch.referencePatterns != nil && !request.scheme.hasReferences {
            let names = fetcher.registry.schemes.filter(\.hasReferences).map(\.name)
            throw usageError(
                "\(request.scheme.name) has no references",
                hint: "they are for \(names.joined(separator: ", ")), and the https:// URL of a "
                    + "repository")
        }
        try configure(&request)
        let seconds = settings.fetch.totalSeconds
        if let upload = asked.upload {
            request.upload = try PutCommand.upload(
                bytes: upload.read(within: seconds), to: request.scheme)
        }
        if sendsInput, let input = try settings.fetch.input?.read(within: seconds) {
            switch request.scheme.input {
            case .line: request.input = InputSource.withoutLineEnd(input)
            case .body: request.input = input
            case nil: throw settings.cannotCarryData(request.scheme)
            }
            request.isInputSecret = settings.fetch.isInputSecret
        }
        return request
    }

    /// Adds the login of ~/.netrc, if the protocol has header fields and the user gives no
    /// credentials.
    private func addLogin(to request: inout Request) {
        let uri = request.uri
        let parts = (uri.userinfo ?? "").split(separator: ":", maxSplits: 1)
        guard settings.fetch.usesNetrc, parts.count < 2, let host = uri.host,
            let handler = fetcher.registry[uri.scheme]?.handler, handler.programVersion == nil,
            handler.options.contains(where: {
                $0.key == "header" && $0.schemes?.contains(uri.scheme) ?? true
            }),
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

    mutating func configure(_ request: inout Request) throws(FetchError) {
        request.wantsRawBody = settings.fetch.wantsRawBody
        request.allowsEmptyReply = settings.fetch.allowsEmptyReply
        request.options = settings.fetch.options
        addLogin(to: &request)
        request.referencePatterns = settings.fetch.referencePatterns
        request.upload = settings.fetch.upload
        request.wantsItems =
            settings.output.listing == .links || settings.output.withLinks
            || settings.records.areWanted && settings.output.listing != nil
            || !destination.isFile && settings.output.laysPagesOut
        request.wantsHeadAlone = settings.fetch.wantsHeadAlone
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
        switch settings.fetch.resume {
        case .fromStart: break
        case .from(let offset):
            request.resumeOffset = offset
        case .fromFile:
            if case .remoteName(let directory) = destination {
                guard let name = FileName.name(for: request.uri) else { break }
                destination = .file(directory.map { "\($0)/\(name)" } ?? name)
            }
            guard case .file(let path) = destination else {
                // In a config file it is for files.
                guard settings.given.contains(where: ["continue", "continue-at"].contains) else {
                    break
                }
                throw usageError("-C - needs a file to continue", hint: "name it with -o or -O")
            }
            let (offset, state) = try FileOutput.resumableBytes(path)
            if offset > 0 { (request.resumeOffset, request.bodyState) = (offset, state) }
        }
    }
}
