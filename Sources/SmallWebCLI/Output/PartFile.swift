// SPDX-License-Identifier: MIT
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
}
