// SPDX-License-Identifier: MIT
internal import CSmallWebCurl
internal import CSmallWebTLS
internal import Glibc
internal import SmallWebCore

/// One libcurl transfer. It borrows an easy handle until ``CurlMulti/remove(_:)``, and owns
/// everything that libcurl points into until then.
///
/// libcurl calls back while the loop lets it work; the fetch takes the bytes that have arrived.
/// With a slow consumer the transfer is paused, and with it the socket.
final class CurlTransfer {
    let easy: UnsafeMutableRawPointer
    private let library: CurlLibrary
    private let loop: EventLoop
    private var lists: [UnsafeMutablePointer<curl_slist>] = []
    private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    /// Request body; libcurl reads it until the transfer ends.
    private let upload: UnsafeMutableBufferPointer<CChar>

    private(set) var reply = HTTPReply()
    private(set) var hasReply = false
    private(set) var connection: Connection?
    /// The request's header as sent.
    private(set) var sent: [UInt8] = []
    private(set) var result: CURLcode?
    /// Time at which the connection stood and the request could be sent.
    private(set) var requestBegan: Instant?
    /// Error of a callback that aborted the transfer.
    private var failure: FetchError?
    private(set) var isPaused = false
    private var arrived: [UInt8] = []
    private var taken: [UInt8] = []
    private var waiter: Waiter?
    /// Credentials for a proxy that gets the request itself: its reply must not show them.
    var proxyCredentials: Proxy.Credentials?
    /// True if the server's certificates are to be reported as sent.
    var wantsChain = false
    /// SHA-256 of the only public key that is accepted.
    private var pin: [UInt8]?
    /// Set for routes that are not direct.
    private(set) var tunnel: CurlTunnel?
    /// The judge of addresses; one that was refused; a socket was opened; this libcurl reports the
    /// peer before it sends a request.
    private var (judge, refused, hasOpened, isToldOfPeers) = (
        Resolver?.none, String?.none, false, false
    )
    let endpoint: Endpoint
    private let trust: Connection.Trust
    private let began = Instant.now
    /// Total of all headers and trailers so far: libcurl keeps them until the end.
    private var headerBytes = 0
    private var headerLines = 0
    /// Connect timeout by libcurl's own clock, from `began`; 0 for no limit.
    private var connectMilliseconds = 0

    /// Limit of the bytes that wait for the consumer.
    private static let arrivedBytesMax = 131_072
    /// Limits of a reply's header, together with interim replies and trailers.
    private static let headerLinesMax = 512
    private static let headerBytesMax = 262_144

    init(
        endpoint: Endpoint, upload bytes: [UInt8]?, trust: Connection.Trust, multi: CurlMulti,
        loop: EventLoop
    ) throws(FetchError) {
        library = multi.library
        easy = try multi.makeHandle()
        self.loop = loop
        self.endpoint = endpoint
        self.trust = trust
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        upload = .allocate(capacity: bytes?.count ?? 0)
        _ = upload.initialize(from: (bytes ?? []).map { CChar(bitPattern: $0) })
        let context = Unmanaged.passUnretained(self).toOpaque()
        set(CURLOPT_PRIVATE, pointer: context)
        set(CURLOPT_ERRORBUFFER, pointer: errorText)
        set(CURLOPT_WRITEDATA, pointer: context)
        set(CURLOPT_HEADERDATA, pointer: context)
        set(CURLOPT_DEBUGDATA, pointer: context)
        set(CURLOPT_PREREQDATA, pointer: context)
        _ = swcurl_set_write(library.functions, easy, CURLOPT_WRITEFUNCTION, writeCallback)
        _ = swcurl_set_write(library.functions, easy, CURLOPT_HEADERFUNCTION, headerCallback)
        _ = swcurl_set_debug(library.functions, easy, CURLOPT_DEBUGFUNCTION, debugCallback)
        let code = swcurl_set_prereq(
            library.functions, easy, CURLOPT_PREREQFUNCTION, prereqCallback)
        isToldOfPeers = code == CURLE_OK
        if bytes != nil {
            _ = swcurl_set_offset(
                library.functions, easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(upload.count))
            set(CURLOPT_POSTFIELDS, pointer: upload.baseAddress)
        }
    }

    deinit {
        for list in lists { library.functions.pointee.curl_slist_free_all(list) }
        errorText.deallocate()
        upload.deallocate()
    }

    /// The transfer that has borrowed a handle.
    static func of(_ easy: UnsafeMutableRawPointer, _ library: CurlLibrary) -> CurlTransfer? {
        var context: UnsafePointer<CChar>?
        _ = swcurl_get_string(library.functions, easy, CURLINFO_PRIVATE, &context)
        return transfer(of: UnsafeMutableRawPointer(mutating: context))
    }

    // MARK: Options

    func set(_ option: CURLoption, _ value: Int) {
        _ = swcurl_set_long(library.functions, easy, option, value)
    }

    /// - Returns: False if this libcurl does not have the option.
    @discardableResult
    func set(_ option: CURLoption, _ value: String?) -> Bool {
        swcurl_set_string(library.functions, easy, option, value) == CURLE_OK
    }

    /// Sets the timeout for resolving, connecting and TLS; 0 for no limit.
    func limitConnecting(milliseconds: Int) {
        connectMilliseconds = milliseconds
        set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds)
    }

    /// Extends the connect timeout; libcurl checks it whenever it works on the transfer.
    func extendConnecting(nanoseconds: UInt64) {
        guard connectMilliseconds > 0, requestBegan == nil else { return }
        limitConnecting(milliseconds: connectMilliseconds + Int(nanoseconds / 1_000_000))
    }

    /// Requires a public key, given by its SHA-256.
    func insist(on pin: [UInt8]) {
        self.pin = pin
        set(CURLOPT_PINNEDPUBLICKEY, "sha256//" + Base64.encode(pin))
        // The error reports the actual key, and the session is gone after a failed handshake.
        set(CURLOPT_CERTINFO, 1)
    }

    /// Sets an option to bytes, which libcurl copies.
    ///
    /// - Returns: False if this libcurl or its TLS does not support the option.
    func set(_ option: CURLoption, blob bytes: [UInt8]) -> Bool {
        var bytes = bytes
        return bytes.withUnsafeMutableBytes { buffer in
            var blob = curl_blob(
                data: buffer.baseAddress, len: buffer.count, flags: UInt32(CURL_BLOB_COPY))
            return swcurl_set_pointer(library.functions, easy, option, &blob) == CURLE_OK
        }
    }

    /// Makes OpenSSL return after each record. Without it, a server that sends only records without
    /// data keeps libcurl in a read loop for ever.
    func returnsAfterEachRecord() {
        guard library.usesOpenSSL else { return }
        _ = swcurl_set_ssl_ctx(library.functions, easy, CURLOPT_SSL_CTX_FUNCTION, contextCallback)
    }

    func set(_ option: CURLoption, list values: [String]) {
        var list: UnsafeMutablePointer<curl_slist>?
        for value in values {
            list = library.functions.pointee.curl_slist_append(list, value) ?? list
        }
        guard let list else { return }
        lists.append(list)
        _ = swcurl_set_list(library.functions, easy, option, list)
    }

    /// Makes libcurl connect through the tunnel only.
    func go(through tunnel: CurlTunnel) {
        self.tunnel = tunnel
        tunnel.transfer = self
        set(CURLOPT_UNIX_SOCKET_PATH, tunnel.gate.name)
        // A Unix socket is of neither family.
        set(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_WHATEVER))
        watchSockets()
    }

    /// Refuses connections to private addresses, new or reused.
    func refusePrivate(by judge: Resolver) {
        self.judge = judge
        if !isToldOfPeers { set(CURLOPT_FRESH_CONNECT, 1) }
        watchSockets()
    }

    private func watchSockets() {
        set(CURLOPT_OPENSOCKETDATA, pointer: Unmanaged.passUnretained(self).toOpaque())
        _ = swcurl_set_opensocket(
            library.functions, easy, CURLOPT_OPENSOCKETFUNCTION, openSocketCallback)
    }

    private func set(_ option: CURLoption, pointer value: UnsafeMutableRawPointer?) {
        _ = swcurl_set_pointer(library.functions, easy, option, value)
    }

    // MARK: The task's side

    /// Passes the bytes that have arrived to `body` and resumes libcurl. The slice is valid until
    /// `body` returns.
    ///
    /// - Returns: False if nothing had arrived.
    func deliver(
        _ body: (ArraySlice<UInt8>) async throws(FetchError) -> Void
    ) async throws(FetchError) -> Bool {
        guard !arrived.isEmpty else { return false }
        swap(&arrived, &taken)
        try await body(taken[...])
        taken.removeAll(keepingCapacity: true)
        if isPaused {
            isPaused = false
            _ = library.functions.pointee.curl_easy_pause(easy, CURLPAUSE_CONT)
        }
        return true
    }

    /// Suspends until bytes have arrived or the transfer has ended.
    func wait(by deadline: Instant) async -> WaitResult {
        let waiter = Waiter(deadline: deadline)
        self.waiter = waiter
        defer { self.waiter = nil }
        return await loop.wait(waiter)
    }

    /// The error that ended the transfer, or `nil`.
    func error() -> FetchError? {
        if let failure { return failure }
        guard let result, result != CURLE_OK else { return nil }
        if result == CURLE_SSL_PINNEDPUBKEYNOTMATCH, let pin {
            return .wrongKey(of: endpoint, pin: pin, present: presentKey())
        }
        if let judge, let refused, !hasOpened, requestBegan == nil {
            return judge.refusal(of: endpoint.host, at: refused)
        }
        let text = String(cString: errorText)
        let plain =
            library.functions.pointee.curl_easy_strerror(result).map { String(cString: $0) } ?? ""
        return FetchError(curl: result, text.isEmpty ? plain : text, of: self)
    }

    /// SHA-256 of the public key of the server's certificate, if libcurl has kept the certificate.
    private func presentKey() -> [UInt8]? {
        var info: UnsafeMutablePointer<curl_certinfo>?
        _ = swcurl_get_certificates(library.functions, easy, &info)
        guard let info = info?.pointee, info.num_of_certs > 0 else { return nil }
        var next = info.certinfo?.pointee
        while let entry = next?.pointee {
            let text = entry.data.map { String(cString: $0) } ?? ""
            if text.hasPrefix("Cert:") {
                let pem = Array(text.utf8.dropFirst("Cert:".utf8.count))
                return try? ClientIdentity.certificateFacts(pem).spkiSHA256
            }
            next = entry.next
        }
        return nil
    }

    /// The proxy's answer to CONNECT, or 0.
    var tunnelStatus: Int { long(CURLINFO_HTTP_CONNECTCODE) }

    /// `errno` of the last failed system call, or 0.
    var errorNumber: Int { long(CURLINFO_OS_ERRNO) }

    /// Grows while the request is sent and the reply's header arrives.
    var progressBytes: Int { count(CURLINFO_SIZE_UPLOAD_T) + headerBytes }

    // MARK: libcurl's side

    func finish(_ code: CURLcode) {
        result = code
        wake()
    }

    /// Ends the transfer from within a callback.
    func fail(_ error: FetchError) {
        refuse(error)
        finish(CURLE_ABORTED_BY_CALLBACK)
    }

    private func wake() {
        if let waiter { loop.finish(waiter, .ready) }
    }

    func receive(_ bytes: UnsafeRawBufferPointer) -> Int {
        if !hasReply { completeReply() }
        guard arrived.count + bytes.count <= Self.arrivedBytesMax || arrived.isEmpty else {
            isPaused = true
            return Int(swcurl_write_pause)
        }
        arrived += bytes
        wake()
        return bytes.count
    }

    func receiveHeader(_ line: UnsafeRawBufferPointer) -> Int {
        let isStatus = line.starts(with: "HTTP/".utf8)
        let isEnd = line.first.map(ASCII.isLineEnd) ?? false
        headerBytes += line.count
        // Interim replies may go on for hours, one a second, so their status lines do not count.
        headerLines += isStatus || isEnd ? 0 : 1
        guard headerBytes <= Self.headerBytesMax, headerLines <= Self.headerLinesMax else {
            failure =
                hasReply
                ? FetchError(.protocolError, .body, "the reply's trailers are too long")
                : FetchError(.protocolError, .header, "the reply's header is too long")
            return 0
        }
        // Trailers are not used.
        guard !hasReply else { return line.count }
        // An interim reply (1xx) is followed by another one.
        if isStatus { reply = HTTPReply() }
        reply.add(line: proxyCredentials?.masked(headerLine: Array(line)) ?? Array(line))
        if isEnd && (reply.status >= 200 || reply.status == 101) { completeReply() }
        return line.count
    }

    /// - Returns: False if the peer's address is refused.
    func beginRequest(to address: UnsafePointer<CChar>?) -> Bool {
        if let judge, tunnel == nil, let text = address.map({ String(cString: $0) }) {
            let peer = SocketAddress(literal: text, port: 0)
            guard peer.map({ !judge.refuses($0) }) ?? !judge.isPublicOnly else {
                refused = text
                return false
            }
        }
        if !(tunnel?.isPending ?? false) { requestBegan = .now }
        return true
    }

    func noteTunnel() {
        // Without TLS, libcurl already counts the connection as made.
        if endpoint.security == .none { requestBegan = .now }
    }

    func openSocket(_ place: UnsafeMutablePointer<curl_sockaddr>) -> Int32 {
        if let tunnel {
            let isOurs = place.pointee.family == AF_UNIX
            return isOurs ? tunnel.gate.open(tunnel, &place.pointee) : -1
        }
        let (address, wanted) = (address(of: place), place.pointee)
        guard let address, !(judge?.refuses(address) ?? false) else {
            refused = address?.host ?? "a Unix socket"
            return -1
        }
        hasOpened = true
        return makeSocket(wanted)
    }

    /// Records the error with which a callback aborts the transfer.
    func refuse(_ error: FetchError) { failure = failure ?? error }

    func noteSent(_ bytes: ArraySlice<UInt8>) {
        sent += bytes
        wake()
    }

    /// Called when the reply's header is complete: libcurl can be asked about the connection now.
    private func completeReply() {
        hasReply = true
        var address: UnsafePointer<CChar>?
        _ = swcurl_get_string(library.functions, easy, CURLINFO_PRIMARY_IP, &address)
        let tls = endpoint.security == .tls ? tlsFacts() : nil
        connection = Connection(
            endpoint: endpoint, address: address.map { String(cString: $0) } ?? "",
            port: UInt16(clamping: long(CURLINFO_PRIMARY_PORT)), tls: tls,
            trust: endpoint.security == .tls ? trust : nil,
            moments: moments())
        if let tunnel { connection = connection.map(tunnel.completed) }
        wake()
    }

    private func moments() -> Connection.Moments {
        func moment(_ info: CURLINFO) -> Instant? {
            let microseconds = count(info)
            guard microseconds > 0 else { return nil }
            // libcurl's clock counts the time in which the process was stopped.
            return min(
                .now, Instant(nanoseconds: began.nanoseconds + UInt64(microseconds) * 1000))
        }
        var moments = Connection.Moments()
        moments.resolved = moment(CURLINFO_NAMELOOKUP_TIME_T)
        moments.connected = moment(CURLINFO_CONNECT_TIME_T)
        moments.secured = moment(CURLINFO_APPCONNECT_TIME_T)
        moments.ready = moment(CURLINFO_PRETRANSFER_TIME_T)
        return moments
    }

    /// Bytes sent and received by this transfer.
    var traffic: Ending.Traffic {
        var traffic = Ending.Traffic()
        traffic.sent = long(CURLINFO_REQUEST_SIZE) + count(CURLINFO_SIZE_UPLOAD_T)
        traffic.received = long(CURLINFO_HEADER_SIZE) + count(CURLINFO_SIZE_DOWNLOAD_T)
        return traffic
    }

    private func long(_ info: CURLINFO) -> Int {
        var number = 0
        _ = swcurl_get_long(library.functions, easy, info, &number)
        return number
    }

    func count(_ info: CURLINFO) -> Int {
        var count: curl_off_t = 0
        _ = swcurl_get_offset(library.functions, easy, info, &count)
        return Int(count)
    }

    private func tlsFacts() -> Connection.TLS? {
        guard let openSSL = CurlLibrary.openSSL else { return nil }
        var info: UnsafeMutablePointer<curl_tlssessioninfo>?
        _ = swcurl_get_tls(library.functions, easy, &info)
        guard let info = info?.pointee, info.backend == CURLSSLBACKEND_OPENSSL,
            let ssl = info.internals
        else { return nil }
        let isVouched = trust.verdict == .ca && long(CURLINFO_SSL_VERIFYRESULT) == 0
        let facts = try? TLSSession.facts(
            OpaquePointer(ssl), library: openSSL, host: endpoint.host,
            serverName: SocketAddress(literal: endpoint.host, port: 0) == nil ? endpoint.host : nil,
            authority: isVouched ? .vouched : .unchecked)
        if wantsChain { facts?.chain = TLSSession.chain(of: OpaquePointer(ssl), openSSL) }
        return facts
    }
}
