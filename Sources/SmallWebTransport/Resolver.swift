// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
package import SmallWebCore

/// Host names to addresses. An IP literal needs no thread; a name gets one, because `getaddrinfo`
/// blocks and an event loop must not.
public struct Resolver: Sendable {
    /// Fixed answers by `host:port`, as with curl's `--resolve`: IP literals.
    public var overrides: [String: [String]]
    public var family: AddressFamily

    public init(overrides: [String: [String]] = [:], family: AddressFamily = .any) {
        self.overrides = overrides
        self.family = family
    }

    /// The addresses of an endpoint in the order in which to try them.
    ///
    /// - Throws: `resolve`, `timeout`, `interrupted`; `connect` for what no name server must hear
    ///   of.
    func addresses(
        of endpoint: Endpoint, on loop: EventLoop, by deadline: Instant
    ) async throws(FetchError) -> [SocketAddress] {
        let fixedHosts = overrides.isEmpty ? nil : overrides[endpoint.description]
        let literals = fixedHosts ?? [endpoint.host]
        let fixed = literals.compactMap { SocketAddress(literal: $0, port: endpoint.port) }
        if !fixed.isEmpty {
            let usable = fixed.filter { self.family == .any || $0.family == self.family.number }
            guard !usable.isEmpty else {
                throw FetchError(
                    .resolve, .resolve,
                    "\(endpoint.host) is not an address of the family asked for",
                    remedy: .useAnyFamily)
            }
            return usable
        }
        if let hidden = HiddenNetwork(host: endpoint.host) { throw hidden.error(endpoint.host) }
        let lookup = Lookup()
        let waiter = Waiter(deadline: deadline)
        let (host, port, family) = (endpoint.host, endpoint.port, family)
        try Thread.detach {
            lookup.run(host: host, port: port, family: family)
            loop.perform { loop.finish(waiter, .ready) }
        }
        switch await loop.wait(waiter) {
        case .ready: return Self.interleaved(try lookup.result.get())
        case .cancelled: throw .cancelled
        case .timedOut:
            throw FetchError(
                .timeout, .resolve, "resolving \(host) took too long",
                remedy: .raise(.connectTime))
        }
    }

    /// ``addresses(of:on:by:)`` as text, IPv6 without brackets.
    ///
    /// - Throws: `resolve`, `timeout`, `interrupted`.
    package func numericHosts(
        of endpoint: Endpoint, on loop: EventLoop, by deadline: Instant
    ) async throws(FetchError) -> [String] {
        try await addresses(of: endpoint, on: loop, by: deadline).map(\.host)
    }

    /// Families in turn, beginning with the resolver's first choice (RFC 8305 §4).
    static func interleaved(_ addresses: [SocketAddress]) -> [SocketAddress] {
        guard let first = addresses.first?.family else { return [] }
        var preferred = addresses.filter { $0.family == first }[...]
        var others = addresses.filter { $0.family != first }[...]
        var order: [SocketAddress] = []
        while !preferred.isEmpty || !others.isEmpty {
            if let next = preferred.popFirst() { order.append(next) }
            if let next = others.popFirst() { order.append(next) }
        }
        return order
    }
}

/// One blocking look-up.
//
// @unchecked: the resolver's thread writes `result` before it tells the loop, which reads it after.
private final class Lookup: @unchecked Sendable {
    private(set) var result = Result<[SocketAddress], FetchError>.success([])

    func run(host: String, port: UInt16, family: AddressFamily) {
        var hints = addrinfo()
        hints.ai_family = family.number
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, String(port), &hints, &list)
        let number = errno
        defer { if let list { freeaddrinfo(list) } }
        guard status == 0 else {
            let reason =
                status == EAI_SYSTEM
                ? SystemError(number: number).sentence : String(cString: gai_strerror(status))
            result = .failure(
                FetchError(
                    .resolve, .resolve, "cannot resolve \(host): \(reason)",
                    hint: "check the spelling of the host and the network connection"))
            return
        }
        var addresses: [SocketAddress] = []
        var next = list
        while let info = next {
            if let address = SocketAddress(info.pointee) { addresses.append(address) }
            next = info.pointee.ai_next
        }
        result =
            addresses.isEmpty
            ? .failure(FetchError(.resolve, .resolve, "\(host) has no address"))
            : .success(addresses)
    }
}
