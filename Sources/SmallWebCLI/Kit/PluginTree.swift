// SPDX-License-Identifier: MIT
internal import ExternalPlugin
internal import Glibc
internal import SmallWeb

/// Creates, copies and removes folders of plugins. Copies are writable by their owner only,
/// whatever the umask.
enum PluginTree {
    /// Limits of a folder; larger ones are refused.
    static let entriesMax = 1000
    static let bytesMax = 64 << 20

    /// - Throws: `write` if the path exists.
    static func makeDirectory(_ path: String) throws(FetchError) {
        try call("cannot make", path) { mkdir(path, 0o700) }
        try call("cannot make", path) { chmod(path.systemName, 0o755) }
    }

    static func write(_ bytes: [UInt8], to path: String, isProgram: Bool) throws(FetchError) {
        do throws(SystemError) {
            try AtomicFile.create(path, bytes, isSynced: false) { file throws(SystemError) in
                _ = try systemCall { fchmod(file.borrowed, isProgram ? 0o755 : 0o644) }
            }
        } catch {
            throw failure("cannot write", path, error)
        }
    }

    /// Makes the folder of a plugin that is one file.
    static func unpack(
        _ script: PluginScript, _ bytes: [UInt8], to target: String
    ) throws(FetchError) {
        try makeDirectory(target)
        try makeDirectory(target + "/fixtures")
        try write(script.json, to: target + "/plugin.json", isProgram: false)
        try write(bytes, to: "\(target)/\(script.manifest.name)", isProgram: true)
        for fixture in script.fixtures {
            try write(fixture.text, to: "\(target)/fixtures/\(fixture.name)", isProgram: false)
        }
    }

    /// Copies files and directories.
    ///
    /// - Throws: `plugin` for other kinds of files, and beyond the limits; `read`, `write`.
    static func copy(_ source: String, to target: String) throws(FetchError) {
        var room = (entries: entriesMax, bytes: bytesMax)
        try copy(source, to: target, &room)
    }

    private static func copy(
        _ source: String, to target: String, _ room: inout (entries: Int, bytes: Int)
    ) throws(FetchError) {
        try makeDirectory(target)
        for name in try UserFiles.names(in: source) {
            let (from, to) = ("\(source)/\(name)", "\(target)/\(name)")
            var facts = stat()
            try call("cannot read", from, .read) { lstat(from, &facts) }
            room.entries -= 1
            guard room.entries >= 0 else {
                throw .plugin("\(source) has more than \(entriesMax) files")
            }
            switch facts.st_mode & S_IFMT {
            case S_IFDIR: try copy(from, to: to, &room)
            case S_IFREG:
                let bytes = try InputSource.read("@" + from)
                room.bytes -= bytes.count
                guard room.bytes >= 0 else {
                    throw .plugin("\(source) has more than \(bytesMax >> 20) MiB")
                }
                try write(bytes, to: to, isProgram: facts.st_mode & 0o100 != 0)
            default:
                throw .plugin("\(from) is neither a file nor a directory")
            }
        }
    }

    /// Removes a directory recursively; does not follow symbolic links.
    static func remove(_ path: String) throws(FetchError) {
        var facts = stat()
        try call("cannot remove", path) { lstat(path, &facts) }
        guard facts.st_mode & S_IFMT == S_IFDIR else {
            try call("cannot remove", path) { unlink(path) }
            return
        }
        for name in try UserFiles.names(in: path, withHidden: true) {
            try remove("\(path)/\(name)")
        }
        try call("cannot remove", path) { rmdir(path.systemName) }
    }

    @discardableResult
    static func call(
        _ what: String, _ path: String, _ outcome: Outcome = .write, _ body: () -> Int32
    ) throws(FetchError) -> Int32 {
        do throws(SystemError) {
            return try systemCall(body)
        } catch {
            throw failure(what, path, error, outcome)
        }
    }

    static func failure(
        _ what: String, _ path: String, _ error: SystemError, _ outcome: Outcome = .write
    ) -> FetchError {
        FetchError(outcome, .output, "\(what) \(path)", error, remedy: error.remedy)
    }
}
