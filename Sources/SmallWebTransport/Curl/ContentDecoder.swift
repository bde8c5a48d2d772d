// SPDX-License-Identifier: MIT
package import SmallWebCore

/// Decodes the content coding of an HTTP reply (RFC 9110, section 8.4): gzip, the only one
/// requested. Also decodes transfer codings other than chunked, which a server should not send
/// unasked (RFC 9112, section 7).
///
/// libcurl could decode, and supports more codings. But it unpacks a whole piece from the network
/// at once, to a thousand times its size, or more with brotli. While the consumer is slow it
/// buffers the rest, and copies it at every pause.
struct ContentDecoder {
    /// Value of `Accept-Encoding`.
    static let accepted = "gzip"

    /// Limit of the bytes handed out at once.
    static let outputBytesMax = Inflater.outputBytesMax

    /// In lower case, in the order in which they were applied; without `identity`.
    private var codings: [String] = []
    private var inflater: Inflater?

    init() {}

    /// - Parameters:
    ///   - reply: The header.
    ///   - ofTransfer: True for the transfer coding; libcurl has undone the chunks, the last
    ///     coding.
    init(_ reply: HTTPReply, ofTransfer: Bool = false) {
        codings = reply.codings(ofTransfer ? "transfer-encoding" : "content-encoding")
        if ofTransfer && codings.last == "chunked" { codings.removeLast() }
        takesEncoded = ofTransfer ? nil : .takeEncoded
    }

    /// For the error about an unsupported coding.
    private var takesEncoded: FetchError.Remedy?
    /// True if everything is passed through.
    var isIdle: Bool { codings.isEmpty }

    /// True if the body so far is incomplete.
    var isCutOff: Bool { inflater.map { !$0.isFinished } ?? false }

    /// As ``decode(_:_:)``, until `deadline`. Lets other tasks on the loop run in between.
    mutating func decode(
        _ piece: ArraySlice<UInt8>, on loop: EventLoop, by deadline: Instant,
        _ body: (ArraySlice<UInt8>) async throws(FetchError) -> Void
    ) async throws(FetchError) {
        try await decode(piece) { some async throws(FetchError) in
            try await body(some)
            // As for sockets: a fast server must not outlast the deadline.
            guard Instant.now < deadline else { throw .silence(.body) }
            if Task.isCancelled { throw .cancelled }
            // One piece may unpack to 64 MiB, so yield.
            if some.count == Self.outputBytesMax { await loop.sleep(until: .now) }
        }
    }

    /// Passes the decoded bytes of `piece` to `body`, at most ``outputBytesMax`` at a time. The
    /// slice is valid until `body` returns.
    ///
    /// - Parameter piece: The next bytes of the encoded body, not empty.
    /// - Throws: `protocol-error` for another coding and for corrupt data; errors of `body`.
    mutating func decode(
        _ piece: ArraySlice<UInt8>, _ body: (ArraySlice<UInt8>) async throws(FetchError) -> Void
    ) async throws(FetchError) {
        if codings.isEmpty { return try await body(piece) }
        guard codings == ["gzip"] || codings == ["x-gzip"] else {
            let said = codings.joined(separator: ", ").prefix(80)
            throw FetchError(
                .protocolError, .body, "the body is encoded as \"\(said)\", and not as gzip",
                remedy: takesEncoded)
        }
        if inflater == nil { inflater = try Inflater(.gzip) }
        var rest = piece
        while let inflater {
            // Members may follow one another (RFC 1952, section 2.2).
            if inflater.isFinished {
                guard !rest.isEmpty else { return }
                inflater.reset()
            }
            let output = try inflater.inflate(&rest)
            if !output.isEmpty {
                try await body(output)
            } else if !inflater.isFinished {
                return
            }
        }
    }
}

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
