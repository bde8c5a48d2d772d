// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebCore
internal import SmallWebTransport

/// Connects a plugin, or a plugin program, to recorded conversations.
struct ReplayDialer: ProgramHost, ProgramNetwork {
    let request: Request
    let hop: Hop
    /// The recordings of a URL.
    let find: (URI, _ defaultPort: UInt16) throws(FetchError) -> Replayer

    var isRecorded: Bool { true }

    func dial(_ endpoint: Endpoint) async throws(FetchError) -> ByteStream {
        hop.stream(over: try await carrier(to: endpoint, keepsDatagrams: false))
    }

    private func carrier(
        to endpoint: Endpoint, keepsDatagrams: Bool
    ) async throws(FetchError) -> any Carrier {
        let defaultPort = request.scheme.defaultPort
        let replayer = try find(request.uri, defaultPort)
        let same = replayer.index.recordings(of: request.uri, defaultPort: defaultPort)
        // Connection details are needed before the request can select the recording.
        guard let expected = replayer.next(same) else { throw .notRecorded("this URL") }
        let facts = try await meet(
            endpoint, expected, of: replayer, request.uri, defaultPort: defaultPort)
        return ReplayStream(
            replayer, same, met: (expected, facts),
            Redaction(request, hop.registry, keepsSecrets: false), hop,
            keepsDatagrams: keepsDatagrams, isSecure: endpoint.security == .tls)
    }

    func httpClient(for endpoint: Endpoint) -> any HTTPClient {
        DecodingClient(self, loop: hop.loop, deadline: hop.deadline)
    }

    func programRunner() -> any ProgramRunner {
        ProgramExchange(on: hop.loop, by: hop.deadline, network: self)
    }

    func dial(for program: ProgramRequest) async throws(FetchError) -> any Carrier {
        switch program.transport {
        case .none: throw FetchError(.internal, .plugin, "there is no server to connect to")
        case .stream(let endpoint):
            let carrier = try await carrier(to: endpoint, keepsDatagrams: false)
            hop.add(carrier)
            return carrier
        case .datagrams(let endpoint):
            return try await carrier(to: endpoint, keepsDatagrams: true)
        }
    }

    func noteSent(_ bytes: [UInt8], over number: Int) async throws(FetchError) {
        hop.add(Ending.Traffic(sent: bytes.count))
        try await hop.show(sent: bytes, over: number)
    }

    func noteReceived(_ count: Int) { hop.add(Ending.Traffic(received: count)) }

    // MARK: The connection of a recording

    /// Emits the events of a recording's connection, and judges its certificate as in a live run.
    ///
    /// - Returns: The metadata read for this.
    /// - Throws: The recorded error of a failed connection; the trust policy's error.
    func meet(
        _ endpoint: Endpoint, _ number: Int, of replayer: Replayer, _ uri: URI,
        defaultPort: UInt16
    ) async throws(FetchError) -> CaptureFacts {
        let recording = replayer.index.recordings[number]
        if hop.recorded == replayer.start { hop.recorded = recording.time }
        let facts = try CaptureFacts(number, replayer)
        guard hop.mayRecall(from: facts.proxy == nil ? recording.address : endpoint.host) else {
            throw .notRecorded("a reply from a public address")
        }
        let port = facts.port ?? endpoint.port
        if let address = recording.address ?? facts.proxy {
            try await hop.emit(
                .connecting(endpoint, address: "\(address.bracketedHost):\(port)"))
        }
        // A refused key is judged again: the trust store may have changed since.
        let wasRefused = [.untrusted, .trustChanged].contains(facts.failure?.outcome)
        if recording.isFailureAlone, let failure = facts.failure, !wasRefused {
            replayer.notePlayed(number)
            throw failure
        }
        let tls = try tls(endpoint, facts, replayer, uri, defaultPort)
        let connection = { (trust: Connection.Trust?) in
            Connection(
                endpoint: endpoint, address: recording.address, port: port, tls: tls, trust: trust,
                moments: .now)
        }
        var trust: Connection.Trust?
        do throws(FetchError) {
            trust = try await judge(endpoint, tls, facts.failure, replayer)
        } catch {
            try await hop.emit(
                .connected(
                    connection(
                        Connection.Trust(
                            verdict: error.outcome == .trustChanged ? .changed : .refused,
                            firstSeen: nil, policy: hop.trustStore(for: endpoint).policy.rule))))
            throw error
        }
        try await hop.emit(.connected(connection(trust)))
        guard !recording.isFailureAlone else {
            throw .notRecorded("a reply: the connection ended at its certificate")
        }
        return facts
    }

    private func tls(
        _ endpoint: Endpoint, _ facts: CaptureFacts, _ replayer: Replayer, _ uri: URI,
        _ defaultPort: UInt16
    ) throws(FetchError) -> Connection.TLS? {
        guard endpoint.security == .tls else { return nil }
        let chain = try replayer.chain(
            of: uri, defaultPort: defaultPort, sha256: facts.certificate)
        guard let chain else { return nil }
        let host = endpoint.host.hasSuffix(".") ? String(endpoint.host.dropLast()) : endpoint.host
        let handshake = facts.handshake(chain)
        return handshake.facts(
            try replayer.readers.judged(
                handshake, host: host,
                asksAuthorities: hop.trustStore(for: endpoint).policy.asksAuthorities))
    }

    private func judge(
        _ endpoint: Endpoint, _ tls: Connection.TLS?, _ recorded: FetchError?,
        _ replayer: Replayer
    ) async throws(FetchError) -> Connection.Trust? {
        guard endpoint.security == .tls else { return nil }
        var store = hop.trustStore(for: endpoint)
        store.isReadOnly = true
        if let tls {
            let now = UTCDate.now
            let trust = try await store.judge(
                endpoint, tls, now: now, loop: hop.loop, askingUntil: hop.deadline)
            let key = tls.certificate.spkiSHA256
            guard trust.verdict == .firstUse,
                let known = replayer.readers.pin(key, of: endpoint.description, now: now)
            else { return trust }
            guard known.key == key else {
                if let recorded, recorded.outcome == .trustChanged { throw recorded }
                throw FetchError(
                    .trustChanged, .tls, "the key of \(endpoint) changes within the archive",
                    expected: "sha256:" + known.key.hex, actual: "sha256:" + key.hex)
            }
            return Connection.Trust(
                verdict: .match, firstSeen: known.since, policy: trust.policy)
        }
        guard store.policy == .skip else {
            // libcurl does not report a certificate that it refuses.
            if let recorded, [.untrusted, .trustChanged].contains(recorded.outcome) {
                throw recorded
            }
            let why = "the recording of \(endpoint) has no certificate to judge"
            // A cache was cut off behind the page: another one, or the server, answers.
            throw FetchError(replayer.bounds == nil ? .untrusted : .notRecorded, .tls, why)
        }
        return Connection.Trust(verdict: .skipped, firstSeen: nil, policy: .skip)
    }
}

extension Connection.Moments {
    fileprivate static var now: Connection.Moments {
        var moments = Connection.Moments()
        let now = Instant.now
        (moments.connected, moments.ready) = (now, now)
        return moments
    }
}
