// SPDX-License-Identifier: MIT
public import SmallWebCore
internal import SmallWebTransport

extension TrustStore {
    /// Keeps servers' keys, in the place of a file: a database, say, behind an actor.
    ///
    /// Fetches call it from several tasks, away from the client's thread: it may wait or block. It
    /// is given the time to connect in; after that its task is cancelled and left alone. An error
    /// that is not a `FetchError` becomes one of the outcome `read`, and ends the fetch before a
    /// byte of the request is sent.
    public protocol Keeper: Sendable {
        /// Looks up the keys that are known of a server: alternatives; any one is as good. Empty
        /// for a server that is not known.
        func keys(of endpoint: Endpoint) async throws -> [Key]

        /// Remembers a key. It must be kept when this returns true.
        ///
        /// - Parameters:
        ///   - key: A new key, or a known one with later dates.
        ///   - endpoint: The server.
        ///   - old: The key whose place it takes, as it was looked up; `nil` for a server that was
        ///     not known.
        /// - Returns: False, with nothing changed, if `old` is not kept any more, or if it is `nil`
        ///   and the server is known by now. The keys are then looked up and judged again.
        func remember(
            _ key: Key, of endpoint: Endpoint, replacing old: Key?
        ) async throws -> Bool
    }

    /// A server's key, as it is kept.
    public struct Key: Sendable, Hashable {
        /// `sha256:` and 64 hexadecimal digits: the digest of the key (SubjectPublicKeyInfo). The
        /// form of `FetchError.expected` and `actual`, which begins with `spki-` or `certificate-`,
        /// is taken apart when it is set: it says ``isOfCertificate``, too.
        public var digest: String { didSet { readForm() } }
        /// True for a ``digest`` of the whole certificate, as other clients keep it.
        public var isOfCertificate = false
        /// The end of the certificate's validity, in Unix seconds; `nil` if it is not known. From
        /// then on a new key takes its place by ``TrustStore/Policy/tofu``.
        public var expires: Int?
        /// The first visit, in Unix seconds; `nil` if it is not known.
        public var firstSeen: Int?
        /// The last visit, in Unix seconds, at most a day old; `nil` if there was none.
        public var lastSeen: Int?

        /// A key with a digest such as `sha256:6ad3…`. Any other text is a key that cannot be read:
        /// its server is not trusted.
        public init(
            digest: String, expires: Int? = nil, firstSeen: Int? = nil, lastSeen: Int? = nil
        ) {
            self.digest = digest
            (self.expires, self.firstSeen, self.lastSeen) = (expires, firstSeen, lastSeen)
            readForm()
        }

        private mutating func readForm() {
            for (form, ofCertificate) in [("spki-", false), ("certificate-", true)]
            where digest.hasPrefix(form) {
                isOfCertificate = ofCertificate
                digest = String(digest.dropFirst(form.count))
            }
        }
    }

    /// The answer to a ``Question``. The literals `true` and `false` are ``always`` and ``no``.
    @nonexhaustive
    public enum Answer: Sendable, Hashable, ExpressibleByBooleanLiteral {
        /// The key is not trusted, and the fetch fails.
        case no
        /// The key is trusted for this connection, and not remembered: the next one asks again,
        /// even of the same fetch.
        case once
        /// The key is trusted and remembered, in the place of one that it replaces.
        case always

        /// ``always`` for true, ``no`` for false.
        public init(booleanLiteral value: Bool) { self = value ? .always : .no }
    }

    /// A key that a person may accept.
    public struct Question: Sendable {
        /// The server.
        public let endpoint: Endpoint
        /// The keys that are known of it; empty for a new server.
        public let known: [Key]
        /// The key that it presents now.
        public let presented: Key
        /// The error that is thrown after a no.
        public let error: FetchError
        /// The sentence of ``error``.
        public var message: String { error.message }
    }
}

extension TrustStore.Question {
    init(_ visit: TrustVisit, _ lines: [KnownHosts.Line], _ error: FetchError) {
        let certificate = visit.tls.certificate
        self.init(
            endpoint: visit.endpoint, known: lines.compactMap(\.pin).map(TrustStore.Key.init),
            presented: TrustStore.Key(
                digest: "sha256:" + certificate.spkiSHA256.hex, expires: certificate.notAfter,
                firstSeen: visit.now, lastSeen: visit.now),
            error: error)
    }
}

extension TrustStore.Key {
    init(_ pin: KnownHosts.Pin) {
        self.init(
            digest: pin.digest, expires: pin.expires, firstSeen: pin.first, lastSeen: pin.last)
        isOfCertificate = pin.kind == .certificate
    }

    /// The key as a line of a file, which has a pin if it can be read.
    func line(for visit: TrustVisit) -> KnownHosts.Line {
        let parts = digest.split(separator: ":", maxSplits: 1)
        let algorithm = parts.first.flatMap { KnownHosts.Pin.Algorithm(rawValue: String($0)) }
        var pin = algorithm.flatMap { algorithm in
            KnownHosts.Pin(
                place: visit.endpoint.description, isOfCertificate ? .certificate : .key, algorithm,
                digest: parts.count > 1 ? String(parts[1]) : "", expires: expires, first: firstSeen,
                via: "-")
        }
        pin?.last = lastSeen
        // A file alone keeps the certificate that was seen.
        pin?.seenSHA256 = visit.tls.certificate.sha256.hex
        return KnownHosts.Line(start: 0, number: 0, text: [], pin: pin)
    }
}

extension KnownHosts.Change {
    /// The key to remember, and the one that it replaces.
    func keys(
        _ known: Zip2Sequence<[TrustStore.Key], [KnownHosts.Line]>
    ) -> (TrustStore.Key, TrustStore.Key?) {
        switch self {
        case .add(let pin): (TrustStore.Key(pin), nil)
        case .replace(let old, let new):
            (TrustStore.Key(new), known.first { $0.1.pin == old }?.0)
        }
    }
}

extension TrustStore {
    // Not inlined, like ``lines(of:)``.
    @inline(never)
    func keys(
        _ visit: TrustVisit, on loop: EventLoop, by deadline: Instant
    ) async throws(FetchError) -> [Key] {
        try await kept(visit, on: loop, by: deadline) { try await $0.keys(of: visit.endpoint) }
    }

    @inline(never)
    func remember(
        _ key: Key, _ old: Key?, _ visit: TrustVisit, on loop: EventLoop, by deadline: Instant
    ) async throws(FetchError) -> Bool {
        try await kept(visit, on: loop, by: deadline) {
            try await $0.remember(key, of: visit.endpoint, replacing: old)
        }
    }

    /// A result of the keeper.
    ///
    /// - Throws: `read` in the place of its own errors.
    private func kept<Value: Sendable>(
        _ visit: TrustVisit, on loop: EventLoop, by deadline: Instant,
        _ body: @escaping @Sendable (any Keeper) async throws -> Value
    ) async throws(FetchError) -> Value {
        let late = FetchError(
            .timeout, .tls, "the trust store took too long for \(visit.endpoint)",
            remedy: .raise(.connectTime))
        guard let keeper else { preconditionFailure("there is a keeper") }
        return try await loop.away(by: deadline, or: late) { () async throws(FetchError) in
            do {
                return try await body(keeper)
            } catch {
                throw (error as? FetchError)
                    ?? FetchError(.read, .tls, "the trust store failed: \(error)")
            }
        }
    }
}
