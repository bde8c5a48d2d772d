// SPDX-License-Identifier: MIT

extension FetchError {
    /// A remedy for a failure, as a fact: each program maps it to its own option or command.
    public enum Remedy: Sendable, Hashable {
        /// A limit of a fetch.
        public enum Limit: Sendable, Hashable {
            case connectTime, silence, totalTime, bodyBytes, redirects, openFiles, threads, pause
        }

        /// A higher limit than the one that ended the fetch.
        case raise(Limit)
        case useKnownScheme
        /// The scheme is known, but not in the list of allowed ones.
        case allowScheme
        /// The probable URL, with another scheme or path.
        indirect case useOtherURL(URI)
        case allowRedirectScheme
        /// A policy that HTTP's engine can follow.
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
        /// The identity's name is taken.
        indirect case removeIdentity(String)
        /// The server wants a client certificate.
        indirect case bindIdentity(URI?)
        /// The URL of a proxy into the network that the host is part of.
        case useProxy(String)
        /// User and password of the proxy.
        case giveProxyCredentials
        case nameProxyAuthority
        /// Addresses of one family were asked for.
        case useAnyFamily
        /// Input is for other URLs, such as the example.
        indirect case inputOnly(for: String, example: String)
        /// Accept an empty reply, too.
        case allowEmptyReply
        case upload
        case listReferences
        /// The rest of a body cannot be had.
        case startOver
        /// Take the body without undoing its encoding.
        case takeEncoded
        /// List the links themselves, or fewer of them: their records are too large.
        case listWithoutRecords
    }
}
