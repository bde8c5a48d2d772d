// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb

/// `NAME.part` of an earlier fetch, to be continued by `-C -`. Untrusted if others may write to the
/// directory.
enum PartFile {
    /// - Returns: Its length in bytes; 0 if there is none.
    /// - Throws: `write` for a file that no fetch of this user can have left.
    @discardableResult
    static func check(_ name: String) throws(FetchError) -> Int {
        var status = stat()
        guard lstat(name, &status) == 0 else {
            let error = SystemError(number: errno)
            if error.number == ENOENT { return 0 }
            throw FetchError(.write, .output, "cannot continue \(name)", error)
        }
        let problem: String? =
            switch status.st_mode & S_IFMT {
            case S_IFLNK: "it is a symbolic link"
            case S_IFIFO: "it is a named pipe"
            case S_IFREG where status.st_nlink != 1: "it has another name (a hard link)"
            case S_IFREG where status.st_uid != geteuid(): "it belongs to another user"
            case S_IFREG: nil
            default: "it is not a regular file"
            }
        guard let problem else { return Int(status.st_size) }
        throw FetchError(
            .write, .output, "cannot continue \(name): \(problem)",
            hint: "remove it, or fetch the whole file without -C")
    }

    // MARK: State of its content

    /// Extended attribute with ``Head/bodyState``; it stays with a renamed file.
    private static let attribute = "user.smallweb.state"
    /// Longer states are neither stored nor read.
    private static let stateBytesMax = 4096

    /// The state stored by an earlier fetch; `nil` if there is none.
    static func state(_ name: String) -> String? {
        var bytes = [UInt8](repeating: 0, count: stateBytesMax)
        let count = lgetxattr(name, attribute, &bytes, bytes.count)
        return count > 0 ? String(validating: bytes[..<count], as: UTF8.self) : nil
    }

    /// Stores the state, unless a file with content has one already.
    static func note(_ state: String?, in file: Int32) {
        var status = stat()
        if fstat(file, &status) == 0, status.st_size == 0 { forgetState(file) }
        guard let state, state.utf8.count <= stateBytesMax else { return }
        // Not every file system has attributes; the file is then continued without a check.
        _ = fsetxattr(file, attribute, state, state.utf8.count, Int32(XATTR_CREATE))
    }

    static func forgetState(_ file: Int32) {
        // Usually there is no attribute to remove.
        _ = fremovexattr(file, attribute)
    }
}
