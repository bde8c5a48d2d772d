// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb
internal import SmallWebFormats

/// Copies of texts and link lists, for `watch` to show differences: a file for each page, at most
/// ``WatchedPage/keptMax`` bytes, in a directory next to the state.
struct PageCopies {
    private static let pagesMax = 1000

    enum Kind: String { case text, links }

    private let directory: String

    /// - Parameter state: The path of the state.
    init(of state: String) { directory = state + ".copies" }

    /// - Returns: `nil` if there is no copy.
    func read(_ kind: Kind, of url: String) throws(FetchError) -> [UInt8]? {
        let path = try path(kind, url)
        return try? FileBytes.read(path, limit: 2 * WatchedPage.keptMax)
    }

    /// - Parameter bytes: `nil` to remove the copy.
    /// - Throws: `write` if it cannot be written; the old copy is then removed.
    func replace(_ kind: Kind, of url: String, by bytes: [UInt8]?) throws(FetchError) {
        let path = try path(kind, url)
        guard let bytes else {
            unlink(path)
            return
        }
        guard access(path, F_OK) == 0 || count(kind) < Self.pagesMax else {
            throw FetchError(
                .write, .output,
                "\(directory) has copies of \(Self.pagesMax) pages; no other is kept")
        }
        do throws(SystemError) {
            try makeDirectories(directory, mode: 0o700)
            try AtomicFile.replace(path, by: bytes, part: path + ".part", isSynced: false)
        } catch {
            // A difference to an older version would be wrong.
            unlink(path)
            throw FetchError(.write, .output, "cannot keep a copy in \(directory)", error)
        }
    }

    private func count(_ kind: Kind) -> Int {
        let names = (try? directoryNames(directory)) ?? []
        return names.count { $0.hasSuffix(".\(kind.rawValue)") }
    }

    private func path(_ kind: Kind, _ url: String) throws(FetchError) -> String {
        let digest = try Digest(.sha256)
        digest.update(Array(url.utf8)[...])
        return "\(directory)/\(digest.finish().hex.prefix(32)).\(kind.rawValue)"
    }
}
