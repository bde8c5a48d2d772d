// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Masks the secrets of one request, where it is recorded and where a recording is looked for.
struct Redaction {
    private let handler: (any ProtocolHandler)?
    /// Values that must not be kept, as they are and in percent-encoding.
    private let values: [[[UInt8]]]
    private let keepsSecrets: Bool

    static let mask = Array("***".utf8)

    init(_ request: Request, _ registry: Registry, keepsSecrets: Bool) {
        self.keepsSecrets = keepsSecrets
        handler = registry[request.scheme.name]?.handler
        var secrets = request.options.keys.sorted().compactMap { request.options.secret($0) }
        if request.isInputSecret, let input = request.input { secrets.append(input) }
        values = secrets.filter { !$0.isEmpty }.map { secret in
            let encoded = Array(PercentEncoding.encode(secret).utf8)
            return encoded == secret ? [secret] : [encoded, secret]
        }
    }

    /// Whether anything but what the protocol itself knows must be masked.
    var hasValues: Bool { !values.isEmpty && !keepsSecrets }

    /// What is masked of a request: ranges that ascend and do not meet.
    ///
    /// - Returns: `nil` for all of it: a secret is somewhere in it, in a form that is not known.
    func ranges(in sent: [UInt8]) -> [Range<Int>]? {
        guard !keepsSecrets, !sent.isEmpty else { return [] }
        var ranges = handler?.secrets(in: sent) ?? []
        for forms in values {
            let found = forms.flatMap { Self.occurrences(of: $0, in: sent) }
            // What the handler masks may be the secret.
            guard !found.isEmpty || !ranges.isEmpty else { return nil }
            ranges += found
        }
        return Self.merged(ranges)
    }

    /// The request as it may be kept, and where each of its offsets comes to lie.
    func masked(_ sent: [UInt8]) -> MaskedBytes {
        MaskedBytes(sent, ranges(in: sent) ?? [sent.startIndex..<sent.endIndex])
    }

    /// The forms that a recording may have of it: of a request of which a part alone has been
    /// sent, the secret may still be missing.
    func forms(of sent: [UInt8]) -> [[UInt8]] {
        guard !keepsSecrets else { return [sent] }
        let known = handler?.secrets(in: sent) ?? []
        let found = values.flatMap { $0.flatMap { Self.occurrences(of: $0, in: sent) } }
        let masked = MaskedBytes(sent, Self.merged(known + found)).bytes
        return hasValues ? [masked, Self.mask] : [masked]
    }

    /// What a server says, where it repeats a secret.
    func masked(reply: [UInt8]) -> [UInt8] {
        guard hasValues else { return reply }
        let found = values.flatMap { $0.flatMap { Self.occurrences(of: $0, in: reply) } }
        return MaskedBytes(reply, Self.merged(found)).bytes
    }

    /// The same for what is in a file: another spool, or this one when there is nothing to mask.
    func masked(reply spool: BlockSpool) throws(FetchError) -> BlockSpool {
        guard hasValues, spool.whole == nil else { return spool }
        let longest = values.joined().map(\.count).max() ?? 1
        let masked = spool.empty(head: nil)
        var pending: [UInt8] = []
        func pass(_ bytes: ArraySlice<UInt8>) throws(FetchError) {
            let clean = self.masked(reply: Array(bytes))
            try clean.span.bytes.withUnsafeBytes { piece throws(FetchError) in
                try masked.append(piece)
            }
        }
        try spool.forEachPiece { piece throws(FetchError) in
            pending += piece
            // What begins near the end may go on in the next piece.
            var end = max(0, pending.count - longest + 1)
            for range in Self.merged(
                values.joined().flatMap { Self.occurrences(of: $0, in: pending) })
            where range.contains(end) { end = range.upperBound }
            try pass(pending[..<end])
            pending.removeFirst(end)
        }
        try pass(pending[...])
        return masked
    }

    /// Text such as a URL, with the secrets that are in it masked.
    func masked(text: String) -> String {
        guard hasValues else { return text }
        let bytes = Array(text.utf8)
        let found = values.flatMap { $0.flatMap { Self.occurrences(of: $0, in: bytes) } }
        return String(decoding: MaskedBytes(bytes, Self.merged(found)).bytes, as: UTF8.self)
    }

    private static func occurrences(of value: [UInt8], in bytes: [UInt8]) -> [Range<Int>] {
        guard let first = value.first, value.count <= bytes.count else { return [] }
        var (found, start) = ([Range<Int>](), 0)
        while start + value.count <= bytes.count,
            let at = bytes[start...(bytes.count - value.count)].firstIndex(of: first)
        {
            if bytes[at...].starts(with: value) {
                found.append(at..<(at + value.count))
                start = at + value.count
            } else {
                start = at + 1
            }
        }
        return found
    }

    private static func merged(_ ranges: [Range<Int>]) -> [Range<Int>] {
        var merged: [Range<Int>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = merged.last, range.lowerBound <= last.upperBound {
                merged[merged.count - 1] =
                    last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
        return merged
    }
}

/// Bytes with `***` for some ranges of what they were made of.
struct MaskedBytes {
    private let ranges: [Range<Int>]
    let bytes: [UInt8]
    var isMasked: Bool { !ranges.isEmpty }

    /// - Parameter ranges: They ascend and do not meet.
    init(_ original: [UInt8], _ ranges: [Range<Int>]) {
        self.ranges = ranges
        guard !ranges.isEmpty else {
            bytes = original
            return
        }
        var (masked, end) = ([UInt8](), 0)
        for range in ranges {
            masked += original[end..<range.lowerBound] + Redaction.mask
            end = range.upperBound
        }
        bytes = masked + original[end...]
    }

    /// Where what stood before `offset` ends now; what is within a range ends with it.
    func offset(of offset: Int) -> Int {
        var moved = offset
        for range in ranges where range.lowerBound < offset {
            let end = min(range.upperBound, offset)
            moved += Redaction.mask.count - (end - range.lowerBound)
        }
        return moved
    }
}
