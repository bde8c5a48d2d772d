// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb
internal import SmallWebTransport

extension Command {
    static let explain = Command(
        name: "explain", synopsis: "explain URL…",
        summary: "what a fetch would do, without doing it",
        manual: "Says for each URL what 'smallweb get' with the same options would do: the plugin, "
            + "the addresses in the order in which they are tried, proxy, trust, identity, "
            + "redirects, the place for the body, and the exact bytes of the first request, with "
            + "secrets as ***. No connection is made and no file is written; only the name is "
            + "resolved. What goes over TLS is shown as it is before it is encrypted, HTTP as "
            + "version 1.1 has it. For a titan URL, --data is the upload.",
        examples: [
            ("smallweb explain gemini://geminiprotocol.net/", "What get would do"),
            (
                "smallweb explain -O -H 'Accept: text/html' https://example.org/a",
                "The same with options of get"
            ),
        ],
        visits: false,
        takes: {
            $0.group != .bulk && get.takes($0) || $0.isForUploads
        }
    ) { settings, operands throws(FetchError) in
        var settings = settings
        // Never prompts.
        settings.promptsAllowed = false
        return try ExplainCommand(settings: settings, urls: operands).run()
    }
}

/// `smallweb explain URL…`.
struct ExplainCommand: Sendable {
    let settings: Settings
    let urls: [String]

    /// - Returns: The exit status with which the first fetch that cannot begin would end.
    func run() throws(FetchError) -> Int32 {
        guard !urls.isEmpty else {
            throw usageError("no URL", hint: "smallweb explain gemini://geminiprotocol.net/")
        }
        // The same run that get would begin.
        let get = GetCommand(settings: settings, operands: urls)
        try get.check()
        let loop = try EventLoop()
        let context = RunContext(
            settings: get.settings, fetcher: try get.fetcher(loop), loop: loop,
            messages: Messages(settings: settings), headers: nil, ledger: nil)
        let result = loop.runToCompletion { await explainAll(context) }
        return try result.get()
    }

    private func explainAll(_ context: RunContext) async -> Result<Int32, FetchError> {
        var status: Int32 = 0
        var isFirst = true
        for (n, url) in urls.enumerated() {
            var order = Order(operand: url)
            order.n = n
            var (explanation, problem) = (Explanation?.none, order.problem)
            do throws(FetchError) {
                if problem == nil { (explanation, problem) = try await explain(order, context) }
            } catch {
                problem = error
            }
            if let problem { context.messages.error(order.url, problem) }
            var bytes: [UInt8] = []
            if let explanation {
                bytes =
                    settings.writesJSON
                    ? JSONWriter.line { $0.members(of: explanation) }
                    : Array(((isFirst ? "" : "\n") + explanation.text).utf8)
                isFirst = false
            } else if let problem, settings.writesJSON {
                bytes = Recorder.refusal(order, problem, settings)
            }
            do throws(FetchError) {
                try StandardStream.output.write(bytes[...], isWhole: true)
            } catch {
                return .failure(error)
            }
            if status == 0, let problem { status = problem.outcome.exitStatus }
        }
        return .success(status)
    }

    /// - Returns: The explanation, and why the fetch could not begin all the same.
    private func explain(
        _ order: Order, _ run: RunContext
    ) async throws(FetchError) -> (Explanation, FetchError?) {
        let context = try uploading(order, try run.configured(for: order))
        let settings = context.settings
        let parsed = try context.fetcher.request(order.url ?? "")
        let one = OneURL(
            order, .success(parsed),
            destination: BodySink.Destination(order, settings), context: context)
        let request = try one.firstRequest()
        let rehearsal = try await context.fetcher.rehearse(request)
        guard let entry = context.fetcher.registry[request.scheme.name] else {
            preconditionFailure("a request is made from a registry entry")
        }
        var explanation = Explanation(
            url: request.uri.display, scheme: request.scheme, plugin: OneURL.name(entry))
        explanation.request = rehearsal.request
        explanation.requestBytes = rehearsal.requestBytes
        explanation.endpoint = rehearsal.endpoint
        explanation.redirects = context.fetcher.options.redirects
        explanation.output = Self.output(one.destination, rehearsal.head, request.uri, settings)
        guard let endpoint = rehearsal.endpoint else { return (explanation, nil) }
        if request.scheme.dialsForItself { explanation.note(settings.connection, for: endpoint) }
        if endpoint.security == .tls {
            explanation.trust = try Self.trust(settings, endpoint, request.scheme)
            explanation.identity = try Self.identity(settings, request)
        }
        guard explanation.detour == nil else { return (explanation, nil) }
        do throws(FetchError) {
            explanation.addresses = try await context.fetcher.addresses(
                of: endpoint, limits: request.limits)
            return (explanation, nil)
        } catch {
            return (explanation, error)
        }
    }

    /// With the upload of `put`, for a scheme that has no other use.
    private func uploading(
        _ order: Order, _ context: RunContext
    ) throws(FetchError) -> RunContext {
        let name = order.url.flatMap(URI.scheme) ?? ""
        guard let scheme = context.fetcher.registry[name]?.scheme,
            scheme.uploads?.isOnlyUse ?? false
        else { return context }
        var settings = context.settings
        settings.upload = try PutCommand.upload(bytes: settings.input ?? [], to: scheme)
        try PutCommand.readSecrets(of: context.settings, into: &settings.requestOptions)
        settings.input = nil
        return RunContext(context, settings: settings, fetcher: context.fetcher)
    }

    private static func output(
        _ destination: BodySink.Destination, _ head: Head?, _ uri: URI, _ settings: Settings
    ) -> String {
        switch destination {
        case .standardOutput, .rawStandardOutput: return "standard output"
        case .nowhere:
            let isInRecord = settings.writesJSON && settings.bodyForm != .none
            return isInRecord && !settings.wantsHeadAlone ? "the record" : "nowhere"
        case .file(let path): return path
        case .remoteName(let directory):
            var parts = directory.map { [$0] } ?? []
            if settings.keepsTree { parts += FileName.tree(for: uri) }
            let path = (parts + [FileName.name(for: uri, head: head)]).joined(separator: "/")
            return access(path, F_OK) == 0 ? "\(path), with a number: it exists" : path
        }
    }

    private static func trust(
        _ settings: Settings, _ endpoint: Endpoint, _ scheme: Scheme
    ) throws(FetchError) -> Explanation.Trust {
        if settings.skipsTrust { return .init(policy: "none") }
        if let pin = settings.connection.pin {
            return .init(policy: "pin", key: "sha256:" + pin.hex)
        }
        var trust = Explanation.Trust(policy: settings.trust ?? scheme.trust.rawValue)
        guard trust.policy != "ca" else { return trust }
        let pin = try settings.trustStore().hosts().pins(of: endpoint.description).last
        trust.isKnown = pin != nil
        trust.key = pin.map { "\($0.algorithm.rawValue):\($0.key)" }
        trust.firstSeen = pin?.first
        trust.expires = pin?.expires
        return trust
    }

    private static func identity(
        _ settings: Settings, _ request: Request
    ) throws(FetchError) -> String? {
        guard request.scheme.identityScheme != nil else { return nil }
        if let name = settings.identityName ?? settings.certificateFile { return name }
        return try (try? IdentityStore())?.bindings().name(for: request.uri)
    }
}
