// SPDX-License-Identifier: MIT
package import SmallWebCore

extension TrustStore {
    /// Rules to judge a server's key, always before a byte of the request is sent.
    @nonexhaustive
    public enum Policy: Sendable, Hashable {
        /// Pin the key at the first visit, insist on it afterwards. Dates and names are only noted.
        case tofu
        /// A certificate authority vouches for it, for this name and today. Nothing is stored.
        case ca
        /// Both `ca` and `tofu`.
        case both
        /// Only keys that the store has. Nothing is stored.
        case locked
        /// As `tofu`, but a person decides on every key that is new.
        case ask
        /// This key or certificate by its SHA-256, and no other. Nothing is stored.
        case pin([UInt8])
        /// No decision at all, and nothing is stored.
        case skip

        private static let named: [TrustStore.Policy] = [.tofu, .ca, .both, .locked, .ask]
        /// Names of the policies without options of their own.
        package static let names = named.map(\.rule.rawValue)

        package init?(name: String) {
            guard let index = Self.names.firstIndex(of: name) else { return nil }
            self = Self.named[index]
        }

        package var rule: Connection.Trust.Policy {
            switch self {
            case .tofu: .tofu
            case .ca: .ca
            case .both: .both
            case .locked: .locked
            case .ask: .ask
            case .pin: .pin
            case .skip: .skip
            }
        }

        package var asksAuthorities: Bool { self == .ca || self == .both }

        /// True if it requires more of a key than to be the first: a scheme without keys cannot
        /// satisfy it.
        package var isDemanding: Bool {
            switch self {
            case .ca, .both, .locked, .pin: true
            case .tofu, .ask, .skip: false
            }
        }

        /// True if it uses the pins of a place.
        var usesStore: Bool {
            switch self {
            case .tofu, .both, .locked, .ask: true
            case .ca, .pin, .skip: false
            }
        }
    }
}

/// Judges one key at one visit. Pure.
struct TrustVisit {
    let endpoint: Endpoint
    let tls: Connection.TLS
    let now: Int
    let policy: TrustStore.Policy
    /// The store's file, for messages.
    let path: String
    /// True if a person has accepted the key.
    var isApproved = false

    private var certificate: Connection.Certificate { tls.certificate }
    private var key: String { "sha256:" + certificate.spkiSHA256.hex }

    /// A pin's `last` and `n` are brought up to date at most this often: a store that is rewritten
    /// at every fetch would cost more than the fetch.
    private static let refreshSeconds = 86_400

    private func facts(_ verdict: Connection.Trust.Verdict, _ firstSeen: Int? = nil)
        -> Connection.Trust
    {
        Connection.Trust(verdict: verdict, firstSeen: firstSeen, policy: policy.rule)
    }

    /// The verdict; `nil` if the store is needed for it.
    func judgeWithoutStore() throws(FetchError) -> Connection.Trust? {
        switch policy {
        case .skip: return facts(.skipped)
        case .pin(let digest):
            guard digest == certificate.spkiSHA256 || digest == certificate.sha256 else {
                throw .wrongKey(of: endpoint, pin: digest, present: certificate.spkiSHA256)
            }
            return facts(.pinned)
        case .ca, .both:
            try requireAuthority()
            return policy == .ca ? facts(.ca) : nil
        case .tofu, .locked, .ask: return nil
        }
    }

    /// The verdict, and the change to the store.
    ///
    /// - Parameter lines: All lines of the store about the place.
    func judge(
        _ lines: [KnownHosts.Line]
    ) throws(FetchError) -> (Connection.Trust, KnownHosts.Change?) {
        let pins = lines.compactMap(\.pin)
        if let pin = pins.first(where: { $0.matches(certificate) }) {
            let present = renewed(pin)
            let isStale =
                policy != .locked
                && (now - (pin.last ?? 0) >= Self.refreshSeconds || pin.expires != present.expires
                    || pin.kind != .key || pin.seenSHA256 != present.seenSHA256)
            return (facts(.match, pin.first), isStale ? .replace(pin, by: present) : nil)
        }
        // The damaged line may have pinned another key.
        if let damaged = lines.first(where: { $0.pin == nil }) { throw damage(damaged.number) }
        guard let known = pins.last else {
            if policy == .locked || policy == .ask && !isApproved { throw unknown }
            return (facts(.firstUse, now), .add(newPin(via: isApproved ? "asked" : "first-use")))
        }
        // Once the old certificate has expired, a new key is the ordinary course of things. While
        // one of several alternatives has not, the holder of that key still speaks for the place.
        let isDue = pins.allSatisfy { ($0.expires ?? .max) < now }
        if isDue && (policy == .tofu || policy == .both) || isApproved {
            let new = newPin(via: isApproved ? "asked" : "renewed", keeping: known.others)
            let verdict: Connection.Trust.Verdict = isDue ? .renewed : .changed
            return (facts(verdict, known.first), .replace(known, by: new))
        }
        throw refusal(known)
    }

    private func newPin(via: String, keeping others: [[UInt8]] = []) -> KnownHosts.Pin {
        var pin = KnownHosts.Pin(
            place: KnownHosts.canonical(endpoint.description), key: certificate.spkiSHA256.hex,
            expires: certificate.notAfter, first: now, last: now, days: 1, via: via)
        pin.others = others
        pin.see(certificate)
        return pin
    }

    /// `pin` after this visit: a pinned certificate becomes its key, which survives it.
    private func renewed(_ pin: KnownHosts.Pin) -> KnownHosts.Pin {
        var pin = pin
        pin.kind = .key
        pin.algorithm = .sha256
        pin.key = certificate.spkiSHA256.hex
        pin.expires = certificate.notAfter
        pin.see(certificate)
        if now - (pin.last ?? 0) >= Self.refreshSeconds { pin.days += 1 }
        pin.last = now
        return pin
    }

    private func requireAuthority() throws(FetchError) {
        let problems = tls.problems(at: now)
        guard !problems.isEmpty else { return }
        let words = problems.map(tls.describe).joined(separator: "; ")
        throw FetchError(
            .untrusted, .tls, "the certificate of \(endpoint) is not trusted: \(words)",
            remedy: .trustOnFirstUse,
            expected: "a certificate authority", actual: problems[0].rawValue)
    }

    private var unknown: FetchError {
        FetchError(
            .untrusted, .tls,
            "the key of \(endpoint) is not known",
            remedy: .addKey(endpoint, key: key),
            expected: "a known key", actual: "spki-\(key)")
    }

    private func damage(_ line: Int) -> FetchError {
        FetchError(
            .untrusted, .tls,
            "\(path.isEmpty ? "the trust store" : "\(path):\(line)"): cannot read the pin of"
                + " \(endpoint)",
            remedy: .removeKey(endpoint),
            expected: "a pin that can be read", actual: "spki-\(key)")
    }

    private func refusal(_ pin: KnownHosts.Pin) -> FetchError {
        var error = FetchError(
            .trustChanged, .tls, "the key of \(endpoint) changed",
            remedy: .replaceKey(endpoint, key: key),
            expected: (pin.kind == .key ? "spki-" : "certificate-") + pin.digest,
            actual: (pin.kind == .key ? "spki-" + key : "certificate-sha256:")
                + (pin.kind == .key ? "" : certificate.sha256.hex))
        // A pin that a person or another client has written may lack any of them.
        let days = [
            ("known since", pin.first), ("last seen", pin.last), ("good until", pin.expires),
        ].compactMap { words, time in time.map { "\(words) \(UTCDate.day($0))" } }
        error.detail = days.isEmpty ? nil : days.joined(separator: ", ")
        return error
    }
}

extension KnownHosts.Pin {
    fileprivate mutating func see(_ certificate: Connection.Certificate) {
        seenSHA256 = certificate.sha256.hex
        seenSHA512 = certificate.sha512.isEmpty ? nil : certificate.sha512.hex
    }
}
