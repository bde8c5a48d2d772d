// SPDX-License-Identifier: MIT

/// Facts about an established connection.
//
// A class, because it is large and passes many hands.
// @unchecked: only its creator changes it, before handing it out.
public final class Connection: @unchecked Sendable {
    /// The endpoint that was requested.
    public let endpoint: Endpoint
    /// The server's address, numeric, IPv6 without brackets; `nil` when a proxy looked it up.
    public let address: String?
    /// The port behind ``address``.
    public let port: UInt16
    /// The proxy in between, without its user and password: `socks5h://127.0.0.1:9050`, or
    /// `command`.
    public package(set) var proxy: String?
    /// `nil` without TLS.
    public let tls: Connection.TLS?
    /// `nil` where there is no key to judge.
    public let trust: Connection.Trust?
    /// Completion times of the steps.
    public let moments: Connection.Moments
    package var notes: [Note] = []

    package init(
        endpoint: Endpoint, address: String?, port: UInt16, tls: Connection.TLS?,
        trust: Connection.Trust?,
        moments: Connection.Moments = Connection.Moments()
    ) {
        self.endpoint = endpoint
        self.address = address
        self.port = port
        self.tls = tls
        self.trust = trust
        self.moments = moments
    }
}

extension Connection {
    /// Completion times of the steps of connecting; `nil` for steps that were not needed.
    public struct Moments: Sendable, Hashable {
        package var resolved: Instant?
        package var connected: Instant?
        /// The proxy had connected to the server.
        package var proxied: Instant?
        /// The TLS handshake was done and the server's key judged.
        package var secured: Instant?
        /// The request could go out.
        package var ready: Instant?

        package init() {}
    }

    /// Result of the TLS handshake.
    //
    // @unchecked: as ``Connection``.
    public final class TLS: @unchecked Sendable {
        /// `TLSv1.3`.
        public let version: String
        /// OpenSSL's name of the cipher suite.
        public let cipher: String
        /// The name sent in SNI; `nil` for an IP literal.
        public let serverName: String?
        /// The server's own certificate.
        public let certificate: Connection.Certificate
        /// The certificate authorities' verdict on it.
        public let authority: Connection.Authority
        /// The protocol agreed on by ALPN; `nil` without one.
        public package(set) var applicationProtocol: String?
        /// True if an earlier connection's session was resumed.
        public let isResumed: Bool
        /// Number of certificates the server sent when the session began; `nil` when unknown.
        public package(set) var chainLength: Int?
        /// The certificates as the server sent them, DER, its own first; empty when not needed.
        package var chain: [[UInt8]] = []
        /// The cipher suite's IANA name; `nil` when unknown.
        package var cipherSuite: String?
        /// SHA-256 of the client certificate that the server requested and got; `nil` for none.
        public package(set) var shownIdentity: [UInt8]?

        package init(
            version: String, cipher: String, serverName: String?,
            certificate: Connection.Certificate,
            authority: Connection.Authority = .unchecked, isResumed: Bool = false
        ) {
            self.version = version
            self.cipher = cipher
            self.serverName = serverName
            self.certificate = certificate
            self.authority = authority
            self.isResumed = isResumed
        }

        /// All problems of the certificate at `now`, in Unix seconds, as far as they were checked.
        /// The trust policy decides on the consequences.
        package func problems(at now: Int) -> [Connection.Problem] {
            var problems: [Connection.Problem] = []
            if let end = certificate.notAfter, end < now { problems.append(.expired) }
            if let start = certificate.notBefore, start > now { problems.append(.notYetValid) }
            if !certificate.matchesHost { problems.append(.otherName) }
            if case .refused = authority { problems.append(.authority) }
            return problems
        }

        package func describe(_ problem: Connection.Problem) -> String {
            switch problem {
            case .expired:
                return "the certificate expired on " + UTCDate.day(certificate.notAfter, or: "?")
            case .notYetValid:
                return "the certificate is valid from "
                    + UTCDate.day(certificate.notBefore, or: "?")
            case .otherName: return "the certificate is for another name"
            case .authority:
                guard case .refused(let reason) = authority else { return "no authority was asked" }
                return "no certificate authority vouches for it (\(reason))"
            }
        }
    }

    /// The verdict of the system's certificate authorities on a certificate.
    @nonexhaustive
    public enum Authority: Sendable, Hashable {
        /// Not asked for, because reading all authorities is slow.
        case unchecked
        /// One vouches for it.
        case vouched
        /// OpenSSL's reason.
        case refused(String)
    }

    /// A single problem of a certificate.
    @nonexhaustive
    public enum Problem: String, Sendable, Hashable, Codable, CaseIterable {
        /// Its validity is over.
        case expired = "cert-expired"
        /// Its validity has not begun.
        case notYetValid = "cert-not-yet-valid"
        /// It is for other names than the host.
        case otherName = "cert-name-mismatch"
        /// No authority vouches for it.
        case authority = "cert-authority"
    }

    /// A server's certificate, as far as trust and people need it.
    public struct Certificate: Sendable, Hashable {
        /// SHA-256 of the DER certificate, 32 bytes.
        public let sha256: [UInt8]
        /// SHA-512 of the DER certificate, for stores that pin it; empty when not needed.
        public var sha512: [UInt8] = []
        /// SHA-256 of the DER SubjectPublicKeyInfo, 32 bytes: the value that is pinned.
        public let spkiSHA256: [UInt8]
        /// Distinguished name, RFC 2253 form.
        public let subject: String
        /// The signer, in the same form as ``subject``.
        public let issuer: String
        /// Start of validity in Unix seconds; `nil` when it cannot be read.
        public let notBefore: Int?
        /// End of validity in Unix seconds; `nil` when it cannot be read.
        public let notAfter: Int?
        /// True if the certificate is for the requested host.
        public let matchesHost: Bool
        /// Big-endian, without its sign; `nil` when it cannot be read.
        public var serial: [UInt8]?
        /// True if ``serial`` is below 0, which RFC 5280 §4.1.2.2 does not allow.
        public var isSerialNegative = false
        /// The names that the certificate is for; `nil` when they cannot be read.
        public var dnsNames: [String]?
        /// IP addresses that it is for; `nil` when they were not read.
        public var ipNames: [String]?
        /// `ecdsa-p256`, `rsa-2048`, `ed25519` and the like.
        public var keyName: String?
        /// Description of a key that is too short; `nil` if it is long enough.
        public var weakKey: String?
        /// The digest of the signature, if it is a broken one: `SHA-1`.
        public var weakDigest: String?

        package init(
            sha256: [UInt8], spkiSHA256: [UInt8], subject: String, issuer: String, notBefore: Int?,
            notAfter: Int?, matchesHost: Bool
        ) {
            self.sha256 = sha256
            self.spkiSHA256 = spkiSHA256
            self.subject = subject
            self.issuer = issuer
            self.notBefore = notBefore
            self.notAfter = notAfter
            self.matchesHost = matchesHost
        }

        /// Reasons why the certificate is easier to forge. No policy refuses it for them.
        ///
        /// - Parameter place: The server's `HOST:PORT`.
        package func weaknesses(of place: String) -> [Note] {
            var notes: [Note] = []
            if let weakKey { notes.append(Note("cert-weak-key", "the key is weak: \(weakKey)")) }
            if let weakDigest {
                let message = "the certificate's signature is weak: \(weakDigest)"
                notes.append(Note("cert-weak-signature", message))
            }
            for index in notes.indices { notes[index].place = place }
            return notes
        }
    }

    /// The judgement of the server's key.
    public struct Trust: Sendable, Hashable {
        /// The result of the judgement.
        @nonexhaustive
        public enum Verdict: String, Sendable, Hashable, Codable {
            /// The server was not known; its key is from now on, unless it was trusted for once.
            case firstUse = "first-use"
            /// The key that is known.
            case match
            /// Another key than the one known, whose certificate had expired.
            case renewed
            /// Not judged.
            case skipped
            /// Another key than the one known, and a person accepted it.
            case changed
            /// A certificate authority vouches for it, or `--pin` names it.
            case ca, pinned
            /// Not accepted, for another reason than a change; the fetch ended there.
            case refused
        }

        /// The rules for accepting keys; `none` accepts every key.
        @nonexhaustive
        public enum Policy: String, Sendable, Hashable, Codable {
            /// Trust on first use.
            case tofu
            /// Certificate authorities.
            case ca
            /// Authorities, and trust on first use.
            case both
            /// Known keys alone.
            case locked
            /// Trust on first use, as far as a person agrees.
            case ask
            /// One key that was named.
            case pin
            /// No judgement.
            case skip = "none"
        }

        /// The result of the judgement.
        public let verdict: Verdict
        /// Unix seconds of the first visit; `nil` when nothing is stored.
        public let firstSeen: Int?
        /// The rule that decided.
        public let policy: Policy

        package init(verdict: Verdict, firstSeen: Int?, policy: Policy) {
            self.verdict = verdict
            self.firstSeen = firstSeen
            self.policy = policy
        }
    }
}

extension Connection {
    /// Warnings about a connection that the policy has allowed.
    package var remarks: [Note] {
        guard let tls else { return [] }
        var notes: [Note] = []
        if trust?.verdict == .renewed {
            notes.append(
                Note(
                    "key-renewed",
                    "the key is a new one, after the certificate of the old one had expired"))
        }
        if tls.shownIdentity != nil && tls.version != "TLSv1.3" {
            notes.append(
                Note(
                    "identity-in-clear",
                    "before TLS 1.3 the client certificate is sent unencrypted"))
        }
        return notes + tls.certificate.weaknesses(of: endpoint.description)
            + tls.problems(at: UTCDate.now).map { problem in
                var note = Note(problem.rawValue, tls.describe(problem))
                if problem == .expired {
                    (note.place, note.isWarning) = (endpoint.description, true)
                }
                return note
            }
    }
}

extension Connection.Certificate {
    /// For people: `2026-01-01 to 2027-01-01`.
    package func validity(or unknown: String = "?") -> String {
        UTCDate.day(notBefore, or: unknown) + " to " + UTCDate.day(notAfter, or: unknown)
    }

    /// The same, and at an end that is past or less than 30 days away `, ends in 3 days`.
    package func validity(at now: Int) -> String {
        func time(_ seconds: Int) -> String {
            let isLong = seconds >= 2 * 86_400
            let count = isLong ? seconds / 86_400 : max(1, seconds / 3600)
            return "\(count) \(isLong ? "day" : "hour")\(count == 1 ? "" : "s")"
        }
        var note = ""
        if let notAfter, notAfter < now {
            note = ", expired \(time(now - notAfter)) ago"
        } else if let notBefore, notBefore > now {
            note = ", begins in \(time(notBefore - now))"
        } else if let notAfter, notAfter - now < 30 * 86_400 {
            note = ", ends in \(time(notAfter - now))"
        }
        return validity() + note
    }
}

extension Connection.Trust {
    /// For people: `known, known since 2026-01-01`.
    package var sentence: String {
        verdict.rawValue + (firstSeen.map { ", known since " + UTCDate.day($0) } ?? "")
    }
}
