// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Limits of a reader of packs.
struct PackLimits: Sendable {
    /// Objects per pack.
    var objectsMax = 1 << 20
    /// Bytes per object.
    var objectBytesMax = Int.max
    /// Bytes of all objects and deltas together, inflated.
    var totalBytesMax = 16 << 30
    /// Bytes of the pack, in a temporary file.
    var packBytesMax = 4 << 30
    /// The longest chain that Git itself makes.
    static let deltaChainMax = 4095

    /// - Throws: `too-large` for an object, or a delta, beyond the limit.
    func check(_ objectBytes: Int) throws(FetchError) {
        guard objectBytes <= objectBytesMax else {
            throw FetchError(
                .tooLarge, .body, "an object is larger than \(objectBytesMax) bytes",
                expected: String(objectBytesMax), actual: String(objectBytes))
        }
    }

    /// - Throws: `too-large` for objects that are together larger than the limit.
    func check(total bytes: Int) throws(FetchError) {
        guard bytes <= totalBytesMax else {
            throw FetchError(
                .tooLarge, .body, "the pack's objects are larger than \(totalBytesMax) bytes",
                expected: String(totalBytesMax))
        }
    }
}

/// An object of a pack, in memory.
struct PackObject: Hashable, Sendable {
    let id: ObjectID
    let type: ObjectType
    let content: [UInt8]

    /// The entries, if it is a tree.
    var tree: TreeCursor { TreeCursor(content[...], id.format) }
}

/// The positions of a pack's objects, with some fifty bytes of memory for each. Pure.
struct PackIndex {
    private let format: ObjectFormat
    private var offsets: [Int] = []
    private var headerBytes: [UInt8] = []
    private var sizes: [Int] = []
    private var bases: [Int32] = []
    /// Raw values of ``ObjectType``; 0 while unknown.
    private var types: [UInt8] = []
    /// Concatenated; zeros while an id is unknown.
    private var ids: [UInt8] = []
    /// Open addressing: an entry's number plus one, or 0.
    private var slots = [Int32](repeating: 0, count: 64)
    private let seed = UInt64.random(in: .min ... .max) | 1
    /// Linked lists of the deltas to each entry: the first one, and the next with the same base.
    private var firstChild: [Int32] = []
    private var nextSibling: [Int32] = []
    /// End of the last entry.
    var end = 0

    init(_ format: ObjectFormat) { self.format = format }

    var count: Int { offsets.count }

    /// Adds an entry, whose id is not known yet.
    mutating func add(_ entry: PackEntry, at offset: Int) {
        offsets.append(offset)
        // At most nine bytes for the size, and an id or a distance.
        headerBytes.append(UInt8(entry.headerBytes))
        sizes.append(entry.size)
        bases.append(-1)
        types.append(0)
        ids.append(contentsOf: repeatElement(0, count: format.byteCount))
        firstChild.append(-1)
        nextSibling.append(-1)
    }

    /// The entry that begins there; `nil` for none.
    func index(at offset: Int) -> Int? {
        var (low, high) = (0, offsets.count)
        while low < high {
            let middle = (low + high) / 2
            if offsets[middle] < offset { low = middle + 1 } else { high = middle }
        }
        return low < offsets.count && offsets[low] == offset ? low : nil
    }

    /// Range of its compressed data in the pack.
    func data(_ index: Int) -> Range<Int> {
        let next = index + 1 < offsets.count ? offsets[index + 1] : end
        return (offsets[index] + Int(headerBytes[index]))..<next
    }

    /// Inflated size of the object or delta.
    func size(_ index: Int) -> Int { sizes[index] }

    /// The entry that it is a delta to; `nil` for other entries, or while the base is unknown.
    func base(_ index: Int) -> Int? { bases[index] < 0 ? nil : Int(bases[index]) }

    func type(_ index: Int) -> ObjectType? { ObjectType(rawValue: types[index]) }

    func id(_ index: Int) -> ObjectID {
        let start = index * format.byteCount
        return ObjectID(ids[start..<(start + format.byteCount)], format)
    }

    mutating func setBase(of index: Int, to base: Int) {
        bases[index] = Int32(base)
        nextSibling[index] = firstChild[base]
        firstChild[base] = Int32(index)
    }

    func children(_ index: Int) -> [Int] {
        var children: [Int] = []
        var next = firstChild[index]
        while next >= 0 {
            children.append(Int(next))
            next = nextSibling[Int(next)]
        }
        return children
    }

    func hasChildren(_ index: Int) -> Bool { firstChild[index] >= 0 }

    /// Sets the type and id of an entry.
    mutating func set(_ index: Int, _ type: ObjectType, _ id: ObjectID) {
        types[index] = type.rawValue
        let start = index * format.byteCount
        ids.replaceSubrange(start..<(start + format.byteCount), with: id.bytes)
        if (index + 1) * 2 > slots.count || known * 2 >= slots.count { grow() }
        known += 1
        insert(index)
    }

    private(set) var known = 0

    /// The entry of an object; the first if there are several.
    func find(_ id: ObjectID) -> Int? {
        var slot = home(of: id.bytes[...])
        while slots[slot] != 0 {
            let index = Int(slots[slot]) - 1
            let start = index * format.byteCount
            if ids[start..<(start + format.byteCount)].elementsEqual(id.bytes) { return index }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    private mutating func insert(_ index: Int) {
        let start = index * format.byteCount
        var slot = home(of: ids[start..<(start + format.byteCount)])
        while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = Int32(index + 1)
    }

    /// Seeded, as the maker of a pack could otherwise choose ids that collide.
    private func home(of id: ArraySlice<UInt8>) -> Int {
        let key = id.prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        return Int(truncatingIfNeeded: (key &* seed) >> 33) & (slots.count - 1)
    }

    private mutating func grow() {
        slots = [Int32](repeating: 0, count: slots.count * 2)
        for index in types.indices where types[index] != 0 { insert(index) }
    }
}
