// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb
internal import SmallWebArchive

// Pages that an earlier round has left.
extension Crawl {
    /// The validator to ask with; `nil` for a page that is to come whole, since its links are to be
    /// read, or since the mirror or archive does not have it as the state says.
    ///
    /// - Parameter request: Has the validator of the page's file.
    func validator(
        _ entry: CrawlFile.Entry, _ last: CrawlFile.Content?, _ request: Request
    ) -> Request.Validator? {
        let archive = context.settings.archive
        guard let text = last?.validator, !file.begunAgain.contains(entry.n), !rules.checks,
            !archive.hasCache, rules.mirror == nil || request.validator?.text == text,
            archive.writer?.hasPage(request.uri.withoutFragment.display) ?? true
        else { return nil }
        return Request.Validator(text, of: request.uri)
    }

    /// Removes the file of a page that is gone, and directories that are empty then; nothing behind
    /// a symbolic link.
    ///
    /// - Returns: True if there was one.
    /// - Throws: `write`.
    func removeFile(of url: String) throws(FetchError) -> Bool {
        guard let uri = try? URI(parsing: url) else { return false }
        let names = try mirrorNames(uri)
        let places = names.indices.dropFirst().map { names[...$0].joined(separator: "/") }
        let kinds = places.map { place in
            var status = stat()
            return lstat(place, &status) == 0 ? status.st_mode & S_IFMT : 0
        }
        guard let path = places.last, kinds.last == S_IFREG else { return false }
        guard kinds.dropLast().allSatisfy({ $0 == S_IFDIR }) else {
            notices.append("\(path) is not removed: a symbolic link leads to it")
            return false
        }
        guard unlink(path) == 0 else {
            throw FetchError(
                .write, .output, "cannot remove \(path)", SystemError(number: errno))
        }
        for place in places.dropLast().reversed() where rmdir(place) != 0 { break }
        return true
    }

    /// Counts the change of a page.
    func count(_ change: WatchRun.Change?) {
        if let change { changes[change, default: 0] += 1 }
    }
}
