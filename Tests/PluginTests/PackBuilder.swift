// SPDX-License-Identifier: MIT
@testable internal import GitPlugin
internal import SmallWebCore

/// Writes packs, right ones and wrong ones.
struct PackBuilder {
    var format = ObjectFormat.sha1
    private(set) var entries: [UInt8] = []
    private(set) var count = 0
    private var offset: Int { 12 + entries.count }

    init(_ format: ObjectFormat = .sha1) { self.format = format }

    /// Adds an entry and returns where it begins.
    ///
    /// - Parameters:
    /// - size: Size in the header, if it differs from the size of the content.
    /// - stream: Zlib stream, to replace the compressed content.
    @discardableResult
    mutating func add(
        type: UInt8, _ content: [UInt8], base: [UInt8] = [], size: Int? = nil,
        stream: [UInt8]? = nil
    ) -> Int {
        let start = offset
        var size = size ?? content.count
        var byte = type << 4 | UInt8(size & 15)
        size >>= 4
        while size > 0 {
            entries.append(byte | 0x80)
            byte = UInt8(size & 0x7F)
            size >>= 7
        }
        entries.append(byte)
        entries += base
        entries += stream ?? zlibStored(content)
        count += 1
        return start
    }

    @discardableResult
    mutating func add(_ type: ObjectType, _ content: [UInt8]) -> Int {
        add(type: type.rawValue, content)
    }

    @discardableResult
    mutating func addDelta(_ delta: [UInt8], toOffset base: Int) -> Int {
        add(type: 6, delta, base: Self.distance(offset - base))
    }

    @discardableResult
    mutating func addDelta(_ delta: [UInt8], to base: ObjectID) -> Int {
        add(type: 7, delta, base: base.bytes)
    }

    func pack(version: UInt8 = 2, count: Int? = nil) throws -> [UInt8] {
        let count = UInt32(count ?? self.count)
        let numbers = stride(from: 24, through: 0, by: -8).map { UInt8(count >> $0 & 0xFF) }
        let pack = Array("PACK".utf8) + [0, 0, 0, version] + numbers + entries
        let digest = try Digest(format.algorithm)
        digest.update(pack[...])
        return pack + digest.finish()
    }

    static func distance(_ distance: Int) -> [UInt8] {
        var bytes = [UInt8(distance & 0x7F)]
        var rest = distance >> 7
        while rest > 0 {
            rest -= 1
            bytes.insert(UInt8(rest & 0x7F) | 0x80, at: 0)
            rest >>= 7
        }
        return bytes
    }

    static func size(_ size: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = size
        while rest > 0x7F {
            bytes.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }

    static func delta(from base: Int, to result: Int, _ instructions: [UInt8]) -> [UInt8] {
        size(base) + size(result) + instructions
    }

    static func id(
        _ type: ObjectType, _ content: [UInt8], _ format: ObjectFormat = .sha1
    ) throws -> ObjectID {
        try ObjectHasher(format).id(of: type, content[...])
    }
}

/// A zlib stream that compresses nothing.
func zlibStored(_ content: [UInt8]) -> [UInt8] {
    var stream: [UInt8] = [0x78, 0x01]
    var rest = content[...]
    repeat {
        let block = rest.prefix(65_535)
        rest = rest.dropFirst(block.count)
        let low = UInt8(block.count & 0xFF)
        let high = UInt8(block.count >> 8)
        stream += [rest.isEmpty ? 1 : 0, low, high, ~low, ~high] + block
    } while !rest.isEmpty
    return stream + adler32(content)
}

/// A zlib stream of `count` zeros, 258 of them in thirteen bits: a zip bomb, the densest that the
/// format's fixed code allows.
func zlibZeros(_ count: Int) -> [UInt8] {
    var bits: [UInt8] = [1, 1, 0]
    // The literal 0, once for each byte that is not part of a run.
    let runs = (count - 1) / 258
    for _ in 0..<(count - runs * 258) { bits += [0, 0, 1, 1, 0, 0, 0, 0] }
    // A run of 258 copies of the byte before it.
    for _ in 0..<runs { bits += [1, 1, 0, 0, 0, 1, 0, 1] + [0, 0, 0, 0, 0] }
    bits += [0, 0, 0, 0, 0, 0, 0]
    var stream: [UInt8] = [0x78, 0x01]
    for start in stride(from: 0, to: bits.count, by: 8) {
        let byte = bits[start..<min(start + 8, bits.count)].reversed().reduce(0) { $0 << 1 | $1 }
        stream.append(byte)
    }
    return stream + adler32([UInt8](repeating: 0, count: count))
}

private func adler32(_ content: [UInt8]) -> [UInt8] {
    var low: UInt32 = 1
    var high: UInt32 = 0
    for byte in content {
        low = (low + UInt32(byte)) % 65_521
        high = (high + low) % 65_521
    }
    return [UInt8(high >> 8), UInt8(high & 0xFF), UInt8(low >> 8), UInt8(low & 0xFF)]
}

/// The result of parsing a pack.
struct PackReading: Equatable {
    var objects: [PackObject] = []
    var error: FetchError?

    /// - Parameter step: Number of bytes added at a time.
    init(
        _ pack: [UInt8], _ format: ObjectFormat = .sha1, limits: PackLimits = PackLimits(),
        keeping: Bool = true, step: Int = .max
    ) {
        var pieces: [ArraySlice<UInt8>] = []
        var rest = pack[...]
        while !rest.isEmpty {
            pieces.append(rest.prefix(step))
            rest = rest.dropFirst(step)
        }
        self.init(pieces, format, limits: limits, keeping: keeping)
    }

    init(
        _ pieces: [ArraySlice<UInt8>], _ format: ObjectFormat = .sha1,
        limits: PackLimits = PackLimits(), keeping: Bool = true
    ) {
        do {
            if keeping {
                try read(pieces, PackSpool(format, limits: limits), format)
            } else {
                try read(pieces, PackReader(format, limits: limits), format)
            }
        } catch {
            self.error = error as? FetchError
        }
    }

    /// Compares objects and outcomes; the message of an error depends on the pieces.
    static func == (one: Self, other: Self) -> Bool {
        one.objects == other.objects && one.error?.outcome == other.error?.outcome
    }

    /// As it comes, without deltas.
    private mutating func read(
        _ pieces: [ArraySlice<UInt8>], _ reader: PackReader, _ format: ObjectFormat
    ) throws {
        let hasher = try ObjectHasher(format)
        var begun: (type: ObjectType, size: Int)?
        var content: [UInt8] = []
        for piece in pieces {
            reader.add(piece)
            while let event = try reader.next() {
                switch event {
                case .begin(let entry, _):
                    precondition(begun == nil, "an object within another")
                    guard case .object(let type) = entry.kind else {
                        throw FetchError.malformedPack("a delta without its base")
                    }
                    begun = (type, entry.size)
                case .data(let bytes):
                    precondition(!bytes.isEmpty, "no data")
                    content += bytes
                    precondition(content.count <= begun?.size ?? 0, "more than its size")
                case .end(let id):
                    guard let (type, size) = begun, let id else {
                        preconditionFailure("no beginning")
                    }
                    precondition(size == content.count, "another size")
                    precondition(hasher.id(of: type, content[...]) == id, "another id")
                    objects.append(PackObject(id: id, type: type, content: content))
                    begun = nil
                    content = []
                }
            }
        }
        try reader.finish()
    }

    /// From a spool, in the order of the pack.
    private mutating func read(
        _ pieces: [ArraySlice<UInt8>], _ pack: PackSpool, _ format: ObjectFormat
    ) throws {
        let hasher = try ObjectHasher(format)
        for piece in pieces { try pack.add(piece) }
        try pack.finish()
        // However little is done at a time.
        while try !pack.resolve(1) {}
        var found: [PackObject] = []
        for number in 0..<pack.count {
            let id = pack.id(number)
            guard let object = try pack.object(id), let type = pack.type(number) else {
                preconditionFailure("an object that is not found")
            }
            precondition(hasher.id(of: type, object.content[...]) == id, "another content")
            let size = try pack.size(number)
            precondition(size == object.content.count, "another size")
            found.append(PackObject(id: id, type: type, content: object.content))
        }
        objects = found
    }
}
