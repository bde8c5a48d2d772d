// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Reads a packfile (gitformat-pack(5)) that arrives in any pieces: `add` bytes, and take events
/// from `next` until it returns nil. Pure.
///
/// An event comes as soon as its bytes are there; only ``isComplete`` means that the pack's
/// checksum was right. The id of an entry that is not a delta is computed from its content.
final class PackReader {
    /// Each entry is a `begin`, any number of `data` with its inflated bytes, and an `end`, in the
    /// order of the pack.
    enum Event: Hashable, Sendable {
        /// - Parameter offset: Start of the entry in the pack.
        case begin(PackEntry, at: Int)
        /// Never empty.
        case data(ArraySlice<UInt8>)
        /// `nil` for a delta.
        case end(ObjectID?)
    }

    private enum State {
        case header, entry, trailer, finished
        case content(PackEntry)
    }

    private let format: ObjectFormat
    private let limits: PackLimits
    private var state = State.header
    private var events: [Event] = []

    /// Bytes added but not parsed yet.
    private var input: ArraySlice<UInt8> = []
    /// Offset of `input` in the pack.
    private(set) var position = 0
    /// Number of entries by the pack's header; 0 before it.
    private(set) var objects = 0
    private var objectsLeft = 0
    /// Inflated bytes of the current entry, and the total of all sizes so far.
    private var inflatedBytes = 0
    private var totalBytes = 0

    private let packDigest: Digest
    private let hasher: ObjectHasher
    private let inflater: Inflater

    /// - Throws: `not-built-in` without the system libraries.
    init(_ format: ObjectFormat, limits: PackLimits) throws(FetchError) {
        self.format = format
        self.limits = limits
        packDigest = try Digest(format.algorithm)
        hasher = try ObjectHasher(format)
        inflater = try Inflater(.zlib)
    }

    /// True if the whole pack was read, and its checksum is right.
    var isComplete: Bool {
        if case .finished = state { true } else { false }
    }

    /// Adds the next bytes; cheapest when ``next()`` has consumed all bytes before.
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

    /// Called at the end of the input.
    ///
    /// - Throws: `truncated` before the end of the pack.
    func finish() throws(FetchError) {
        guard isComplete else {
            throw FetchError(.truncated, .body, "the pack ends after \(position) bytes")
        }
    }

    /// Consumes input that the pack's checksum covers.
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
        (objects, objectsLeft) = (numbers[1], numbers[1])
        take(12)
        state = .entry
        return true
    }

    private func readEntry() throws(FetchError) -> Bool {
        guard objectsLeft > 0 else {
            state = .trailer
            return true
        }
        guard let entry = try PackEntry.parse(input, format) else { return false }
        try limits.check(entry.size)
        totalBytes += entry.size
        try limits.check(total: totalBytes)
        if case .object(let type) = entry.kind { hasher.begin(type, byteCount: entry.size) }
        if case .offsetDelta(let distance) = entry.kind, distance == 0 || distance > position {
            throw .malformedPack("a delta to \(distance) bytes before, at byte \(position)")
        }
        events.append(.begin(entry, at: position))
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
        if !output.isEmpty {
            if case .object = entry.kind { hasher.update(output) }
            events.append(.data(output))
        }
        guard inflater.isFinished else { return !output.isEmpty }
        guard inflatedBytes == entry.size else {
            throw .malformedPack("an object is shorter than its size")
        }
        state = .entry
        if case .object = entry.kind {
            events.append(.end(hasher.finish()))
        } else {
            events.append(.end(nil))
        }
        return true
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
