// SPDX-License-Identifier: MIT
@preconcurrency internal import Glibc
internal import SmallWebCore
internal import Synchronization

/// An empty directory for one program, removed with all that is in it.
///
/// It is locked while its owner lives: a later process that gets the lock knows that the owner was
/// killed, and removes the directory.
package final class TemporaryDirectory {
    let path: String
    private let descriptor: Descriptor
    private var isRemoved = false

    private static let prefix = "smallweb-plugin-"
    private static let hasSwept = Atomic(false)
    /// Descriptors of the directories in use, by path.
    private static let present = Locked<[String: Int32]>([:])

    /// - Parameter parent: Absolute; by default a directory of this user below TMPDIR.
    init(in parent: String? = nil) throws(SystemError) {
        while true {
            let parent = if let parent { parent } else { try Self.makeParent() }
            var name = (parent + "/" + Self.prefix + "XXXXXX").systemName
            guard mkdtemp(&name) != nil else {
                // The last directory in the parent has just been removed, and the parent with it.
                if errno == ENOENT && parent == Self.parent { continue }
                throw SystemError(number: errno)
            }
            let path = String(systemName: name)
            let number: Int32
            do throws(SystemError) {
                number = try systemCall { open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
            } catch  where error.number == ENOENT {
                continue
            }
            let descriptor = Descriptor(owning: number)
            // Before the lock, another process may have taken it for an abandoned one.
            var facts = stat()
            if flock(number, LOCK_EX | LOCK_NB) != 0 || fstat(number, &facts) != 0
                || facts.st_nlink == 0
            {
                continue
            }
            self.path = path
            self.descriptor = descriptor
            Self.present.withLock { $0[path] = number }
            return
        }
    }

    deinit { remove() }

    /// A directory for these directories alone: TMPDIR may hold thousands of files.
    static var parent: String { "\(top)/smallweb-plugins-\(geteuid())" }

    private static var top: String {
        let named = environmentVariable("TMPDIR") ?? ""
        return named.hasPrefix("/") ? named : "/tmp"
    }

    /// - Returns: ``parent``, or ``top`` if another user has taken its name.
    private static func makeParent() throws(SystemError) -> String {
        let path = parent
        if mkdir(path.systemName, 0o700) != 0 && errno != EEXIST {
            throw SystemError(number: errno)
        }
        var facts = stat()
        guard lstat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFDIR,
            facts.st_uid == geteuid(), facts.st_mode & 0o077 == 0
        else { return top }
        return path
    }

    /// Removes it, when no process uses it any more. The first call also sweeps the directories of
    /// killed processes: at this time no program waits for that.
    func remove() {
        guard !isRemoved else { return }
        isRemoved = true
        Self.present.withLock { $0[path] = nil }
        Self.empty(descriptor.borrowed)
        rmdir(path.systemName)
        let parent = directory(of: path)
        if parent == Self.parent, !Self.hasSwept.exchange(true, ordering: .relaxed) {
            Self.sweep(parent)
        }
        if parent == Self.parent { rmdir(parent.systemName) }
    }

    /// Removes all directories in use, for a process that is about to end with its programs.
    package static func removeAll() {
        for (path, number) in present.withLock({ $0 }) {
            empty(number)
            rmdir(path.systemName)
        }
        rmdir(parent.systemName)
    }

    /// Removes directories that killed processes of this user left in `parent`.
    static func sweep(_ parent: String) {
        let above = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard above >= 0 else { return }
        let owner = Descriptor(owning: above)
        for name in names(in: owner.borrowed) where name.starts(with: prefix.systemName.dropLast())
        {
            var facts = stat()
            guard fstatat(owner.borrowed, name, &facts, AT_SYMLINK_NOFOLLOW) == 0,
                facts.st_uid == geteuid(), facts.st_mode & S_IFMT == S_IFDIR,
                let directory = descend(owner.borrowed, name),
                flock(directory.borrowed, LOCK_EX | LOCK_NB) == 0
            else { continue }
            empty(directory.borrowed)
            unlinkat(owner.borrowed, name, AT_REMOVEDIR)
        }
    }

    /// Removes all contents of a directory, without following links. Subdirectories are not
    /// descended into but moved up: their depth then needs neither stack nor descriptors.
    private static func empty(_ top: Int32) {
        // If the mode cannot be changed, the directory stays and is visible.
        _ = fchmod(top, 0o700)
        var moved = 0
        var isChanged = true
        while isChanged {
            isChanged = false
            for name in names(in: top) {
                if unlinkat(top, name, 0) == 0 || unlinkat(top, name, AT_REMOVEDIR) == 0 {
                    isChanged = true
                    continue
                }
                guard let inner = descend(top, name) else { continue }
                for below in names(in: inner.borrowed) {
                    if unlinkat(inner.borrowed, below, 0) == 0 {
                        isChanged = true
                        continue
                    }
                    // Only its owner can move a directory, and needs the right to write it.
                    fchmodat(inner.borrowed, below, 0o700, 0)
                    var isTaken: Bool
                    repeat {
                        moved += 1
                        let target = "\(prefix)\(moved)".systemName
                        let status = renameat(inner.borrowed, below, top, target)
                        if status == 0 { isChanged = true }
                        isTaken = status != 0 && [EEXIST, ENOTEMPTY, ENOTDIR].contains(errno)
                    } while isTaken
                }
                if unlinkat(top, name, AT_REMOVEDIR) == 0 { isChanged = true }
            }
        }
    }

    /// - Parameter name: A directory, not a link to one.
    private static func descend(_ above: Int32, _ name: [CChar]) -> Descriptor? {
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
        var number = openat(above, name, flags)
        if number < 0 && errno == EACCES {
            fchmodat(above, name, 0o700, 0)
            number = openat(above, name, flags)
        }
        guard number >= 0 else { return nil }
        // Reading is not enough. If the mode cannot be changed, the directory is not emptied.
        _ = fchmod(number, 0o700)
        return Descriptor(owning: number)
    }

    /// Names of all entries of a directory, each with its NUL.
    static func names(in directory: Int32) -> [[CChar]] {
        let copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0, let stream = fdopendir(copy) else {
            if copy >= 0 { close(copy) }
            return []
        }
        defer { closedir(stream) }
        var names: [[CChar]] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { tuple in
                tuple.withMemoryRebound(to: CChar.self, capacity: 256) { text in
                    Array(UnsafeBufferPointer(start: text, count: strlen(text) + 1))
                }
            }
            if name != [46, 0] && name != [46, 46, 0] { names.append(name) }
        }
        return names
    }
}
