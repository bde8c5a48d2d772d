// SPDX-License-Identifier: MIT
package import SmallWebCore
internal import SmallWebTransport

/// The first exchange of a fetch, tried without a connection: its plugin ran, and the bytes it
/// wrote were kept instead of sent.
package struct Rehearsal: Sendable {
    /// The server it would connect to; `nil` when it needs none.
    package fileprivate(set) var endpoint: Endpoint?
    /// The route it would take, and the reason; `nil` when it needs no server.
    package fileprivate(set) var way: ProxySettings.Choice?
    /// Bytes written before it waits for a reply, without secrets: at most the first 64 KiB.
    package fileprivate(set) var request: [UInt8] = []
    /// The count of these bytes, secrets included.
    package fileprivate(set) var requestBytes = 0
    /// A reply that needs no server: a link of a gopher menu to the web.
    package fileprivate(set) var head: Head?

    fileprivate static let requestBytesMax = 65_536
}

extension Fetcher {
    /// Rehearses the first exchange of a fetch. Nothing is resolved, connected or written.
    ///
    /// Runs on the fetcher's loop, where the caller already is.
    ///
    /// - Throws: The plugin's error in the request; `not-built-in` where only libcurl knows the
    ///   bytes that would be written.
    package func rehearse(_ request: Request) async throws(FetchError) -> Rehearsal {
        let stage = Stage()
        let fetcher = changed { options in
            // No certificate is read for a request that is not sent.
            options.identities = Identities()
            options.redirects.follows = false
            options.network = Network { _, hop in RehearsalDialer(stage: stage, hop: hop) }
        }
        do throws(FetchError) {
            var fetch = Fetch(fetcher, request, FetchLog(request.uri)) { event in
                if case .head(let head) = event { stage.rehearsal.head = head }
            }
            _ = try await fetch.run()
        } catch {
            guard stage.isOver else { throw error }
        }
        var rehearsal = stage.rehearsal
        rehearsal.requestBytes = rehearsal.request.count
        let handler = registry[request.uri.scheme]?.handler
        if let handler {
            rehearsal.request = handler.mask(of: request).masked(
                handler.redacted(rehearsal.request))
        }
        return rehearsal
    }

    /// The addresses of `endpoint`, in the order in which they would be tried.
    ///
    /// - Throws: `resolve`, `timeout`, `interrupted`.
    package func addresses(
        of endpoint: Endpoint, limits: Limits = Limits()
    ) async throws(FetchError) -> [String] {
        try await options.resolver.numericHosts(
            of: endpoint, on: loop, by: .end(of: limits.connectSeconds))
    }
}

/// The bytes written so far.
//
// @unchecked: on the loop of one fetcher alone.
private final class Stage: @unchecked Sendable {
    var rehearsal = Rehearsal()
    /// True once the plugin waits for a reply, which does not come, or has written enough.
    var isOver = false

    func record(_ bytes: some Sequence<UInt8>) {
        rehearsal.request += bytes
        isOver = rehearsal.request.count >= Rehearsal.requestBytesMax
        rehearsal.request = Array(rehearsal.request.prefix(Rehearsal.requestBytesMax))
    }

    /// Ends the plugin's part with the error of a cancelled fetch, which no plugin survives.
    func end() -> FetchError {
        isOver = true
        return .cancelled
    }
}

private struct RehearsalDialer: ProgramHost {
    let stage: Stage
    let hop: Hop

    func dial(_ endpoint: Endpoint) async throws(FetchError) -> ByteStream {
        stage.rehearsal.endpoint = endpoint
        stage.rehearsal.way = try hop.way(to: endpoint)
        return ByteStream(RehearsalCarrier(stage: stage), idleSeconds: nil, deadline: .never)
    }

    func httpClient(for endpoint: Endpoint) throws(FetchError) -> any HTTPClient {
        stage.rehearsal.way = try hop.way(to: endpoint)
        return RehearsalClient(
            stage: stage, client: try NetworkDialer(hop: hop).curlClient(for: endpoint))
    }

    func programRunner() -> any ProgramRunner { RehearsalRunner(stage: stage, hop: hop) }
}

/// Runs a program until it waits for a reply.
private struct RehearsalRunner: ProgramRunner, ProgramNetwork {
    let stage: Stage
    let hop: Hop

    /// Seconds it may take to write.
    private static let patienceSeconds = 0.5

    func run(
        _ program: ProgramRequest, isAnswered: () -> Bool,
        onOutput: (ProgramOutput) async throws(FetchError) -> ProgramDemand
    ) async throws(FetchError) -> ProgramEnding {
        var program = program
        program.fetchLimits.idleSeconds = Self.patienceSeconds
        let exchange = ProgramExchange(on: hop.loop, by: .never, network: self)
        do throws(FetchError) {
            return try await exchange.run(program, isAnswered: isAnswered, onOutput: onOutput)
        } catch  where error.outcome == .timeout && stage.rehearsal.endpoint != nil {
            // It may be waiting for the server to speak first.
            throw stage.end()
        }
    }

    func dial(for program: ProgramRequest) throws(FetchError) -> any Carrier {
        switch program.transport {
        case .none: break
        case .stream(let endpoint), .datagrams(let endpoint):
            stage.rehearsal.endpoint = endpoint
            stage.rehearsal.way = try hop.way(to: endpoint)
        }
        return RehearsalCarrier(stage: stage)
    }
}

private struct RehearsalClient: HTTPClient {
    let stage: Stage
    let client: CurlClient

    func exchange(
        _ request: HTTPRequest,
        onReply: (HTTPReply) async throws(FetchError) -> Void,
        onBody: (ArraySlice<UInt8>) async throws(FetchError) -> Void
    ) async throws(FetchError) -> Completeness {
        stage.rehearsal.endpoint = request.endpoint
        stage.record(try await client.rehearse(request))
        throw stage.end()
    }
}

private final class RehearsalCarrier: Carrier {
    private let stage: Stage

    init(stage: Stage) { self.stage = stage }

    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(FetchError) -> TransportRead {
        .wouldBlock(.readable)
    }

    func send(_ bytes: UnsafeRawBufferPointer) throws(FetchError) -> TransportWrite {
        guard !stage.isOver else { throw stage.end() }
        stage.record(bytes)
        return .bytes(bytes.count)
    }

    func wait(for readiness: Readiness, by deadline: Instant) async throws(FetchError) {
        throw stage.end()
    }
}
