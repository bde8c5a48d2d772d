// SPDX-License-Identifier: MIT
public import SmallWebCore

/// Further schemes that this machine's libcurl can fetch, for users who enable them. Replies have a
/// body only, without the interpretation that a plugin of its own would give.
public struct CurlPlugin: ProtocolHandler {
    public let schemes: [Scheme]

    /// The schemes of libcurl that are transfers: telnet reads standard input, ldap and rtmp block.
    private static let transfers: [(name: String, port: UInt16, trust: Scheme.Trust)] = [
        ("dict", 2628, .none), ("ftp", 21, .none), ("ftps", 990, .ca), ("imap", 143, .none),
        ("imaps", 993, .ca), ("pop3", 110, .none), ("pop3s", 995, .ca), ("scp", 22, .none),
        ("sftp", 22, .none), ("tftp", 69, .none),
    ]

    /// - Parameter names: Schemes that libcurl supports. Others are left out.
    public init(_ names: [String]) {
        schemes = Self.transfers.filter { names.contains($0.name) }.map { transfer in
            Scheme(
                transfer.name, plugin: "curl", port: transfer.port, transport: .own,
                summary: "Whatever libcurl makes of it"
            ) {
                $0.pathForm = .opaque
                $0.trust = transfer.trust
                // For the others libcurl sends everything.
                $0.canResume = ["ftp", "ftps", "sftp"].contains(transfer.name)
                // FTP opens a second connection, TFTP sends datagrams.
                $0.canUseProxy = !["ftp", "ftps", "tftp"].contains(transfer.name)
            }
        }
    }

    public func fetch(
        _ request: Request, dialer: any Dialer, emit: Emit
    ) async throws(FetchError) -> Completeness {
        let exchange = try HTTPRequest(request, options: HTTPOptions(request))
        return try await dialer.httpClient(for: request.endpoint).exchange(exchange) {
            reply async throws(FetchError) in
            try await emit(.head(Head(.success)))
        } onBody: { bytes async throws(FetchError) in
            try await emit(.body(bytes))
        }
    }
}
