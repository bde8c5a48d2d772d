// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import SmallWebLibraries

/// Reads a packfile (gitformat-pack(5)) that arrives in any pieces: `add` bytes, and take events
/// from `next` until there are none. Pure.
///
/// An event comes as soon as its bytes are there; only ``isComplete`` says that the pack's own
/// checksum was right. An object's id is always computed from its content.
final class PackReader {
    /// Each object is a `begin`, its content in any number of `data`, and an `end`. Objects come in
    /// the order of the pack, except that a delta comes when its base has.
    enum Event: Hashable, Sendable {
        case begin(ObjectType, size: Int)
        /// Never empty.
        case data(ArraySlice<UInt8>)
        case end(ObjectID)
    }

    private enum State {
        case header, entry, trailer, finished
        case content(PackEntry)
    }

    private let format: ObjectFormat
    private let limits: PackLimits
    private let isKeeping: Bool
    private var state = State.header
    private var events: [Event] = []
    private var store: PackStore

    /// What was added and not looked at yet.
    private var input: ArraySlice<UInt8> = []
    /// How many bytes of the pack come before `input`.
    private var position = 0
    private var objectsLeft = 0
    /// Where the entry being read begins, how much of it is inflated, and that, if it is held.
    private var entryOffset = 0
    private var inflatedBytes = 0
    private var held: [UInt8] = []

    private let packDigest: Digest
    private let hasher: ObjectHasher
    private let inflater: Inflater

    /// - Parameter keeping: Whether objects are held, for deltas to refer to and for
    ///   ``object(_:)``. A pack with deltas cannot be read without.
    /// - Throws: `not-built-in` without the system libraries.
    init(_ format: ObjectFormat, limits: PackLimits, keeping: Bool) throws(FetchError) {
        self.format = format
        self.limits = limits
        isKeeping = keeping
        store = PackStore(limits: limits)
        packDigest = try Digest(format.algorithm)
        hasher = try ObjectHasher(format)
        inflater = try Inflater(.zlib)
    }

    /// Whether the pack was read to its end, and all of it is right.
    var isComplete: Bool {
        if case .finished = state { true } else { false }
    }

    /// Bytes of objects and deltas in memory, at most `heldBytesMax`.
    var heldBytes: Int { store.heldBytes }

    /// An object that has ended, if objects are held.
    func object(_ id: ObjectID) -> PackObject? { store[id] }

    /// Adds the next bytes; best when ``next()`` has given out all that came before.
    func add(_ bytes: ArraySlice<UInt8>) {
        if input.isEmpty { input = bytes } else { input += bytes }
    }

    /// The next event; `nil` when more bytes are needed, or the pack is complete.
    ///
    /// - Throws: `protocol-error` for a malformed pack, also for bytes after its end; `too-large`
    ///   beyond a limit. The reader cannot be used afterwards.
    func next() throws(FetchError) -> Event? {
        while true {
            if !events.isEmpty { return events.removeFirst() }
            if let object = try store.applyNext(hasher) {
                events = [.begin(object.type, size: object.content.count)]
                if !object.content.isEmpty { events.append(.data(object.content[...])) }
                events.append(.end(object.id))
                continue
            }
            let hasAdvanced =
                switch state {
                case .header: try readHeader()
                case .entry: try readEntry()
                case .content(let entry): try readContent(of: entry)
                case .trailer: try readTrailer()
                case .finished: try expectNothing()
                }
            guard hasAdvanced else { return nil }
        }
    }

    /// To be called at the end of the input.
    ///
    /// - Throws: `truncated` before the end of the pack.
    func finish() throws(FetchError) {
        guard isComplete else {
            throw FetchError(.truncated, .body, "the pack ends after \(position) bytes")
        }
    }

    /// Removes bytes from the input that belong to what the pack's checksum is of.
    private func take(_ count: Int) {
        packDigest.update(input.prefix(count))
        input = input.dropFirst(count)
        position += count
    }

    private func readHeader() throws(FetchError) -> Bool {
        guard input.count >= 12 else { return false }
        let header = input.prefix(12)
        guard header.starts(with: "PACK".utf8) else { throw .malformedPack("no \"PACK\"") }
        let numbers = [header.dropFirst(4).prefix(4), header.dropFirst(8)].map {
            $0.reduce(0) { $0 << 8 | Int($1) }
        }
        guard 2...3 ~= numbers[0] else { throw .malformedPack("version \(numbers[0])") }
        guard numbers[1] <= limits.objectsMax else {
            throw FetchError(
                .tooLarge, .body, "the pack has more than \(limits.objectsMax) objects",
                expected: String(limits.objectsMax), actual: String(numbers[1]))
        }
        objectsLeft = numbers[1]
        take(12)
        state = .entry
        return true
    }

    private func readEntry() throws(FetchError) -> Bool {
        guard objectsLeft > 0 else {
            guard !store.lacksABase else { throw .malformedPack("a delta without its base") }
            state = .trailer
            return true
        }
        guard let entry = try PackEntry.parse(input, format) else { return false }
        try limits.check(entry.size)
        if case .object(let type) = entry.kind {
            events.append(.begin(type, size: entry.size))
            hasher.begin(type, byteCount: entry.size)
        } else if !isKeeping {
            throw .malformedPack("a delta without its base")
        }
        if case .offsetDelta(let distance) = entry.kind, distance == 0 || distance > position {
            throw .malformedPack("a delta to \(distance) bytes before, at byte \(position)")
        }
        if isKeeping {
            try store.reserve(entry.size)
            held.reserveCapacity(entry.size)
        }
        entryOffset = position
        take(entry.headerBytes)
        inflater.reset()
        inflatedBytes = 0
        objectsLeft -= 1
        state = .content(entry)
        return true
    }

    private func readContent(of entry: PackEntry) throws(FetchError) -> Bool {
        var rest = input
        let output = try inflater.inflate(&rest)
        take(input.count - rest.count)
        inflatedBytes += output.count
        guard inflatedBytes <= entry.size else {
            throw .malformedPack("an object is longer than its size")
        }
        if isKeeping { held += output }
        if case .object = entry.kind, !output.isEmpty {
            hasher.update(output)
            events.append(.data(output))
        }
        guard inflater.isFinished else { return !output.isEmpty }
        guard inflatedBytes == entry.size else {
            throw .malformedPack("an object is shorter than its size")
        }
        finish(entry)
        return true
    }

    private func finish(_ entry: PackEntry) {
        state = .entry
        let content = held
        held = []
        switch entry.kind {
        case .object(let type):
            let id = hasher.finish()
            events.append(.end(id))
            if isKeeping {
                store.add(PackObject(id: id, type: type, content: content), at: entryOffset)
            }
        case .offsetDelta(let distance):
            store.add(content, at: entryOffset, base: .offset(entryOffset - distance))
        case .referenceDelta(let id):
            store.add(content, at: entryOffset, base: .id(id))
        }
    }

    private func readTrailer() throws(FetchError) -> Bool {
        guard input.count >= format.byteCount else { return false }
        guard input.prefix(format.byteCount).elementsEqual(packDigest.finish()) else {
            throw .malformedPack("its checksum is wrong")
        }
        input = input.dropFirst(format.byteCount)
        position += format.byteCount
        state = .finished
        return true
    }

    private func expectNothing() throws(FetchError) -> Bool {
        guard input.isEmpty else { throw .malformedPack("bytes after its end") }
        return false
    }
}
