// SPDX-License-Identifier: MIT
package import SmallWebCore

/// Decodes the content coding of another engine's bodies, until the deadline.
package struct DecodingClient: HTTPClient {
    private let client: any HTTPClient
    private let loop: EventLoop
    private let deadline: Instant

    /// - Parameters:
    ///   - client: Its bodies have no transfer coding, but still have the content coding.
    ///   - deadline: Deadline of the whole fetch.
    package init(_ client: any HTTPClient, loop: EventLoop, deadline: Instant) {
        (self.client, self.loop, self.deadline) = (client, loop, deadline)
    }

    package func exchange(
        _ request: HTTPRequest,
        onReply: (HTTPReply) async throws(FetchError) -> Void,
        onBody: (ArraySlice<UInt8>) async throws(FetchError) -> Void
    ) async throws(FetchError) -> Completeness {
        var decoder = ContentDecoder()
        let completeness = try await client.exchange(request) { reply async throws(FetchError) in
            if request.decodesBody { decoder = ContentDecoder(reply) }
            try await onReply(reply)
        } onBody: { piece async throws(FetchError) in
            try await decoder.decode(piece, on: loop, by: deadline, onBody)
        }
        return decoder.isCutOff ? .truncated : completeness
    }
}

extension HTTPRequest {
    /// A range counts bytes of the encoded body, and a tail of it alone cannot be decoded.
    var decodesBody: Bool { !wantsRawBody && options.resumeOffset == nil }
}
