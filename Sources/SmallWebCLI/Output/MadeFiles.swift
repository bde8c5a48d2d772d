// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import Synchronization

/// Files written in this run under names that URLs can share, with the URL of each: the page
/// `about` of one host is not that of another. Stores hashes, since a list may be long.
final class MadeFiles: Sendable {
    private let urls = Mutex<[Int: Int]>([:])

    func add(_ path: String, of uri: URI) {
        let url = uri.description.hashValue
        urls.withLock { if $0[path.hashValue] == nil { $0[path.hashValue] = url } }
    }

    func has(_ path: String, ofOtherThan uri: URI) -> Bool {
        let url = urls.withLock { $0[path.hashValue] }
        return url != nil && url != uri.description.hashValue
    }
}
