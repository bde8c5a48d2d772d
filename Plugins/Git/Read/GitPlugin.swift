// SPDX-License-Identifier: MIT
public import SmallWebCore

/// Git without a clone: the references of a remote repository, and single files and directories,
/// over git:// and smart HTTP (gitprotocol-v2(5) and its older forms).
public struct GitPlugin: ProtocolHandler {
    private let cache = ObjectCache()
    var overhead = Overhead()

    public init() {}

    public let schemes = [
        Scheme(
            "git", plugin: "git", port: 9418, transport: .tcp,
            summary: "Git's own protocol (gitprotocol-pack)"
        ) { Self.shared(&$0) },
        Scheme(
            "git+http", plugin: "git", port: 80, transport: .own,
            summary: "Git over smart HTTP (gitprotocol-http)"
        ) {
            Self.shared(&$0)
            $0.secureForm = "git+https"
            $0.webScheme = "http"
        },
        Scheme(
            "git+https", plugin: "git", port: 443, transport: .own,
            summary: "Git over smart HTTP and TLS"
        ) {
            Self.shared(&$0)
            $0.trust = .ca
            $0.identityScheme = "https"
            $0.webScheme = "https"
        },
    ]

    private static func shared(_ scheme: inout Scheme) {
        scheme.pathForm = .opaque
        scheme.hasReferences = true
        scheme.computesForLong = true
        scheme.pathMark = ".git//"
        scheme.messageSubtype = "x-git"
        scheme.factNames = ["git", "http"]
    }

    public var options: [Request.Option] {
        RefQuery.options + GitQuestion.options
            + [HTTPOptions.header, HTTPOptions.userAgent, HTTPOptions.referer].map {
                $0.limited(to: ["git+http", "git+https"])
            }
    }

    public var verbs: [Verb] { GitQuestion.verbs }

    public func carried(
        from request: Request, status: Int?, isSameOrigin: Bool
    ) -> Request.Carried {
        HTTPOptions.carried(from: request, status: status, isSameOrigin: isSameOrigin)
    }

    public func fetch(
        _ request: Request, dialer: any Dialer, emit: Emit
    ) async throws(FetchError) -> Completeness {
        let address = try GitAddress(request.uri)
        let query = RefQuery(request)
        guard request.options.text("request") == nil, request.input == nil,
            request.resumeOffset == nil
        else {
            throw usageError("Git makes its own requests: no method, body or range")
        }
        guard
            address.question.kind == .difference || !request.options.flag("null")
                || request.mayHaveOtherOptions
        else {
            throw usageError("the option \"null\" is for ?diff alone")
        }
        if address.isOfContents && !query.isEmpty {
            throw usageError("a path in the repository where references are wanted")
        }
        var hasHead = false
        let emit = { (event: Event) async throws(FetchError) in
            if case .head = event { hasHead = true }
            try await emit(event)
        }
        let own = dialer.isRecorded ? ObjectCache(feeding: cache) : cache
        do throws(FetchError) {
            return try await converse(request, address, query, own, dialer, emit) { hasHead }
        } catch  where error.outcome == .notRecorded && !hasHead {
            // Archives of version 0.2: a conversation leaves out what earlier ones had brought.
            return try await converse(request, address, query, cache, dialer, emit) { hasHead }
        }
    }

    private func converse(
        _ request: Request, _ address: GitAddress, _ query: RefQuery, _ cache: ObjectCache,
        _ dialer: any Dialer, _ emit: Emit, hasHead: () -> Bool
    ) async throws(FetchError) -> Completeness {
        let conversation: any GitConversation
        if request.scheme.transport == .tcp {
            // Fails for a path that is too long, before a connection is made.
            _ = try address.daemonRequest(2)
            conversation = DaemonConversation(
                try await dialer.dial(request.endpoint), address)
        } else {
            conversation = HTTPConversation(
                try dialer.httpClient(for: request.endpoint), request, address, overhead)
        }
        let files =
            request.scheme.transport == .tcp ? nil : LFSFiles(dialer, request, address)
        let repository = Repository(conversation, address, cache, request.limits, overhead)
        var completeness = Completeness.complete
        do throws(FetchError) {
            completeness = try await answer(repository, request, query, files, emit)
        } catch {
            guard let refusal = conversation.refusal, !hasHead(), error.outcome != .interrupted
            else { throw error }
            try await emit(.head(refusal))
        }
        await conversation.finish()
        return completeness
    }

    private func answer(
        _ repository: Repository, _ request: Request, _ query: RefQuery, _ files: LFSFiles?,
        _ emit: Emit
    ) async throws(FetchError) -> Completeness {
        let address = repository.address
        let wantsItems = request.wantsItems
        if address.isOfContents { try await repository.greet() }
        switch address.question.kind {
        case .tar: return try await TarReader(repository, files: files).read(emit)
        case .log: return try await LogReader(repository, wantsItems: wantsItems).read(emit)
        case .describe: try await DescribeReader(repository).read(emit)
        case .difference: try await DifferenceReader(repository, request).read(emit)
        case .object: try await ContentReader(repository).readObject(emit)
        case .content where address.isOfContents:
            try await ContentReader(repository, known: request.validator?.text).read(emit)
        case .content, .references:
            try await ReferenceReader(repository, query, wantsItems: wantsItems).read(emit)
        }
        return .complete
    }
}
