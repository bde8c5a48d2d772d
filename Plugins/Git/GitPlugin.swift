// SPDX-License-Identifier: MIT
public import SmallWebCore
internal import SmallWebHTTP

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
            $0.webPathMark = Self.pathMark
        },
        Scheme(
            "git+https", plugin: "git", port: 443, transport: .own,
            summary: "Git over smart HTTP and TLS"
        ) {
            Self.shared(&$0)
            $0.trust = .ca
            $0.identityScheme = "https"
            $0.webScheme = "https"
            $0.webPathMark = Self.pathMark
        },
    ]

    /// Before a path in a repository that has the usual name.
    private static let pathMark = ".git//"

    private static func shared(_ scheme: inout Scheme) {
        scheme.pathForm = .opaque
        scheme.hasReferences = true
        scheme.messageSubtype = "x-git"
        scheme.factNames = ["git", "http"]
    }

    public var options: [Request.Option] {
        RefQuery.options
            + [HTTPOptions.header, HTTPOptions.userAgent, HTTPOptions.referer].map {
                $0.limited(to: ["git+http", "git+https"])
            }
    }

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
        if address.path != nil && !query.isEmpty {
            throw usageError("a path in the repository where references are wanted")
        }
        let conversation: any GitConversation
        if request.scheme.transport == .tcp {
            // Too long a path is found out before anybody is called.
            _ = try address.daemonRequest(2)
            conversation = DaemonConversation(
                try await dialer.dial(request.endpoint), address)
        } else {
            conversation = HTTPConversation(
                try dialer.httpClient(for: request.endpoint), request, address, overhead)
        }
        var hasHead = false
        do throws(FetchError) {
            try await read(address, request, query, conversation) {
                event async throws(FetchError) in
                if case .head = event { hasHead = true }
                try await emit(event)
            }
        } catch {
            guard let refusal = conversation.refusal, !hasHead else { throw error }
            try await emit(.head(refusal))
        }
        await conversation.finish()
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
        _ conversation: any GitConversation, _ emit: Emit
    ) async throws(FetchError) {
        var server = Advertisement()
        // Before version 2 the greeting is the list, which need not be held to be passed on.
        var list: RefList?
        var refs: [String: ObjectID] = [:]
        var others = VersionNames()
        let candidates = ContentReader.candidates(address.version ?? "HEAD")
        var overhead = overhead
        func deliver() async throws(FetchError) {
            guard let (lines, refs) = list?.take(), !lines.isEmpty else { return }
            overhead = self.overhead
            try await give(refs, of: address, lines, emit)
        }
        func begin() async throws(FetchError) {
            guard address.path == nil && list == nil else { return }
            list = RefList(query, wantsRefs: request.wantsItems, server)
            try await emit(.head(server.listHead(name: "refs")))
        }
        // A list of everything is there sooner the old way: it comes with the greeting, but for
        // what the names stand for.
        let wantsSymrefs = query.showsSymrefs || request.wantsItems
        let isWholeList =
            address.path == nil && RefList.prefixes(query).isEmpty && !wantsSymrefs
        try await conversation.greet(isWholeList ? 0 : 2) { decoder async throws(FetchError) in
            while let packet = try conversation.next(&decoder) {
                try overhead.add(packet)
                switch try server.take(packet) {
                case .more: break
                case .end: return true
                case .ref(let line) where address.path != nil:
                    let ref = try RefLine(plain: line, server.format)
                    // Not what a tag points to: a server may give out only what it has listed.
                    let name = String(decoding: ref.name, as: UTF8.self)
                    if candidates.contains(name), let oid = ref.oid {
                        refs[name] = ObjectID(hex: oid)
                    } else if address.version != nil {
                        others.add(name)
                    }
                case .ref(let line):
                    try await begin()
                    try list?.add(plain: line)
                }
            }
            try await deliver()
            return false
        }
        if let path = address.path {
            let reader = ContentReader(
                conversation, server, address, cache, request, overhead)
            return try await reader.read(path, refs: refs, others, emit)
        }
        try await begin()
        if server.version == 2 {
            let prefixes = RefList.prefixes(query)
            let command = try RefList.request(prefixes: prefixes, symrefs: wantsSymrefs, server)
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
    }
}
