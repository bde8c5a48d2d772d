// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Writes the records of one exchange: request, response and metadata.
struct ExchangeRecords {
    private let exchange: FinishedExchange
    private let sink: ArchiveSink
    private(set) var generator: FastGenerator
    /// Header lines of all records, and of request and response.
    private let common, connection: [UInt8]

    init(_ exchange: FinishedExchange, _ sink: ArchiveSink, _ generator: FastGenerator) {
        (self.exchange, self.sink, self.generator) = (exchange, sink, generator)
        common = exchange.date.line + exchange.targetLine
        connection = exchange.connectionLines
    }

    mutating func write(_ known: inout KnownRecords) throws(FetchError) {
        var request: RecordID?
        if let block = exchange.request { request = try writeRequest(block) }
        var reply: RecordID?
        if let block = exchange.response { reply = try writeResponse(block, request, &known) }
        if exchange.response != nil || exchange.request != nil {
            try writeMetadata(
                "application/x-smallweb-turns", exchange.turns, of: reply ?? request)
        }
        try writeMetadata("application/x-smallweb-exchange", exchange.facts, of: reply ?? request)
        if let failure = exchange.failure {
            let id = try writeMetadata(
                "application/warc-fields", exchange.failureFields(failure), of: reply ?? request)
            reply = reply ?? id
        }
        guard let tls = exchange.connection?.tls, !tls.chain.isEmpty,
            let place = Certificates.place(exchange.target),
            known.add(certificate: tls.certificate.sha256, of: place)
        else { return }
        try writeMetadata(Certificates.mediaType, Certificates.encode(tls.chain), of: reply)
    }

    /// Begins a header with the fields that all records of an exchange share.
    private mutating func header(_ type: String) -> RecordText {
        sink.begin(type, RecordID(using: &generator), common)
    }

    private mutating func writeRequest(_ block: Block) throws(FetchError) -> RecordID {
        var header = header("request")
        let id = header.id
        header.add(lines: connection)
        header.add(contentType: exchange.mediaSubtype, message: "request")
        header.addDigest("WARC-Block-Digest: ", try sink.sha256(block))
        if exchange.subtype == nil, case .bytes(let bytes) = block {
            header.addDigest(
                "WARC-Payload-Digest: ", sink.sha256(bytes[exchange.requestHeadBytes...]))
        }
        try sink.add(header, block)
        return id
    }

    private mutating func writeResponse(
        _ block: Block, _ request: RecordID?, _ known: inout KnownRecords
    ) throws(FetchError) -> RecordID {
        let (whole, payload) = try digests(block)
        let identity = payload ?? whole
        let hasContent = block.count > exchange.responseHeadBytes
        var earlier: KnownRecords.Earlier?
        if exchange.truncated == nil, exchange.failure == nil {
            if exchange.subtype == nil && exchange.status == 304 {
                earlier = known.reply(exchange.target, [])
            } else if hasContent {
                earlier = known.reply(exchange.target, identity)
            }
        }
        var header = header(earlier == nil ? "response" : "revisit")
        let id = header.id
        if let request { header.add("WARC-Concurrent-To: ", request) }
        header.add(lines: connection)
        if let earlier { addReference(to: earlier, &header) }
        if let truncated = exchange.truncated {
            header.add("WARC-Truncated: ", truncated.rawValue)
        }
        header.add(contentType: exchange.mediaSubtype, message: "response")
        // A later 304 can refer to this page.
        let isPage =
            exchange.subtype == nil && exchange.status == 200 && exchange.truncated == nil
            && exchange.failure == nil
        if let earlier {
            try writeRevisit(header, block, payload)
            if isPage { known.add(exchange.target, [], earlier.id, earlier.date) }
            return id
        }
        header.addDigest("WARC-Block-Digest: ", whole)
        if let payload { header.addDigest("WARC-Payload-Digest: ", payload) }
        try sink.add(header, block)
        if exchange.truncated == nil, exchange.failure == nil {
            if hasContent { known.add(exchange.target, identity, id, exchange.date.text) }
            if isPage { known.add(exchange.target, [], id, exchange.date.text) }
        }
        return id
    }

    private func addReference(to earlier: KnownRecords.Earlier, _ header: inout RecordText) {
        let isUnmodified = exchange.subtype == nil && exchange.status == 304
        header.add(
            "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/",
            (isUnmodified ? "server-not-modified" : "identical-payload-digest"))
        header.add("WARC-Refers-To: ", earlier.id)
        header.add("WARC-Refers-To-Target-URI: ", earlier.target)
        header.add("WARC-Refers-To-Date: ", earlier.date)
    }

    /// A revisit's block has only the head.
    private func writeRevisit(
        _ begun: consuming RecordText, _ block: Block, _ payload: [UInt8]?
    ) throws(FetchError) {
        var header = begun
        var head: [UInt8] = []
        switch block {
        case .bytes(let bytes): head = Array(bytes.prefix(exchange.responseHeadBytes))
        case .spool(let bytes, _, _): if exchange.subtype == nil { head = bytes }
        }
        header.addDigest("WARC-Block-Digest: ", sink.sha256(head[...]))
        if let payload { header.addDigest("WARC-Payload-Digest: ", payload) }
        try sink.add(header, .bytes(head))
    }

    /// Digests of the block, and of the payload for HTTP messages.
    private func digests(_ block: Block) throws(FetchError) -> ([UInt8], [UInt8]?) {
        switch block {
        case .bytes(let bytes):
            let whole = sink.sha256(bytes[...])
            let hasPayload = exchange.subtype == nil
            return (
                whole, hasPayload ? sink.sha256(bytes[exchange.responseHeadBytes...]) : nil
            )
        case .spool(_, let spool, _):
            let digests = try spool.finishDigests()
            guard exchange.subtype == nil else { return (digests[0], nil) }
            return (
                exchange.isResponseHashed ? digests[0] : try sink.sha256(block), digests[1]
            )
        }
    }

    @discardableResult
    private mutating func writeMetadata(
        _ contentType: String, _ text: [UInt8], of record: RecordID?
    ) throws(FetchError) -> RecordID {
        var header = header("metadata")
        let id = header.id
        if let record { header.add("WARC-Refers-To: ", record) }
        header.add("Content-Type: ", contentType)
        header.addDigest("WARC-Block-Digest: ", sink.sha256(text[...]))
        try sink.add(header, .bytes(text))
        return id
    }
}

extension FinishedExchange {
    fileprivate var targetLine: [UInt8] {
        var line: [UInt8] = []
        line.add("WARC-Target-URI: ", target)
        return line
    }

    fileprivate var connectionLines: [UInt8] {
        var lines: [UInt8] = []
        if let address = connection?.address, !address.isEmpty, !address.utf8.contains(ASCII.slash)
        {
            lines.add("WARC-IP-Address: ", address)
        }
        for name in protocols { lines.add("WARC-Protocol: ", name) }
        if let suite = connection?.tls?.cipherSuite { lines.add("WARC-Cipher-Suite: ", suite) }
        return lines
    }
}
