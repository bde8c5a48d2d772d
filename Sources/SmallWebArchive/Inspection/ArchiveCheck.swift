// SPDX-License-Identifier: MIT
package import SmallWebCore

/// Verifies an archive: lengths, digests, identifiers and references between records.
package struct ArchiveCheck {
    package private(set) var records = 0
    package private(set) var digests = 0
    /// Number of requests without a reply and without a record of the failure.
    package private(set) var unanswered = 0
    private var ids: Set<TwoHashKey> = []
    private var requests: Set<TwoHashKey> = []
    /// Requests with a reply or a record of the failure.
    private var answered: Set<TwoHashKey> = []
    /// References to records not seen so far, with the offset of the referring record.
    private var missing: [(key: TwoHashKey, offset: Int)] = []

    private static let headBytesMax = 300 << 10
    /// Limit of partners of a record to look up: a header has room for thousands.
    private static let partnersMax = 16

    /// - Throws: `protocol-error` for the first fault, with its offset; `read`.
    package init(_ path: String) throws(FetchError) {
        let reader = try WarcReader(path)
        while let header = try reader.next() {
            records += 1
            func fault(_ why: String) -> FetchError {
                FetchError(.protocolError, .input, "\(path): at byte \(reader.offset): \(why)")
            }
            if let why = header.violation { throw fault(why) }
            guard let id = header.id else { continue }
            guard ids.insert(TwoHashKey(id)).inserted else {
                throw fault("another record has the same WARC-Record-ID")
            }
            try note(header, reader.offset, fault)
            if let why = try badDigest(header, reader) { throw fault(why) }
        }
        if let (_, offset) = missing.first(where: { !ids.contains($0.key) }) {
            throw FetchError(
                .protocolError, .input,
                "\(path): at byte \(offset): the record is a pair with one that is not there")
        }
        unanswered = requests.subtracting(answered).count
    }

    private mutating func note(
        _ header: WarcHeader, _ offset: Int, _ fault: (String) -> FetchError
    ) throws(FetchError) {
        let partners = header.all("warc-concurrent-to").prefix(Self.partnersMax)
            .map { TwoHashKey($0) }
        let own = header.id.map { TwoHashKey($0) }
        switch header.type {
        case "request":
            if let own { requests.insert(own) }
            if !partners.isEmpty, let own { answered.insert(own) }
            for partner in partners { missing.append((partner, offset)) }
        case "response", "revisit":
            for partner in partners {
                missing.append((partner, offset))
                guard answered.insert(partner).inserted || !requests.contains(partner) else {
                    throw fault("there are two replies to one request")
                }
            }
        case "metadata":
            for subject in header.all("warc-refers-to")
            where header.contentType == "application/warc-fields" {
                answered.insert(TwoHashKey(subject))
            }
        default: break
        }
    }

    /// - Returns: A description of the wrong digest; `nil` if all are right.
    private mutating func badDigest(
        _ header: WarcHeader, _ reader: WarcReader
    ) throws(FetchError) -> String? {
        let whole = header.digest("warc-block-digest")
        let isMessage = header.contentType == MessageHead.mediaType
        // The payload digest of a revisit is that of another record's body.
        let payload =
            isMessage && header.type != "revisit"
            ? header.digest("warc-payload-digest") : nil
        var (wholeDigest, payloadDigest) = (Digest?.none, Digest?.none)
        var (bodyDigest, chunks) = (Digest?.none, ChunkedBody())
        if let whole { wholeDigest = try Digest(whole.algorithm) }
        if let payload {
            (payloadDigest, bodyDigest) = (
                try Digest(payload.algorithm), try Digest(payload.algorithm)
            )
        }
        var head: [UInt8]? = payload == nil ? nil : []
        while true {
            var piece = try reader.block()
            if piece.isEmpty { break }
            wholeDigest?.update(piece)
            guard payload != nil else { continue }
            if var begun = head {
                begun += piece
                guard let end = HeaderText.end(of: begun[...]) else {
                    head = begun.count <= Self.headBytesMax ? begun : nil
                    if head == nil { return "the message has no end of its header" }
                    continue
                }
                (head, piece) = (nil, begun[end...])
            }
            payloadDigest?.update(piece)
            // Some programs hash the body without its transfer coding.
            while let body = try? chunks.next(&piece) { bodyDigest?.update(body) }
        }
        if let whole {
            digests += 1
            guard wholeDigest?.finish() == whole.bytes else {
                return "the block is not what its digest says"
            }
        }
        if let payload {
            digests += 1
            let isRight =
                payloadDigest?.finish() == payload.bytes || bodyDigest?.finish() == payload.bytes
            guard isRight else { return "the payload is not what its digest says" }
        }
        return nil
    }
}

extension WarcHeader {
    /// Fields that must not be repeated (WARC 1.1, section 5): all of the standard but one.
    private static let single = Set(
        """
        content-length content-type warc-block-digest warc-date warc-filename \
        warc-identified-payload-type warc-ip-address warc-payload-digest warc-profile \
        warc-record-id warc-refers-to warc-refers-to-date warc-refers-to-target-uri \
        warc-segment-number warc-segment-origin-id warc-segment-total-length warc-target-uri \
        warc-truncated warc-type warc-warcinfo-id
        """.split(separator: " ").map(String.init))

    /// The first violation of the standard; `nil` if there is none.
    fileprivate var violation: String? {
        var names: Set<String> = []
        for (name, _) in fields where !names.insert(name.lowercased()).inserted {
            if Self.single.contains(name.lowercased()) { return "the record has two \(name)" }
        }
        var needed = ["WARC-Type", "WARC-Record-ID", "WARC-Date"]
        switch type {
        case "response", "request", "resource", "conversion": needed += ["WARC-Target-URI"]
        case "revisit": needed += ["WARC-Target-URI", "WARC-Profile"]
        case "continuation":
            needed += ["WARC-Target-URI", "WARC-Segment-Number", "WARC-Segment-Origin-ID"]
        default: break
        }
        if let name = needed.first(where: { self[$0.lowercased()]?.isEmpty ?? true }) {
            return "the record has no \(name)"
        }
        for name in ["WARC-Date", "WARC-Refers-To-Date"] {
            guard let date = self[name.lowercased()], !isDate(date) else { continue }
            return "the record's \(name) is not a date of WARC \(version)"
        }
        return nil
    }

    /// Accepts seconds in UTC; in WARC 1.1 also lower precision, or a fraction.
    private func isDate(_ text: String) -> Bool {
        var text = text
        if version != "1.0" {
            let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count > 1 {
                guard 2...10 ~= parts[1].utf8.count, parts[1].hasSuffix("Z"),
                    parts[1].utf8.dropLast().allSatisfy(ASCII.isDigit)
                else { return false }
                text = parts[0] + "Z"
            } else if [4, 7, 10].contains(text.utf8.count) {
                text += "0000-01-01T00:00:00Z".dropFirst(text.utf8.count)
            } else if text.utf8.count == 17 {
                text = text.dropLast() + ":00Z"
            }
        }
        return UTCDate.seconds(text).map(UTCDate.second) == text
    }
}
