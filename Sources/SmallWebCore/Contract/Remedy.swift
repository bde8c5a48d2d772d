// SPDX-License-Identifier: MIT

extension FetchError {
    /// What would help after a failure, as a fact: which option or command that is, a program knows
    /// itself.
    public enum Remedy: Sendable, Hashable {
        /// What a fetch may use.
        public enum Limit: Sendable, Hashable {
            case connectTime, silence, totalTime, bodyBytes, redirects, openFiles, threads, pause
        }

        /// A higher limit than the one that ended the fetch.
        case raise(Limit)
        case useKnownScheme
        /// The scheme is known, but not among those that may be fetched.
        case allowScheme
        /// The URL that was meant, of which another scheme or path makes sense.
        indirect case useOtherURL(URI)
        case allowRedirectScheme
        /// One that HTTP's engine can follow.
        case useOtherPolicy
        /// No certificate authority vouches for the server.
        case trustOnFirstUse
        case nameAuthority
        indirect case addKey(Endpoint, key: String)
        indirect case replaceKey(Endpoint, key: String)
        /// The stored key cannot be read.
        indirect case removeKey(Endpoint)
        case correctPin
        case nameTrustStore
        case makeIdentity
        case listIdentities
        /// Its name is taken.
        indirect case removeIdentity(String)
        /// The server wants a client certificate.
        indirect case bindIdentity(URI?)
        /// One into the network that the host is part of: its URL.
        case useProxy(String)
        /// User and password of the proxy.
        case giveProxyCredentials
        case nameProxyAuthority
        /// Addresses of one family were asked for.
        case useAnyFamily
        /// Input is for other URLs, like the example.
        indirect case inputOnly(for: String, example: String)
        /// Where nothing is an answer, too.
        case allowEmptyReply
        case upload
        case listReferences
        /// The rest of a body cannot be had.
        case startOver
        /// A body without undoing its encoding.
        case takeEncoded
        /// Links themselves, or fewer of them: their records are too large.
        case listWithoutRecords
    }
}
