// SPDX-License-Identifier: MIT
internal import CSmallWebCurl
internal import Glibc
public import SmallWebCore

/// The HTTP engine: libcurl on our event loop, under our limits.
public struct CurlClient: HTTPClient {
    private let loop: EventLoop
    private let multi: CurlMulti
    private let settings: HTTPSettings
    private let resolver: Resolver
    /// End of the whole fetch.
    private let deadline: Deadline
    private let emit: Emit

    /// - Throws: `not-built-in` when libcurl is not installed.
    public init(
        loop: EventLoop, settings: HTTPSettings, resolver: Resolver, deadline: Deadline,
        emit: @escaping Emit
    ) throws(FetchError) {
        self.loop = loop
        self.settings = settings
        self.resolver = resolver
        self.deadline = deadline
        self.emit = emit
        multi = try loop.curl()
    }

    /// What this machine's libcurl can fetch.
    public static func protocols() throws(FetchError) -> [String] {
        try CurlLibrary.shared().protocols
    }

    public func exchange(
        _ request: HTTPRequest,
        onReply: (HTTPReply) async throws(FetchError) -> Void,
        onBody: (ArraySlice<UInt8>) async throws(FetchError) -> Void
    ) async throws(FetchError) -> Completeness {
        guard let host = request.uri.host else {
            throw FetchError(.badURL, .input, "no host in the URL")
        }
        let isTLS = request.uri.scheme.hasSuffix("s")
        let endpoint = Endpoint(
            host: host, port: request.uri.port ?? (isTLS ? 443 : 80),
            security: isTLS ? .tls : .none)
        let verdict: TrustFacts.Verdict =
            settings.pin != nil ? .pinned : settings.skipsTrust ? .skipped : .ca
        let transfer = try CurlTransfer(
            endpoint: endpoint, upload: request.options.body, trust: verdict,
            multi: multi, loop: loop)
        configure(transfer, request, endpoint)
        try await emit(.connecting(endpoint, address: settings.proxy ?? endpoint.description))
        multi.add(transfer)
        defer { multi.remove(transfer) }

        var isAnnounced = false
        while true {
            if transfer.hasReply && !isAnnounced {
                isAnnounced = true
                if let connection = transfer.connection { try await emit(.connected(connection)) }
                if !transfer.sent.isEmpty { try await emit(.sent(transfer.sent)) }
                try await onReply(transfer.reply)
            }
            if try await transfer.deliver(onBody) {
                // As for sockets: a fast peer must not keep the loop from everybody else.
                guard Deadline.now < deadline else { throw Self.timeout }
                if Task.isCancelled { throw .cancelled }
                continue
            }
            if transfer.result != nil { break }
            let silence =
                isAnnounced ? request.limits.idleSeconds : Self.firstByteSeconds(request.limits)
            switch await transfer.wait(by: min(deadline, .after(seconds: silence))) {
            case .ready: continue
            case .cancelled: throw .cancelled
            case .timedOut: throw Self.timeout
            }
        }
        if let error = transfer.error() {
            // What came before the end stays: the body is cut off, not absent.
            guard isAnnounced, error.outcome == .truncated else { throw error }
            return .truncated
        }
        if !isAnnounced { try await onReply(transfer.reply) }
        return Self.completeness(transfer.reply, method: request.options.method)
    }

    /// libcurl watches the connect timeout itself; silence counts from there on.
    private static func firstByteSeconds(_ limits: Limits) -> Double {
        limits.idleSeconds > 0 && limits.connectSeconds > 0
            ? limits.idleSeconds + limits.connectSeconds : 0
    }

    private static let timeout = FetchError(
        .timeout, .body, "the server was silent for too long",
        hint: "allow more time with --read-timeout or --max-time")

    /// libcurl has checked lengths and chunks; a reply without either ends where the server closes.
    private static func completeness(_ reply: HTTPReply, method: String?) -> Completeness {
        let hasNoBody = method == "HEAD" || reply.status == 204 || reply.status == 304
        let isFramed =
            reply.version.hasPrefix("2") || reply.version.hasPrefix("3")
            || reply["content-length"] != nil
            || reply["transfer-encoding"]?.lowercased().contains("chunked") == true
        return hasNoBody || isFramed ? .complete : .unverified
    }

    private func configure(
        _ transfer: CurlTransfer, _ request: HTTPRequest, _ endpoint: Endpoint
    ) {
        var uri = request.uri.withoutFragment
        if uri.path.isEmpty { uri.path = "/" }
        transfer.set(CURLOPT_URL, uri.description)
        // Nothing that a server says can make libcurl speak another protocol.
        let isHTTP = uri.scheme == "http" || uri.scheme == "https"
        let schemes = isHTTP ? "http,https" : uri.scheme
        transfer.set(CURLOPT_PROTOCOLS_STR, schemes)
        transfer.set(CURLOPT_REDIR_PROTOCOLS_STR, schemes)
        transfer.set(CURLOPT_NOSIGNAL, 1)
        // Paths are normalised by us, or not at all; redirects are ours too.
        transfer.set(CURLOPT_PATH_AS_IS, 1)
        transfer.set(CURLOPT_FOLLOWLOCATION, 0)
        // Just small enough for malloc not to ask the kernel for it at every transfer.
        transfer.set(CURLOPT_BUFFERSIZE, 102_400)
        transfer.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        transfer.set(CURLOPT_PIPEWAIT, 1)
        transfer.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
        if request.limits.connectSeconds > 0 {
            let milliseconds = max(1, Int(request.limits.connectSeconds * 1000))
            transfer.set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds)
        }
        if settings.reportsRequests { transfer.set(CURLOPT_VERBOSE, 1) }
        configureRequest(transfer, request)
        configureConnection(transfer)
        configureTrust(transfer)
    }

    private func configureRequest(_ transfer: CurlTransfer, _ request: HTTPRequest) {
        let options = request.options
        transfer.set(CURLOPT_USERAGENT, settings.userAgent)
        switch options.method {
        case "HEAD": transfer.set(CURLOPT_NOBODY, 1)
        case let method?: transfer.set(CURLOPT_CUSTOMREQUEST, method)
        case nil: break
        }
        // libcurl waits a second for a 100 that few servers send.
        let expect = options.body == nil ? [] : ["Expect:"]
        transfer.set(
            CURLOPT_HTTPHEADER,
            list: expect
                + options.fields.map {
                    // libcurl sends a field without a value only when it ends with a semicolon.
                    $0.value.isEmpty ? "\($0.name):" : "\($0.name): \($0.value)"
                })
        if let offset = options.resumeOffset {
            transfer.set(CURLOPT_RANGE, "\(offset)-")
        } else if !request.wantsRawBody {
            transfer.set(CURLOPT_ACCEPT_ENCODING, "")
        }
    }

    private func configureConnection(_ transfer: CurlTransfer) {
        if let proxy = settings.proxy { transfer.set(CURLOPT_PROXY, proxy) }
        if let noProxy = settings.noProxy { transfer.set(CURLOPT_NOPROXY, noProxy) }
        if let path = settings.unixSocket { transfer.set(CURLOPT_UNIX_SOCKET_PATH, path) }
        transfer.set(CURLOPT_CONNECT_TO, list: settings.connectTo)
        transfer.set(
            CURLOPT_RESOLVE,
            list: resolver.overrides.map { place, addresses in
                let bracketed = addresses.map { $0.contains(":") ? "[\($0)]" : $0 }
                return "\(place):\(bracketed.joined(separator: ","))"
            })
        switch resolver.family {
        case .any: break
        case .v4: transfer.set(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_V4))
        case .v6: transfer.set(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_V6))
        }
    }

    private func configureTrust(_ transfer: CurlTransfer) {
        if settings.skipsTrust || settings.pin != nil {
            transfer.set(CURLOPT_SSL_VERIFYPEER, 0)
            transfer.set(CURLOPT_SSL_VERIFYHOST, 0)
        }
        if let pin = settings.pin {
            transfer.set(CURLOPT_PINNEDPUBLICKEY, "sha256//" + Base64.encode(pin))
        }
        if let file = settings.authorityFile { transfer.set(CURLOPT_CAINFO, file) }
        if let directory = settings.authorityDirectory { transfer.set(CURLOPT_CAPATH, directory) }
    }
}
