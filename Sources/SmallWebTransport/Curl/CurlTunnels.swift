// SPDX-License-Identifier: MIT
internal import CSmallWebCurl
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWebCore

/// Carries libcurl's connections over routes that are not direct: libcurl connects to a Unix socket
/// of ours, and the bytes are relayed over the route. libcurl resolves no names, sees no proxy, and
/// opens no network socket.
///
/// There is one gate per route: libcurl keeps connections apart by the name of their socket, and
/// never reuses one of another route.
//
// @unchecked: used on the loop's thread alone.
final class CurlGate: @unchecked Sendable {
    /// The socket path that libcurl is given; a key only, no such file is opened.
    let name: String
    private unowned let loop: EventLoop
    let route: Route
    private let isForwarded: Bool
    private var relays: [Int: Task<Void, Never>] = [:]
    private var opened = 0
    /// Numeric addresses of the connected targets.
    private(set) var addresses: [Endpoint: String] = [:]

    init(_ route: Route, isForwarded: Bool, name: String, on loop: EventLoop) {
        self.loop = loop
        self.route = route
        self.isForwarded = isForwarded
        self.name = name
    }

    /// Opens libcurl's end of a new connection.
    ///
    /// - Parameter address: libcurl's target; replaced by the address of our socket.
    /// - Returns: A socket, owned by libcurl from here on; -1 on failure.
    func open(_ tunnel: CurlTunnel, _ address: inout curl_sockaddr) -> Int32 {
        do throws(FetchError) {
            let listener = try UnixListener.withFile()
            address.addrlen = withUnsafeMutablePointer(to: &address.addr, listener.write)
            opened += 1
            // libcurl has connected before the task begins.
            let task = Task(executorPreference: loop) { [self, loop, number = opened] in
                await carry(listener, tunnel, on: loop)
                relays[number] = nil
            }
            relays[opened] = task
            tunnel.task = task
            return socket(AF_UNIX, swposix_stream_socket, 0)
        } catch {
            tunnel.transfer?.refuse(error)
            return -1
        }
    }

    private func carry(
        _ listener: UnixListener, _ tunnel: CurlTunnel, on loop: EventLoop
    ) async {
        guard let socket = listener.accept() else { return }
        do throws(FetchError) {
            let near: TCPSocket
            do throws(SystemError) {
                near = try TCPSocket(adopting: socket, on: loop)
            } catch {
                throw FetchError(.connect, .connect, error.sentence, errnoName: error.name)
            }
            var moments = Connection.Moments()
            let connected = try await RouteConnector(
                loop: loop, resolver: tunnel.resolver, route: route, deadline: tunnel.deadline
            ).connect(to: tunnel.endpoint, isForwarded: isForwarded, &moments)
            addresses[tunnel.endpoint] = connected.address
            tunnel.open(moments, connected.notes)
            try await relay(near, connected.carrier, on: loop)
        } catch {
            // libcurl judges by itself how an established connection ends.
            guard tunnel.moments == nil || error.outcome == .proxy else { return }
            tunnel.transfer?.fail(error)
        }
    }

    /// - Returns: False if there was nothing to end.
    func end() -> Bool {
        defer { relays = [:] }
        for relay in relays.values { relay.cancel() }
        return !relays.isEmpty
    }
}

/// One transfer's connection through a gate, if libcurl makes one for it.
//
// @unchecked: used on the loop's thread alone.
final class CurlTunnel: @unchecked Sendable {
    let gate: CurlGate
    let endpoint: Endpoint
    let resolver: Resolver
    let deadline: Instant
    weak var transfer: CurlTransfer?
    /// Makes the connection, then relays bytes.
    var task: Task<Void, Never>?
    /// Times of the connection that was made for the transfer; `nil` before, and if libcurl reused
    /// a connection.
    private(set) var moments: Connection.Moments?
    private(set) var notes: [Note] = []

    init(_ gate: CurlGate, to endpoint: Endpoint, _ resolver: Resolver, by deadline: Instant) {
        self.gate = gate
        self.endpoint = endpoint
        self.resolver = resolver
        self.deadline = deadline
    }

    /// True while the connection is being made.
    var isPending: Bool { task != nil && moments == nil }

    func open(_ moments: Connection.Moments, _ notes: [Note]) {
        self.moments = moments
        self.notes = notes
        transfer?.noteTunnel()
    }

    /// Called at the end of the transfer. A connection in progress is cancelled, an established one
    /// stays for others.
    func leave() {
        transfer = nil
        if isPending { task?.cancel() }
    }

    /// Adds the data of the far side of the gate to libcurl's view of the connection.
    func completed(_ connection: Connection) -> Connection {
        var steps = moments ?? Connection.Moments()
        // libcurl's clock began a little later.
        steps.secured = connection.moments.secured.map { max($0, steps.proxied ?? $0) }
        steps.ready = connection.moments.ready.map { max($0, steps.proxied ?? $0) }
        let result = Connection(
            endpoint: connection.endpoint, address: gate.addresses[endpoint],
            port: endpoint.port, tls: connection.tls, trust: connection.trust, moments: steps)
        result.proxy = gate.route.name
        result.notes = notes
        return result
    }
}

/// The address that libcurl is about to connect to; `nil` for a family other than IP.
func address(of place: UnsafeMutablePointer<curl_sockaddr>) -> SocketAddress? {
    // The address follows the struct; the buffer has room for every family.
    let start = UnsafeRawPointer(place) + (MemoryLayout.offset(of: \curl_sockaddr.addr) ?? 0)
    return SocketAddress(
        Array(UnsafeRawBufferPointer(start: start, count: Int(place.pointee.addrlen))))
}

/// Opens a socket as libcurl wants it.
func makeSocket(_ wanted: curl_sockaddr) -> Int32 {
    socket(wanted.family, wanted.socktype | swposix_cloexec, wanted.`protocol`)
}

/// Copies bytes both ways between two carriers. Returns when the near side has ended, or the far
/// side has and its last bytes are delivered, or the task is cancelled.
///
/// - Throws: Errors of the far carrier. They are a normal end, except `proxy`.
private func relay(
    _ near: any Carrier, _ far: any Carrier, on loop: EventLoop
) async throws(FetchError) {
    var (up, down) = (Flow(), Flow())
    var isRefused = false
    while true {
        var hasMoved = false
        do throws(FetchError) {
            if !isRefused { hasMoved = try up.move(from: near, to: far) }
        } catch {
            // The server may have sent the reason before it stopped reading.
            isRefused = true
            up.end()
        }
        if try down.move(from: far, to: near) { hasMoved = true }
        if down.isOver || up.isOver && !isRefused { return }
        if hasMoved { continue }
        let obstacles = [up.obstacle, down.obstacle].compactMap { $0 }
        let interests = obstacles.map { $0.carrier.interests($0.readiness) }
        // After the end of a turn no edge follows: only yield.
        let isTurnOver = interests.contains { $0 == nil }
        let result = await loop.wait(
            for: isTurnOver ? [] : interests.flatMap { $0 ?? [] },
            by: isTurnOver ? .now : .never)
        if result == .cancelled { return }
    }
}

/// One direction of a relay, with at most one buffer of pending bytes.
private struct Flow {
    private var buffer = [UInt8](repeating: 0, count: 65_536)
    private var pending = 0..<0
    private var hasEnded = false
    /// The readiness that the last ``move(from:to:)`` lacked.
    private(set) var obstacle: (carrier: any Carrier, readiness: Readiness)?

    /// True if the source has ended and all its bytes have been sent.
    var isOver: Bool { hasEnded && pending.isEmpty }

    /// Drops pending bytes; nothing more can be sent.
    mutating func end() {
        hasEnded = true
        pending = 0..<0
        obstacle = nil
    }

    /// - Returns: True if any bytes have moved.
    mutating func move(
        from source: any Carrier, to sink: any Carrier
    ) throws(FetchError) -> Bool {
        obstacle = nil
        var hasMoved = false
        if pending.isEmpty && !hasEnded {
            var room = buffer.mutableSpan
            switch try room.withUnsafeMutableBytes(source.receive) {
            case .bytes(let count):
                pending = 0..<count
                hasMoved = true
            case .wouldBlock(let readiness): obstacle = (source, readiness)
            case .ended: hasEnded = true
            }
        }
        guard !pending.isEmpty else { return hasMoved }
        switch try buffer.span.extracting(pending).bytes.withUnsafeBytes(sink.send) {
        case .bytes(let count):
            pending = pending.dropFirst(count)
            hasMoved = true
        case .wouldBlock(let readiness): obstacle = (sink, readiness)
        }
        return hasMoved
    }
}
