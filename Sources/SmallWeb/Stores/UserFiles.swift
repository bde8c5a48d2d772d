// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWebCore
package import SmallWebText

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

    /// True if there is such a file, readable or not.
    package static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

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
