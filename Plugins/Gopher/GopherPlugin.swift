// SPDX-License-Identifier: MIT
public import SmallWebCore
internal import SmallWebFormats

/// Gopher (RFC 1436, URLs RFC 4266), also over TLS: sends a selector, and reads until the server
/// closes. The item type in the URL tells the type of the reply; the server does not.
public struct GopherPlugin: ProtocolHandler {
    public init() {}

    public let schemes = [
        Scheme(
            "gopher", plugin: "gopher", port: 70, transport: .tcp,
            summary: "Gopher (RFC 1436, RFC 4266)"
        ) {
            Self.shared(&$0)
            $0.secureForm = "gophers"
        },
        // No specification fixes the port; 70 is curl's choice.
        Scheme(
            "gophers", plugin: "gopher", port: 70, transport: .tls, summary: "Gopher over TLS"
        ) {
            Self.shared(&$0)
            $0.trust = .tofu
            $0.identityScheme = "gophers"
        },
    ]

    private static func shared(_ scheme: inout Scheme) {
        scheme.pathForm = .opaque
        scheme.input = .line
        scheme.messageSubtype = "gopher"
        scheme.readsMenus = true
        scheme.opensOnDesktop = true
        scheme.factNames = ["gopher"]
        // Veronica-2 asks for the first one.
        scheme.crawling = Crawling(robots: ["/0robots.txt", "/0/robots.txt"], indexName: "index")
        scheme.crawling?.hasItemType = true
        scheme.crawling?.menuTypes = "1"
        scheme.crawling?.inputTypes = "7"
        scheme.crawling?.foreignTypes = "28T"
    }

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
            do throws(FetchError) {
                opening.add(try await stream.readSome())
            } catch  where error.outcome == .timeout && opening.isTerminated {
                opening.add([])
            }
        }
        if opening.bytes.isEmpty {
            if address.type.neverIsEmpty { try stream.acceptEmptyReply(to: request) }
            guard stream.ending != .reset else { throw stream.endedTooSoon }
            try await emit(
                .note(Note("empty-reply", "an empty reply: perhaps there is no such selector")))
        }
        var head = head(address, opening)
        if head.replyClass != .success, address.maybeLacksType {
            let path = request.uri.path
            head.explanation =
                "the path has no item type before it; a text is /0\(path), a menu /1\(path)"
        }
        try await emit(.head(head))
        return try await body(of: request, address.type, opening.bytes, from: stream, emit: emit)
    }

    private func head(_ address: GopherAddress, _ opening: GopherOpening) -> Head {
        let name = String(decoding: address.selector, as: UTF8.self)
        var head = Head(.success, mediaType: address.type.mediaType(path: name))
        if case .refusal(let text) = opening.verdict {
            head = Head(
                .permanentFailure, meta: text, mediaType: MediaType("application/gopher-menu"))
            head.isMissing = true
        }
        head.mediaTypeSource = address.type.isNamed(by: name) ? .name : .itemType
        head.facts = [
            "gopher": .object([
                "type": .text(address.type.name), "selector": .bytes(address.selector),
            ])
        ]
        let parts = address.selector.split(separator: ASCII.slash)
        head.suggestedName = String(decoding: parts.last ?? [], as: UTF8.self)
        return head
    }

    /// Delivers the opening and the rest, in the form of the item type.
    private func body(
        of request: Request, _ type: GopherItemType, _ opening: [UInt8], from stream: ByteStream,
        emit: Emit
    ) async throws(FetchError) -> Completeness {
        let isLines = type.form != .binary && !request.wantsRawBody
        var text = GopherText(heldBytesMax: request.limits.heldBytesMax)
        var menu =
            type.form == .menu
            ? MenuReader(
                base: request.uri, lineBytesMax: request.limits.lineBytesMax, hasTerminator: false)
            : nil
        func deliver(_ bytes: ArraySlice<UInt8>) async throws(FetchError) {
            try await emit(.body(bytes))
            guard let (items, error) = menu?.add(bytes) else { return }
            for item in items { try await emit(.item(item)) }
            if let error { throw error }
        }
        nonisolated(nonsending) func take(_ bytes: ArraySlice<UInt8>) async throws(FetchError) {
            guard isLines else { return try await emit(.body(bytes)) }
            try await text.add(bytes, deliver)
            // The consumer does not count bytes that are held back.
            if let limit = request.limits.bodyBytesMax, text.heldBytes > limit {
                throw .tooLarge(limit)
            }
        }
        if !opening.isEmpty { try await take(opening[...]) }
        var ending = ByteStream.Ending.endOfFile
        do throws(FetchError) {
            ending = try await stream.readToEnd(take)
        } catch  where error.outcome == .timeout && isLines && text.isTerminated {
            // The reply is whole; this server does not close.
        }
        if isLines {
            let wasTerminated = text.isTerminated
            try await text.finish(deliver)
            if let item = menu?.finish() { try await emit(.item(item)) }
            if wasTerminated { return .complete }
        }
        if request.scheme.transport == .tls && ending == .endOfFile {
            try await emit(
                .note(Note("missing-close-notify", "the server ended TLS without close_notify")))
        }
        return ending.completenessOfClose
    }
}
