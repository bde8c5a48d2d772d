// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// What a reader of packs allows.
struct PackLimits: Sendable {
    /// Objects per pack.
    var objectsMax = 1 << 20
    /// Bytes per object.
    var objectBytesMax = Int.max
    /// Bytes of all objects and deltas together, inflated.
    var totalBytesMax = 16 << 30
    /// Bytes of the pack, which is in a temporary file.
    var packBytesMax = 4 << 30
    /// As many as Git itself makes.
    static let deltaChainMax = 4095

    /// - Throws: `too-large` for an object, or a delta, beyond the limit.
    func check(_ objectBytes: Int) throws(FetchError) {
        guard objectBytes <= objectBytesMax else {
            throw FetchError(
                .tooLarge, .body, "an object is larger than \(objectBytesMax) bytes",
                expected: String(objectBytesMax), actual: String(objectBytes))
        }
    }

    /// - Throws: `too-large` for objects that are larger together than the limit.
    func check(total bytes: Int) throws(FetchError) {
        guard bytes <= totalBytesMax else {
            throw FetchError(
                .tooLarge, .body, "the pack's objects are larger than \(totalBytesMax) bytes",
                expected: String(totalBytesMax))
        }
    }
}

/// An object out of a pack, all of it in memory.
struct PackObject: Hashable, Sendable {
    let id: ObjectID
    let type: ObjectType
    let content: [UInt8]
}

/// Where the objects of a pack are: some fifty bytes of memory for each. Pure.
struct PackIndex {
    /// Of an entry.
    struct Place {
        /// Where its compressed data begins and ends in the pack.
        let data: Range<Int>
        /// What it inflates to.
        let size: Int
        /// The entry that it is a delta to; `nil` for what is not a delta, or while its base has
        /// not come.
        let base: Int?
    }

    private let format: ObjectFormat
    private var offsets: [Int] = []
    private var headerBytes: [UInt8] = []
    private var sizes: [Int] = []
    private var bases: [Int32] = []
    /// The number of an ``ObjectType``; 0 while it is not known.
    private var types: [UInt8] = []
    /// One behind the other, and zeros where an id is not known.
    private var ids: [UInt8] = []
    /// Open addressing: an entry's number plus one, or 0.
    private var slots = [Int32](repeating: 0, count: 64)
    private let seed = UInt64.random(in: .min ... .max) | 1
    /// Entries that are deltas to this one: the first of them, and the next for the same base.
    private var firstChild: [Int32] = []
    private var nextSibling: [Int32] = []
    /// Where the last entry ends.
    var end = 0

    init(_ format: ObjectFormat) { self.format = format }

    var count: Int { offsets.count }

    /// Adds an entry, of which nothing more is known.
    mutating func add(_ entry: PackEntry, at offset: Int) {
        offsets.append(offset)
        // At most nine bytes of a size, and an id or a distance.
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

    func place(_ index: Int) -> Place {
        let next = index + 1 < offsets.count ? offsets[index + 1] : end
        return Place(
            data: (offsets[index] + Int(headerBytes[index]))..<next, size: sizes[index],
            base: bases[index] < 0 ? nil : Int(bases[index]))
    }

    func type(_ index: Int) -> ObjectType? { ObjectType(rawValue: types[index]) }

    func id(_ index: Int) -> ObjectID {
        let start = index * format.byteCount
        return ObjectID(ids[start..<(start + format.byteCount)], format)
    }

    /// Notes what an entry is a delta to.
    mutating func setBase(of index: Int, to base: Int) {
        bases[index] = Int32(base)
        nextSibling[index] = firstChild[base]
        firstChild[base] = Int32(index)
    }

    /// The deltas to an entry.
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

    /// Notes what an entry turned out to be.
    mutating func set(_ index: Int, _ type: ObjectType, _ id: ObjectID) {
        types[index] = type.rawValue
        let start = index * format.byteCount
        ids.replaceSubrange(start..<(start + format.byteCount), with: id.bytes)
        if (index + 1) * 2 > slots.count || known * 2 >= slots.count { grow() }
        known += 1
        insert(index)
    }

    private(set) var known = 0

    /// The entry of an object; the first of several.
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

    /// Not to be foreseen by the maker of a pack, who could choose ids that collide.
    private func home(of id: ArraySlice<UInt8>) -> Int {
        let key = id.prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        return Int(truncatingIfNeeded: (key &* seed) >> 33) & (slots.count - 1)
    }

    private mutating func grow() {
        slots = [Int32](repeating: 0, count: slots.count * 2)
        for index in types.indices where types[index] != 0 { insert(index) }
    }
}
