// SPDX-License-Identifier: MIT
public import SmallWebCore

/// A plugin that is a program: the host opens connections, the program speaks the protocol.
public struct ExternalPlugin: ProtocolHandler {
    private let manifest: Manifest
    /// The plugin's folder, absolute.
    private let folder: String

    public var schemes: [Scheme] { manifest.schemes }
    public var options: [Request.Option] {
        let uploads = manifest.schemes.filter { $0.uploads != nil }.map(\.name)
        guard !uploads.isEmpty else { return manifest.options }
        return manifest.options
            + [Request.Option.uploadType, Request.Option.uploadToken].map {
                $0.limited(to: Set(uploads))
            }
    }
    public var programVersion: String? { manifest.version }

    /// - Parameter folder: The plugin's folder, absolute. The program is started there.
    public init(_ manifest: Manifest, in folder: String) {
        self.manifest = manifest
        self.folder = folder
    }

    public func fetch(
        _ request: Request, dialer: any Dialer, emit: Emit
    ) async throws(FetchError) -> Completeness {
        guard let facts = manifest.facts[request.scheme.name] else {
            preconditionFailure("a request is made for a scheme of its plugin")
        }
        var program = ProgramRequest(
            folder: folder, words: manifest.program,
            environment: try environment(of: request, facts),
            transport: try Self.transport(request),
            isServerFirst: facts.isServerFirst, fetchLimits: request.limits)
        program.acceptsAnyPort = facts.acceptsAnyPort
        program.asksAuthorities = facts.asksAuthorities
        (program.connections, program.wantsAnswers) = (manifest.connections, manifest.wantsAnswers)
        program.upload = request.upload
        program.limits = manifest.limits
        program.reads = try manifest.places()

        if !manifest.reads.isEmpty {
            let places = manifest.reads.joined(separator: ", ")
            try await emit(.diagnostics(Array("the program may read \(places)\n".utf8)))
        }
        var talk = ProgramTalk(
            request.uri, manifest.name, facts.mediaType, wasAsked: request.validator != nil,
            mask: mask(of: request), isOpaque: request.scheme.pathForm == .opaque)
        talk.offset = request.resumeOffset
        let manifest = manifest
        let own = request.uri.host?.lowercased()
        program.host = own
        talk.opening = { url throws(FetchError) in try manifest.target(url, of: own) }
        program.mayFetch = { uri, port, isUsualPort in
            manifest.opens.contains {
                $0.matches(uri, port: port, isUsualPort: isUsualPort, own: own)
            }
        }
        // Success or failure is known only when the program has ended.
        let ending: ProgramEnding
        do throws(FetchError) {
            ending = try await dialer.runner().run(program, isAnswered: { talk.hasHead }) {
                output async throws(FetchError) in
                switch output {
                case .events(let bytes):
                    talk.add(events: bytes)
                    while let event = talk.next() { try await emit(event) }
                case .body(let bytes):
                    if let head = try talk.take(body: bytes) { try await emit(.head(head)) }
                    try await emit(.body(bytes))
                case .diagnostics(let bytes):
                    if let said = talk.take(diagnostics: bytes) {
                        try await emit(.diagnostics(said))
                    }
                }
                return talk.takeDemand()
            }
        } catch {
            throw talk.completing(error)
        }
        if let head = try talk.finish(ending) { try await emit(.head(head)) }
        return talk.completeness(ending.server)
    }

    private static func transport(
        _ request: Request
    ) throws(FetchError) -> ProgramRequest.Transport {
        switch request.scheme.transport {
        case .none, .own: .none
        case .udp: .datagrams(try request.endpoint)
        case .tcp, .tls: .stream(try request.endpoint)
        }
    }

    /// The program's environment variables for a request.
    ///
    /// - Throws: `bad-url` for line breaks and NULs in the URL; `usage` for input with NUL.
    private func environment(
        of request: Request, _ facts: Manifest.SchemeFacts
    ) throws(FetchError) -> [String: String] {
        var uri = request.uri.withoutFragment
        let parts = uri.host == nil ? uri.verbatimParts : (place: uri.host ?? "", path: uri.path)
        let (path, userinfo) = (PercentEncoding.decode(parts.path), uri.userinfo)
        try Self.check(PercentEncoding.decode(uri.path), "path")
        if let query = uri.query, !facts.keepsQueryEncoded {
            try Self.check(PercentEncoding.decode(query), "query")
        }
        let user = userinfo.map(PercentEncoding.decode)
        try Self.check(user ?? [], "user")
        uri.userinfo = nil
        var variables = [
            "V": "1", "URL": uri.description, "SCHEME": uri.scheme, "HOST": parts.place,
            "PORT": String(uri.port ?? request.scheme.defaultPort), "PATH": parts.path,
            "SELECTOR": String(systemBytes: path),
        ]
        variables["QUERY"] = uri.query
        variables["USERINFO"] = user.map { String(systemBytes: $0) }
        if let input = request.input {
            guard !input.contains(0) else {
                throw usageError("input for a program cannot hold a NUL")
            }
            variables["INPUT"] = String(systemBytes: input)
        }
        if let upload = request.upload {
            variables["UPLOAD_SIZE"] = String(upload.byteCount)
            variables["UPLOAD_MIME"] =
                request.options.text(Request.Option.uploadType.key) ?? upload.mediaType
            variables["UPLOAD_TOKEN"] = request.options.secret(Request.Option.uploadToken.key).map {
                String(systemBytes: $0)
            }
        }
        variables["OFFSET"] = request.resumeOffset.map { String($0) }
        if request.wantsHeadAlone { variables["HEAD_ONLY"] = "1" }
        if request.wantsItems { variables["ITEMS"] = "1" }
        variables["VALIDATOR"] = request.validator?.text
        for option in manifest.options {
            let name = "OPT_" + option.key.uppercased().replacing(text: "-", with: "_")
            switch request.options[option.key] {
            case .text(let text): variables[name] = text
            case .flag(let isOn): variables[name] = isOn ? "1" : nil
            case .secret(let bytes):
                guard !bytes.contains(0) else {
                    throw usageError("the value of \(option.key) cannot hold a NUL")
                }
                variables[name] = String(systemBytes: bytes)
            default: variables[name] = manifest.defaults[option.key]
            }
        }
        return Dictionary(
            uniqueKeysWithValues: variables.map { ("SMALLWEB_" + $0.key, $0.value) })
    }

    private static func check(_ bytes: [UInt8], _ part: String) throws(FetchError) {
        guard !bytes.contains(where: { $0 == 0 || $0 == 10 || $0 == 13 }) else {
            throw .badURL("the \(part) holds a line break or NUL")
        }
    }
}

/// Parses the events of one plugin run, and derives its result. No I/O.
struct ProgramTalk {
    private var reader: ProgramEventReader
    /// The first failure. Events before it are handed out first; the rest is ignored.
    private(set) var failure: FetchError?
    private let mediaType: String?
    private let wasAsked: Bool
    private(set) var hasHead = false
    /// Offset at which the body has to begin; `nil` for the whole body.
    var offset: Int?
    private var promisedBytes: Int?
    private var bodyBytes = 0
    private var end: Completeness?
    private var diagnosticsBytes = 0
    private var lastLine: [UInt8] = []
    private var mask: SecretMask
    private var commands: [ProgramCommand] = []
    /// The manifest's decision about a URL that is opened; `nil` for a URL to be fetched.
    var opening: (String) throws(FetchError) -> OpenPattern.Target? = { url throws(FetchError) in
        throw .plugin("the program opens \(url), which its manifest does not allow")
    }

    /// Limit of bytes on standard error that are shown.
    static let diagnosticsMax = 65_536
    private static let lastLineMax = 500

    /// - Parameter wasAsked: True if the program was given a validator.
    init(
        _ base: URI, _ name: String, _ mediaType: String?, wasAsked: Bool = false,
        mask: SecretMask = SecretMask(), isOpaque: Bool = false
    ) {
        reader = ProgramEventReader(base: base, name: name, mask: mask, isOpaque: isOpaque)
        self.wasAsked = wasAsked
        self.mediaType = mediaType
        self.mask = mask
    }

    /// Adds bytes of its events. ``next()`` parses them.
    mutating func add(events bytes: ArraySlice<UInt8>) { reader.add(bytes) }

    /// - Returns: The next event; `nil` when there is none for now, or because of a ``failure``:
    ///   `plugin` for a line that is not an event, or the program's own `fail`.
    mutating func next() -> Event? {
        do throws(FetchError) {
            while failure == nil, let event = try reader.next() {
                if let event = try take(event) { return event }
            }
        } catch {
            failure = masked(error)
        }
        return nil
    }

    /// Masks secrets in an error, as it may quote the program.
    private func masked(_ error: FetchError) -> FetchError {
        var error = error
        error.message = mask.masked(error.message)
        return error
    }

    private mutating func take(_ event: ProgramEvent) throws(FetchError) -> Event? {
        switch event {
        case .head(let head, let offset):
            guard !hasHead else {
                throw .plugin("the program gave its head after the body had begun")
            }
            guard !head.isUnchanged || wasAsked else {
                throw .plugin("the program says \"unchanged\", but it was given no validator")
            }
            if head.replyClass == .success { try check(offset) }
            hasHead = true
            promisedBytes = head.isUnchanged ? 0 : head.bodyBytes
            return .head(head)
        case .item(let item): return .item(item)
        case .note(let note): return .note(note)
        case .end(let completeness):
            end = completeness
            return nil
        case .fail(let outcome, let message): throw FetchError(outcome, .plugin, message)
        case .open(let number, let url):
            if let target = try opening(url) {
                commands.append(.open(number, target.kind, target.endpoint))
            } else {
                commands.append(.fetch(number, url: url))
            }
            return nil
        case .startTLS(let number):
            commands.append(.startTLS(number))
            return nil
        }
    }

    /// Checks the offset: a wrong one would put the body in the wrong place.
    ///
    /// - Parameter said: The body's offset by the head.
    private func check(_ said: Int?) throws(FetchError) {
        guard said ?? 0 != offset ?? 0 else { return }
        if let failure { throw failure }
        guard let offset, said == nil else {
            throw .plugin(
                "the program gives the body from byte \(said ?? 0) instead of \(offset ?? 0)")
        }
        throw FetchError(
            .permanentFailure, .header, "the server cannot resume at byte \(offset)",
            remedy: .startOver)
    }

    /// The commands since the last call.
    mutating func takeDemand() -> ProgramDemand {
        defer { commands = [] }
        return (failure != nil, commands)
    }

    /// - Returns: The head that the body implies, if it had none.
    mutating func take(body bytes: ArraySlice<UInt8>) throws(FetchError) -> Head? {
        bodyBytes += bytes.count
        if let promisedBytes, bodyBytes > promisedBytes {
            throw .plugin(
                "the program gave more than the \(promisedBytes) bytes that it had announced")
        }
        return try impliedHead()
    }

    private mutating func impliedHead() throws(FetchError) -> Head? {
        guard !hasHead else { return nil }
        try check(nil)
        hasHead = true
        return Head(.success, mediaType: mediaType.flatMap(MediaType.init(parsing:)))
    }

    /// - Returns: The bytes to show; `nil` beyond ``diagnosticsMax``.
    mutating func take(diagnostics said: ArraySlice<UInt8>) -> [UInt8]? {
        let bytes = mask.add(said)
        let lines = bytes.split(
            separator: ASCII.lineFeed, omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            if index > 0 && !line.isEmpty { lastLine = [] }
            lastLine = Array((lastLine + line).prefix(Self.lastLineMax))
        }
        let room = Self.diagnosticsMax - diagnosticsBytes
        guard room > 0 else { return nil }
        let shown = Array(bytes.prefix(room))
        diagnosticsBytes += shown.count
        return shown
    }

    /// Called when the program has ended, after all its output.
    ///
    /// - Returns: The head of an empty success.
    /// - Throws: The program's failure; `plugin` for a bad exit status, a signal, or an incomplete
    ///   line.
    mutating func finish(_ ending: ProgramEnding) throws(FetchError) -> Head? {
        if let failure { throw failure }
        try reader.finish()
        lastLine += mask.finish()
        switch ending.reason {
        case .exited(0): return try impliedHead()
        case .exited(let status): throw badEnd("ended with exit status \(status)")
        case .signalled(let signal): throw badEnd("was ended by signal \(signal)")
        case .stopped: preconditionFailure("it is stopped for a failure alone")
        }
    }

    private func badEnd(_ what: String) -> FetchError {
        let said = String(decoding: lastLine, as: UTF8.self)
        return .plugin("the program \(what)" + (said.isEmpty ? "" : ": \(said)"))
    }

    /// Adds the program's last diagnostics to a timeout, as they may explain it.
    func completing(_ error: FetchError) -> FetchError {
        var error = masked(error)
        guard error.outcome == .timeout, !lastLine.isEmpty else { return error }
        error.message += "; the program said: \(String(decoding: lastLine, as: UTF8.self))"
        return error
    }

    /// Completeness of the body, by the promised size, the program, and the server's ending.
    func completeness(_ server: ByteStream.Ending?) -> Completeness {
        if let promisedBytes, bodyBytes < promisedBytes { return .truncated }
        if end == .complete || end == .truncated { return end ?? .unverified }
        if server == .reset { return .truncated }
        return end ?? .unverified
    }
}
