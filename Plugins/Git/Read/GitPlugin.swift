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
        if address.isOfContents && !query.isEmpty {
            throw usageError("a path in the repository where references are wanted")
        }
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
        var hasHead = false
        var completeness = Completeness.complete
        do throws(FetchError) {
            completeness = try await read(address, request, query, conversation, files) {
                event async throws(FetchError) in
                if case .head = event { hasHead = true }
                try await emit(event)
            }
        } catch {
            guard let refusal = conversation.refusal, !hasHead, error.outcome != .interrupted
            else { throw error }
            try await emit(.head(refusal))
        }
        await conversation.finish()
        return completeness
    }

    /// Answers a URL that asks for more than the references.
    private func answer(
        _ repository: Repository, _ request: Request, _ files: LFSFiles?, _ emit: Emit
    ) async throws(FetchError) -> Completeness {
        let address = repository.address
        switch address.question {
        case .tar(let question):
            return try await TarReader(repository, question, files: files).read(emit)
        case .log(let question):
            return try await LogReader(repository, question, wantsItems: request.wantsItems)
                .read(emit)
        case .describe(let question): try await DescribeReader(repository, question).read(emit)
        case .difference(let question):
            try await DifferenceReader(repository, question, request).read(emit)
        case .object(let name): try await ContentReader(repository).readObject(name, emit)
        case .content, .references:
            try await ContentReader(repository, known: request.validator?.text)
                .read(address.path ?? [], emit)
        }
        return .complete
    }

    private func give(
        _ refs: [Ref], of address: GitAddress, _ lines: [UInt8], _ emit: Emit
    ) async throws(FetchError) {
        for ref in refs {
            if ref.name == "HEAD", let branch = ref.symref {
                try await emit(.facts(["git": .object(["head": .text(branch)])]))
            }
            var item = ref.item
            item.url = address.url(ofVersion: ref.name)
            try await emit(.item(item))
        }
        try await emit(.body(lines[...]))
    }

    private func read(
        _ address: GitAddress, _ request: Request, _ query: RefQuery,
        _ conversation: any GitConversation, _ files: LFSFiles?, _ emit: Emit
    ) async throws(FetchError) -> Completeness {
        var server = Advertisement()
        // Before version 2 the greeting is the list: it is passed on as it comes.
        var list: RefList?
        var listed = VersionNames()
        let candidates = address.versions.flatMap { Repository.candidates($0 ?? "HEAD") }
        var overhead = overhead
        let showsDates =
            query.showsDates || address.question == .references(withDates: true)
        var dated: [Ref] = []
        func deliver() async throws(FetchError) {
            guard let (lines, refs) = list?.take(), !lines.isEmpty else { return }
            overhead = self.overhead
            // Dates are requested when all references are known.
            guard !showsDates else { return dated += refs }
            try await give(refs, of: address, lines, emit)
        }
        func begin() async throws(FetchError) {
            guard !address.isOfContents && list == nil else { return }
            list = RefList(query, wantsRefs: request.wantsItems || showsDates, server)
            try await emit(.head(server.listHead(name: "refs")))
        }
        // The same requests for all output formats, so that a recording answers each of them.
        try await conversation.greet(2) { decoder async throws(FetchError) in
            while let packet = try conversation.next(&decoder) {
                try overhead.add(packet)
                switch try server.take(packet) {
                case .more: break
                case .end: return true
                case .ref(let line) where address.isOfContents:
                    let ref = try RefLine(plain: line, server.format)
                    // Not the target of a tag: a server may refuse objects that it has not listed.
                    let name = String(decoding: ref.name, as: UTF8.self)
                    let isWanted =
                        candidates.contains(name)
                        || address.needsTags && name.hasPrefix(Tag.prefix)
                        || address.needsTags && name.hasSuffix("^{}")
                    if isWanted, let oid = ref.oid {
                        listed.wanted[name] = ObjectID(hex: oid)
                    } else if address.isOfContents {
                        listed.add(name)
                    }
                case .ref(let line):
                    try await begin()
                    try list?.add(plain: line)
                }
            }
            try await deliver()
            return false
        }
        if address.isOfContents {
            let repository = Repository(
                conversation, server, address, cache, request.limits, overhead, listed)
            return try await answer(repository, request, files, emit)
        }
        try await begin()
        if server.version == 2 {
            let prefixes = RefList.prefixes(query)
            let command = try RefList.request(prefixes: prefixes, symrefs: true, server)
            try await conversation.exchange(command) { decoder async throws(FetchError) in
                while let packet = try conversation.next(&decoder) {
                    guard let text = packet.text else { return true }
                    try overhead.add(packet)
                    try list?.add(attributed: text)
                }
                try await deliver()
                return false
            }
        }
        list?.finish()
        try await deliver()
        if showsDates {
            let repository = Repository(
                conversation, server, address, cache, request.limits, overhead, listed)
            try await DatedRefs(repository).write(dated, wantsItems: request.wantsItems, emit)
        }
        return .complete
    }
}
