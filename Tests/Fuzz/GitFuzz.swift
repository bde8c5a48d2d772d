// SPDX-License-Identifier: MIT
@testable internal import GitPlugin
internal import SmallWebCore

func pktLine(_ input: [UInt8]) {
    let decode = { (pieces: [ArraySlice<UInt8>]) -> ([PktLine], FetchError?) in
        var decoder = PktLineDecoder()
        var packets: [PktLine] = []
        do throws(FetchError) {
            for piece in pieces {
                decoder.add(piece)
                while let packet = try decoder.next() { packets.append(packet) }
                check(decoder.heldBytes < PktLine.bytesMax, "more is held than a packet")
            }
        } catch {
            return (packets, error)
        }
        return (packets, nil)
    }
    let (packets, error) = decode([input[...]])
    let (pieced, piecedError) = decode(Pieces(of: input).pieces)
    check(packets == pieced && error == piecedError, "the packets depend on the pieces")
    var rest = input[...]
    for packet in packets {
        let encoded: [UInt8]
        switch packet {
        case .data(let payload): encoded = (try? PktLine.encode(payload)) ?? []
        case .flush: encoded = PktLine.flushPacket
        case .delim: encoded = PktLine.delimPacket
        case .responseEnd: encoded = Array("0002".utf8)
        }
        let came = rest.prefix(encoded.count)
        let digits = String(decoding: came.prefix(4), as: UTF8.self).lowercased()
        check(Array(digits.utf8) + came.dropFirst(4) == encoded, "\(packet) is written differently")
        rest = rest.dropFirst(encoded.count)
    }
}

func tree(_ input: [UInt8]) {
    for format in ObjectFormat.allCases {
        guard let entries = try? TreeCursor(input[...], format).entries() else { continue }
        var written: [UInt8] = []
        for entry in entries {
            let name = entry.name
            check(!name.isEmpty && !name.contains(ASCII.slash) && !name.contains(0), "\(name)")
            check(![".", ".."].contains(String(decoding: name, as: UTF8.self)), "dots")
            written +=
                Array((String(entry.mode, radix: 8) + " ").utf8) + name + [0] + entry.id.bytes
        }
        let again = try? TreeCursor(written[...], format).entries()
        check(again?.count == entries.count, "reads differently the second time")
        // Nothing but the leading zeros of a mode may be lost.
        check(written.count <= input.count, "more than there was")
        check(written.count < input.count || written == input, "is written differently")
    }
}

/// A base and a delta, applied by us and by something simpler.
func delta(_ input: [UInt8]) {
    guard let count = input.first, input.count > Int(count) else { return }
    let base = Array(input.dropFirst().prefix(Int(count)))
    let bytes = Array(input.dropFirst(1 + base.count))
    let result = applied([bytes[...]], base)
    check(result == plainDelta(bytes, base), "the result is another")
    check(result == applied(Pieces(of: bytes).pieces, base), "it depends on the pieces")
}

private let resultBytesMax = 1 << 17

/// `nil` for a wrong delta.
private func applied(_ pieces: [ArraySlice<UInt8>], _ base: [UInt8]) -> [UInt8]? {
    var (reader, result) = (DeltaReader(), [UInt8]())
    do throws(FetchError) {
        for piece in pieces {
            reader.add(piece)
            while let step = try reader.next() {
                switch step {
                case .sizes(let baseBytes, let resultBytes):
                    if baseBytes != base.count || resultBytes > resultBytesMax { return nil }
                case .copy(let range): result += base[range]
                case .insert(let bytes): result += bytes
                }
            }
        }
        try reader.finish()
        return result
    } catch {
        return nil
    }
}

/// gitformat-pack(5), as simple as can be; `nil` for a wrong delta.
private func plainDelta(_ delta: [UInt8], _ base: [UInt8]) -> [UInt8]? {
    var position = 0
    func next() -> Int? {
        defer { position += 1 }
        return position < delta.count ? Int(delta[position]) : nil
    }
    func size() -> Int? {
        var value = 0
        for shift in 0..<8 {
            guard let byte = next() else { return nil }
            value += (byte % 128) << (7 * shift)
            if byte < 128 { return value }
        }
        return nil
    }
    guard size() == base.count, let resultCount = size(), resultCount <= resultBytesMax
    else { return nil }
    var result: [UInt8] = []
    while let instruction = next() {
        if instruction == 0 { return nil }
        guard instruction >= 128 else {
            for _ in 0..<instruction {
                guard let byte = next() else { return nil }
                result.append(UInt8(byte))
            }
            continue
        }
        var numbers = [0, 0, 0, 0, 0, 0, 0]
        for bit in 0..<7 where instruction & 1 << bit != 0 {
            guard let byte = next() else { return nil }
            numbers[bit] = byte
        }
        let offset = numbers[0] + numbers[1] << 8 + numbers[2] << 16 + numbers[3] << 24
        let said = numbers[4] + numbers[5] << 8 + numbers[6] << 16
        let count = said == 0 ? 65_536 : said
        guard offset + count <= base.count, result.count + count <= resultCount else { return nil }
        for index in offset..<(offset + count) { result.append(base[index]) }
    }
    return result.count == resultCount ? result : nil
}

/// The result of reading a pack, with its promises checked.
private struct PackReading: Equatable {
    var contents: [[UInt8]] = []
    var outcome = Outcome.ok

    init(_ pieces: [ArraySlice<UInt8>], keeping: Bool) {
        let limits = PackLimits(objectsMax: 1_000, objectBytesMax: 1 << 18, totalBytesMax: 1 << 20)
        do throws(FetchError) {
            if keeping {
                try readSpool(pieces, limits)
            } else {
                try readEvents(pieces, limits)
            }
        } catch {
            outcome = error.outcome
        }
    }

    private mutating func readSpool(
        _ pieces: [ArraySlice<UInt8>], _ limits: PackLimits
    ) throws(FetchError) {
        let hasher = try ObjectHasher(.sha1)
        let pack = try PackSpool(.sha1, limits: limits)
        for piece in pieces { try pack.add(piece) }
        try pack.finish()
        while try !pack.resolve(1) {}
        for number in 0..<pack.count {
            let id = pack.id(number)
            guard let object = try pack.object(id) else { fatalError("an object is not found") }
            check(hasher.id(of: object.type, object.content[...]) == id, "a wrong id")
            check(object.content.count <= limits.objectBytesMax, "a large object")
            contents.append(object.content)
        }
    }

    private mutating func readEvents(
        _ pieces: [ArraySlice<UInt8>], _ limits: PackLimits
    ) throws(FetchError) {
        let reader = try PackReader(.sha1, limits: limits)
        let hasher = try ObjectHasher(.sha1)
        var begun: PackEntry?
        var content: [UInt8] = []
        for piece in pieces {
            reader.add(piece)
            while let event = try reader.next() {
                switch event {
                case .begin(let entry, _):
                    check(entry.size <= limits.objectBytesMax, "an object of \(entry.size) bytes")
                    begun = entry
                    content = []
                case .data(let bytes): content += bytes
                case .end(let id):
                    check(content.count == begun?.size, "another size")
                    if case .object(let type) = begun?.kind {
                        check(hasher.id(of: type, content[...]) == id, "a wrong id")
                    }
                    contents.append(content)
                }
            }
        }
        try reader.finish()
    }
}

/// Any bytes as a pack, and as the entries of a pack whose header and trailer are right.
func pack(_ input: [UInt8]) {
    for bytes in [input, sealed(Array(input.dropFirst()), count: input.first ?? 0)] {
        for keeping in [true, false] {
            let whole = PackReading([bytes[...]], keeping: keeping)
            let pieced = PackReading(Pieces(of: bytes).pieces, keeping: keeping)
            check(whole == pieced, "\(whole) depends on the pieces: \(pieced)")
        }
    }
}

func sealed(_ entries: [UInt8], count: UInt8) -> [UInt8] {
    let pack = Array("PACK".utf8) + [0, 0, 0, 2, 0, 0, 0, count] + entries
    guard let digest = try? Digest(.sha1) else { fatalError("no SHA-1") }
    digest.update(pack[...])
    return pack + digest.finish()
}

/// Blobs and deltas between them, in packs that can only be wrong in the deltas.
func packDeltas(_ input: [UInt8]) {
    var plan = PackPlan(input)
    let bytes = plan.pack()
    let whole = PackReading([bytes[...]], keeping: true)
    check(whole == PackReading(Pieces(of: bytes).pieces, keeping: true), "depends on the pieces")
    guard whole.outcome != .tooLarge else { return }
    let expected = plan.contents()
    check((whole.outcome == .ok) == (expected != nil), "ends as \(whole.outcome)")
    guard let expected else { return }
    let order = { (one: [UInt8], other: [UInt8]) in one.lexicographicallyPrecedes(other) }
    check(whole.contents.sorted(by: order) == expected.sorted(by: order), "other objects")
}

struct PackPlan {
    enum Entry {
        case blob([UInt8])
        /// To an entry before it, by its index.
        case offset(Int, [UInt8])
        /// To any content.
        case reference([UInt8], [UInt8])
    }

    private var entries: [Entry] = []

    /// Three bytes decide over an entry, and are followed by its content.
    init(_ input: [UInt8]) {
        var rest = input[...]
        // The result of each entry; `nil` if its delta may be wrong.
        var known: [[UInt8]?] = []
        while rest.count >= 3, entries.count < 60 {
            let kind = rest.removeFirst()
            let number = Int(rest.removeFirst())
            let content = Array(rest.prefix(Int(rest.removeFirst()) % 40))
            rest = rest.dropFirst(content.count)
            let index = known.isEmpty ? 0 : number % known.count
            let base = known.isEmpty ? nil : known[index]
            switch (kind % 8, base) {
            case (1, let base?):
                entries.append(.offset(index, Self.appending(content, to: base)))
                known.append(base + content)
            case (2, let base?):
                entries.append(.reference(base, Self.appending(content, to: base)))
                known.append(base + content)
            case (3, _) where !known.isEmpty:
                entries.append(.offset(index, content))
                known.append(nil)
            case (4, let base?):
                entries.append(.reference(base, content))
                known.append(nil)
            // To one that comes later, if at all.
            case (5, _):
                let base = [UInt8](repeating: 0, count: number % 4)
                entries.append(.reference(base, Self.appending(content, to: base)))
                known.append(nil)
            default:
                entries.append(.blob(content))
                known.append(content)
            }
        }
    }

    private static func appending(_ content: [UInt8], to base: [UInt8]) -> [UInt8] {
        let sizes = [base.count, base.count + content.count].flatMap {
            [UInt8($0 & 0x7F) | 0x80, UInt8($0 >> 7)]
        }
        let copy = [0xB0, UInt8(base.count & 0xFF), UInt8(base.count >> 8)]
        let insert = [UInt8(content.count)] + content
        return sizes + (base.isEmpty ? [] : copy) + (content.isEmpty ? [] : insert)
    }

    /// Every content; `nil` when a delta is wrong or has no base.
    func contents() -> [[UInt8]]? {
        var contents = [[UInt8]?](repeating: nil, count: entries.count)
        var hasProgress = true
        while hasProgress {
            hasProgress = false
            for (index, entry) in entries.enumerated() where contents[index] == nil {
                let (base, delta): ([UInt8]?, [UInt8])
                switch entry {
                case .blob(let content):
                    contents[index] = content
                    hasProgress = true
                    continue
                case .offset(let other, let bytes): (base, delta) = (contents[other], bytes)
                case .reference(let content, let bytes):
                    (base, delta) = (contents.contains(content) ? content : nil, bytes)
                }
                guard let base else { continue }
                guard let result = plainDelta(delta, base) else { return nil }
                contents[index] = result
                hasProgress = true
            }
        }
        return contents.contains(nil) ? nil : contents.compactMap(\.self)
    }

    mutating func pack() -> [UInt8] {
        guard let hasher = try? ObjectHasher(.sha1) else { fatalError("no SHA-1") }
        var bytes: [UInt8] = []
        var offsets: [Int] = []
        for entry in entries {
            offsets.append(bytes.count)
            let (type, content, base): (UInt8, [UInt8], [UInt8])
            switch entry {
            case .blob(let blob): (type, content, base) = (3, blob, [])
            case .offset(let other, let delta):
                var distance = bytes.count - offsets[other]
                var digits = [UInt8(distance & 0x7F)]
                while distance > 0x7F {
                    distance = distance >> 7 - 1
                    digits.insert(UInt8(distance & 0x7F) | 0x80, at: 0)
                }
                (type, content, base) = (6, delta, digits)
            case .reference(let other, let delta):
                (type, content, base) = (7, delta, hasher.id(of: .blob, other[...]).bytes)
            }
            bytes.append(type << 4 | 0x80 | UInt8(content.count & 15))
            bytes.append(UInt8(content.count >> 4))
            bytes += base
            bytes += Self.stored(content)
        }
        return sealed(bytes, count: UInt8(entries.count))
    }

    /// A zlib stream of one block that is not compressed.
    static func stored(_ content: [UInt8]) -> [UInt8] {
        let (count, more) = (UInt8(content.count & 0xFF), UInt8(content.count >> 8))
        var low = 1
        var high = 0
        for byte in content {
            low = (low + Int(byte)) % 65_521
            high = (high + low) % 65_521
        }
        return [0x78, 1, 1, count, more, ~count, ~more] + content
            + [UInt8(high >> 8), UInt8(high & 0xFF), UInt8(low >> 8), UInt8(low & 0xFF)]
    }
}
