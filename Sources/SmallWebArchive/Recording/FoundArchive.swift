// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWebCore

/// The content of an existing archive to append to. Read from the front: from the back, an archive
/// within a body would look like one of ours.
struct FoundArchive {
    /// File offset behind the last whole record.
    private(set) var end = 0
    private(set) var known = KnownRecords()
    private(set) var note: String?

    private static let pemBytesMax = 256 << 10
    /// Longest date to keep; one with microseconds has 27 bytes.
    private static let dateBytesMax = 64

    /// - Throws: `write` for a file that is not an archive, of the other form, or damaged.
    init(_ path: String, isCompressed: Bool) throws(FetchError) {
        let reader: ArchiveReader
        do throws(FetchError) {
            reader = try ArchiveReader(path)
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
        _ header: RecordHeader, _ reader: ArchiveReader
    ) throws(FetchError) {
        guard let target = header.target else { return }
        switch header.type {
        case "response":
            // As within one run, truncated replies are never referred to.
            guard header["warc-truncated"] == nil, !header.isSegment else { return }
            let isPayload = header.contentType == MessageHead.mediaType
            guard let text = header[isPayload ? "warc-payload-digest" : "warc-block-digest"],
                let digest = BlockDigest(text), digest.algorithm == .sha256,
                let id = header.id.flatMap(RecordID.init), let date = header["warc-date"],
                date.utf8.count <= Self.dateBytesMax
            else { return }
            known.add(target, digest.bytes, id, date)
            if isPayload, try Self.isPage(reader) { known.add(target, [], id, date) }
        case "revisit" where header.isRepeatedReply:
            guard header["warc-truncated"] == nil, !header.isSegment,
                header.contentType == MessageHead.mediaType, try Self.isPage(reader)
            else { return }
            guard header.earlierTarget == target, let date = header["warc-refers-to-date"],
                let id = header["warc-refers-to"].flatMap(RecordID.init),
                date.utf8.count <= Self.dateBytesMax
            else { return known.forgetPage(of: target) }
            known.add(target, [], id, date)
        case "metadata" where header.contentType == Certificates.mediaType:
            let pem = try reader.block(upTo: Self.pemBytesMax)
            guard let leaf = Certificates.decode(pem).first, let place = Certificates.place(target)
            else { return }
            let digest = try Digest(.sha256)
            digest.update(leaf[...])
            _ = known.add(certificate: digest.finish(), of: place)
        default: return
        }
    }

    /// True if the block is a reply of HTTP with status 200.
    private static func isPage(_ reader: ArchiveReader) throws(FetchError) -> Bool {
        let line = try reader.block(upTo: 16).split(separator: ASCII.space)
        return line.count > 1 && line[0].starts(with: "HTTP/".utf8)
            && line[1].prefix(3).elementsEqual("200".utf8)
    }
}

enum Certificates {
    static let mediaType = "application/x-pem-file"

    private static let begin = "-----BEGIN CERTIFICATE-----"
    private static let end = "-----END CERTIFICATE-----"

    /// Encodes DER as PEM (RFC 7468).
    static func encode(_ chain: [[UInt8]]) -> [UInt8] {
        var text: [UInt8] = []
        for certificate in chain {
            text.append(begin + "\n")
            var rest = Array(Base64.encode(certificate).utf8)[...]
            while !rest.isEmpty {
                text += rest.prefix(64)
                text.append(ASCII.lineFeed)
                rest = rest.dropFirst(64)
            }
            text.append(end + "\n")
        }
        return text
    }

    /// Decodes the certificates of a PEM text to DER.
    static func decode(_ pem: [UInt8]) -> [[UInt8]] {
        var (chain, lines) = ([[UInt8]](), String?.none)
        for line in pem.split(whereSeparator: { $0 == 10 || $0 == 13 }) {
            let text = String(decoding: line, as: UTF8.self)
            if text == begin {
                lines = ""
            } else if text == end {
                if let der = lines.flatMap(Base64.decode) { chain.append(der) }
                lines = nil
            } else {
                lines?.append(text)
            }
        }
        return chain
    }

    /// `SCHEME HOST:PORT` of a URL, or `SCHEME HOST` without a port.
    static func place(_ target: String) -> String? { URI(recorded: target).flatMap(place) }

    static func place(_ uri: URI) -> String? { uri.hostAndPort.map { "\(uri.scheme) \($0)" } }
}
