// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// A pack in a temporary file, with an index of its objects in memory: `add` its bytes, `finish`,
/// and call `resolve` until its deltas are resolved. Objects are recreated at each use from their
/// bases. 32 MiB of bases are cached; an object of more than 4 MiB is in a temporary file. So the
/// memory depends on the number of objects alone.
///
/// Not recursive: the length of a chain of deltas is up to the pack.
final class PackSpool {
    private let format: ObjectFormat
    private let limits: PackLimits
    private let reader: PackReader
    private let pack: Spool
    private var index: PackIndex
    private let hasher: ObjectHasher
    private let inflater: Inflater

    /// Deltas by the id of their base, as long as the base is unknown.
    private var waiting: [ObjectID: [Int]] = [:]
    /// Entries to resolve, with the length of their delta chain; the last is next.
    private var pending: [(index: Int, depth: Int)] = []
    private var nextRoot = 0
    private var totalBytes = 0
    private var workBytes = 0
    private var bases = BaseCache()

    /// The rest of a larger object is in a temporary file.
    private static let objectMemoryMax = 4 << 20
    private static let pieceBytes = 65_536

    init(_ format: ObjectFormat, limits: PackLimits) throws(FetchError) {
        self.format = format
        self.limits = limits
        reader = try PackReader(format, limits: limits)
        pack = Spool(memoryMax: 4 * Self.pieceBytes)
        index = PackIndex(format)
        hasher = try ObjectHasher(format)
        inflater = try Inflater(.zlib)
    }

    // MARK: Reading

    /// Number of entries by the pack's header; 0 before it.
    var objects: Int { reader.objects }

    /// - Throws: `protocol-error` for a malformed pack, `too-large` beyond a limit, `write` without
    ///   room for a temporary file.
    func add(_ bytes: ArraySlice<UInt8>) throws(FetchError) {
        guard pack.count + bytes.count <= limits.packBytesMax else {
            throw FetchError(
                .tooLarge, .body, "the pack is larger than \(limits.packBytesMax) bytes",
                expected: String(limits.packBytesMax))
        }
        try pack.append(bytes)
        reader.add(bytes)
        while let event = try reader.next() {
            switch event {
            case .begin(let entry, let offset): try begin(entry, at: offset)
            case .data: break
            case .end(let id):
                index.end = reader.position
                let last = index.count - 1
                if let id, let type = type { index.set(last, type, id) }
            }
        }
    }

    /// Type of the entry that is being read; `nil` for a delta.
    private var type: ObjectType?

    private func begin(_ entry: PackEntry, at offset: Int) throws(FetchError) {
        index.add(entry, at: offset)
        let number = index.count - 1
        totalBytes += entry.size
        type = nil
        switch entry.kind {
        case .object(let type): self.type = type
        case .offsetDelta(let distance):
            guard let base = index.index(at: offset - distance) else {
                throw .malformedPack("the base of a delta is not an object, at byte \(offset)")
            }
            index.setBase(of: number, to: base)
        case .referenceDelta(let id): waiting[id, default: []].append(number)
        }
    }

    /// Called at the end of the input.
    ///
    /// - Throws: `truncated` before the end of the pack.
    func finish() throws(FetchError) {
        try reader.finish()
        guard index.known < index.count else { return }
        for index in 0..<index.count where self.index.type(index) != nil { attach(index) }
    }

    /// Creates objects from deltas to compute their ids.
    ///
    /// - Parameter budget: Approximate number of bytes to create in this call.
    /// - Returns: True when all deltas are resolved.
    /// - Throws: `protocol-error` for a wrong delta, or one without its base; `too-large`, `write`.
    func resolve(_ budget: Int) throws(FetchError) -> Bool {
        let stop = workBytes + budget
        while workBytes <= stop {
            guard index.known < index.count else {
                pending = []
                return true
            }
            if let (number, depth) = pending.popLast() {
                try make(number, depth)
                continue
            }
            guard nextRoot < index.count else { throw .malformedPack("a delta without its base") }
            if index.base(nextRoot) == nil, index.type(nextRoot) != nil {
                for child in index.children(nextRoot) { pending.append((child, 1)) }
            }
            nextRoot += 1
            workBytes += 64
        }
        return false
    }

    private func make(_ number: Int, _ depth: Int) throws(FetchError) {
        guard index.type(number) == nil, let base = index.base(number),
            let type = index.type(base)
        else { return }
        guard depth <= PackLimits.deltaChainMax else {
            throw .malformedPack("a chain of more than \(PackLimits.deltaChainMax) deltas")
        }
        let content = try content(number)
        totalBytes += content.count
        try limits.check(total: totalBytes)
        index.set(number, type, try hash(type, content))
        attach(number)
        for child in index.children(number) { pending.append((child, depth + 1)) }
    }

    /// Links deltas that have waited for this object's id.
    private func attach(_ base: Int) {
        guard !waiting.isEmpty, let deltas = waiting.removeValue(forKey: index.id(base)) else {
            return
        }
        for delta in deltas { index.setBase(of: delta, to: base) }
    }

    private func hash(_ type: ObjectType, _ content: Spool) throws(FetchError) -> ObjectID {
        hasher.begin(type, byteCount: content.count)
        var start = 0
        while start < content.count {
            let end = min(start + (1 << 20), content.count)
            hasher.update(try content.read(start..<end))
            start = end
            try LongWork.check()
        }
        return hasher.finish()
    }

    // MARK: Objects

    var count: Int { index.count }

    /// The number of an object; `nil` when the pack lacks it.
    func find(_ id: ObjectID) -> Int? { index.find(id) }

    func id(_ number: Int) -> ObjectID { index.id(number) }

    func type(_ number: Int) -> ObjectType? { index.type(number) }

    /// An object in memory; `nil` when the pack lacks it.
    ///
    /// - Throws: `too-large` for one of more than `bytesMax` bytes.
    func object(_ id: ObjectID, bytesMax: Int = .max) throws(FetchError) -> PackObject? {
        guard let number = find(id), let type = type(number) else { return nil }
        let content = try content(number)
        guard content.count <= bytesMax else {
            throw FetchError(
                .tooLarge, .body, "the object \(id) is larger than \(bytesMax) bytes",
                expected: String(bytesMax), actual: String(content.count))
        }
        return PackObject(
            id: id, type: type, content: Array(try content.read(0..<content.count)))
    }

    /// Largest object that is made in memory.
    static let bytesMax = 64 << 20

    /// An object in memory.
    ///
    /// - Throws: `protocol-error` when the pack lacks it.
    func required(
        _ id: ObjectID, bytesMax: Int = PackSpool.bytesMax
    ) throws(FetchError) -> PackObject {
        guard let object = try object(id, bytesMax: bytesMax) else { throw .lacks(id) }
        return object
    }

    func size(_ number: Int) throws(FetchError) -> Int {
        index.base(number) == nil ? index.size(number) : try content(number).count
    }

    /// Passes on an object in pieces, none of them empty. Only an object made from a delta is held.
    func stream(
        _ number: Int, _ body: (ArraySlice<UInt8>) async throws(FetchError) -> Void
    ) async throws(FetchError) {
        guard index.base(number) != nil else {
            var inflation = Inflation(index.data(number), pack)
            inflater.reset()
            while let bytes = try inflation.next(inflater) { try await body(bytes) }
            return
        }
        let content = try content(number)
        var start = 0
        while start < content.count {
            let end = min(start + Self.pieceBytes, content.count)
            try await body(try content.read(start..<end))
            start = end
        }
    }

    /// An object, created from the nearest cached base.
    private func content(_ number: Int) throws(FetchError) -> Spool {
        var chain: [Int] = []
        var at = number
        var found: Spool?
        while found == nil {
            if let kept = bases[at] {
                found = kept
            } else if let base = index.base(at) {
                chain.append(at)
                at = base
            } else {
                found = try inflated(at)
                if let found, index.hasChildren(at) { bases.add(found, at) }
            }
        }
        guard var content = found else { preconditionFailure() }
        for delta in chain.reversed() {
            content = try applied(delta, to: content)
            if index.hasChildren(delta) { bases.add(content, delta) }
        }
        return content
    }

    private func inflated(_ number: Int) throws(FetchError) -> Spool {
        let content = Spool(memoryMax: Self.objectMemoryMax)
        var inflation = Inflation(index.data(number), pack)
        inflater.reset()
        while let bytes = try inflation.next(inflater) { try content.append(bytes) }
        try count(content.count)
        return content
    }

    private func applied(_ number: Int, to base: Spool) throws(FetchError) -> Spool {
        let content = Spool(memoryMax: Self.objectMemoryMax)
        var delta = DeltaReader()
        var inflation = Inflation(index.data(number), pack)
        inflater.reset()
        while let bytes = try inflation.next(inflater) {
            delta.add(bytes)
            while let step = try delta.next() {
                switch step {
                case .sizes(let baseBytes, let resultBytes):
                    guard baseBytes == base.count else {
                        throw .malformedPack(
                            "a delta to \(baseBytes) bytes, with a base of \(base.count)")
                    }
                    try limits.check(resultBytes)
                    try limits.check(total: resultBytes)
                case .copy(let range):
                    var start = range.lowerBound
                    while start < range.upperBound {
                        let end = min(start + (1 << 20), range.upperBound)
                        try content.append(try base.read(start..<end))
                        start = end
                        try LongWork.check()
                    }
                case .insert(let bytes): try content.append(bytes)
                }
            }
        }
        try delta.finish()
        try count(content.count)
        return content
    }

    /// Limits the work of recreating bases that had left the cache.
    private func count(_ bytes: Int) throws(FetchError) {
        workBytes += bytes + 1024
        guard workBytes / 32 <= totalBytes + (64 << 20) else {
            throw FetchError(
                .tooLarge, .body, "the pack's deltas take too much work to be undone",
                hint: "clone the repository with git")
        }
    }
}

/// The inflated bytes of one entry, in pieces.
private struct Inflation {
    private var left: Range<Int>
    private let pack: Spool
    private var input: ArraySlice<UInt8> = []

    init(_ data: Range<Int>, _ pack: Spool) { (left, self.pack) = (data, pack) }

    /// `nil` at the end.
    ///
    /// - Throws: `protocol-error`; `interrupted` and `timeout`, for entries that take long.
    mutating func next(_ inflater: Inflater) throws(FetchError) -> ArraySlice<UInt8>? {
        try LongWork.check()
        while !inflater.isFinished {
            if input.isEmpty {
                guard !left.isEmpty else { throw .malformedPack("an object is cut off") }
                let end = min(left.lowerBound + 65_536, left.upperBound)
                input = try pack.read(left.lowerBound..<end)
                left = end..<left.upperBound
            }
            let output = try inflater.inflate(&input)
            if !output.isEmpty { return output }
        }
        return nil
    }
}

/// The most recently used bases of deltas.
private struct BaseCache {
    private var young: [Int: Spool] = [:]
    private var old: [Int: Spool] = [:]
    private var youngBytes = 0
    /// Limit of each half.
    private static let bytesMax = 16 << 20
    /// An object in a file costs this much, as it is an open file.
    private static let fileBytes = 4 << 20

    subscript(number: Int) -> Spool? {
        mutating get {
            if let content = young[number] { return content }
            guard let content = old[number] else { return nil }
            add(content, number)
            return content
        }
    }

    mutating func add(_ content: Spool, _ number: Int) {
        guard young.updateValue(content, forKey: number) == nil else { return }
        youngBytes += min(content.count, Self.fileBytes) + 256
        guard youngBytes > Self.bytesMax else { return }
        (old, young, youngBytes) = (young, [:], 0)
    }
}
