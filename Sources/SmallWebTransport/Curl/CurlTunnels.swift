// SPDX-License-Identifier: MIT
internal import CSmallWebCurl
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWebCore

/// How libcurl goes where a route is not direct: it connects to a Unix socket of ours, and what it
/// says there is carried on over the route. It looks nothing up, knows no proxy, and opens no
/// socket of the network.
///
/// A gate is for one route: libcurl, which keeps connections apart by the name of their socket,
/// never uses one of another route.
//
// @unchecked: used on the loop's thread alone.
final class CurlGate: @unchecked Sendable {
    /// What libcurl takes for the path of a socket.
    let name: String
    private unowned let loop: EventLoop
    let route: Route
    private let isForwarded: Bool
    private var relays: [Int: Task<Void, Never>] = [:]
    private var opened = 0
    /// The addresses of the places to which connections were made.
    private(set) var addresses: [Endpoint: String] = [:]

    init(_ route: Route, isForwarded: Bool, name: String, on loop: EventLoop) {
        self.loop = loop
        self.route = route
        self.isForwarded = isForwarded
        self.name = name
    }

    /// libcurl's end of a connection that it is about to make.
    ///
    /// - Parameter address: Where libcurl thinks that it connects to; becomes ours.
    /// - Returns: A socket, which is libcurl's from here on; -1 when there is none.
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
            try await Relay(loop: loop, near: near, far: connected.carrier).run()
        } catch {
            // libcurl judges by itself how a connection ends that was there.
            guard tunnel.moments == nil || error.outcome == .proxy else { return }
            tunnel.transfer?.fail(error)
        }
    }

    /// - Returns: Whether there was anything to end.
    func end() -> Bool {
        defer { relays = [:] }
        for relay in relays.values { relay.cancel() }
        return !relays.isEmpty
    }
}

/// One transfer's way through a gate, if libcurl makes a connection for it.
//
// @unchecked: used on the loop's thread alone.
final class CurlTunnel: @unchecked Sendable {
    let gate: CurlGate
    let endpoint: Endpoint
    let resolver: Resolver
    let deadline: Instant
    /// The transfer that waits for the connection.
    weak var transfer: CurlTransfer?
    /// Makes the connection, then carries bytes.
    var task: Task<Void, Never>?
    /// Of the connection that was made for the transfer; `nil` before, and for one that libcurl had
    /// kept.
    private(set) var moments: Connection.Moments?
    private(set) var notes: [Note] = []

    init(_ gate: CurlGate, to endpoint: Endpoint, _ resolver: Resolver, by deadline: Instant) {
        self.gate = gate
        self.endpoint = endpoint
        self.resolver = resolver
        self.deadline = deadline
    }

    /// Whether it is being made.
    var isPending: Bool { task != nil && moments == nil }

    func open(_ moments: Connection.Moments, _ notes: [Note]) {
        self.moments = moments
        self.notes = notes
        transfer?.noteTunnel()
    }

    /// The transfer is over: a connection that is there stays for others.
    func leave() {
        transfer = nil
        if isPending { task?.cancel() }
    }

    /// `libcurl`'s view of the connection, with what is beyond the gate.
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

/// - Parameter place: Where libcurl is about to connect to.
/// - Returns: A socket; `nil` for an address of this machine or of a private network.
func openPublicSocket(_ place: UnsafeMutablePointer<curl_sockaddr>) -> Int32? {
    let wanted = place.pointee
    // There is room for every kind of address.
    let start = UnsafeRawPointer(place) + (MemoryLayout.offset(of: \curl_sockaddr.addr) ?? 0)
    let bytes = UnsafeRawBufferPointer(start: start, count: Int(wanted.addrlen))
    guard let address = SocketAddress(Array(bytes)), !address.isPrivate else { return nil }
    return socket(wanted.family, wanted.socktype | Int32(SOCK_CLOEXEC.rawValue), wanted.`protocol`)
}
