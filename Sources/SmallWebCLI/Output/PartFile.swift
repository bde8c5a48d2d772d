// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb

/// `NAME.part` of an earlier fetch, to be continued by `-C`. Untrusted if others may write to the
/// directory.
enum PartFile {
    /// What `-C` continues: the part of a file with this final name, or without one the file
    /// itself; its length, and the ``Head/Properties/bodyState`` of its bytes, if known.
    typealias Beginning = (target: String, part: String?, count: Int, state: String?)

    /// The part of an earlier attempt, or else the file, or else a new part.
    ///
    /// - Throws: `write` if it cannot be determined.
    static func beginning(of path: String) throws(FetchError) -> Beginning {
        let resolved = resolvingLinks(path)
        var status = stat()
        let isThere = stat(resolved, &status) == 0
        let error = SystemError(number: errno)
        guard isThere || error.number == ENOENT else {
            throw FetchError(.write, .output, "cannot continue \(resolved)", error)
        }
        // A device has no part; that of a name in a URL stands beside a link.
        if !isThere || status.st_mode & S_IFMT == S_IFREG {
            for target in [path, resolved] {
                let name = FileOutput.partName(target)
                if let count = try check(name) { return (target, name, count, state(name)) }
            }
        }
        let part = isThere ? nil : FileOutput.partName(resolved)
        return (resolved, part, isThere ? Int(status.st_size) : 0, nil)
    }

    /// - Returns: Its length in bytes; `nil` if there is none.
    /// - Throws: `write` for a file that no fetch of this user can have left.
    private static func check(_ name: String) throws(FetchError) -> Int? {
        var status = stat()
        guard lstat(name, &status) == 0 else {
            let error = SystemError(number: errno)
            if error.number == ENOENT { return nil }
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

    /// Locks the file against other writers, where the file system has locks.
    ///
    /// - Returns: False if another process holds the lock.
    static func locks(_ file: inout Descriptor) -> Bool { (try? file.lock()) ?? true }

    /// True if there is none, or one that a fetch has left and no other is writing.
    static func mayReplace(_ name: String) -> Bool {
        do throws(SystemError) {
            var file = try Descriptor(opening: name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
            // A file system without attributes cannot tell.
            let isMarked = fgetxattr(file.borrowed, attribute, nil, 0) >= 0 || errno == ENOTSUP
            return isMarked && locks(&file)
        } catch {
            return error.number == ENOENT
        }
    }

    // MARK: State of its content

    /// Extended attribute with the state of the body, empty if that is unknown; it stays with a
    /// renamed file, and is removed from one that is whole.
    private static let attribute = "user.smallweb.state"
    /// Longer states are neither stored nor read.
    private static let stateBytesMax = 4096

    /// The state stored by an earlier fetch; `nil` if there is none.
    private static func state(_ name: String) -> String? {
        var bytes = [UInt8](repeating: 0, count: stateBytesMax)
        let count = lgetxattr(name.systemName, attribute, &bytes, bytes.count)
        return count > 0 ? String(validating: bytes[..<count], as: UTF8.self) : nil
    }

    /// Stores the state, unless a file with content has one already.
    static func note(_ state: String, in file: Int32) {
        var status = stat()
        if fstat(file, &status) == 0, status.st_size == 0 { forgetState(file) }
        guard state.utf8.count <= stateBytesMax, fgetxattr(file, attribute, nil, 0) <= 0
        else { return }
        // Not every file system has attributes; the file is then continued without a check.
        _ = fsetxattr(file, attribute, state, state.utf8.count, 0)
    }

    static func forgetState(_ file: Int32) {
        // Usually there is no attribute to remove.
        _ = fremovexattr(file, attribute)
    }
}
