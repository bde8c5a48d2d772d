// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// A pack in a temporary file, with an index of its objects in memory: `add` its bytes, `finish`,
/// and `resolve` what its deltas make until that is done. Objects are made again when they are
/// asked for, from their bases, of which 32 MiB are kept; what is larger than 4 MiB is in a
/// temporary file. So the memory that it takes depends on the number of objects alone.
///
/// Not recursive: a pack decides how long a chain of deltas is.
final class PackSpool {
    private let format: ObjectFormat
    private let limits: PackLimits
    private let reader: PackReader
    private let pack: Spool
    private var index: PackIndex
    private let hasher: ObjectHasher
    private let inflater: Inflater

    /// Deltas whose base is named by its id and has not come, by that.
    private var waiting: [ObjectID: [Int]] = [:]
    /// Entries whose deltas are to be made, with the length of their chain; the last is next.
    private var pending: [(index: Int, depth: Int)] = []
    private var nextRoot = 0
    private var totalBytes = 0
    private var workBytes = 0
    private var bases = BaseCache()

    /// More of an object is in a temporary file.
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

    /// How many entries the pack says that it has; 0 before its header.
    var objects: Int { reader.objects }

    /// Adds the next bytes.
    ///
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

    /// Of the entry that is being read.
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

    /// To be called at the end of the input.
    ///
    /// - Throws: `truncated` before the end of the pack.
    func finish() throws(FetchError) {
        try reader.finish()
        guard index.known < index.count else { return }
        for index in 0..<index.count where self.index.type(index) != nil { attach(index) }
    }

    /// Makes objects of deltas, to know their ids.
    ///
    /// - Parameter budget: About so many bytes are made in one call.
    /// - Returns: Whether all is done.
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
            if index.place(nextRoot).base == nil, index.type(nextRoot) != nil {
                for child in index.children(nextRoot) { pending.append((child, 1)) }
            }
            nextRoot += 1
            workBytes += 64
        }
        return false
    }

    private func make(_ number: Int, _ depth: Int) throws(FetchError) {
        guard index.type(number) == nil, let base = index.place(number).base,
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

    /// The deltas that wait for an object, whose id is known now.
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

    /// Which object it is; `nil` when the pack lacks it.
    func find(_ id: ObjectID) -> Int? { index.find(id) }

    func id(_ number: Int) -> ObjectID { index.id(number) }

    func type(_ number: Int) -> ObjectType? { index.type(number) }

    /// An object in memory, `nil` when the pack lacks it.
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

    /// The bytes of an object, in pieces.
    func size(_ number: Int) throws(FetchError) -> Int {
        let place = index.place(number)
        return place.base == nil ? place.size : try content(number).count
    }

    /// Gives out an object in pieces, none of them empty. What is not a delta is never held.
    func stream(
        _ number: Int, _ body: (ArraySlice<UInt8>) async throws(FetchError) -> Void
    ) async throws(FetchError) {
        guard index.place(number).base != nil else {
            var inflation = Inflation(index.place(number), pack)
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

    /// An object, made from the nearest base that is kept.
    private func content(_ number: Int) throws(FetchError) -> Spool {
        var chain: [Int] = []
        var at = number
        var found: Spool?
        while found == nil {
            if let kept = bases[at] {
                found = kept
            } else if let base = index.place(at).base {
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
        var inflation = Inflation(index.place(number), pack)
        inflater.reset()
        while let bytes = try inflation.next(inflater) { try content.append(bytes) }
        try count(content.count)
        return content
    }

    private func applied(_ number: Int, to base: Spool) throws(FetchError) -> Spool {
        let content = Spool(memoryMax: Self.objectMemoryMax)
        var delta = DeltaReader()
        var inflation = Inflation(index.place(number), pack)
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

    /// What is made again and again from bases that had to go is bounded as well.
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

    init(_ place: PackIndex.Place, _ pack: Spool) { (left, self.pack) = (place.data, pack) }

    /// `nil` at the end.
    ///
    /// - Throws: `protocol-error`; `interrupted` and `timeout`, for work that goes on and on.
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

/// The objects that deltas refer to, the latest of them.
private struct BaseCache {
    private var young: [Int: Spool] = [:]
    private var old: [Int: Spool] = [:]
    private var youngBytes = 0
    /// Half of what both may have.
    private static let bytesMax = 16 << 20
    /// Each of those that are in files is an open one.
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
