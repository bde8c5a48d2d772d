// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Masks the secrets of one request, for recording and for finding a recording.
struct Redaction {
    private let handler: (any ProtocolHandler)?
    /// Secret values to mask, in any encoding.
    private let mask: SecretMask
    /// Masks of the secrets that every request of this kind must contain, one for each.
    private let expected: [SecretMask]
    private let keepsSecrets: Bool

    init(_ request: Request, _ registry: Registry, keepsSecrets: Bool) {
        self.keepsSecrets = keepsSecrets
        handler = registry[request.scheme.name]?.handler
        mask = SecretMask(keepsSecrets ? [] : request.secretValues)
        expected = request.secretsOfOptions.filter { !$0.isEmpty }.map { SecretMask([$0]) }
    }

    /// True if secrets other than the protocol's own must be masked.
    var hasValues: Bool { !mask.isEmpty }

    /// Ranges to mask in a request, ascending and disjoint.
    ///
    /// - Returns: `nil` to mask all of it: it contains a secret in an unknown encoding.
    func ranges(in sent: [UInt8]) -> [Range<Int>]? {
        guard !keepsSecrets, !sent.isEmpty else { return [] }
        let known = handler?.secrets(in: sent) ?? []
        // The range masked by the handler may be the secret.
        if known.isEmpty, expected.contains(where: { $0.ranges(in: sent).isEmpty }) { return nil }
        return Self.merged(known + mask.ranges(in: sent))
    }

    /// The masked request, with a map of its offsets.
    func masked(_ sent: [UInt8]) -> MaskedBytes {
        MaskedBytes(sent, ranges(in: sent) ?? [sent.startIndex..<sent.endIndex])
    }

    /// Masks the header of a request that is in a file.
    ///
    /// - Parameter isMasked: True if its secret values are masked already.
    func masked(header: [UInt8], isMasked: Bool) -> MaskedBytes {
        isMasked ? MaskedBytes(header, handler?.secrets(in: header) ?? []) : masked(header)
    }

    /// The possible recorded forms of a request. If only a part of it has been sent, the secret may
    /// be missing or incomplete.
    func forms(of sent: [UInt8]) -> [[UInt8]] {
        guard !keepsSecrets else { return [sent] }
        let whole = maskingAll(of: sent)
        guard hasValues else { return [whole] }
        var stream = mask
        _ = stream.add(sent)
        guard stream.heldCount > 0 else { return [whole, SecretMask.mark] }
        return [whole, maskingAll(of: sent.dropLast(stream.heldCount)), SecretMask.mark]
    }

    private func maskingAll(of sent: [UInt8]) -> [UInt8] {
        let known = handler?.secrets(in: sent) ?? []
        return sent.masking(Self.merged(known + mask.ranges(in: sent)))
    }

    /// Masks the secrets that a server repeats in its reply.
    func masked(reply: [UInt8]) -> [UInt8] {
        reply.masking(Self.merged(mask.ranges(in: reply)))
    }

    /// Masks a request or reply, in another spool if it is in a file.
    func masked(_ spool: BlockSpool) throws(FetchError) -> Block {
        if let whole = spool.whole { return Block(masked(reply: whole)) }
        guard !mask.isEmpty else { return Block([], spool) }
        let masked = spool.empty()
        var stream = mask
        func pass(_ bytes: [UInt8]) throws(FetchError) {
            try bytes.span.bytes.withUnsafeBytes { piece throws(FetchError) in
                try masked.append(piece)
            }
        }
        try spool.bytes.read { piece throws(FetchError) in try pass(stream.add(piece)) }
        try pass(stream.add([], isLast: true))
        guard stream.hasFound else { return Block([], spool) }
        // Few bytes may be left.
        return masked.whole.map { Block($0) } ?? Block([], masked)
    }

    /// The head of a message, without the values of secret fields either.
    func masked(head: [UInt8]) -> [UInt8] {
        keepsSecrets ? head : masked(reply: SecretFields.masked(head))
    }

    /// The form of a URL to record.
    func target(_ uri: URI) -> String {
        let uri = uri.withoutFragment
        return keepsSecrets ? uri.description : masked(text: uri.display)
    }

    func masked(text: String) -> String {
        hasValues ? String(decoding: masked(reply: Array(text.utf8)), as: UTF8.self) : text
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

/// Bytes with some ranges replaced by `***`.
struct MaskedBytes {
    private let ranges: [Range<Int>]
    let bytes: [UInt8]
    var isMasked: Bool { !ranges.isEmpty }

    /// - Parameter ranges: Ascending and disjoint.
    init(_ original: [UInt8], _ ranges: [Range<Int>]) {
        (self.ranges, bytes) = (ranges, original.masking(ranges))
    }

    /// The masked offset that corresponds to `offset`; an offset within a range maps to its end.
    func offset(of offset: Int) -> Int {
        var moved = offset
        for range in ranges where range.lowerBound < offset {
            let end = min(range.upperBound, offset)
            moved += SecretMask.mark.count - (end - range.lowerBound)
        }
        return moved
    }
}
