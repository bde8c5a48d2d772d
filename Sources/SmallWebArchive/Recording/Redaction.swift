// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Masks the secrets of one request, where it is recorded and where a recording is looked for.
struct Redaction {
    private let handler: (any ProtocolHandler)?
    /// Values that must not be kept, in any form.
    private let mask: SecretMask
    /// Of those that a request certainly has in it, each alone.
    private let expected: [SecretMask]
    private let keepsSecrets: Bool

    static let mask = Array("***".utf8)

    init(_ request: Request, _ registry: Registry, keepsSecrets: Bool) {
        self.keepsSecrets = keepsSecrets
        handler = registry[request.scheme.name]?.handler
        mask = SecretMask(keepsSecrets ? [] : request.secretValues)
        expected = request.secretsOfOptions.filter { !$0.isEmpty }.map { SecretMask([$0]) }
    }

    /// Whether anything but what the protocol itself knows must be masked.
    var hasValues: Bool { !mask.isEmpty }

    /// What is masked of a request: ranges that ascend and do not meet.
    ///
    /// - Returns: `nil` for all of it: a secret is somewhere in it, in a form that is not known.
    func ranges(in sent: [UInt8]) -> [Range<Int>]? {
        guard !keepsSecrets, !sent.isEmpty else { return [] }
        let known = handler?.secrets(in: sent) ?? []
        // What the handler masks may be the secret.
        if known.isEmpty, expected.contains(where: { $0.ranges(in: sent).isEmpty }) { return nil }
        return Self.merged(known + mask.ranges(in: sent))
    }

    /// The request as it may be kept, and where each of its offsets comes to lie.
    func masked(_ sent: [UInt8]) -> MaskedBytes {
        MaskedBytes(sent, ranges(in: sent) ?? [sent.startIndex..<sent.endIndex])
    }

    /// The same for the header of a request that is in a file.
    ///
    /// - Parameter isMasked: Whether secrets have been found and masked in it already.
    func masked(header: [UInt8], isMasked: Bool) -> MaskedBytes {
        isMasked ? MaskedBytes(header, handler?.secrets(in: header) ?? []) : masked(header)
    }

    /// The forms that a recording may have of it: of a request of which a part alone has been
    /// sent, the secret may still be missing, or the end of it.
    func forms(of sent: [UInt8]) -> [[UInt8]] {
        guard !keepsSecrets else { return [sent] }
        let whole = maskingAll(of: sent)
        guard hasValues else { return [whole] }
        var stream = mask
        _ = stream.add(sent)
        guard stream.heldCount > 0 else { return [whole, Self.mask] }
        return [whole, maskingAll(of: sent.dropLast(stream.heldCount)), Self.mask]
    }

    private func maskingAll(of sent: [UInt8]) -> [UInt8] {
        let known = handler?.secrets(in: sent) ?? []
        return MaskedBytes(sent, Self.merged(known + mask.ranges(in: sent))).bytes
    }

    /// What a server says, where it repeats a secret.
    func masked(reply: [UInt8]) -> [UInt8] {
        hasValues ? MaskedBytes(reply, Self.merged(mask.ranges(in: reply))).bytes : reply
    }

    /// The same for what is in a file, of either direction: another spool.
    ///
    /// - Returns: `nil` when there is nothing to mask.
    func masked(_ spool: BlockSpool) throws(FetchError) -> BlockSpool? {
        guard hasValues, spool.whole == nil else { return nil }
        let masked = spool.empty(head: nil)
        var stream = mask
        func pass(_ bytes: [UInt8]) throws(FetchError) {
            try bytes.span.bytes.withUnsafeBytes { piece throws(FetchError) in
                try masked.append(piece)
            }
        }
        try spool.forEachPiece { piece throws(FetchError) in try pass(stream.add(piece)) }
        try pass(stream.add([], isLast: true))
        return stream.hasFound ? masked : nil
    }

    /// Text such as a URL, with the secrets that are in it masked.
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
