// SPDX-License-Identifier: MIT
package import SmallWebCore
internal import SmallWebTesting

/// Reads status and media type of a recorded reply with the plugin of its scheme.
package struct HeadReader {
    private let registry: Registry

    /// Limit of bytes read from a block.
    package static let bytesMax = 64 << 10

    /// - Parameter registry: Registry of built-in plugins.
    package init(_ registry: Registry) { self.registry = registry }

    /// The head of a reply, from its first bytes; `nil` if no plugin can parse it.
    package func head(target: String?, block: [UInt8]) async -> Head? {
        guard let target, let uri = try? URI(parsing: target), let entry = registry[uri.scheme]
        else { return nil }
        var request = Request(uri: uri, scheme: entry.scheme)
        request.wantsHeadAlone = true
        request.wantsItems = false
        if entry.scheme.uploads?.isOnlyUse == true { request.upload = Request.Upload([]) }
        if entry.scheme.input == .line { request.input = [] }
        var head: Head?
        do throws(FetchError) {
            _ = try await entry.handler.fetch(request, dialer: BlockDialer(block: block)) {
                event throws(FetchError) in
                guard case .head(let found) = event else { return }
                head = found
                throw .cancelled
            }
        } catch {
            // An incomplete reply is enough.
        }
        return head
    }
}

/// Fake server that answers every request with `block`.
private struct BlockDialer: Dialer, HTTPClient {
    let block: [UInt8]

    func dial(_ endpoint: Endpoint) -> ByteStream { ByteStream(replaying: block) }

    func httpClient(for endpoint: Endpoint) -> any HTTPClient { self }

    func exchange(
        _ request: HTTPRequest,
        onReply: (HTTPReply) async throws(FetchError) -> Void,
        onBody: (ArraySlice<UInt8>) async throws(FetchError) -> Void
    ) async throws(FetchError) -> Completeness {
        guard let end = HeaderText.end(of: block[...]) else { return .truncated }
        try await onReply(HTTPReply(block[..<end]))
        return .unverified
    }
}
