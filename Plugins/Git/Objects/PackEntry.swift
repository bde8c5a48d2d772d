// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// The header of an entry in a pack (gitformat-pack(5)), before the compressed data. Pure.
struct PackEntry: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case object(ObjectType)
        /// A delta to the object that begins this many bytes before this entry.
        case offsetDelta(Int)
        case referenceDelta(ObjectID)
    }

    let kind: Kind
    /// Inflated size of the object or delta; less than 2^60.
    let size: Int
    let headerBytes: Int

    /// - Returns: `nil` when `bytes` end too early.
    /// - Throws: `protocol-error` for a kind that does not exist or a number that is too large.
    static func parse(
        _ bytes: ArraySlice<UInt8>, _ format: ObjectFormat
    ) throws(FetchError) -> PackEntry? {
        guard let first = bytes.first else { return nil }
        var rest = bytes.dropFirst()
        var size = Int(first & 15)
        var byte = first
        var shift = 4
        while byte & 0x80 != 0 {
            guard shift < 60 else { throw .malformedPack("the size of an object is too large") }
            guard let next = rest.popFirst() else { return nil }
            byte = next
            size |= Int(byte & 0x7F) << shift
            shift += 7
        }
        let kind: Kind
        switch first >> 4 & 7 {
        case 6:
            guard let distance = try distance(&rest) else { return nil }
            kind = .offsetDelta(distance)
        case 7:
            guard rest.count >= format.byteCount else { return nil }
            kind = .referenceDelta(ObjectID(rest.prefix(format.byteCount), format))
            rest = rest.dropFirst(format.byteCount)
        case let number:
            guard let type = ObjectType(rawValue: number) else {
                throw .malformedPack("an object of type \(number)")
            }
            kind = .object(type)
        }
        return PackEntry(kind: kind, size: size, headerBytes: bytes.count - rest.count)
    }

    /// Seven bits per byte, most significant first. One is added for each byte that follows, so
    /// that each number has a single form.
    private static func distance(_ rest: inout ArraySlice<UInt8>) throws(FetchError) -> Int? {
        var value = 0
        for position in 0..<8 {
            guard let byte = rest.popFirst() else { return nil }
            value = (position == 0 ? 0 : (value + 1) << 7) | Int(byte & 0x7F)
            if byte & 0x80 == 0 { return value }
        }
        throw .malformedPack("the distance to a delta's base is too large")
    }
}

extension FetchError {
    static func malformedPack(_ why: String) -> FetchError {
        FetchError(.protocolError, .body, "malformed pack: \(why)")
    }

    static func lacks(_ id: ObjectID) -> FetchError {
        FetchError(.protocolError, .body, "the server's pack lacks the object \(id)")
    }

    /// An object of another type than its tree says.
    static func mistyped(_ id: ObjectID) -> FetchError {
        FetchError(.protocolError, .body, "the object \(id) is not what its tree says")
    }

    static func anotherObject(than id: ObjectID) -> FetchError {
        FetchError(.protocolError, .body, "the server sent another object than \(id)")
    }
}
