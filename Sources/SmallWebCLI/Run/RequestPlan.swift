// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

struct RequestPlan {
    let order: Order
    let settings: URLSettings
    let fetcher: Fetcher
    /// `nil` if the order is invalid.
    let request: Request?
    let problem: FetchError?
    /// `host:port`; `nil` for a request without a connection.
    let place: String?
    /// Notes on ignored settings of the config file.
    let notes: [Note]
    private(set) var destination: BodySink.Destination

    init(_ order: Order, _ context: RunContext) {
        self.order = order
        var settings = context.common
        var fetcher = context.fetcher
        var request: Request?
        var problem = order.problem
        var place: String?
        var notes: [Note] = []
        if problem == nil {
            do throws(FetchError) {
                (settings, fetcher) = try context.settings(for: order)
                let made = try fetcher.request(
                    settings.url(order.url ?? "", fetcher.registry))
                (settings, notes) = settings.limited(to: made)
                request = made
                place = try made.place
            } catch {
                problem = error
            }
        }
        if order.subject.line != nil { problem = problem?.inPart }
        (self.settings, self.fetcher, self.notes) = (settings, fetcher, notes)
        (self.request, self.problem, self.place) = (request, problem, place)
        destination = BodySink.Destination(order, settings)
    }

    /// Creates the request of an attempt.
    ///
    /// - Parameter sendsInput: True to answer a prompt with the data of the settings.
    mutating func makeRequest(sendsInput: Bool = true) throws(FetchError) -> Request {
        guard var request else { throw problem ?? .cancelled }
        try refuseForeignOptions(of: request)
        if settings.connection.identityName != nil || settings.connection.certificateFile != nil,
            request.scheme.identityScheme == nil
        {
            throw usageError(
                "no identity can be shown over \(request.scheme.name)",
                hint: Identities.hint(fetcher.registry))
        }
        if settings.fetch.referencePatterns != nil && !request.scheme.hasReferences {
            let names = fetcher.registry.schemes.filter(\.hasReferences).map(\.name)
            throw usageError(
                "\(request.scheme.name) has no references",
                hint: "they are for \(names.joined(separator: ", ")), and the https:// URL of a "
                    + "repository")
        }
        try configure(&request)
        let seconds = settings.fetch.totalSeconds
        if let upload = order.upload {
            request.upload = try PutCommand.upload(
                bytes: upload.read(within: seconds), to: request.scheme)
        }
        if sendsInput, let input = try settings.fetch.input?.read(within: seconds) {
            switch request.scheme.input {
            case .line: request.input = InputSource.withoutLineEnd(input)
            case .body: request.input = input
            case nil:
                throw usageError("\(request.scheme.name) requests cannot carry --data")
            }
            request.isInputSecret = settings.fetch.isInputSecret
        }
        return request
    }

    /// Refuses options given for this URL that its protocol does not support.
    private func refuseForeignOptions(of request: Request) throws(FetchError) {
        let scheme = request.scheme
        if let (name, reason) = settings.unfit(for: request).first {
            throw usageError(
                "--\(name) cannot be used with \(reason)",
                hint: name == "trust" || name == "pin"
                    ? scheme.secureForm.map { "\($0):// is the same over TLS" } : nil)
        }
        var name: String?
        if !settings.fetch.options.isEmpty {
            let known = (fetcher.registry[scheme.name]?.handler.options ?? []).filter {
                $0.schemes?.contains(scheme.name) ?? true
            }
            let foreign = settings.fetch.options.keys.subtracting(known.map(\.key))
            name = settings.given.first { foreign.contains($0) }
        }
        if !scheme.dialsForItself && settings.connection.http.isSpecial {
            name = settings.given.first { option in Option.engine.contains { $0.long == option } }
        }
        guard let name else { return }
        throw usageError("\(scheme.name) requests do not take --\(name)")
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
                throw usageError("-C - needs a file to continue", hint: "name it with -o or -O")
            }
            let (offset, state) = try FileOutput.resumableBytes(path)
            if offset > 0 { (request.resumeOffset, request.bodyState) = (offset, state) }
        }
    }
}
