// SPDX-License-Identifier: MIT

/// Hands out connected streams: resolved, encrypted and trusted by the host side.
public protocol Dialer {
    /// Connects. Nothing of the request has been sent when this returns.
    ///
    /// - Throws: `resolve`, `connect`, `tls`, `untrusted`, `trust-changed`, `timeout`.
    func dial(_ endpoint: Endpoint) async throws(FetchError) -> ByteStream

    /// The HTTP engine, which connects for itself.
    ///
    /// - Parameter endpoint: The server of all its requests.
    /// - Throws: `not-built-in` when libcurl is not installed, or where there is no network; errors
    ///   of ``dial(_:)`` about a proxy.
    func httpClient(for endpoint: Endpoint) throws(FetchError) -> any HTTPClient

    /// True if the exchange is recorded or replayed, and so must not depend on what the process has
    /// learnt from others; by default false.
    var isRecorded: Bool { get }
}

extension Dialer {
    /// False.
    public var isRecorded: Bool { false }

    /// Throws `not-built-in`.
    public func httpClient(for endpoint: Endpoint) throws(FetchError) -> any HTTPClient {
        throw FetchError(.notBuiltIn, .input, "there is no HTTP here")
    }

    /// - Throws: `not-built-in` where no program can be run.
    package func runner() throws(FetchError) -> any ProgramRunner {
        guard let host = self as? any ProgramHost else {
            throw FetchError(.notBuiltIn, .input, "no program can be run here")
        }
        return try host.programRunner()
    }
}

/// A dialer that runs programs, too. Not a requirement of ``Dialer``, which is public, unlike
/// programs.
package protocol ProgramHost: Dialer {
    func programRunner() throws(FetchError) -> any ProgramRunner
}
