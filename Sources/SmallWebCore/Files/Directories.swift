// SPDX-License-Identifier: MIT
package import Glibc

/// The directory part of a path: `.` when it has none.
package func directory(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: ASCII.slash) else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
}

/// HOME or, if unset, as under cron and systemd, the entry in the user database.
package var homeDirectory: String? {
    environmentVariable("HOME") ?? getpwuid(getuid()).map { String(cString: $0.pointee.pw_dir) }
}

/// Makes a directory and its missing parents, but no home directory: its absence means that there
/// is to be none, or that it is not mounted.
///
/// - Throws: The error of the first directory that cannot be made.
package func makeDirectories(_ path: String, mode: mode_t) throws(SystemError) {
    let isHome = path == homeDirectory
    if (isHome ? access(path, F_OK) : mkdir(path, mode)) == 0 || errno == EEXIST { return }
    let number = errno
    let parent = directory(of: path)
    guard number == ENOENT, parent != path, !path.isEmpty, !isHome else {
        throw SystemError(number: number)
    }
    try makeDirectories(parent, mode: mode)
    // Another process may have made it meanwhile.
    if mkdir(path, mode) != 0 && errno != EEXIST { throw SystemError(number: errno) }
}

/// The type of the file that `path` leads to, as `S_IFREG` and the like; `nil` if stat fails.
package func fileKind(_ path: String) -> mode_t? {
    var facts = stat()
    return stat(path, &facts) == 0 ? facts.st_mode & S_IFMT : nil
}

/// Size in bytes of an open file; `nil` if it is not a regular one, or fstat fails.
package func regularFileBytes(_ file: Int32) -> Int? {
    var facts = stat()
    let isRegular = fstat(file, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG
    return isRegular ? Int(facts.st_size) : nil
}

/// False for a device, pipe or socket; `nil` if stat fails.
package func isFileOrDirectory(_ path: String) -> Bool? {
    fileKind(path).map { $0 == S_IFREG || $0 == S_IFDIR }
}

/// The names in a directory, without `.` and `..`, sorted.
package func directoryNames(
    _ path: String, withHidden: Bool = false
) throws(SystemError) -> [String] {
    guard let directory = opendir(path) else { throw SystemError(number: errno) }
    defer { closedir(directory) }
    var names: [String] = []
    while true {
        errno = 0
        guard let entry = readdir(directory) else {
            // A partial listing must not be taken for a whole one.
            if errno != 0 { throw SystemError(number: errno) }
            return names.sorted()
        }
        let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
            pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(systemName: $0) }
        }
        guard name != ".", name != "..", withHidden || !name.hasPrefix(".") else { continue }
        names.append(name)
    }
}

/// The target of a path's symbolic links, which need not exist.
package func resolvingLinks(_ path: String) -> String {
    var path = path
    for _ in 0..<40 {
        if let resolved = realpath(path, nil) {
            defer { free(resolved) }
            return String(systemName: resolved)
        }
        // /dev/stdout may be a pipe, which exists but has no path.
        if access(path, F_OK) == 0 { break }
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &target, target.count)
        guard count > 0 else { break }
        let text = String(systemBytes: target[..<count].map { UInt8(bitPattern: $0) })
        path = text.hasPrefix("/") ? text : directory(of: path) + "/" + text
    }
    return path
}

/// Identifies a file independently of its path: by device and inode or, if it does not exist yet,
/// by its directory's and its name.
package struct FileIdentity: Hashable, Sendable {
    private let device: dev_t
    private let inode: ino_t
    private var name: String?

    package init(_ status: stat) { (device, inode) = (status.st_dev, status.st_ino) }

    /// `nil` for anything that output would not replace: a device, a pipe, a missing directory.
    package init?(path: String) {
        let target = resolvingLinks(path)
        var status = stat()
        if stat(target, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFREG else { return nil }
            self.init(status)
        } else {
            guard stat(directory(of: target), &status) == 0 else { return nil }
            self.init(status)
            name = target.split(separator: "/").last.map(String.init)
        }
    }
}
