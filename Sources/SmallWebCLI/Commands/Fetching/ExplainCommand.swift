// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb
internal import SmallWebRecords

extension Command {
    static let explain = Command(
        "explain URL…", taker: .explain
    ) { settings, operands throws(FetchError) in
        var (settings, operands) = (settings, operands)
        // `explain put URL FILE`, and the same of get.
        if let word = operands.first, ["get", "put"].contains(word), operands.count > 1 {
            operands.removeFirst()
            if word == "put", operands.count == 2 {
                settings.fetch.input = .file(operands.removeLast())
            }
        }
        settings.fetch.promptsAllowed = false
        settings.fetch.secretsToAsk = []
        // The same run as in `get`.
        return try ExplainCommand(get: GetCommand(settings, operands)).run()
    }.with(\.visits, false).with(\.canUse) { _ in true }
}

private struct ExplainCommand: Sendable {
    let get: GetCommand

    /// - Returns: The exit status of the first fetch that could not begin.
    func run() throws(FetchError) -> Int32 {
        guard !get.operands.isEmpty else {
            throw usageError("no URL", hint: "smallweb explain gemini://geminiprotocol.net/")
        }
        if get.operands.contains(where: { $0.utf8.allSatisfy(ASCII.isDigit) }) {
            throw usageError(
                "explain wants a URL", hint: "'smallweb help exit-status' explains exit statuses")
        }
        try get.check()
        let (settings, loop) = (try get.settings.ready(), try EventLoop())
        let context = RunContext(settings, try settings.fetcher(loop))
        return try loop.runToEnd { () async throws(FetchError) in
            try await explainAll(context)
        }
    }

    private func explainAll(_ context: RunContext) async throws(FetchError) -> Int32 {
        var verdict = Verdict()
        var isFirst = true
        for (n, url) in get.operands.enumerated() {
            let asked = RequestLine(operand: url)
            asked.subject.n = n
            var (explanation, problem) = (Explanation?.none, asked.problem)
            do throws(FetchError) {
                if problem == nil { (explanation, problem) = try await explain(asked, context) }
            } catch {
                problem = error
            }
            if let problem { context.messages.error(asked.url, problem) }
            var bytes: [UInt8] = []
            if let explanation {
                bytes =
                    context.writesRecords
                    ? JSONWriter.line { $0.members(of: explanation) }
                    : Array(((isFirst ? "" : "\n") + explanation.text).utf8)
                isFirst = false
            } else if let problem {
                bytes = context.settings.refusal(of: asked.subject, problem) ?? []
            }
            try StandardStream.output.write(bytes[...], isWhole: true)
            if let problem { verdict.miss(.url(problem.outcome)) }
        }
        return verdict.status
    }

    /// - Returns: The explanation, and the error that would prevent the fetch.
    private func explain(
        _ asked: RequestLine, _ context: RunContext
    ) async throws(FetchError) -> (Explanation, FetchError?) {
        var plan = URLPlan(context.settings, to: .nowhere)
        let job = context.job(asked) {
            plan = $0
            return URLOutput(asked, $0, context)
        }
        let (settings, fetcher) = (plan.settings, job.fetcher)
        for note in plan.notes { context.messages.note(asked.url ?? "", note) }
        guard let made = job.request, job.problem == nil else { throw job.problem ?? .cancelled }
        let isUpload = made.scheme.uploads?.isOnlyUse ?? false
        var request = try plan.complete(
            made, for: asked, fetcher.registry, sendsInput: !isUpload)
        if isUpload {
            // As `put` sends it.
            let input = try settings.fetch.input?.read(within: settings.fetch.totalSeconds)
            let file: String? =
                if case .file(let name)? = get.settings.fetch.input { name } else { nil }
            request.upload = try PutCommand.upload(
                bytes: input ?? [], of: file, to: made.scheme, isRehearsal: true)
        }
        // The request for a robots file is not the one to show.
        let rehearsal = try await fetcher.changed { $0.robots = nil }.rehearse(request)
        guard let entry = fetcher.registry[request.scheme.name] else {
            preconditionFailure("a request is made from a registry entry")
        }
        var explanation = Explanation(
            asked: asked, url: request.uri.display, scheme: request.scheme,
            plugin: entry.pluginName)
        explanation.version = entry.handler.programVersion
        explanation.request = rehearsal.request
        explanation.requestBytes = rehearsal.requestBytes
        explanation.endpoint = rehearsal.endpoint
        explanation.origins = settings.origins.sorted { $0.key < $1.key }
        explanation.redirects = fetcher.options.redirects
        explanation.output = Self.output(plan, rehearsal.head, request.uri)
        guard let endpoint = rehearsal.endpoint else { return (explanation, nil) }
        if request.scheme.dialsForItself {
            explanation.note(settings.connection.http)
        }
        explanation.note(rehearsal.way)
        if let robots = settings.connection.robots {
            explanation.robots = .some(try await robots.rule(for: request, fetcher))
        }
        if endpoint.security == .tls {
            explanation.trust = try Self.trust(settings.connection, endpoint, request.scheme)
            explanation.identity = try Self.identity(settings.connection, request, fetcher.registry)
        }
        guard explanation.detour == nil else { return (explanation, nil) }
        do throws(FetchError) {
            explanation.addresses = try await fetcher.addresses(
                of: endpoint, limits: request.limits)
            return (explanation, nil)
        } catch {
            return (explanation, error)
        }
    }

    private static func output(_ plan: URLPlan, _ head: Head?, _ uri: URI) -> String {
        switch plan.destination {
        case .standardOutput, .rawStandardOutput: return "standard output"
        case .nowhere: return plan.recordsBody ? "the record" : "nowhere"
        case .file, .remoteName:
            guard let path = plan.path(of: uri, head: head) else {
                let place = try? plan.place(of: uri, makes: false)
                return "a file that the reply names" + (place.map { " in \($0)" } ?? "")
            }
            guard access(path, F_OK) == 0 else { return path }
            let existing = plan.settings.output.existing
            let takesOtherName =
                existing == .kept
                || existing == .asNamed && plan.destination.takesFreeName
                    && !plan.continuesFile(of: uri)
            return plan.isEnough(path, of: uri)
                ? "\(path), which exists: nothing is fetched"
                : takesOtherName ? "\(path), with a number: it exists" : path
        }
    }

    private static func trust(
        _ settings: ConnectionSettings, _ endpoint: Endpoint, _ scheme: Scheme
    ) throws(FetchError) -> Explanation.Trust {
        if settings.skipsTrust { return .init(policy: "none") }
        if let pin = settings.pin {
            return .init(policy: "pin", key: "sha256:" + pin.hex)
        }
        var trust = Explanation.Trust(policy: settings.trust ?? scheme.trust.rawValue)
        guard trust.policy != "ca" else { return trust }
        let pin = try TrustStore(path: settings.knownHosts(), policy: .tofu)
            .pins(of: endpoint.description).last
        trust.isKnown = pin != nil
        trust.key = pin.map { "\($0.algorithm.rawValue):\($0.key)" }
        trust.firstSeen = pin?.first
        trust.expires = pin?.expires
        return trust
    }

    private static func identity(
        _ settings: ConnectionSettings, _ request: Request, _ registry: Registry
    ) throws(FetchError) -> String? {
        guard request.scheme.identityScheme != nil else { return nil }
        if let name = settings.identityName ?? settings.certificateFile { return name }
        return try (try? IdentityStore(registry))?.bindings().name(for: request.uri)
    }
}
