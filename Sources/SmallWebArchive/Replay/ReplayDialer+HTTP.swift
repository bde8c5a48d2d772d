// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebCore
internal import SmallWebTransport

/// The HTTP engine of a replay.
extension ReplayDialer: HTTPClient {
    /// Longest head of a message: libcurl's limit.
    private static let headBytesMax = 300 << 10

    func exchange(
        _ request: HTTPRequest,
        onReply: (HTTPReply) async throws(FetchError) -> Void,
        onBody: (ArraySlice<UInt8>) async throws(FetchError) -> Void
    ) async throws(FetchError) -> Completeness {
        let endpoint = request.endpoint
        let defaultPort: UInt16 = endpoint.security == .tls ? 443 : 80
        var uri = request.uri
        if uri.port == nil && endpoint.port != defaultPort { uri.port = endpoint.port }
        let replayer = try find(uri, defaultPort)
        let (number, sent) = try recording(of: request, uri, defaultPort, in: replayer)
        var recording = replayer.index.recordings[number]
        var source = recording
        // A client that asks for changes only already has the page.
        let fields = Set(request.options.fields.map { $0.name.lowercased() })
        let isPage =
            replayer.bounds != nil
            || fields.isDisjoint(with: ["if-none-match", "if-modified-since"])
        do throws(FetchError) {
            if isPage || !recording.isNotModified {
                source = try replayer.index.source(of: recording)
            }
        } catch {
            replayer.notePlayed(number)
            throw error
        }
        var facts = try await meet(
            endpoint, number, of: replayer, uri, defaultPort: defaultPort)
        replayer.notePlayed(number)
        if isPage && recording.isNotModified { (recording, facts) = (source, CaptureFacts()) }
        hop.add(facts.traffic)
        if let sent {
            let method = sent.prefix { $0 != ASCII.space }
            try await hop.emit(.sent(sent, method: String(decoding: method, as: UTF8.self)))
        }
        guard recording.response != nil else {
            throw facts.failure ?? .notRecorded("a reply to this request")
        }
        let reply = try await play(
            recording, source, facts, of: replayer, request, onBody: onBody
        ) { reply async throws(FetchError) in
            if replayer.bounds != nil, let sent, !request.takes(reply, to: sent) {
                throw .notRecorded("a reply to this Accept field")
            }
            try await onReply(reply)
        }
        if let truncated = recording.truncated ?? source.truncated {
            if let error = truncated.limitError { throw facts.failure ?? error }
            return .truncated
        }
        if let failure = facts.failure, failure.outcome != .truncated, !reply.isWhole {
            throw failure
        }
        return reply.isWhole ? CurlClient.completeness(reply.head, request) : .truncated
    }

    // MARK: Finding

    /// The recording of a request, and the head of the recorded request.
    private func recording(
        of request: HTTPRequest, _ uri: URI, _ defaultPort: UInt16, in replayer: Replayer
    ) throws(FetchError) -> (Int, [UInt8]?) {
        let candidates = replayer.index.recordings(of: uri, defaultPort: defaultPort)
        let turns = replayer.inTurn(candidates)
        guard let expected = turns.first else { throw .notRecorded("this URL") }
        if replayer.isLoose || replayer.index.recordings[expected].isFailureAlone {
            return (expected, nil)
        }
        // What a page answers by itself need not have been asked.
        let asked = replayer.bounds == nil ? request : request.whole
        // Many recordings may share one request record: read it once.
        var (others, places) = (Set<WarcDigest>(), Set<WarcOffset>())
        let limit = Self.headBytesMax + (request.options.body?.count ?? 0) + 16
        for number in turns {
            let recording = replayer.index.recordings[number]
            guard !recording.isFailureAlone,
                recording.requestDigest.map({ !others.contains($0) }) ?? true
            else { continue }
            if let place = recording.request, !places.insert(place).inserted { continue }
            guard let block = try replayer.block(recording.request, upTo: limit) else {
                if asked.method == "GET" { return (number, nil) }
                continue
            }
            let end = HeaderText.end(of: block[...]) ?? block.count
            let head = Array(block[..<end])
            if asked.isEqual(head, block[end...], isKept: replayer.bounds != nil) {
                return (number, head)
            }
            if let digest = recording.requestDigest { others.insert(digest) }
        }
        throw .notRecorded("this request for the URL")
    }

    // MARK: Playing

    private func play(
        _ recording: Recording, _ source: Recording, _ facts: CaptureFacts,
        of replayer: Replayer, _ request: HTTPRequest,
        onBody: (ArraySlice<UInt8>) async throws(FetchError) -> Void,
        onReply: (HTTPReply) async throws(FetchError) -> Void
    ) async throws(FetchError) -> (head: HTTPReply, isWhole: Bool) {
        guard let place = recording.response, let bodyPlace = source.response else {
            preconditionFailure("there is a reply")
        }
        let record = try WarcRecord(bodyPlace, replayer)
        var (head, rest) = try head(record.reader, hasHead: source.hasHeads)
        if place != bodyPlace, recording.hasHeads {
            (head, _) = try self.head(WarcRecord(place, replayer).reader, hasHead: true)
        }
        let codings = head.codings("transfer-encoding")
        guard codings.allSatisfy({ $0 == "chunked" }) else {
            throw FetchError(
                .protocolError, .body,
                "recorded in the transfer coding \"\(codings.joined(separator: ", "))\"")
        }
        let isChunked = !codings.isEmpty
        let kept = head.length
        if let original = facts.head {
            head = HTTPReply(original[...])
        } else if recording.isHTTP2 {
            head = HTTPReply("HTTP/2".utf8 + head.fields.bytes.dropFirst(8))
        }
        let wanted = replayer.bounds == nil ? 0..<Int.max : request.part(of: &head, kept)
        var (chunks, body, bodyBytes, isBegun) = (ChunkedBody(), rest[..<rest.startIndex], 0, false)
        while true {
            if rest.isEmpty { rest = try record.reader.block() }
            let isEnd = rest.isEmpty
            var fault: Malformed?
            if isChunked {
                let (more, why) = chunks.decode(&rest)
                body += more
                if isEnd { body += chunks.finish() }
                fault = why
            } else {
                body = body.isEmpty ? rest : body + rest
            }
            rest = []
            // Two bytes are needed to check the declared content coding.
            guard isBegun || body.count > 1 || isEnd || fault != nil else { continue }
            if !isBegun {
                if !request.wantsRawBody { head.dropUndoneCoding(of: body) }
                try await onReply(head)
            }
            isBegun = true
            let part = body.prefix(max(0, wanted.upperBound - bodyBytes))
                .dropFirst(max(0, wanted.lowerBound - bodyBytes))
            if !part.isEmpty { try await onBody(part) }
            bodyBytes += body.count
            if bodyBytes >= wanted.upperBound { return (head, true) }
            body = []
            if let fault { throw FetchError(.protocolError, .body, fault.why) }
            if isEnd { break }
        }
        let length = head.length
        let hasNoBody =
            request.options.method == "HEAD" || head.status == 204 || head.status == 304
        let isShort = !isChunked && !hasNoBody && length.map { bodyBytes < $0 } ?? false
        return (head, (!isChunked || hasNoBody || chunks.isWhole) && !isShort)
    }

    /// The head of a reply, and the rest of the piece in which it ended.
    private func head(
        _ reader: WarcReader, hasHead: Bool
    ) throws(FetchError) -> (HTTPReply, ArraySlice<UInt8>) {
        guard hasHead else { return (HTTPReply(), try reader.block()) }
        var bytes: [UInt8] = []
        while true {
            let piece = try reader.block()
            bytes += piece
            if let end = HeaderText.end(of: bytes[...]) {
                return (HTTPReply(bytes[..<end]), bytes[end...])
            }
            guard !piece.isEmpty, bytes.count <= Self.headBytesMax else {
                throw FetchError(
                    .protocolError, .header,
                    "\(reader.path): at byte \(reader.offset): the reply has no whole header")
            }
        }
    }
}

extension HTTPRequest {
    fileprivate var method: String {
        options.method ?? (options.body == nil ? "GET" : "POST")
    }

    /// The request for the whole page, of which ``part(of:_:)`` answers this one.
    fileprivate var whole: HTTPRequest {
        var whole = self
        whole.options.resumeOffset = nil
        whole.options.fields.removeAll {
            ["if-none-match", "if-modified-since", "if-range", "range"]
                .contains($0.name.lowercased())
        }
        return whole
    }

    /// True if the kept reply to `head` is for this request as well, as far as Accept decides
    /// (RFC 9111 §4.1).
    fileprivate func takes(_ reply: HTTPReply, to head: [UInt8]) -> Bool {
        let names = reply.fields.values(of: "vary").flatMap { $0.split { ", \t".contains($0) } }
        guard names.contains(where: { ["accept", "*"].contains($0.lowercased()) }) else {
            return true
        }
        let asked = options.fields.first { $0.name.lowercased() == "accept" && !$0.value.isEmpty }
        let kept = HTTPReply(head[...]).fields.values(of: "accept").first
        return asked?.value ?? "*/*" == kept ?? "*/*"
    }

    /// The bytes of a kept page that answer this request, and their head (RFC 9110, 13.2.2 and
    /// 14.2; RFC 9111, 4.3.2).
    ///
    /// - Parameter length: Bytes of the body as kept; `nil` if unknown.
    fileprivate func part(of head: inout HTTPReply, _ length: Int?) -> Range<Int> {
        let whole = 0..<(method == "HEAD" ? 0 : Int.max)
        guard head.status == 200 else { return whole }
        let asked = HTTPReply(
            Array(options.fields.map { "\($0.name): \($0.value)\r\n" }.joined().utf8)[...])
        func moment(_ date: String?) -> Int? { date.flatMap { HTTPDate.unixSeconds($0) } }
        let tag = head["etag"]?.drop { $0 == "W" || $0 == "/" }
        let isUnchanged =
            if let tags = asked["if-none-match"] {
                tags == "*" || tag.map { tags.contains(text: String($0)) } ?? false
            } else {
                moment(head["last-modified"]) ?? .max <= moment(asked["if-modified-since"]) ?? .min
            }
        if isUnchanged { head = head.changed("304 Not Modified", "") }
        let range = options.resumeOffset.map { "bytes=\($0)-" } ?? asked["range"] ?? ""
        let ends = range.dropFirst("bytes=".count).split(separator: "-", maxSplits: 1)
            .map { ASCII.decimal($0.utf8, max: 1 << 56) }
        guard !isUnchanged, !whole.isEmpty, let length, let first = ends.first.flatMap(\.self),
            first <= length, head.codings("content-encoding").isEmpty,
            [nil, head["etag"], head["last-modified"]].contains(asked["if-range"])
        else { return isUnchanged ? 0..<0 : whole }
        let end = min(ends.count > 1 ? ends[1] ?? 0 : .max, length - 1) + 1
        guard first <= end else { return whole }
        head = head.changed(
            "206 Partial Content",
            "Content-Length: \(end - first)\r\n"
                + "Content-Range: bytes \(first)-\(end - 1)/\(length)\r\n"
        )
        return first..<end
    }

    /// True if it equals a recorded request, as far as the user decides: the method, the body and
    /// the given header fields. Other clients' additional fields are ignored.
    ///
    /// - Parameters:
    ///   - head: With the empty line at its end.
    ///   - isKept: True if the head of a page answers HEAD, too.
    fileprivate func isEqual(
        _ head: [UInt8], _ body: ArraySlice<UInt8>, isKept: Bool
    ) -> Bool {
        let word = String(decoding: head.prefix { $0 != ASCII.space }, as: UTF8.self)
        guard word == method || isKept && word == "GET" && method == "HEAD" else { return false }
        let sent = options.body ?? []
        guard body.elementsEqual(sent) || body.elementsEqual(SecretMask.mark) && !sent.isEmpty
        else { return false }
        let fields = HTTPReply(head[...]).fields
        // The preference of readers is not the user's: ``takes(_:to:)`` judges it.
        for field in options.fields where !["", HTTPOptions.textFirst].contains(field.value) {
            let masked = SecretFields.masked("\(field.name): \(field.value)\r\n")
            let known = fields.values(of: field.name.lowercased())
            guard
                known.contains(field.value)
                    || known.contains(where: { masked.hasSuffix(": \($0)\r\n") })
            else { return false }
        }
        let range = options.resumeOffset.map { "bytes=\($0)-" }
        let asksByField = options.fields.contains { $0.name.lowercased() == "range" }
        return asksByField || fields.values(of: "range") == (range.map { [$0] } ?? [])
    }
}

extension HTTPReply {
    fileprivate var length: Int? {
        self["content-length"].flatMap { ASCII.decimal($0.utf8, max: 1 << 56) }
    }

    /// A copy with another status, and with these lines instead of its length.
    fileprivate func changed(_ status: String, _ more: String) -> HTTPReply {
        let lines = HeaderText.lines(fields.bytes[...]).dropFirst().filter { line in
            !["content-length", "transfer-encoding"].contains { HeaderText.isField(line, $0) }
        }
        return HTTPReply(Array("HTTP/1.1 \(status)\r\n\(more)".utf8)[...] + lines.joined())
    }

    /// Removes the content coding, and the length, of a body that another program has decoded.
    ///
    /// - Parameter beginning: First bytes of the body: gzip has a magic number, other codings are
    ///   binary.
    fileprivate mutating func dropUndoneCoding(of beginning: ArraySlice<UInt8>) {
        guard let coding = self["content-encoding"]?.lowercased(), coding != "identity",
            !beginning.isEmpty
        else { return }
        let isCoded =
            coding.hasSuffix("gzip")
            ? beginning.starts(with: [0x1F, 0x8B])
            : beginning.contains { $0 < ASCII.space && !(9...13).contains($0) }
        guard !isCoded else { return }
        let lines = HeaderText.lines(fields.bytes[...]).filter { line in
            !["content-encoding", "content-length"].contains { HeaderText.isField(line, $0) }
        }
        self = HTTPReply(Array(lines.joined())[...])
    }
}
