// SPDX-License-Identifier: MIT
internal import CSmallWebCurl
internal import CSmallWebTLS
internal import SmallWebCore

/// All libcurl transfers of one event loop: one multi handle, so that they share connections, DNS
/// answers and TLS sessions. libcurl names the sockets and the timeout to wait for; the loop calls
/// back when they are due.
//
// @unchecked: used on the loop's thread alone, which the loop itself checks.
final class CurlMulti: LoopGuest, @unchecked Sendable {
    let library: CurlLibrary
    private unowned let loop: EventLoop
    private let multi: UnsafeMutableRawPointer
    /// Deadline of libcurl's next call, with or without socket events.
    private var timeout = Instant.never
    /// Fires at ``timeout`` or earlier: libcurl postpones it several times in each transfer.
    private var timer: Waiter?
    /// Gates by route, for all routes that are not direct, then by `isForwarded` and `isStrict`.
    private var gates: [Route: [Int: CurlGate]] = [:]
    private var transfers: [ObjectIdentifier: CurlTransfer] = [:]
    /// Handles of finished transfers: making one costs more than a small transfer.
    private var spares: [UnsafeMutableRawPointer] = []
    private static let sparesMax = 64
    /// Number of handles that ``makeHandle()`` gave and ``remove(_:)`` has not taken back.
    private(set) var handlesInUse = 0

    private static let shortage = FetchError(
        .connect, .connect, "libcurl could not begin: too little memory, or too many open files")

    init(loop: EventLoop) throws(FetchError) {
        library = try CurlLibrary.shared()
        self.loop = loop
        guard let multi = library.functions.pointee.curl_multi_init() else {
            throw Self.shortage
        }
        self.multi = multi
        // Unretained: the loop owns this object, which owns the handle that calls back.
        let context = Unmanaged.passUnretained(self).toOpaque()
        _ = swcurl_multi_set_pointer(library.functions, multi, CURLMOPT_SOCKETDATA, context)
        _ = swcurl_multi_set_pointer(library.functions, multi, CURLMOPT_TIMERDATA, context)
        _ = swcurl_multi_set_socket(
            library.functions, multi, CURLMOPT_SOCKETFUNCTION, socketCallback)
        _ = swcurl_multi_set_timer(library.functions, multi, CURLMOPT_TIMERFUNCTION, timerCallback)
    }

    deinit {
        // The loop is going too: libcurl must not call it about closed sockets.
        _ = swcurl_multi_set_pointer(library.functions, multi, CURLMOPT_SOCKETFUNCTION, nil)
        _ = swcurl_multi_set_pointer(library.functions, multi, CURLMOPT_TIMERFUNCTION, nil)
        for easy in spares { library.functions.pointee.curl_easy_cleanup(easy) }
        _ = library.functions.pointee.curl_multi_cleanup(multi)
    }

    /// An easy handle with every option at its default. Returned with ``remove(_:)``.
    func makeHandle() throws(FetchError) -> UnsafeMutableRawPointer {
        guard let easy = spares.popLast() ?? library.functions.pointee.curl_easy_init() else {
            throw Self.shortage
        }
        handlesInUse += 1
        return easy
    }

    /// - Throws: `connect` when there is not enough memory.
    func add(_ transfer: CurlTransfer) throws(FetchError) {
        transfers[ObjectIdentifier(transfer)] = transfer
        guard library.functions.pointee.curl_multi_add_handle(multi, transfer.easy) == CURLM_OK
        else { throw Self.shortage }
    }

    /// Ends a transfer, finished, running or never added, and takes its handle back: the transfer
    /// cannot be used afterwards.
    func remove(_ transfer: CurlTransfer) {
        handlesInUse -= 1
        transfer.tunnel?.leave()
        transfers[ObjectIdentifier(transfer)] = nil
        _ = library.functions.pointee.curl_multi_remove_handle(multi, transfer.easy)
        // A reset does not clear the handle's errno, so a failed handle is not reused.
        let isClean = transfer.result == CURLE_OK && transfer.errorNumber == 0
        library.functions.pointee.curl_easy_reset(transfer.easy)
        if isClean && spares.count < Self.sparesMax {
            spares.append(transfer.easy)
        } else {
            library.functions.pointee.curl_easy_cleanup(transfer.easy)
        }
    }

    /// Lets libcurl handle events of a socket, or a timeout.
    private func act(_ socket: Int32, _ events: Int32) {
        var running: Int32 = 0
        _ = library.functions.pointee.curl_multi_socket_action(multi, socket, events, &running)
        var left: Int32 = 0
        while let message = library.functions.pointee.curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle
            else { continue }
            CurlTransfer.of(easy, library)?.finish(swcurl_result(message))
        }
    }

    /// - Parameters:
    ///   - isForwarded: True if an HTTP proxy gets the requests themselves.
    ///   - isStrict: True if its connections must not have been made without
    ///     ``Resolver/refusesPrivate``.
    func gate(_ route: Route, isForwarded: Bool, isStrict: Bool) -> CurlGate {
        let kind = (isForwarded ? 1 : 0) + (isStrict ? 2 : 0)
        if let gate = gates[route]?[kind] { return gate }
        let name = "smallweb-route-\(gates.values.reduce(0) { $0 + $1.count })"
        let gate = CurlGate(route, isForwarded: isForwarded, name: name, on: loop)
        gates[route, default: [:]][kind] = gate
        return gate
    }

    /// Ends the connections that were kept beyond their transfers.
    ///
    /// - Returns: False if there were none.
    func endConnections() -> Bool {
        gates.values.flatMap(\.values).map { $0.end() }.contains(true)
    }

    /// Extends connect timeouts after the process was stopped: libcurl's clock ran on meanwhile.
    func noteStop(nanoseconds: UInt64) {
        for transfer in transfers.values { transfer.extendConnecting(nanoseconds: nanoseconds) }
    }

    fileprivate func setTimer(milliseconds: Int) {
        timeout =
            milliseconds < 0
            ? .never
            : Instant(nanoseconds: Instant.now.nanoseconds + UInt64(milliseconds) * 1_000_000)
        scheduleTimer()
    }

    private func scheduleTimer() {
        if let timer {
            guard timeout < timer.deadline else { return }
            loop.finish(timer, .cancelled)
        }
        timer = nil
        guard timeout != .never else { return }
        // Never from within the callback: libcurl must not be re-entered.
        let waiter = Waiter(deadline: timeout) { [unowned self] result in
            guard result == .timedOut else { return }
            timer = nil
            guard timeout <= .now else { return scheduleTimer() }
            timeout = .never
            act(Int32(swcurl_socket_timeout), 0)
        }
        timer = waiter
        loop.schedule(waiter)
    }

    fileprivate func watch(_ socket: Int32, _ what: Int32, for easy: UnsafeMutableRawPointer?) {
        let events = Int(what)
        if events == swcurl_poll_remove { return loop.unwatch(socket) }
        let isBoth = events == swcurl_poll_inout
        guard isBoth || events == swcurl_poll_in || events == swcurl_poll_out else { return }
        do throws(SystemError) {
            try loop.watch(
                socket, readable: isBoth || events == swcurl_poll_in,
                writable: isBoth || events == swcurl_poll_out
            ) { [unowned self] readable, writable, failed in
                let events =
                    (readable ? swcurl_select_in : 0) | (writable ? swcurl_select_out : 0)
                    | (failed ? swcurl_select_error : 0)
                act(socket, Int32(events))
            }
        } catch {
            guard let easy else { return }
            CurlTransfer.of(easy, library)?.fail(
                FetchError(
                    .connect, .connect, "cannot wait for the network", error, remedy: error.remedy))
        }
    }
}

extension EventLoop {
    /// libcurl on this loop, created at the first use.
    func curl() throws(FetchError) -> CurlMulti {
        precondition(isCurrent)
        if let multi = guest as? CurlMulti { return multi }
        let made = try CurlMulti(loop: self)
        guest = made
        return made
    }
}

// MARK: Callbacks

private func multi(_ context: UnsafeMutableRawPointer?) -> CurlMulti? {
    context.map { Unmanaged<CurlMulti>.fromOpaque($0).takeUnretainedValue() }
}

private func socketCallback(
    _ easy: UnsafeMutableRawPointer?, _ socket: curl_socket_t, _ what: Int32,
    _ context: UnsafeMutableRawPointer?, _ socketContext: UnsafeMutableRawPointer?
) -> Int32 {
    multi(context)?.watch(socket, what, for: easy)
    return 0
}

private func timerCallback(
    _ handle: UnsafeMutableRawPointer?, _ milliseconds: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    multi(context)?.setTimer(milliseconds: milliseconds)
    return 0
}

// MARK: Callbacks of a transfer, which is the context

func transfer(of context: UnsafeMutableRawPointer?) -> CurlTransfer? {
    context.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
}

func writeCallback(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    transfer(of: context)?.receive(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
}

func headerCallback(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return transfer(of: context)?.receiveHeader(line) ?? 0
}

func contextCallback(
    _ easy: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?,
    _ data: UnsafeMutableRawPointer?
) -> CURLcode {
    if let library = CurlLibrary.openSSL, let context {
        _ = library.functions.SSL_CTX_ctrl(
            OpaquePointer(context), Int32(swtls_clear_mode_command), Int(swtls_auto_retry), nil)
    }
    return CURLE_OK
}

func debugCallback(
    _ easy: UnsafeMutableRawPointer?, _ kind: curl_infotype, _ bytes: UnsafeMutablePointer<CChar>?,
    _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    if kind == CURLINFO_HEADER_OUT {
        let text = UnsafeRawBufferPointer(start: bytes, count: count)
        transfer(of: context)?.noteSent(Array(text)[...])
    }
    return 0
}

func openSocketCallback(
    _ context: UnsafeMutableRawPointer?, _ purpose: curlsocktype,
    _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let address else { return -1 }
    return transfer(of: context)?.openSocket(address) ?? -1
}

func prereqCallback(
    _ context: UnsafeMutableRawPointer?, _ remote: UnsafeMutablePointer<CChar>?,
    _ local: UnsafeMutablePointer<CChar>?, _ remotePort: Int32, _ localPort: Int32
) -> Int32 {
    transfer(of: context)?.beginRequest(to: remote) ?? true
        ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}
