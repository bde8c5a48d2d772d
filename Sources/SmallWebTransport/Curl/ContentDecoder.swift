// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import SmallWebHTTP
internal import SmallWebLibraries

/// Undoes the content coding of an HTTP reply (RFC 9110, section 8.4): gzip, the only one that is
/// asked for.
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

    /// - Parameter reply: The header.
    init(_ reply: HTTPReply) {
        guard reply["content-encoding"] != nil else { return }
        codings = reply.fields.all
            .filter { $0.name.lowercased() == "content-encoding" }
            .flatMap { $0.value.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" } }
            .map(String.init).filter { $0 != "identity" }
    }

    /// Whether the body so far cannot be all.
    var isCutOff: Bool { inflater.map { !$0.isFinished } ?? false }

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
                remedy: .takeEncoded)
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
