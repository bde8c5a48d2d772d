// SPDX-License-Identifier: MIT
internal import Glibc

/// Files that appear under their names with all of their bytes, or not at all.
package enum AtomicFile {
    /// Replaces `path`, or makes it, with mode 0600.
    ///
    /// - Parameters:
    ///   - part: Name of the new file until then, in the same directory. No other process may use
    ///     it, as a file that has it is removed.
    ///   - isSynced: True to wait for the disk first.
    ///   - prepare: Changes owner, mode or lock of the new file before bytes are in it.
    /// - Returns: The new file.
    /// - Throws: The error of the first call that failed; the old file is then unchanged.
    @discardableResult
    package static func replace(
        _ path: String, by bytes: [UInt8], part: String, isSynced: Bool = true,
        prepare: (_ file: inout Descriptor) throws(SystemError) -> Void = { _ in }
    ) throws(SystemError) -> Descriptor {
        unlink(part)
        let file = try create(part, bytes, isSynced: isSynced, prepare: prepare)
        do throws(SystemError) {
            _ = try systemCall { rename(part, path) }
            return file
        } catch {
            unlink(part)
            throw error
        }
    }

    /// Makes `path`, with mode 0600; never replaces a file.
    ///
    /// - Parameter part: As of ``replace(_:by:part:isSynced:prepare:)``.
    /// - Throws: EEXIST if the name is taken.
    package static func add(_ path: String, _ bytes: [UInt8], part: String) throws(SystemError) {
        unlink(part)
        _ = try create(part, bytes)
        defer { unlink(part) }
        _ = try systemCall { link(part, path) }
    }

    /// Makes `path` in a directory without readers yet, and removes it if it cannot be completed.
    ///
    /// - Throws: EEXIST if the name is taken, also by a symbolic link.
    @discardableResult
    package static func create(
        _ path: String, _ bytes: [UInt8], isSynced: Bool = true,
        prepare: (_ file: inout Descriptor) throws(SystemError) -> Void = { _ in }
    ) throws(SystemError) -> Descriptor {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
        var file = try Descriptor(opening: path, flags, mode: 0o600)
        do throws(SystemError) {
            try prepare(&file)
            try writeAll(bytes[...], to: file.borrowed)
            if isSynced { _ = try systemCall { fsync(file.borrowed) } }
            return file
        } catch {
            unlink(path)
            throw error
        }
    }
}
