// SPDX-License-Identifier: MIT
internal import CSmallWebCurl
internal import Glibc
package import SmallWebCore

/// The HTTP engine: libcurl on our event loop, under our limits.
package struct CurlClient: HTTPClient {
    let loop: EventLoop
    let multi: CurlMulti
    private let settings: HTTPSettings
    private let route: Route
    private let resolver: Resolver
    /// Deadline of the whole fetch.
    let deadline: Instant
    private let emit: Emit
    private let onEnd: (Ending.Traffic, [UInt8]) -> Void
    package var trust = Trust.authorities
    /// Client certificate for servers that ask for one.
    package var identity: ClientIdentity?
    /// True if the server's certificates are to be reported as sent.
    package var wantsChain = false

    package enum Trust: Sendable {
        case authorities
        /// SHA-256 of the public key that the server must have, 32 bytes.
        case pin([UInt8])
        /// Any key is accepted.
        case skip

        fileprivate var verdict: Connection.Trust {
            switch self {
            case .authorities: Connection.Trust(verdict: .ca, firstSeen: nil, policy: .ca)
            case .pin: Connection.Trust(verdict: .pinned, firstSeen: nil, policy: .pin)
            case .skip: Connection.Trust(verdict: .skipped, firstSeen: nil, policy: .skip)
            }
        }
    }

    /// - Parameter onEnd: Called after each exchange, also a failed one, with the traffic on the
    ///   wire, and with the request's header if the settings ask for it.
    /// - Throws: `not-built-in` when libcurl is not installed.
    package init(
        loop: EventLoop, settings: HTTPSettings, resolver: Resolver, route: Route,
        deadline: Instant, emit: @escaping Emit, onEnd: @escaping (Ending.Traffic, [UInt8]) -> Void
    ) throws(FetchError) {
        self.loop = loop
        self.settings = settings
        self.route = route
        self.resolver = resolver
        self.deadline = deadline
        self.emit = emit
        self.onEnd = onEnd
        multi = try loop.curl()
    }

    /// Schemes that this machine's libcurl can fetch.
    package static func protocols() throws(FetchError) -> [String] {
        try CurlLibrary.shared().protocols
    }

    package func exchange(
        _ request: HTTPRequest,
        onReply: (HTTPReply) async throws(FetchError) -> Void,
        onBody: (ArraySlice<UInt8>) async throws(FetchError) -> Void
    ) async throws(FetchError) -> Completeness {
        let endpoint = request.endpoint
        let transfer = try makeTransfer(request)
        defer {
            onEnd(transfer.traffic, transfer.sent)
            multi.remove(transfer)
        }
        transfer.wantsChain = wantsChain
        configure(transfer, request, endpoint)
        if endpoint.security == .tls, let identity {
            try show(identity, on: transfer)
        }
        try prepareWay(transfer, request)
        try await emit(.connecting(endpoint, address: route.name ?? endpoint.description))
        try multi.add(transfer)

        var isAnnounced = false
        var decoder = ContentDecoder()
        var silence = Silence(request.limits.idleSeconds)
        while true {
            if transfer.hasReply && !isAnnounced {
                isAnnounced = true
                try await announce(transfer)
                try checkAnswer(transfer.reply, request)
                decoder = ContentDecoder(transfer.reply, ofTransfer: true)
                try await onReply(transfer.reply)
                silence = Silence(request.limits.idleSeconds)
            }
            let hasMoved = try await transfer.deliver { bytes async throws(FetchError) in
                guard !decoder.isIdle else { return try await onBody(bytes) }
                try await decoder.decode(bytes, on: loop, by: deadline, onBody)
            }
            if hasMoved {
                silence = Silence(request.limits.idleSeconds)
                continue
            }
            if transfer.result != nil { break }
            switch await transfer.wait(by: min(deadline, silence.end)) {
            case .ready: continue
            case .cancelled: throw .cancelled
            case .timedOut:
                guard Instant.now < deadline, !isAnnounced, silence.extend(for: transfer)
                else { throw .silence(.body) }
            }
        }
        if let error = transfer.error() {
            // Bytes that arrived before the failure stay: the body is truncated, not absent.
            guard isAnnounced, error.outcome == .truncated else { throw error }
            return .truncated
        }
        if !isAnnounced {
            // libcurl reports a header that never ends as an empty reply.
            guard transfer.hasReply || transfer.reply.status == 0 else {
                throw FetchError(
                    .protocolError, .header, "the server closed within the reply's header")
            }
            try checkAnswer(transfer.reply, request)
            try await onReply(transfer.reply)
        }
        return decoder.isCutOff ? .truncated : Self.completeness(transfer.reply, request)
    }

    private func makeTransfer(_ request: HTTPRequest) throws(FetchError) -> CurlTransfer {
        _ = try LineFramer.frame(settings.userAgent.utf8)
        return try CurlTransfer(
            endpoint: request.endpoint, upload: request.options.body, trust: trust.verdict,
            multi: multi, loop: loop)
    }

    /// Emits the events of the connection and of the sent request.
    private func announce(_ transfer: CurlTransfer) async throws(FetchError) {
        if let connection = transfer.connection {
            try await emit(.connected(connection))
            for note in connection.notes + connection.remarks { try await emit(.note(note)) }
        }
        if !transfer.sent.isEmpty {
            let method = transfer.sent.prefix { $0 != ASCII.space }
            try await emit(.sent(transfer.sent, method: String(decoding: method, as: UTF8.self)))
        }
    }

    private struct Silence {
        private let seconds: Double?
        private var progressBytes = 0
        private(set) var end: Instant

        init(_ seconds: Double?) {
            self.seconds = seconds
            end = .end(of: seconds)
        }

        /// Extends the deadline if the transfer has made progress, before its reply; false if it
        /// has not. libcurl watches the connect timeout itself. Bytes that the server accepts count
        /// as much as bytes that it sends.
        mutating func extend(for transfer: CurlTransfer) -> Bool {
            let bytes = transfer.progressBytes
            defer { progressBytes = bytes }
            guard let began = transfer.requestBegan, bytes == progressBytes else {
                end = .end(of: seconds)
                return true
            }
            guard let seconds else { return true }
            let past = Instant.now.seconds(since: began)
            guard past < seconds else { return false }
            end = .after(seconds: seconds - past)
            return true
        }
    }

    /// libcurl has checked lengths and chunks; a reply without either ends where the server closes.
    package static func completeness(_ reply: HTTPReply, _ request: HTTPRequest) -> Completeness {
        let hasNoBody =
            request.options.method == "HEAD" || reply.status == 204 || reply.status == 304
        let isFramed =
            reply.version.hasPrefix("2") || reply.version.hasPrefix("3")
            || reply["content-length"] != nil
            || reply["transfer-encoding"]?.lowercased().contains(text: "chunked") == true
        return hasNoBody || isFramed ? .complete : .unverified
    }

    func configure(
        _ transfer: CurlTransfer, _ request: HTTPRequest, _ endpoint: Endpoint
    ) {
        var uri = request.uri.withoutFragment
        if uri.path.isEmpty { uri.path = "/" }
        transfer.set(CURLOPT_URL, uri.description)
        // No reply can make libcurl switch to another protocol.
        let isHTTP = uri.scheme == "http" || uri.scheme == "https"
        let schemes = isHTTP ? "http,https" : uri.scheme
        transfer.set(swcurl_redirect_protocols_option, schemes)
        if !transfer.set(swcurl_protocols_option, schemes) {
            // Before 7.85 there is only a bit mask; no other protocol in it is needed.
            transfer.set(CURLOPT_PROTOCOLS, Int(CURLPROTO_HTTP | CURLPROTO_HTTPS))
        }
        // A pending look-up must not block the loop when the fetch ends.
        transfer.set(swcurl_quick_exit_option, 1)
        transfer.set(CURLOPT_NOSIGNAL, 1)
        // Paths are normalised by us, or not at all; redirects are followed by us too.
        transfer.set(CURLOPT_PATH_AS_IS, 1)
        transfer.set(CURLOPT_FOLLOWLOCATION, 0)
        // With a little less, a piece from the loopback is read in two, which takes half as long
        // again. This is as much as may wait for the consumer; libcurl would copy more.
        transfer.set(CURLOPT_BUFFERSIZE, 65_000)
        // Keeps libcurl from passing on, and storing, the headers of a proxy's reply.
        transfer.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        // Only a connection over TLS can turn out to be HTTP/2 and carry several transfers.
        transfer.set(CURLOPT_PIPEWAIT, endpoint.security == .tls ? 1 : 0)
        transfer.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
        if let limit = request.limits.connectSeconds {
            // A tunnel has the same limit and a better message, so it times out first.
            let seconds = max(0.001, limit) + (route.isDirect ? 0 : 0.2)
            transfer.limitConnecting(milliseconds: Int(min(seconds * 1000, 1e9)))
        }
        if settings.reportsRequests { transfer.set(CURLOPT_VERBOSE, 1) }
        configureRequest(transfer, request)
        configureConnection(transfer, endpoint)
        configureTrust(transfer)
        if endpoint.security == .tls { transfer.returnsAfterEachRecord() }
    }

    private func configureRequest(_ transfer: CurlTransfer, _ request: HTTPRequest) {
        let options = request.options
        transfer.set(CURLOPT_USERAGENT, settings.userAgent)
        switch options.method {
        case "HEAD": transfer.set(CURLOPT_NOBODY, 1)
        case let method?: transfer.set(CURLOPT_CUSTOMREQUEST, method)
        case nil: break
        }
        var proxyFields: [String] = []
        if let proxy = forwardingProxy(request) {
            var uri = request.uri.withoutFragment
            uri.userinfo = nil
            if uri.path.isEmpty { uri.path = "/" }
            transfer.set(CURLOPT_REQUEST_TARGET, uri.description)
            transfer.proxyCredentials = proxy.credentials
            proxyFields = proxy.credentials.map { ["Proxy-Authorization: \($0.basic)"] } ?? []
        }
        // With an Expect field, libcurl waits a second for a 100 that few servers send.
        let expect = options.body == nil ? [] : ["Expect:"]
        transfer.set(
            CURLOPT_HTTPHEADER,
            list: expect + proxyFields
                + options.fields.map {
                    // libcurl sends a field without a value only when it ends with a semicolon.
                    $0.value.isEmpty ? "\($0.name):" : "\($0.name): \($0.value)"
                })
        if let offset = options.resumeOffset {
            transfer.set(CURLOPT_RANGE, "\(offset)-")
        } else if request.decodesBody {
            transfer.set(CURLOPT_ACCEPT_ENCODING, ContentDecoder.accepted)
        }
        // Nor does libcurl decode a coding that it did not ask for.
        transfer.set(CURLOPT_HTTP_CONTENT_DECODING, 0)
    }

    /// The HTTP proxy that gets the request itself, with the absolute URL, instead of a tunnel.
    private func forwardingProxy(_ request: HTTPRequest) -> Proxy? {
        guard case .proxy(let proxy) = route, !proxy.isSOCKS, request.uri.scheme == "http",
            request.endpoint.security == .none,
            // A request to another host than its URL's needs a tunnel, as with curl.
            settings.target(of: request.endpoint) == request.endpoint
        else { return nil }
        return proxy
    }

    /// - Throws: `proxy` for an answer that only the proxy can have sent.
    private func checkAnswer(
        _ reply: HTTPReply, _ request: HTTPRequest
    ) throws(FetchError) {
        guard reply.status == 407, let proxy = forwardingProxy(request) else { return }
        throw FetchError(
            .proxy, .proxy,
            "\(proxy): the proxy refused the request: 407 "
                + String(decoding: reply.reason, as: UTF8.self),
            remedy: .giveProxyCredentials)
    }

    /// - Throws: `connect` for a host that only its own proxy can reach; `refused-address`.
    private func prepareWay(
        _ transfer: CurlTransfer, _ request: HTTPRequest
    ) throws(FetchError) {
        let target = settings.target(of: request.endpoint)
        guard !route.isDirect else {
            guard settings.unixSocket == nil, resolver.override(of: target) == nil,
                let hidden = HiddenNetwork(host: target.host)
            else {
                // libcurl 8.23 takes an address of either family.
                if settings.unixSocket == nil { _ = try resolver.fixedAddresses(of: target) }
                guard resolver.refusesPrivate else { return }
                try resolver.check(unresolved: target.host)
                return transfer.refusePrivate(by: resolver)
            }
            throw hidden.error(target.host)
        }
        try resolver.check(unresolved: target.host)
        let gate = multi.gate(
            route, isForwarded: forwardingProxy(request) != nil, isStrict: resolver.refusesPrivate)
        let limit = Instant.end(of: request.limits.connectSeconds)
        transfer.go(through: CurlTunnel(gate, to: target, resolver, by: min(deadline, limit)))
    }

    private func configureConnection(_ transfer: CurlTransfer, _ endpoint: Endpoint) {
        // The route is decided already, not by libcurl's reading of the environment.
        transfer.set(CURLOPT_PROXY, "")
        transfer.set(CURLOPT_NOPROXY, "")
        if let path = settings.unixSocket { transfer.set(CURLOPT_UNIX_SOCKET_PATH, path) }
        transfer.set(CURLOPT_CONNECT_TO, list: settings.connectTo)
        let target = settings.target(of: endpoint)
        transfer.set(
            CURLOPT_RESOLVE,
            list: resolver.override(of: target).map { addresses in
                let bracketed = addresses.map(\.bracketedHost)
                return ["\(target):\(bracketed.joined(separator: ","))"]
            } ?? [])
        let keepSeconds = resolver.names.keepSeconds
        transfer.set(CURLOPT_DNS_CACHE_TIMEOUT, keepSeconds > 0 ? Int(keepSeconds) : -1)
        switch resolver.family {
        case .any: break
        case .v4: transfer.set(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_V4))
        case .v6: transfer.set(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_V6))
        }
    }

    /// libcurl keeps connections apart by the certificate's bytes, so none is reused for another
    /// identity. Since 8.12 it does not do so for TLS sessions: with an identity there are none.
    private func show(
        _ identity: ClientIdentity, on transfer: CurlTransfer
    ) throws(FetchError) {
        let pem = try identity.pem()
        guard transfer.set(CURLOPT_SSLCERT_BLOB, blob: pem),
            transfer.set(CURLOPT_SSLKEY_BLOB, blob: pem)
        else {
            throw FetchError(
                .notBuiltIn, .tls, "this libcurl cannot show a client certificate from memory",
                hint: "install the libcurl that uses OpenSSL: the package libcurl4")
        }
        transfer.set(CURLOPT_SSLCERTTYPE, "PEM")
        transfer.set(CURLOPT_SSLKEYTYPE, "PEM")
        transfer.set(CURLOPT_SSL_SESSIONID_CACHE, 0)
    }

    private func configureTrust(_ transfer: CurlTransfer) {
        switch trust {
        case .authorities: break
        case .pin(let digest):
            transfer.insist(on: digest)
            fallthrough
        case .skip:
            transfer.set(CURLOPT_SSL_VERIFYPEER, 0)
            transfer.set(CURLOPT_SSL_VERIFYHOST, 0)
        }
        if let file = settings.authorityFile { transfer.set(CURLOPT_CAINFO, file) }
        if let directory = settings.authorityDirectory { transfer.set(CURLOPT_CAPATH, directory) }
    }
}

extension CurlClient {
    /// The bytes of a request, without a server: libcurl writes to a Unix socket of ours, from
    /// which nothing is read. A request over TLS is given as in HTTP/1.1, without the TLS.
    ///
    /// - Throws: `bad-url`; `not-built-in` for a scheme that libcurl does not speak as HTTP.
    package func rehearse(_ request: HTTPRequest) async throws(FetchError) -> [UInt8] {
        var request = request
        guard ["http", "https"].contains(request.uri.scheme) else {
            throw FetchError(
                .notBuiltIn, .input, "libcurl makes requests of its own for \(request.uri.scheme)")
        }
        let endpoint = request.endpoint
        if request.uri.scheme == "https" {
            // In clear text, with the Host field of the original URL.
            request.uri.scheme = "http"
            request.uri.port = endpoint.port == 443 ? nil : endpoint.port
            if endpoint.port == 80 {
                request.options.fields.insert(HTTPField("Host", endpoint.description), at: 0)
            }
        }
        let listener = try UnixListener()
        let transfer = try CurlTransfer(
            endpoint: endpoint, upload: request.options.body,
            trust: Connection.Trust(verdict: .skipped, firstSeen: nil, policy: .skip), multi: multi,
            loop: loop)
        configure(transfer, request, endpoint)
        transfer.set(CURLOPT_ABSTRACT_UNIX_SOCKET, listener.name)
        // A Unix socket is of neither family.
        transfer.set(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_WHATEVER))
        transfer.set(CURLOPT_VERBOSE, 1)
        defer { multi.remove(transfer) }
        try multi.add(transfer)
        let end = min(deadline, .after(seconds: 10))
        while !transfer.sent.suffix(4).elementsEqual(ASCII.crlf + ASCII.crlf) {
            if let error = transfer.error() { throw error }
            switch await transfer.wait(by: end) {
            case .ready: continue
            case .cancelled: throw .cancelled
            case .timedOut:
                throw FetchError(.internal, .send, "libcurl did not write its request")
            }
        }
        return transfer.sent + (request.options.body ?? [])
    }
}
