// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
package import SmallWebCore
package import SmallWebTransport

/// The engine behind ``Client`` and the command line: runs requests through the registry's
/// handlers, follows redirects and keeps every limit. A fetch runs on the event loop, ends when its
/// task is cancelled, and leaks nothing.
package final class Fetcher: Sendable {
    package struct Options: Sendable {
        package var resolver = Resolver()
        package var trustStore: TrustStore
        package var identities = Identities()
        package var redirects = RedirectPolicy()
        package var http = HTTPSettings()
        package var proxies = ProxySettings()
        /// Schemes that may be fetched; `nil` for all of the registry.
        package var allowedSchemes: Set<String>?
        /// Decides first if a redirect is followed that the policy allows, on the loop; `nil` for
        /// all.
        var opens: (@Sendable (Ending.Redirect) async -> Bool)?
        /// Decides then, as a closure of others; `nil` for all.
        var mayFollow: (@Sendable (Ending.Redirect) async -> Bool)?
        /// Answers a prompt, as a closure of others; `nil` for none.
        var answer: (@Sendable (Ending) async -> String?)?
        package var network = Network.live
        /// Judges each hop by robots files; `nil` to ask for none.
        package var robots: RobotsGate?
        /// Trust store, HTTP settings and proxies for a URI that a redirect leads to, where rules
        /// differ by place; `nil` when the same hold everywhere.
        package var rulesAfterRedirect: Rules?
        package typealias Rules =
            @Sendable (URI) throws(FetchError) -> (TrustStore, HTTPSettings, ProxySettings)

        package init(trustStore: TrustStore) { self.trustStore = trustStore }
    }

    package let registry: Registry
    package let options: Options
    package let loop: EventLoop
    let sessions: TLSSessionCache
    /// Keeps the loop's thread running, where the loop has one of its own.
    let thread: LoopThread?

    package convenience init(registry: Registry, options: Options, loop: EventLoop) {
        self.init(registry: registry, options: options, loop: loop, thread: nil)
    }

    convenience init(registry: Registry, options: Options, thread: LoopThread) {
        self.init(registry: registry, options: options, loop: thread.loop, thread: thread)
    }

    private init(
        registry: Registry, options: Options, loop: EventLoop, thread: LoopThread?,
        sessions: TLSSessionCache = TLSSessionCache()
    ) {
        self.sessions = sessions
        self.registry = registry
        self.options = options
        self.loop = loop
        self.thread = thread
    }

    func way(
        for scheme: Scheme, to endpoint: Endpoint
    ) throws(FetchError) -> ProxySettings.Choice {
        // A Unix socket replaces the network, and so all proxies.
        guard !scheme.dialsForItself || options.http.unixSocket == nil else {
            return .init(route: .direct, reason: nil)
        }
        return try options.proxies.choice(for: scheme, to: endpoint)
    }

    /// A copy on another loop, with TLS sessions of its own.
    package func moved(to loop: EventLoop) -> Fetcher {
        Fetcher(registry: registry, options: options, loop: loop)
    }

    /// A copy with other options, and TLS sessions of its own.
    package func changed(_ change: (inout Options) -> Void) -> Fetcher {
        var options = options
        change(&options)
        return Fetcher(registry: registry, options: options, loop: loop, thread: thread)
    }

    /// A copy that reports the requests of HTTP as events, too.
    var reportingRequests: Fetcher {
        var options = options
        options.http.reportsRequests = true
        return Fetcher(
            registry: registry, options: options, loop: loop, thread: thread, sessions: sessions)
    }

    /// A copy with the rules for `uri`, the target of a redirect.
    func afterRedirect(to uri: URI) throws(FetchError) -> Fetcher {
        guard let rules = try options.rulesAfterRedirect?(uri) else { return self }
        return changed { ($0.trustStore, $0.http, $0.proxies) = rules }
    }

    /// A request for `url`, ready to be given limits and input.
    ///
    /// - Parameter url: A URI or IRI in full; an international host becomes its A-labels.
    /// - Throws: `bad-url`, `unsupported-scheme`, `not-built-in`.
    package func request(_ url: String) throws(FetchError) -> Request {
        let name = URI.scheme(of: url)
        let entry = name.flatMap { registry[$0] }
        let uri: URI
        do throws(FetchError) {
            uri = try Self.uri(of: url, entry)
        } catch {
            // A scheme without a plugin may have URLs of another form.
            guard let name, entry == nil else { throw error }
            throw unsupported(name)
        }
        return try request(uri, entry)
    }

    /// Parses a URL by the rules of its scheme.
    func uri(of url: String) throws(FetchError) -> URI {
        try Self.uri(of: url, URI.scheme(of: url).flatMap { registry[$0] })
    }

    private static func uri(of url: String, _ entry: Registry.Entry?) throws(FetchError) -> URI {
        // Most schemes have no rules of their own for that.
        guard let entry, entry.scheme.hostForm != .required, entry.scheme.isVerbatim(url)
        else { return try URI(parsing: url) }
        return try URI(verbatim: url)
    }

    private func unsupported(_ scheme: String) -> FetchError {
        if Reach.isFile(scheme + ":") { return Reach.noFile }
        if let problem = registry.problem(of: scheme) { return problem }
        var error = FetchError(
            .unsupportedScheme, .input, "no plugin handles the scheme \"\(scheme)\"",
            remedy: .useKnownScheme)
        error.hint = Nearest.name(to: scheme, among: registry.schemes.map(\.name)).map {
            "did you mean \($0)://?"
        }
        return error
    }

    /// A request for a URI whose host is ASCII.
    package func request(_ uri: URI) throws(FetchError) -> Request {
        try request(uri, registry[uri.scheme])
    }

    private func request(_ uri: URI, _ entry: Registry.Entry?) throws(FetchError) -> Request {
        guard let entry else { throw unsupported(uri.scheme) }
        try allow(uri.scheme)
        let ascii = try uri.withASCIIHost()
        return Request(
            uri: entry.keepsDotSegments ? ascii : ascii.removingDotSegments(),
            scheme: entry.scheme)
    }

    private func allow(_ scheme: String) throws(FetchError) {
        guard let allowed = options.allowedSchemes, !allowed.contains(scheme) else { return }
        throw FetchError(
            .unsupportedScheme, .input, "the scheme \"\(scheme)\" is not allowed",
            remedy: .allowScheme)
    }

    /// Makes sure that a request may be sent as it is, with its upload at the start.
    ///
    /// - Throws: `usage` for a part that its scheme does not have; `unsupported-scheme`; `read` for
    ///   an upload that cannot be read again.
    func check(_ request: inout Request) throws(FetchError) {
        let scheme = request.uri.scheme
        guard let entry = registry[scheme] else { throw unsupported(scheme) }
        try allow(scheme)
        try entry.check(request)
        guard let upload = request.upload, let uploads = entry.scheme.uploads else { return }
        request.upload = try upload.begun(uploads.mediaType)
    }

    /// A request to a place that the user has not named: as after a redirect from another origin.
    package func withoutSecrets(_ request: Request) -> Request {
        guard !request.options.isEmpty || request.input != nil,
            let handler = registry[request.scheme.name]?.handler
        else { return request }
        return request.onward(
            to: request, with: handler.carried(from: request, status: nil, isSameOrigin: false))
    }

    /// The request for a URL that a page has named in its place, and the fetcher for it, by the
    /// rules of a redirect.
    ///
    /// - Parameter connection: The page's.
    /// - Throws: `redirect-refused`, and what ``request(_:)`` throws.
    package func onward(
        from request: Request, _ connection: Connection?, to uri: URI
    ) throws(FetchError) -> (fetcher: Fetcher, request: Request) {
        let next = try self.request(uri)
        let other = try afterRedirect(to: next.uri)
        let isAllowed =
            options.redirects.follows
            && options.redirects.allows(from: request.scheme, to: uri.scheme)
            && (next.isSameOrigin(as: request) || isForAll(request))
        do throws(FetchError) {
            guard isAllowed else { throw .redirect("") }
            _ = try checkWay(from: request, to: next, by: other)
        } catch  where error.outcome == .redirectRefused {
            throw FetchError(
                .redirectRefused, .body, "the page's feed is at another place: \(uri.display)",
                remedy: .fetchAlone)
        }
        // Nothing is left out: it is for all, or for the same place.
        let carried = Request.Carried(request.options)
        return (other.onward(from: connection), request.onward(to: next, with: carried))
    }

    /// True if another place may get a request as it is: neither it nor the client certificate
    /// chosen for it is for its own place alone.
    package func isForAll(_ request: Request) -> Bool {
        let onward = withoutSecrets(request)
        return options.identities.chosen == nil && request.uri.userinfo == nil
            && request.upload == nil && onward.input == request.input
            && onward.options == request.options
    }

    /// Runs a fetch, redirects included, and passes its events to `emit` as they happen.
    ///
    /// - Parameter emit: Returns when it has taken the event; while it does not, nothing more is
    ///   read from the network. It runs on the event loop and must not block it for long.
    /// - Returns: The result of a fetch with a reply, even if that is a refusal by the server.
    /// - Throws: The reason for a missing reply, or for a failed delivery.
    //
    // `@concurrent` is load-bearing: entered from the main actor, the body would run on the shared
    // pool instead of the loop.
    @concurrent
    package func run(
        _ request: Request, emit: @escaping @Sendable (Event) async throws(FetchError) -> Void
    ) async throws(FetchError) -> Ending {
        try await withTaskExecutorPreference(loop) { () async throws(FetchError) in
            // Swift 6.3.1 drops the hop to the loop from some closures that do nothing but await;
            // this line keeps it here whatever becomes of the next one.
            precondition(loop.isCurrent)
            let log = FetchLog(request.uri)
            var fetch = Fetch(self, request, log, emit: emit)
            do throws(FetchError) {
                return try await fetch.run()
            } catch {
                guard let refusal = log.refusal(error) else { throw error }
                if let head = refusal.head { try await emit(.head(head)) }
                return refusal
            }
        }
    }
}

extension Fetcher.Options {
    /// Leaves out what the user chose for the places of URLs given: a page that a program opens
    /// shows no identity, and takes only the URL's own route.
    mutating func leaveOutWhatIsForTheUser() {
        identities = Identities()
        answer = nil
        (http.unixSocket, http.connectTo) = (nil, [])
        guard let rules = rulesAfterRedirect else { return }
        rulesAfterRedirect = { uri throws(FetchError) in
            var (store, http, proxies) = try rules(uri)
            (http.unixSocket, http.connectTo) = (nil, [])
            return (store, http, proxies)
        }
    }
}

extension URI {
    /// A copy with A-labels for an international host, as DNS, SNI, certificates, the trust store
    /// and request lines need it.
    ///
    /// - Throws: `bad-url` when the name is not allowed, `not-built-in` without libidn2.
    package func withASCIIHost() throws(FetchError) -> URI {
        guard let host = self.host, !InternationalHostName.isASCII(host) else { return self }
        // The mapping turns look-alikes such as U+FF0F into delimiters: checked again.
        return try replacingHost(InternationalHostName.toASCII(host))
    }

    /// ``display(_:)``, with the A-labels of an international host, whose letters may look like
    /// another name's.
    package static func shown(_ text: String) -> String {
        let shown = display(text)
        guard !InternationalHostName.isASCII(text), let uri = try? URI(parsing: text),
            let host = uri.host, let ascii = try? uri.withASCIIHost().host, ascii != host
        else { return shown }
        return "\(shown) (\(ascii))"
    }
}

/// Converts international host names to A-labels (UTS #46, non-transitional) with libidn2, which is
/// opened on first use.
package enum InternationalHostName {
    /// `IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL` of idn2.h.
    private static let flags: Int32 = 1 | 8

    fileprivate static func isASCII(_ host: String) -> Bool { host.utf8.allSatisfy { $0 < 0x80 } }

    /// - Throws: `bad-url` when the name is not allowed, `not-built-in` without libidn2.
    package static func toASCII(_ host: String) throws(FetchError) -> String {
        if isASCII(host) { return host }
        let convert = try loaded.get()
        var output: UnsafeMutablePointer<CChar>?
        let status = convert(host, &output, flags)
        defer { free(output) }
        guard status == 0, let output else {
            throw FetchError(
                .badURL, .input, "\"\(host)\" is not a valid international host name",
                hint: "check the spelling, or write the host as xn--…")
        }
        return String(cString: output).lowercased()
    }

    private static let loaded = Result { () throws(FetchError) -> swposix_idn2_to_ascii_8z in
        var symbol: UnsafeMutableRawPointer?
        try SystemLibrary.open(
            [["libidn2.so.0"]], RTLD_NOW | RTLD_LOCAL,
            for: "an international host name needs libidn2",
            in: "libidn2-0, or write the host as xn--…"
        ) {
            symbol = dlsym($0, "idn2_to_ascii_8z")
            return symbol == nil ? UnsafePointer(dlerror()) : nil
        }
        return unsafeBitCast(symbol, to: swposix_idn2_to_ascii_8z.self)
    }
}
