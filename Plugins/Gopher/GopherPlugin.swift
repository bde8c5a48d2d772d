// SPDX-License-Identifier: MIT
public import SmallWebCore

/// Gopher (RFC 1436, URLs RFC 4266) and the same over TLS: one selector out, everything up to the
/// close back. The item type in the URL, not the server, says what it is.
public struct GopherPlugin: ProtocolHandler {
    public init() {}

    public let schemes = [
        Scheme(
            "gopher", port: 70, transport: .tcp, path: .opaque, takesInput: true,
            summary: "Gopher (RFC 1436)"),
        // No specification fixes the port; 70 is curl's choice.
        Scheme(
            "gophers", port: 70, transport: .tls, trust: .tofu, path: .opaque, takesInput: true,
            summary: "Gopher over TLS"),
    ]

    public func fetch(
        _ request: Request, dialer: any Dialer, emit: Emit
    ) async throws(FetchError) -> Completeness {
        let address = try GopherAddress(request.uri, input: request.input)
        if let reply = try address.replyWithoutServer() {
            try await emit(.head(reply))
            return .complete
        }
        let stream = try await dialer.dial(request.endpoint)
        defer { stream.close() }

        try await stream.writeAll(address.requestLine())
        var opening = GopherOpening(type: address.type)
        while opening.verdict == nil {
            let bytes = try await stream.readSome()
            opening.add(bytes)
        }
        if opening.bytes.isEmpty {
            guard address.type.form != .menu && stream.ending != .reset else {
                throw stream.endedTooSoon
            }
            try await emit(
                .note(Note("empty-reply", "an empty reply: perhaps there is no such selector")))
        }
        try await emit(.head(head(address.type, opening, path: request.uri.path)))
        return try await body(of: request, address.type, opening.bytes, from: stream, emit: emit)
    }

    private func head(_ type: GopherItemType, _ opening: GopherOpening, path: String) -> Head {
        guard case .refusal(let text) = opening.verdict else {
            return Head(.success, mediaType: type.mediaType(path: path))
        }
        return Head(.permanentFailure, meta: text, mediaType: MediaType("application/gopher-menu"))
    }

    /// Delivers the opening and all that follows, in the form of the item type.
    private func body(
        of request: Request, _ type: GopherItemType, _ opening: [UInt8], from stream: ByteStream,
        emit: Emit
    ) async throws(FetchError) -> Completeness {
        let isLines = type.form != .binary && !request.wantsRawBody
        var text = GopherText(heldBytesMax: request.limits.heldBytesMax)
        var menu = GopherMenuReader(
            base: request.uri, lineBytesMax: request.limits.lineBytesMax,
            isWanted: type.form == .menu)
        func deliver(_ bytes: ArraySlice<UInt8>) async throws(FetchError) {
            try await emit(.body(bytes))
            for item in try menu.add(bytes) { try await emit(.item(item)) }
        }
        func take(_ bytes: ArraySlice<UInt8>) async throws(FetchError) {
            guard isLines else { return try await emit(.body(bytes)) }
            try await text.add(bytes, deliver)
        }
        try await take(opening[...])
        var ending = StreamEnding.endOfFile
        do throws(FetchError) {
            ending = try await stream.readToEnd(take)
        } catch  where error.outcome == .timeout && isLines && text.isTerminated {
            // The reply is whole; this server only forgets to close.
        }
        if isLines {
            let wasTerminated = text.isTerminated
            try await text.finish(deliver)
            for item in menu.finish() { try await emit(.item(item)) }
            if wasTerminated { return .complete }
        }
        if request.scheme.transport == .tls && ending == .endOfFile {
            try await emit(
                .note(Note("missing-close-notify", "the server ended TLS without close_notify")))
        }
        return ending.completenessOfClose
    }
}
