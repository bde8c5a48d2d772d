// SPDX-License-Identifier: MIT
package import SmallWebCore

/// One of `count` parts of all hosts, numbered from 0.
package struct Shard: Sendable, Hashable {
    package let index: Int
    package let count: Int

    package static let countMax = 1_000_000

    package init(index: Int, count: Int) { (self.index, self.count) = (index, count) }
}

/// Maps URLs to places and shards, by scheme and authority alone, so that a line whose URL is bad
/// elsewhere stays with its host.
package final class Places {
    package struct Place {
        /// `host:port`.
        package let name: String
        /// The first 8 bytes of its SHA-256.
        private let number: UInt64

        fileprivate init(_ name: String, _ digest: Digest) {
            self.name = name
            digest.update(Array(name.utf8)[...])
            number = digest.finish().prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        }

        package func shard(among count: Int) -> Int { Int(number % UInt64(count)) }
    }

    /// Limits of the cache: lists have many URLs of one host.
    private static let knownMax = 16_384
    private static let knownBytesMax = 128

    private let registry: Registry
    private let digest: Digest
    private var known: [String: Place?] = [:]

    /// - Parameter registry: The source of default ports.
    /// - Throws: `not-built-in` when libcrypto is not installed.
    package init(_ registry: Registry) throws(FetchError) {
        self.registry = registry
        digest = try Digest(.sha256)
    }

    /// The URL in a line of a list, as far as it can be read; `nil` when there is none.
    package static func url(ofLine line: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard line.first == UInt8(ascii: "{") else { return line }
        return (try? JSONValue.parse(line))?["url"]?.string.map { Array($0.utf8)[...] }
    }

    /// The place of a URL, which may be followed by a tab and a title; `nil` when it names no host,
    /// or no port and an unknown scheme.
    package func place(of url: ArraySlice<UInt8>) -> Place? {
        guard let colon = url.firstIndex(of: ASCII.colon),
            url[colon...].starts(with: [ASCII.colon, ASCII.slash, ASCII.slash])
        else { return nil }
        let host = url[(colon + 3)...]
        let end = host.firstIndex(where: Self.endsAuthority) ?? url.endIndex
        guard let text = String(validating: url[..<end], as: UTF8.self) else { return nil }
        if let place = known[text] { return place }
        let place = try? read(text)
        if known.count >= Self.knownMax { known.removeAll(keepingCapacity: true) }
        if text.utf8.count <= Self.knownBytesMax { known[text] = .some(place) }
        return place
    }

    private static func endsAuthority(_ byte: UInt8) -> Bool {
        byte == ASCII.slash || byte == ASCII.questionMark || byte == UInt8(ascii: "#")
            || byte == ASCII.tab
    }

    private func read(_ text: String) throws(FetchError) -> Place? {
        if let scheme = URI.scheme(of: text), registry[scheme]?.scheme.hostForm == .verbatim {
            return nil
        }
        let uri = try URI(parsing: text).withASCIIHost()
        guard let host = uri.host,
            let port = uri.port ?? registry[uri.scheme]?.scheme.defaultPort
        else { return nil }
        return Place(Endpoint(host: host, port: port, security: .none).place, digest)
    }
}

/// The part of a run's input that one worker fetches.
package struct OwnShard {
    package let shard: Shard
    private let places: Places

    package init(_ shard: Shard, _ places: Places) { (self.shard, self.places) = (shard, places) }

    /// - Parameter url: `nil` for a line without a URL, which belongs to shard 0.
    package func has(_ url: ArraySlice<UInt8>?) -> Bool {
        let place = url.flatMap(places.place)
        return (place?.shard(among: shard.count) ?? 0) == shard.index
    }
}
