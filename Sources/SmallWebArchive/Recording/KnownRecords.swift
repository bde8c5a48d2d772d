// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Records of an archive: replies by URL and digest, and certificates by host, so that duplicates
/// are not written.
struct KnownRecords {
    private var replies: [TwoHashKey: (id: WarcID, date: String)] = [:]
    private var certificates: Set<TwoHashKey> = []

    /// Limit of remembered replies, including earlier runs.
    static let repliesMax = 100_000

    /// True once a reply was not remembered for lack of room.
    private(set) var isFull = false
    /// File offset behind the last whole record.
    private(set) var end = 0
    /// A remark for the user about the file's content.
    private(set) var note: String?

    private static let pemBytesMax = 256 << 10
    /// Longest date to keep; one with microseconds has 27 bytes.
    private static let dateBytesMax = 64

    /// None, of a file whose last whole record ends there.
    init(end: Int = 0) { self.end = end }

    /// - Parameter digest: Digest of the payload for HTTP messages, else of the block; empty for
    ///   the last page of HTTP, the target of a reply of status 304.
    func reply(_ target: String, _ digest: [UInt8]) -> (id: WarcID, date: String)? {
        replies[TwoHashKey(target, digest)]
    }

    mutating func add(_ target: String, _ digest: [UInt8], _ id: WarcID, _ date: String) {
        let key = TwoHashKey(target, digest)
        guard replies.count < Self.repliesMax || replies[key] != nil else {
            isFull = true
            return
        }
        replies[key] = (id, date)
    }

    /// Forgets the last page of `target`, after one that cannot be referred to.
    mutating func forgetPage(of target: String) { replies[TwoHashKey(target, [])] = nil }

    /// - Parameter sha256: Digest of the certificate.
    /// - Returns: True if it is new for this host.
    mutating func add(certificate sha256: [UInt8], of place: String) -> Bool {
        certificates.insert(TwoHashKey(place, sha256)).inserted
    }

    // MARK: Reading

    /// Reads an existing archive from the front: from the back, an archive within a body would look
    /// like one of ours.
    ///
    /// - Throws: `write` for a file that is not an archive, of the other form, or damaged.
    init(of path: String, isCompressed: Bool) throws(FetchError) {
        let reader: WarcReader
        do throws(FetchError) {
            reader = try WarcReader(path)
        } catch {
            throw FetchError(.write, .output, error.message)
        }
        do throws(FetchError) {
            while let header = try reader.next() {
                guard reader.isCompressed == isCompressed else {
                    throw FetchError(
                        .write, .output,
                        isCompressed
                            ? "the archive \(path) is not compressed, although its name says so"
                            : "the archive \(path) is compressed, although its name says nothing "
                                + "of it",
                        hint: "a name that ends in .gz is for compressed archives, and no other")
                }
                try note(header, reader)
            }
            end = reader.offset
        } catch {
            guard let fault = reader.fault else { throw error }
            guard fault.isTorn, reader.offset > 0 || reader.hasBegunRecord else {
                throw FetchError(
                    .write, .output,
                    reader.offset == 0
                        ? "\(path) is not a WARC archive: \(fault.why)"
                        : "the archive \(path) is damaged at byte \(reader.offset): \(fault.why)",
                    hint: "name another file: this one was left as it is")
            }
            end = reader.offset
            note = "\(path): cut off an unfinished record at byte \(end)"
        }
    }

    private mutating func note(
        _ header: WarcHeader, _ reader: WarcReader
    ) throws(FetchError) {
        guard let target = header.target else { return }
        switch header.type {
        case "response":
            // As within one run, truncated replies are never referred to.
            guard header["warc-truncated"] == nil, !header.isSegment else { return }
            let isPayload = header.contentType == MessageHead.mediaType
            let name = isPayload ? "warc-payload-digest" : "warc-block-digest"
            guard let digest = header.digest(name), digest.algorithm == .sha256,
                let id = header.id.flatMap(WarcID.init), let date = header["warc-date"],
                date.utf8.count <= Self.dateBytesMax
            else { return }
            add(target, digest.bytes, id, date)
            if isPayload, try Self.isPage(reader) { add(target, [], id, date) }
        case "revisit" where header.isRepeatedReply:
            guard header["warc-truncated"] == nil, !header.isSegment,
                header.contentType == MessageHead.mediaType, try Self.isPage(reader)
            else { return }
            guard header.earlierTarget == target, let date = header["warc-refers-to-date"],
                let id = header["warc-refers-to"].flatMap(WarcID.init),
                date.utf8.count <= Self.dateBytesMax
            else { return forgetPage(of: target) }
            add(target, [], id, date)
        case "metadata" where header.kind == Certificates.kind:
            let pem = try reader.block(upTo: Self.pemBytesMax)
            guard let leaf = Certificates.decode(pem).first, let place = Certificates.place(target)
            else { return }
            let digest = try Digest(.sha256)
            digest.update(leaf[...])
            _ = add(certificate: digest.finish(), of: place)
        default: return
        }
    }

    /// True if the block is a reply of HTTP with status 200.
    private static func isPage(_ reader: WarcReader) throws(FetchError) -> Bool {
        let line = try reader.block(upTo: 16).split(separator: ASCII.space)
        return line.count > 1 && line[0].starts(with: "HTTP/".utf8)
            && line[1].prefix(3).elementsEqual("200".utf8)
    }
}
