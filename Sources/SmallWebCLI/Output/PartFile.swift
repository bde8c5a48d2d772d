// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb

/// `NAME.part`, which an earlier fetch has left and `-C -` goes on with: others who may write
/// to the directory can have put something else there.
enum PartFile {
    /// - Returns: How many bytes it has; 0 when there is none.
    /// - Throws: `write` for what no fetch of this user can have left.
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

    // MARK: What its bytes are of

    /// The extended attribute that holds ``Head/bodyState``: it goes where the file goes.
    private static let attribute = "user.smallweb.state"
    /// Longer states are not kept, nor read.
    private static let stateBytesMax = 4096

    /// What an earlier fetch has noted; `nil` without a note.
    static func state(_ name: String) -> String? {
        var bytes = [UInt8](repeating: 0, count: stateBytesMax)
        let count = lgetxattr(name, attribute, &bytes, bytes.count)
        return count > 0 ? String(validating: bytes[..<count], as: UTF8.self) : nil
    }

    /// Notes it, unless the file has bytes with a note already.
    static func note(_ state: String?, in file: Int32) {
        var status = stat()
        if fstat(file, &status) == 0, status.st_size == 0 { forgetState(file) }
        guard let state, state.utf8.count <= stateBytesMax else { return }
        // Not every file system has attributes: such a file is continued without.
        _ = fsetxattr(file, attribute, state, state.utf8.count, Int32(XATTR_CREATE))
    }

    static func forgetState(_ file: Int32) {
        // It usually has none.
        _ = fremovexattr(file, attribute)
    }
}
