// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Undoes the content coding of an HTTP reply (RFC 9110, section 8.4): gzip, the only one that is
/// asked for. Or a transfer coding beside chunked, which none should send unasked (RFC 9112,
/// section 7).
///
/// libcurl could do that, and more codings. But it unpacks a piece from the network at once, to a
/// thousand times its size, or more with brotli. While it waits for the consumer it keeps the rest,
/// and copies it at every pause.
struct ContentDecoder {
    /// What is asked for, as `Accept-Encoding` has it.
    static let accepted = "gzip"

    /// The most that comes out at once.
    static let outputBytesMax = Inflater.outputBytesMax

    /// In lower case, in the order in which they were applied; without those that do nothing.
    private var codings: [String] = []
    private var inflater: Inflater?

    /// Leaves everything as it comes.
    init() {}

    /// - Parameters:
    ///   - reply: The header.
    ///   - ofTransfer: Whether it is the transfer coding; libcurl has undone the chunks, which come
    ///     last.
    init(_ reply: HTTPReply, ofTransfer: Bool = false) {
        codings = reply.codings(ofTransfer ? "transfer-encoding" : "content-encoding")
        if ofTransfer && codings.last == "chunked" { codings.removeLast() }
        takesEncoded = ofTransfer ? nil : .takeEncoded
    }

    /// What helps with another coding.
    private var takesEncoded: FetchError.Remedy?
    /// Whether everything is left as it comes.
    var isIdle: Bool { codings.isEmpty }

    /// Whether the body so far cannot be all.
    var isCutOff: Bool { inflater.map { !$0.isFinished } ?? false }

    /// The same, as long as there is time for it; others on the loop have their turn meanwhile.
    mutating func decode(
        _ piece: ArraySlice<UInt8>, on loop: EventLoop, by deadline: Instant,
        _ body: (ArraySlice<UInt8>) async throws(FetchError) -> Void
    ) async throws(FetchError) {
        try await decode(piece) { some async throws(FetchError) in
            try await body(some)
            // As for sockets: what comes fast must not outlast the fetch.
            guard Instant.now < deadline else { throw .silence(.body) }
            if Task.isCancelled { throw .cancelled }
            // One piece may unpack to 64 MiB.
            if some.count == Self.outputBytesMax { await loop.sleep(until: .now) }
        }
    }

    /// Gives what `piece` unpacks to, at most ``outputBytesMax`` bytes at a time. They are the
    /// decoder's again when `body` returns.
    ///
    /// - Parameter piece: The encoded body's next bytes, not empty.
    /// - Throws: `protocol-error` for another coding and for corrupt data; what `body` throws.
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
