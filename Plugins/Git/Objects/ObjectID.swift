// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// The hash algorithm for the object ids of a repository.
enum ObjectFormat: String, CaseIterable, Sendable {
    case sha1, sha256

    var algorithm: Digest.Algorithm { self == .sha1 ? .sha1 : .sha256 }

    var byteCount: Int { algorithm.byteCount }
}

/// The kinds of objects, by their number in a pack.
enum ObjectType: UInt8, CaseIterable, Sendable {
    case commit = 1
    case tree, blob, tag

    var name: String { "\(self)" }
}

/// The name of an object: the hash of its type, length and content.
struct ObjectID: Hashable, Sendable, CustomStringConvertible {
    let format: ObjectFormat
    let bytes: [UInt8]

    /// - Parameter bytes: Exactly `format.byteCount`.
    init(_ bytes: some Collection<UInt8>, _ format: ObjectFormat) {
        precondition(bytes.count == format.byteCount)
        self.format = format
        self.bytes = Array(bytes)
    }

    /// Exactly 40 or 64 hexadecimal digits of either case; `nil` for anything else.
    init?(hex: some Collection<UInt8>) {
        let count = hex.count
        guard let format = ObjectFormat.allCases.first(where: { $0.byteCount * 2 == count }),
            let bytes = ASCII.bytes(hex: hex)
        else { return nil }
        self.format = format
        self.bytes = bytes
    }

    init?(hex: String) { self.init(hex: hex.utf8) }

    /// Lower-case hexadecimal.
    var description: String { bytes.hex }
}

/// Computes ids of objects, one after the other, from content in any pieces.
final class ObjectHasher {
    private let format: ObjectFormat
    private let digest: Digest

    /// - Throws: `not-built-in` without the system library.
    init(_ format: ObjectFormat) throws(FetchError) {
        self.format = format
        digest = try Digest(format.algorithm)
    }

    /// - Parameter byteCount: Total of the bytes that `update` will be given.
    func begin(_ type: ObjectType, byteCount: Int) {
        digest.update(Array("\(type.name) \(byteCount)\0".utf8)[...])
    }

    func update(_ content: ArraySlice<UInt8>) { digest.update(content) }

    func finish() -> ObjectID { ObjectID(digest.finish(), format) }

    /// The id of an object in memory.
    func id(of type: ObjectType, _ content: ArraySlice<UInt8>) -> ObjectID {
        begin(type, byteCount: content.count)
        update(content)
        return finish()
    }
}
