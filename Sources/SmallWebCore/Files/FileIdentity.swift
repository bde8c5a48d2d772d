// SPDX-License-Identifier: MIT
package import Glibc

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
