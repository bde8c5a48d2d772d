// SPDX-License-Identifier: MIT
internal import Glibc
package import SmallWebCore

/// The user's own files, by the XDG Base Directory Specification.
package enum UserFiles {
    /// `nil` when there is neither a variable nor a home directory to find it by.
    package static func path(_ variable: String, _ fallback: String, _ name: String) -> String? {
        // A relative XDG directory is invalid and ignored.
        if let base = environmentVariable(variable), base.hasPrefix("/") {
            return "\(base)/smallweb/\(name)"
        }
        return homeDirectory.map { "\($0)/\(fallback)/smallweb/\(name)" }
    }

    /// The trust store's default place: SMALLWEB_KNOWN_HOSTS, or a file of the user's data.
    package static var knownHosts: String? {
        environmentVariable("SMALLWEB_KNOWN_HOSTS")
            ?? path("XDG_DATA_HOME", ".local/share", "known_hosts")
    }
    /// The directory of the identities: SMALLWEB_IDENTITIES, or beside the trust store's place.
    package static var identities: String? {
        environmentVariable("SMALLWEB_IDENTITIES")
            ?? path("XDG_DATA_HOME", ".local/share", "identities")
    }
    package static var history: StoreFile? {
        path("XDG_STATE_HOME", ".local/state", "history").map { StoreFile($0, title: "history") }
    }
    package static var bookmarks: StoreFile? {
        path("XDG_CONFIG_HOME", ".config", "bookmarks").map { StoreFile($0, title: "bookmarks") }
    }

    /// - Returns: The last `limit` bytes at most; `nil` when the file cannot be read.
    package static func read(_ path: String, limit: Int = 4 << 20) -> [UInt8]? {
        guard let file = try? Descriptor(opening: path, O_RDONLY | O_NONBLOCK) else { return nil }
        return read(file.borrowed, limit: limit)
    }

    /// True if there is such a file, readable or not.
    package static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    package static func read(_ file: Int32, limit: Int) -> [UInt8]? {
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        let size = min(Int(status.st_size), limit)
        let start = Int(status.st_size) - size
        var isRead = true
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            while count < size {
                let more = pread(file, buffer.baseAddress! + count, size - count, start + count)
                if more < 0 && errno == EINTR { continue }
                isRead = more >= 0
                if more <= 0 { break }
                count += more
            }
        }
        return isRead ? bytes : nil
    }

    /// The names in a directory, sorted.
    ///
    /// - Parameter withHidden: True to include names that begin with a dot.
    /// - Throws: `read`.
    package static func names(
        in directory: String, withHidden: Bool = false
    ) throws(FetchError) -> [String] {
        do throws(SystemError) {
            return try directoryNames(directory, withHidden: withHidden)
        } catch {
            throw FetchError(.read, .input, "cannot read \(directory)", error)
        }
    }
}
