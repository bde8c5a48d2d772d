// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// What a reader of packs allows.
struct PackLimits: Sendable {
    /// Objects per pack.
    var objectsMax = 1_000_000
    /// Bytes per object.
    var objectBytesMax = 100 << 20
    /// Bytes of all objects and deltas that are held at a time.
    var heldBytesMax = 256 << 20
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
}

/// An object out of a pack.
struct PackObject: Hashable, Sendable {
    let id: ObjectID
    let type: ObjectType
    let content: [UInt8]
    /// How many deltas lie between it and an object that is not a delta.
    fileprivate(set) var chainLength = 0
}

/// The objects of a pack that are held, and the deltas that wait for one of them.
///
/// Not recursive: a pack decides how long a chain of deltas is. Every delta is applied once, and
/// its result held, so the limits bound the work as well.
struct PackStore {
    /// What a delta may refer to an object by.
    enum Key: Hashable {
        /// Where its entry begins in the pack.
        case offset(Int)
        case id(ObjectID)
    }

    private struct Waiting {
        let delta: [UInt8]
        let offset: Int
    }

    let limits: PackLimits
    private(set) var heldBytes = 0
    private var objects: [PackObject] = []
    private var indices: [Key: Int] = [:]
    private var waiting: [Key: [Waiting]] = [:]
    /// Deltas whose base, an index, is there.
    private var ready: [(Waiting, Int)] = []

    init(limits: PackLimits) { self.limits = limits }

    /// Whether a delta waits for an object that has not come.
    var lacksABase: Bool { !waiting.isEmpty }

    subscript(id: ObjectID) -> PackObject? { indices[.id(id)].map { objects[$0] } }

    /// Counts what is about to be held. To be called before the memory is taken.
    ///
    /// - Throws: `too-large` beyond the limit.
    mutating func reserve(_ byteCount: Int) throws(FetchError) {
        guard byteCount <= limits.heldBytesMax - heldBytes else {
            throw FetchError(
                .tooLarge, .body,
                "the pack's objects take more than \(limits.heldBytesMax) bytes of memory",
                expected: String(limits.heldBytesMax))
        }
        heldBytes += byteCount
    }

    /// Holds an object, whose bytes are reserved.
    mutating func add(_ object: PackObject, at offset: Int) {
        let index = objects.count
        objects.append(object)
        for key in [Key.offset(offset), .id(object.id)] {
            indices[key] = index
            for delta in waiting.removeValue(forKey: key) ?? [] { ready.append((delta, index)) }
        }
    }

    /// Holds a delta, whose bytes are reserved, until its base is there.
    mutating func add(_ delta: [UInt8], at offset: Int, base: Key) {
        let delta = Waiting(delta: delta, offset: offset)
        if let index = indices[base] {
            ready.append((delta, index))
        } else {
            waiting[base, default: []].append(delta)
        }
    }

    /// Applies one of the deltas whose base is there; `nil` when there is none.
    ///
    /// - Throws: `protocol-error` for a wrong delta, `too-large` beyond a limit.
    mutating func applyNext(_ hasher: ObjectHasher) throws(FetchError) -> PackObject? {
        guard let (waiting, index) = ready.popLast() else { return nil }
        let base = objects[index]
        guard base.chainLength < PackLimits.deltaChainMax else {
            throw .malformedPack("a chain of more than \(PackLimits.deltaChainMax) deltas")
        }
        let delta = try Delta(parsing: waiting.delta[...])
        try limits.check(delta.resultBytes)
        try reserve(delta.resultBytes)
        let content = try delta.apply(to: base.content)
        heldBytes -= waiting.delta.count
        let object = PackObject(
            id: hasher.id(of: base.type, content[...]), type: base.type, content: content,
            chainLength: base.chainLength + 1)
        add(object, at: waiting.offset)
        return object
    }
}
