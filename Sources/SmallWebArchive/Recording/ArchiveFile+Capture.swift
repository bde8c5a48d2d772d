// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// The records of one exchange: request, response and metadata.
extension ArchiveFile {
    func write(_ capture: Capture) throws(FetchError) {
        let start = place
        var reply: IndexLines.Reply?
        defer {
            if let reply { lines?.add(reply, exchange: start..<place, of: capture.target) }
        }
        var request: WarcID?
        if let block = capture.request { request = try writeRequest(capture, block) }
        var last = request
        if let block = capture.response {
            let offset = place
            var made = IndexLines.Reply(offset: offset)
            last = try writeResponse(capture, block, request, &made)
            made.bytes = place - offset
            if lines != nil { reply = made }
        }
        if last != nil {
            try writeMetadata(capture, "turns", capture.turns, of: last)
        }
        try writeMetadata(capture, "exchange", capture.facts, of: last)
        var subject = capture.response == nil ? nil : last
        if let failure = capture.failure {
            let id = try writeMetadata(capture, nil, failure.warcFields, of: last)
            subject = subject ?? id
        }
        guard let tls = capture.connection?.tls, !tls.chain.isEmpty,
            let place = Certificates.place(capture.target),
            known.add(certificate: tls.certificate.sha256, of: place)
        else { return }
        lines?.note(certificates: self.place, of: place)
        try writeMetadata(
            capture, Certificates.kind, Certificates.encode(tls.chain), of: subject)
    }

    private func begin(_ type: String, _ capture: Capture) -> WarcID {
        begin(type, date: capture.date, target: capture.target)
    }

    private func writeRequest(
        _ capture: Capture, _ block: Block
    ) throws(FetchError) -> WarcID {
        let id = begin("request", capture)
        addConnection(capture)
        addContentType(capture, message: "request")
        add("WARC-Block-Digest: ", sha256: try sha256(block))
        if capture.isHTTP, block.spool == nil {
            add("WARC-Payload-Digest: ", sha256: sha256(block.bytes[capture.requestHeadBytes...]))
        }
        try end(block)
        return id
    }

    private func writeResponse(
        _ capture: Capture, _ block: Block, _ request: WarcID?, _ reply: inout IndexLines.Reply
    ) throws(FetchError) -> WarcID {
        let (whole, payload) = try digests(capture, block)
        let identity = payload ?? whole
        let isWhole = capture.truncated == nil && capture.failure == nil
        let isUnmodified = capture.isHTTP && capture.status == 304
        let hasContent = block.count > capture.responseHeadBytes
        let earlier =
            isWhole && (isUnmodified || hasContent)
            ? known.reply(capture.target, isUnmodified ? [] : identity) : nil
        let id = begin(earlier == nil ? "response" : "revisit", capture)
        if let request { add("WARC-Concurrent-To: ", request) }
        addConnection(capture)
        if let earlier {
            add(
                "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/",
                isUnmodified ? "server-not-modified" : "identical-payload-digest")
            add("WARC-Refers-To: ", earlier.id)
            add("WARC-Refers-To-Target-URI: ", capture.target)
            add("WARC-Refers-To-Date: ", earlier.date)
        }
        if let truncated = capture.truncated { add("WARC-Truncated: ", truncated.rawValue) }
        addContentType(capture, message: "response")
        // A revisit's block has only the head.
        let head = earlier.map { _ in Array(block.bytes.prefix(capture.responseHeadBytes)) }
        let blockDigest = head.map { sha256($0[...]) } ?? whole
        add("WARC-Block-Digest: ", sha256: blockDigest)
        if lines != nil {
            (reply.date, reply.digest) = (capture.date, "sha256:" + (payload ?? blockDigest).hex)
            if capture.isHTTP { reply.request = capture.request?.bytes.prefix(32) ?? [] }
            if earlier != nil { reply.note(type: "warc/revisit") }
            let head = block.bytes.prefix(capture.responseHeadBytes)
            if capture.isHTTP { reply.note(HTTPReply(head), isRevisit: earlier != nil) }
        }
        if let payload { add("WARC-Payload-Digest: ", sha256: payload) }
        try end(head.map { Block($0) } ?? block)
        if isWhole, hasContent, earlier == nil {
            known.add(capture.target, identity, id, capture.date)
        }
        // A later 304 can refer to this page.
        if isWhole, capture.isHTTP, capture.status == 200 {
            known.add(capture.target, [], earlier?.id ?? id, earlier?.date ?? capture.date)
        }
        return id
    }

    private func addConnection(_ capture: Capture) {
        let connection = capture.connection
        if let address = connection?.address, !address.isEmpty, !address.utf8.contains(ASCII.slash)
        {
            add("WARC-IP-Address: ", address)
        }
        for name in capture.protocols { add("WARC-Protocol: ", name) }
        if let suite = connection?.tls?.cipherSuite { add("WARC-Cipher-Suite: ", suite) }
    }

    private func addContentType(_ capture: Capture, message: String) {
        add("Content-Type: ", "application/\(capture.mediaSubtype); msgtype=\(message)")
    }

    /// Digests of the block, and of the payload for HTTP messages.
    private func digests(
        _ capture: Capture, _ block: Block
    ) throws(FetchError) -> (whole: [UInt8], payload: [UInt8]?) {
        guard let spool = block.spool else {
            let payload = block.bytes[capture.responseHeadBytes...]
            return (sha256(block.bytes[...]), capture.isHTTP ? sha256(payload) : nil)
        }
        let digests = spool.finishDigests()
        guard capture.isHTTP else { return (digests[0], nil) }
        return (capture.isResponseHashed ? digests[0] : try sha256(block), digests[1])
    }

    /// - Parameter kind: `nil` for a failure, whose fields are text.
    @discardableResult
    private func writeMetadata(
        _ capture: Capture, _ kind: String?, _ text: [UInt8], of record: WarcID?
    ) throws(FetchError) -> WarcID {
        let id = begin("metadata", capture)
        if let record { add("WARC-Refers-To: ", record) }
        try end(text, of: kind)
        return id
    }
}
