// SPDX-License-Identifier: MIT
package import SmallWeb

/// The body of one reply, for its record: hashed, and kept as far as it may go into the record, or
/// written as records of its own.
package final class RecordedBody: EventSink {
    private let options: RecordOptions
    private var scope: RecordScope
    private let log: FetchLog?
    private let records: RecordStream
    private var digest: Digest?
    /// Bytes that are hashed, and those of them that an earlier attempt has left.
    package private(set) var (byteCount, startBytes) = (0, 0)
    private var chunks = ChunkWriter()
    /// `nil` when nothing goes into the record, or a part of it.
    private var kept: Spool?
    /// `nil` unless a part was asked for, or too much text has come.
    private var slice: TextSlice?
    /// The part that was asked for, or is in the record instead of the whole, after
    /// ``form(path:_:isCutOff:)``.
    package private(set) var part: (bytes: ArraySlice<UInt8>, offset: Int, next: Int?, total: Int?)?
    /// SHA-256 of a page that came to its end and that a part was taken of.
    package private(set) var hash: String?
    private var converter: CharsetConverter?
    private var charset: String?
    /// The reason that the body is not in the record.
    private(set) var omission: String?
    private var hasBegun = false
    /// True for a page that is laid out; other bodies are as they came.
    private var isRendered = false
    /// Size of the page as it was laid out; `nil` while it is unknown.
    package var renderedBytes: Int?

    init(
        _ records: RecordStream, _ log: FetchLog?, _ options: RecordOptions, _ scope: RecordScope
    ) {
        (self.records, self.log, self.options, self.scope) = (records, log, options, scope)
        // Without libcrypto there is no hash, and the record has `null`.
        digest = try? Digest(.sha256)
    }

    package func take(_ event: Event) throws(FetchError) {
        switch event {
        case .head(let head): try begin(head)
        case .body(let bytes): try add(bytes)
        default: break
        }
    }

    private var wanted: Request.Wanted { log?.wanted ?? .body }

    private func begin(_ head: Head) throws(FetchError) {
        hasBegun = !head.isUnchanged
        if wanted == .body, let beginning = scope.beginning {
            digest = beginning.digest
            (byteCount, startBytes) = (beginning.byteCount, beginning.byteCount)
            scope.beginning = nil
        }
        if wanted != .body {
            omission = wanted.rawValue
        } else if hasBegun, let range = scope.slice {
            try begin(range)
        } else if startBytes > 0 {
            // Of a file, or else of no use without its beginning.
            omission = "truncated"
        } else if options.body == .none || records.target == nil {
            omission = "none-requested"
        } else if !options.streamsBodies && options.body != .file {
            kept = Spool(memoryMax: 65_536)
        }
        isRendered = scope.rendering != nil && wanted == .body && isText
        charset = head.mediaType?.charset
        converter = charset.flatMap(CharsetConverter.init(from:))
    }

    private var isText: Bool { log?.head?.mediaType?.isText ?? true }

    private func begin(_ range: TextRange) throws(FetchError) {
        if !isText, let type = log?.head?.mediaType {
            omission = "not-text"
            throw FetchError(
                .write, .output, "\(type.essence) is not text, which alone has parts",
                remedy: .takeWhole)
        }
        // It says why there is none.
        if range.hash != nil && digest == nil { _ = try Digest(.sha256) }
        var range = range
        if records.target != nil { range.count = min(range.count, max(1, options.inlineBytesMax)) }
        slice = TextSlice(range)
    }

    /// True if the digest is the body's, not a rest's, and there is a body.
    private var isWhole: Bool { hasBegun && !wanted.isHeadEnough && !scope.isRest }
    private var isStreamed: Bool { options.streamsBodies && omission == nil }
    var hasWritten: Bool { chunks.count > 0 }

    private func add(_ bytes: ArraySlice<UInt8>) throws(FetchError) {
        digest?.update(bytes)
        byteCount += bytes.count
        try writeChunks(of: bytes)
        if !isRendered { try keep(bytes) }
    }

    /// Adds to the page as it is laid out.
    package func add(rendered bytes: ArraySlice<UInt8>) throws(FetchError) {
        if isRendered { try keep(bytes) }
    }

    private func keep(_ bytes: ArraySlice<UInt8>) throws(FetchError) {
        if kept == nil && slice == nil { return }
        do throws(FetchError) {
            guard let kept else { return try slice?.add(text(of: bytes)) ?? () }
            guard kept.count + bytes.count > options.inlineBytesMax && scope.overflow == nil else {
                return try kept.append(bytes)
            }
            self.kept = nil
            guard options.inlineBytesMax > 0 && isText else {
                return omission = "inline-limit"
            }
            let slice = TextSlice(TextRange(start: 0, count: options.inlineBytesMax))
            self.slice = slice
            try kept.read { piece throws(FetchError) in try slice.add(text(of: piece)) }
            try slice.add(text(of: bytes))
        } catch {
            // It lacks bytes that are hashed and counted.
            (kept, slice) = (nil, nil)
            omission = "not-written"
            throw error
        }
    }

    private func text(of bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        isRendered ? bytes : converter.map { $0.convert(bytes)[...] } ?? bytes
    }

    /// - Parameter isLast: True if no more bytes can complete a character that was held back.
    func writeChunks(of bytes: ArraySlice<UInt8>, isLast: Bool = false) throws(FetchError) {
        guard isStreamed else { return }
        try chunks.add(bytes, isLast: isLast) { number, offset, piece throws(FetchError) in
            try records.write("chunk") { writer in
                writer.member("seq", number)
                writer.member("offset", offset)
                // Bytes in a charset other than UTF-8 are not converted piece by piece.
                if converter != nil || options.body == .base64 {
                    writer.member("base64") { $0.value(base64: piece) }
                } else {
                    writer.member(text: piece, allowsNUL: false)
                }
            }
        }
    }

    enum Form {
        case null
        case text([UInt8], from: String?)
        case base64([UInt8])
        case path(String)
        case chunks(Int)
        case omitted(String)
    }

    /// Decides the form of the body. Called once, after its last byte.
    ///
    /// - Parameters:
    ///   - path: The file that a sink has put it into.
    ///   - log: The log of its fetch.
    ///   - isCutOff: True if more of it was to come; `nil` for a reply that is not a success,
    ///     whose body is another than the page.
    /// - Throws: `write`; `permanent-failure` if the page is not the one of an earlier part.
    func form(
        path: String?, _ log: FetchLog?, isCutOff: Bool?
    ) async throws(FetchError) -> Form {
        if let path { return .path(path) }
        if let omission {
            let isEmpty = log?.bodyBytes ?? 0 == 0
            return wanted == .refusal && isEmpty ? .null : .omitted(omission)
        }
        if isStreamed { return .chunks(chunks.count) }
        if let slice {
            let bytes = try take(slice, isCutOff: isCutOff)
            guard records.target != nil else { return .omitted("none-requested") }
            return form(of: bytes, from: isRendered || converter == nil ? nil : charset)
        }
        guard let kept else { return .omitted("truncated") }
        if isRendered { renderedBytes = kept.count }
        if kept.count > options.inlineBytesMax, let overflow = scope.overflow {
            return .path(try await overflow(kept, log))
        }
        let bytes = try await kept.takeAll()
        if options.body == .base64 { return .base64(bytes) }
        if !isRendered, let converter, let text = converter.convertAll(bytes) {
            return .text(text, from: charset)
        }
        let isUTF8 = isRendered || converter == nil || options.body == .text
        return isUTF8 ? form(of: bytes, from: nil) : .base64(bytes)
    }

    private func form(of text: [UInt8], from charset: String?) -> Form {
        switch options.body {
        case .base64: .base64(text)
        case .text: .text(Array(String(decoding: text, as: UTF8.self).utf8), from: charset)
        case .auto, .file, .none: .text(text, from: charset)
        }
    }

    /// - Throws: `write`; `permanent-failure` if the page is not the one of an earlier part.
    private func take(_ slice: TextSlice, isCutOff: Bool?) throws(FetchError) -> [UInt8] {
        let hasEnd = isCutOff != true
        if hasEnd { hash = sha256() }
        if hasEnd && !isRendered, let converter { try slice.add(converter.finish()[...]) }
        let (range, total) = (slice.range, slice.total)
        if isCutOff == false, let known = range.hash, let hash, !hash.hasPrefix(known) {
            throw refusal("changed", "the page has changed since the earlier part", known, hash)
        }
        if isCutOff == false && range.start > total {
            let message = "the text has \(total) bytes, and no part at \(range.start)"
            throw refusal("beyond-end", message, String(range.start), String(total))
        }
        let (bytes, offset, next) = try slice.cut(isCutOff: !hasEnd)
        part = (bytes, offset, next, hasEnd ? total : nil)
        if scope.slice == nil && next != nil {
            log?.note(
                .note(Note("inline-limit", "the record has the text up to byte \(bytes.count)")))
        }
        return Array(bytes)
    }

    private func refusal(
        _ reason: String, _ message: String, _ expected: String, _ actual: String
    ) -> FetchError {
        omission = reason
        return FetchError(
            .permanentFailure, .body, message, remedy: .takeFromStart, expected: expected,
            actual: actual)
    }

    /// `nil` without libcrypto, or when no body was asked for.
    private func sha256() -> String? { isWhole ? digest?.finish().hex : nil }

    /// Writes the member `body`. Once.
    ///
    /// - Parameter isComplete: `nil` when the protocol cannot tell.
    func write(_ form: Form, isComplete: Bool?, to writer: inout JSONWriter) {
        if case .null = form { return writer.member("body") { $0.null() } }
        writer.member("body", object: form) { writer, form in
            var source: String?
            switch form {
            case .null: break
            case .text(let bytes, let charset):
                source = charset
                writer.member(text: bytes[...], allowsNUL: options.body == .text)
            case .base64(let bytes): writer.member("base64") { $0.value(base64: bytes) }
            case .path(let path): writer.member(named: "path", bytes: path.systemBytes)
            case .chunks(let count): writer.member("chunks", count)
            case .omitted(let reason): writer.member("omitted", reason)
            }
            writer.member("sha256", hash ?? sha256())
            writer.member("complete", isComplete)
            if let source { writer.member("transcoded", source) }
            if case .omitted = form { return }
            if isRendered { writer.member("rendered", scope.rendering) }
            if let part {
                writer.member("offset", part.offset)
                writer.member("next", part.next)
                writer.member("total", part.total)
            } else if isRendered {
                writer.member("total", renderedBytes)
            }
        }
    }
}

struct ChunkWriter {
    private var carry: [UInt8] = []
    private(set) var count = 0
    private var offset = 0

    /// Most bytes of a body in one record.
    private static let bytesMax = 65_536

    /// Gives the next records' payloads to `body`: text that ends between two characters, or bytes.
    mutating func add(
        _ bytes: ArraySlice<UInt8>, isLast: Bool = false,
        _ body: (_ number: Int, _ offset: Int, ArraySlice<UInt8>) throws(FetchError) -> Void
    ) throws(FetchError) {
        var rest = (carry + bytes)[...]
        carry = []
        while !rest.isEmpty {
            var piece = rest.prefix(Self.bytesMax)
            if !(isLast && piece.count == rest.count) {
                let cut = piece.cutCharacterCount
                // Four bytes that begin no character are not text.
                if cut < piece.count { piece.removeLast(cut) }
                if cut == piece.count && piece.count == rest.count {
                    carry = Array(piece)
                    return
                }
            }
            try body(count, offset, piece)
            count += 1
            offset += piece.count
            rest = rest.dropFirst(piece.count)
            if !isLast && rest.count < 4 && rest.cutCharacterCount == rest.count {
                carry = Array(rest)
                return
            }
        }
    }
}
