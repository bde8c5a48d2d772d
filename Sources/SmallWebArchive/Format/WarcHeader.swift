// SPDX-License-Identifier: MIT
package import SmallWebCore

/// An error in the bytes of an archive, with the message to show.
package struct Malformed: Error, Sendable, Hashable {
    package let why: String
    /// True if the data is only truncated, as after a crash while writing.
    package var isTorn = false
    /// Length of the valid part of a broken header: the search for the next record starts there.
    var headerBytes = 0
    /// True if the error is behind a record that is itself whole.
    var isBehindRecord = false
}

/// The header of a WARC record (WARC 1.1, section 4): a version and named fields.
package struct WarcHeader: Sendable, Equatable {
    /// `1.0` or `1.1`.
    package let version: String
    /// All fields in order, unchanged; repeated ones repeated.
    package private(set) var fields: [(name: String, value: String)]
    package let blockBytes: Int

    package static func == (left: WarcHeader, right: WarcHeader) -> Bool {
        left.version == right.version && left.blockBytes == right.blockBytes
            && left.fields.elementsEqual(right.fields) { $0 == $1 }
    }

    /// Longest header in bytes: room for a target of a megabyte.
    package static let bytesMax = 2 << 20

    /// Parses a header.
    ///
    /// - Parameter bytes: Bytes from the first one of the record on.
    /// - Returns: The header and its length; `nil` while its end has not arrived.
    package static func parse(
        _ bytes: ArraySlice<UInt8>
    ) throws(Malformed) -> (header: WarcHeader, bytes: Int)? {
        let version = try checkVersion(bytes)
        guard let version, let end = try end(of: bytes) else {
            guard bytes.count < bytesMax else {
                throw Malformed(why: "the record's header is longer than \(bytesMax >> 20) MiB")
            }
            return nil
        }
        guard end - bytes.startIndex <= bytesMax else {
            throw Malformed(why: "the record's header is longer than \(bytesMax >> 20) MiB")
        }
        let count = end - bytes.startIndex
        do throws(Malformed) {
            return (try WarcHeader(version: version, parsing: bytes[..<end]), count)
        } catch {
            throw Malformed(why: error.why, headerBytes: count)
        }
    }

    static let magic = Array("WARC/".utf8)
    private static let notField = "a line of the record's header is not NAME: VALUE"

    /// - Returns: The version; `nil` while its line is incomplete.
    private static func checkVersion(_ bytes: ArraySlice<UInt8>) throws(Malformed) -> String? {
        guard bytes.prefix(magic.count).elementsEqual(magic.prefix(bytes.count)) else {
            throw Malformed(why: "there is no WARC record")
        }
        guard let end = bytes.firstLineFeed else {
            guard bytes.count <= 32 else { throw Malformed(why: "there is no WARC record") }
            return nil
        }
        let line = bytes[..<end].dropFirst(magic.count).filter { $0 != ASCII.carriageReturn }
        let version = String(decoding: line.prefix(24), as: UTF8.self)
        guard version == "1.0" || version == "1.1" else {
            throw Malformed(why: "WARC/\(version) is not supported: 1.0 and 1.1 are")
        }
        return version
    }

    /// Index behind the empty line that ends a header; `nil` while it has not arrived.
    private static func end(of bytes: ArraySlice<UInt8>) throws(Malformed) -> Int? {
        let start = bytes.firstLineFeed.map { $0 + 1 } ?? bytes.endIndex
        var fault: Int?
        let end = HeaderText.end(of: bytes[start...]) { line in
            if line.contains(ASCII.colon) || line.first.map(ASCII.isBlank) ?? false { return true }
            fault = line.startIndex
            return false
        }
        if let fault { throw Malformed(why: notField, headerBytes: fault - bytes.startIndex) }
        return end
    }

    private init(version: String, parsing bytes: ArraySlice<UInt8>) throws(Malformed) {
        self.version = version
        fields = []
        fields.reserveCapacity(16)
        for line in HeaderText.lines(bytes).dropFirst().map(\.withoutLineEnd) {
            guard let first = line.first else { continue }
            // A line that begins with a blank continues the value of the line before.
            if ASCII.isBlank(first), !fields.isEmpty {
                let more = String(decoding: line.drop(while: ASCII.isBlank), as: UTF8.self)
                fields[fields.count - 1].value += " " + more
                continue
            }
            guard let colon = line.firstIndex(of: ASCII.colon), colon > line.startIndex else {
                throw Malformed(why: Self.notField)
            }
            let value = String(decoding: line[(colon + 1)...].trimmed, as: UTF8.self)
            fields.append((String(decoding: line[..<colon], as: UTF8.self), value))
        }
        let lengths = Self.values(of: "content-length", in: fields)
        guard let length = lengths.first, lengths.allSatisfy({ $0 == length }),
            let count = ASCII.decimal(length.utf8, max: 1 << 56)
        else {
            throw Malformed(
                why: lengths.isEmpty
                    ? "the record has no Content-Length"
                    : "the record's Content-Length is not one number of bytes")
        }
        blockBytes = count
    }

    private static func values(
        of name: String, in fields: [(name: String, value: String)]
    ) -> [String] {
        fields.filter { ASCII.isName($0.name.utf8, name) }.map(\.value)
    }

    /// The first value of a field, by its name in lower case.
    package subscript(name: String) -> String? {
        fields.first { ASCII.isName($0.name.utf8, name) }?.value
    }

    /// All values of a field, by its name in lower case.
    package func all(_ name: String) -> [String] { Self.values(of: name, in: fields) }

    /// `response`, `metadata` and the like; empty where there is none.
    package var type: String { self["warc-type"] ?? "" }

    /// The target URL. WARC 1.0 allows angle brackets around it.
    package var target: String? { Self.url(self["warc-target-uri"]) }

    private static func url(_ text: String?) -> String? {
        guard let text, text.hasPrefix("<") && text.hasSuffix(">") else { return text }
        return String(text.dropFirst().dropLast())
    }

    /// True if the block is only a part of the original (WARC 1.1, section 5.19).
    package var isSegment: Bool { self["warc-segment-number"] != nil }

    /// True for a reply of status 304, which refers to an earlier page.
    package var isNotModified: Bool {
        type == "revisit" && (self["warc-profile"] ?? "").hasSuffix("server-not-modified")
    }

    /// True for a reply whose body is in another record; a 304 reply has none.
    package var isRepeatedReply: Bool { type == "revisit" && !isNotModified }

    /// The target of the reply that a `revisit` refers to.
    package var earlierTarget: String? { Self.url(self["warc-refers-to-target-uri"]) }

    /// Percent-encodes bytes that URLs must not contain: other programs leave blanks as they are.
    static func escaped(target: String) -> String {
        var bytes: [UInt8] = []
        for byte in target.utf8 {
            if byte > ASCII.space && byte < 0x7F && byte != UInt8(ascii: "\\") {
                bytes.append(byte)
            } else {
                PercentEncoding.appendEscape(of: byte, to: &bytes)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The digest in a field, by the field's name in lower case; `nil` for one that proves nothing.
    func digest(_ name: String) -> WarcDigest? { self[name].flatMap(WarcDigest.init) }

    /// The time of the record in microseconds since 1970; `nil` without one. Dates may be short.
    var time: Int? {
        CaptureIndex.microseconds((self["warc-date"] ?? "").utf8.filter(ASCII.isDigit))
    }

    // MARK: Metadata of smallweb's own

    /// The kind of a metadata record of ours. Up to version 0.2 each kind had a media type of its
    /// own, which other programs take for pages.
    var kind: String? {
        if let kind = self["smallweb-kind"] { return kind }
        return contentType == "application/x-pem-file"
            ? Certificates.kind : contentType?.replacing(text: "application/x-smallweb-", with: "")
    }

    /// The block of a record of a kind: `application/warc-fields` with one field, whose value is
    /// JSON.
    static func block(_ kind: String, _ json: [UInt8]) -> [UInt8] {
        Array("\(kind): ".utf8) + json.prefix { !ASCII.isLineEnd($0) } + ASCII.crlf
    }

    /// The JSON in such a block; up to version 0.2 it was all of the block.
    static func json(of block: [UInt8]) -> ArraySlice<UInt8> {
        guard let first = block.first, ASCII.isLetter(first),
            let colon = block.firstIndex(of: ASCII.colon)
        else { return block[...] }
        return block[(colon + 1)...]
    }

    /// `<urn:uuid:…>`, unchanged.
    package var id: String? { self["warc-record-id"] }

    /// The media type of the block, in lower case and without its parameters.
    package var contentType: String? {
        self["content-type"].flatMap { MediaType(parsing: $0)?.essence }
    }
}

/// A digest as archives write it: `ALGORITHM:TEXT`, hexadecimal or Base32 (RFC 4648, section 6).
package struct WarcDigest: Sendable, Hashable {
    package let algorithm: Digest.Algorithm
    package let bytes: [UInt8]

    package init(algorithm: Digest.Algorithm, bytes: [UInt8]) {
        (self.algorithm, self.bytes) = (algorithm, bytes)
    }

    /// - Returns: `nil` for an unknown algorithm or form: such a digest proves nothing.
    package init?(_ text: String) {
        guard let colon = text.utf8.firstIndex(of: ASCII.colon) else { return nil }
        let algorithm: Digest.Algorithm
        switch text[..<colon].lowercased() {
        case "sha1", "sha-1": algorithm = .sha1
        case "sha256", "sha-256": algorithm = .sha256
        default: return nil
        }
        let value = text[colon...].dropFirst().utf8
        let bytes =
            value.count == 2 * algorithm.byteCount
            ? ASCII.bytes(hex: value) : Self.bytes(base32: value)
        guard let bytes, bytes.count == algorithm.byteCount else { return nil }
        (self.algorithm, self.bytes) = (algorithm, bytes)
    }

    /// Accepts text with or without padding, in either case.
    private static func bytes(base32 text: some Collection<UInt8>) -> [UInt8]? {
        var (bytes, value, bits) = ([UInt8](), UInt32(0), 0)
        for byte in text where byte != UInt8(ascii: "=") {
            let lower = ASCII.lowercased(byte)
            let digit: UInt8
            switch lower {
            case UInt8(ascii: "a")...UInt8(ascii: "z"): digit = lower - UInt8(ascii: "a")
            case UInt8(ascii: "2")...UInt8(ascii: "7"): digit = lower - UInt8(ascii: "2") + 26
            default: return nil
            }
            value = value << 5 | UInt32(digit)
            bits += 5
            guard bits >= 8 else { continue }
            bits -= 8
            bytes.append(UInt8(truncatingIfNeeded: value >> UInt32(bits)))
        }
        return bytes
    }
}
