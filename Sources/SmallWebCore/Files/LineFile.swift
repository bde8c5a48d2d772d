// SPDX-License-Identifier: MIT
package import Glibc

/// A file of lines that one process has locked and adds to: a ledger, a state, an archive.
///
/// A line counts once its line feed is there: a kill leaves at most one without it, at the end.
package final class LineFile {
    package let path: String
    /// The file as it was opened.
    package let status: stat
    /// False for a device, and where the file system has no locks.
    package let isLocked: Bool
    /// Name for messages, such as `ledger`.
    private let title: String
    /// `nil` after ``close()``.
    private var file: Descriptor?
    /// Size in bytes, as far as lines are added by ``append(_:)``.
    package private(set) var end: Int
    /// The reason why nothing more is added.
    private var failure: FetchError?

    private init(
        _ path: String, _ title: String, _ file: consuming Descriptor, _ status: stat,
        isLocked: Bool
    ) {
        (self.path, self.title, self.status, self.isLocked) = (path, title, status, isLocked)
        self.file = consume file
        end = Int(status.st_size)
    }

    /// Opens a file, or makes it with mode 0600, and its directory if wanted, and locks it.
    ///
    /// - Parameter flags: Of open, besides O_RDWR and O_CREAT.
    /// - Throws: `write` if it cannot be opened or another process has it; `usage` for a symbolic
    ///   link with O_NOFOLLOW.
    package static func open(
        _ path: String, title: String, _ flags: Int32, makesDirectory: Bool = false
    ) throws(FetchError) -> LineFile {
        let file = try openUnlessInUse(path, title: title, flags, makesDirectory: makesDirectory)
        if let file { return file }
        throw FetchError(
            .write, .output, "the \(title) \(path) is in use: \(holder(of: path)) has it")
    }

    /// Same; `nil` while another process has the file, or has just replaced it.
    package static func openUnlessInUse(
        _ path: String, title: String, _ flags: Int32, makesDirectory: Bool = false
    ) throws(FetchError) -> LineFile? {
        var status = stat()
        do throws(SystemError) {
            if makesDirectory { try makeDirectories(directory(of: path), mode: 0o700) }
            var file = try Descriptor(opening: path, O_RDWR | O_CREAT | flags, mode: 0o600)
            _ = try systemCall { fstat(file.borrowed, &status) }
            guard status.st_mode & S_IFMT == S_IFREG else {
                return LineFile(path, title, file, status, isLocked: false)
            }
            let isLocked = try? file.lock()
            if isLocked == false { return nil }
            // What the last holder has added counts, too.
            _ = try systemCall { fstat(file.borrowed, &status) }
            let opened = LineFile(path, title, file, status, isLocked: isLocked ?? false)
            return opened.isThere ? opened : nil
        } catch {
            throw error.number == ELOOP && flags & O_NOFOLLOW != 0
                ? usageError("the \(title) \(path) is a symbolic link", hint: "name its target")
                : FetchError(.write, .output, "cannot open the \(title) \(path)", error)
        }
    }

    /// The process that has the lock of a file, as far as the system tells:
    /// `process 1234 (smallweb)`, or `another process`.
    package static func holder(of path: String) -> String {
        func text(_ path: String) -> String? {
            (try? FileBytes.read(path, limit: 16 << 20)).map { String(decoding: $0, as: UTF8.self) }
        }
        var status = stat()
        guard stat(path, &status) == 0 else { return "another process" }
        for line in text("/proc/locks")?.split(separator: "\n") ?? [] {
            // 1: FLOCK ADVISORY WRITE 1234 fd:01:5678 0 EOF
            let words = line.split(separator: " ")
            guard words.count >= 6, words[1] == "FLOCK",
                words[5].split(separator: ":").last == "\(status.st_ino)"
            else { continue }
            let name = text("/proc/\(words[4])/comm")?.split(separator: "\n").first
            return "process \(words[4])" + (name.map { " (\($0))" } ?? "")
        }
        return "another process"
    }

    package var isRegular: Bool { status.st_mode & S_IFMT == S_IFREG }

    /// False if the file was removed, or another one has its name.
    package var isThere: Bool {
        var named = stat()
        return stat(path, &named) == 0 && FileIdentity(status) == FileIdentity(named)
    }

    /// For system calls; -1 after ``close()``.
    package var descriptor: Int32 { file?.borrowed ?? -1 }

    /// Frees the file for another process; nothing is added any more.
    package func close() { file = nil }

    // MARK: Reading

    /// Its lines from an offset on, without their line feeds.
    package struct Lines {
        private let file: Int32
        private let (pieceBytes, lineBytesMax): (Int, Int)
        private var bytes: ArraySlice<UInt8> = []
        /// Bytes of ``bytes`` without a line feed.
        private var searched = 0
        /// File offset of the next line.
        package private(set) var offset: Int

        package init(
            _ file: Int32, from offset: Int = 0, pieceBytes: Int = 1 << 20,
            lineBytesMax: Int = 1 << 30
        ) {
            (self.file, self.offset) = (file, offset)
            (self.pieceBytes, self.lineBytesMax) = (pieceBytes, lineBytesMax)
        }

        /// - Returns: `nil` at the end, also in a line without its line feed.
        /// - Throws: EFBIG for a longer line than `lineBytesMax`.
        package mutating func next() throws(SystemError) -> ArraySlice<UInt8>? {
            while true {
                if let feed = bytes.dropFirst(searched).firstLineFeed {
                    let line = bytes[..<feed]
                    bytes = bytes[(feed + 1)...]
                    (searched, offset) = (0, offset + line.count + 1)
                    return line
                }
                searched = bytes.count
                guard searched <= lineBytesMax else { throw SystemError(number: EFBIG) }
                let piece = try FileBytes.read(file, at: offset + searched, count: pieceBytes)
                if piece.isEmpty { return nil }
                bytes += piece
            }
        }
    }

    /// Passes each line, and where it is, to `body`.
    ///
    /// - Throws: `read`; `interrupted` and `timeout` of ``LongWork``; errors of `body`.
    package func forEachLine(
        _ body: (_ line: ArraySlice<UInt8>, _ offset: Int) throws(FetchError) -> Void
    ) throws(FetchError) {
        var (lines, due) = (Lines(descriptor), 0)
        while true {
            let offset = lines.offset
            if offset >= due {
                try LongWork.check()
                due = offset + 1 << 20
            }
            let line = try attempt(.read, "cannot read") { () throws(SystemError) in
                try lines.next()
            }
            guard let line else { return }
            try body(line, offset)
        }
    }

    // MARK: Writing

    /// Removes the rest of a line that a kill has left at the end.
    ///
    /// - Throws: `usage` if nothing of ours begins like it; `write`.
    package func cutTornLine() throws(FetchError) {
        let size = end
        let isOwn = try attempt(.write, "cannot remove the unfinished last line of") {
            () throws(SystemError) in
            while end > 0 {
                let start = max(0, end - 65_536)
                let piece = try FileBytes.read(descriptor, at: start, count: end - start)
                if let last = piece.lastIndex(of: ASCII.lineFeed) {
                    end = start + last + 1
                    break
                }
                end = start
            }
            let rest = try FileBytes.read(descriptor, at: end, count: 8)
            // A crash may leave zeros.
            let isOwn = rest.first == 0 || zip(rest, "{\"type\":".utf8).allSatisfy(==)
            if end < size, isOwn { _ = try systemCall { ftruncate(descriptor, off_t(end)) } }
            return isOwn
        }
        guard isOwn else {
            throw FetchError(
                .usage, .input, "the unfinished last line of \(path) was not written here",
                hint: "name another file")
        }
    }

    /// Adds whole lines with one call. After a failure the file is as it was, and gets no more.
    ///
    /// - Throws: `write`.
    package func append(_ lines: [UInt8]) throws(FetchError) {
        if let failure { throw failure }
        do throws(FetchError) {
            try attempt { () throws(SystemError) in
                try writeAll(lines[...], to: descriptor)
            }
            end += lines.count
        } catch {
            // A line that is not removed here is the last one, which the next run cuts.
            if isLocked { _ = ftruncate(descriptor, off_t(end)) }
            failure = error
            throw error
        }
    }

    /// Removes all lines; `write` on failure.
    package func clear() throws(FetchError) {
        try attempt { () throws(SystemError) in
            _ = try systemCall { ftruncate(descriptor, 0) }
        }
        end = 0
    }

    /// Replaces the file by one with these bytes, atomically; the lock goes over to it.
    ///
    /// - Throws: `write`; the file is then unchanged.
    package func replace(by bytes: [UInt8]) throws(FetchError) {
        try attempt(.write, "cannot write") { () throws(SystemError) in
            // The lock makes the name of the part ours, and is there before others open the file.
            file = try AtomicFile.replace(path, by: bytes, part: path + ".part") {
                new throws(SystemError) in _ = try new.lock()
            }
        }
        end = bytes.count
    }

    /// Runs `body`; its errors name the file.
    package func attempt<Value>(
        _ outcome: Outcome = .write, _ what: String = "cannot write to",
        _ body: () throws(SystemError) -> Value
    ) throws(FetchError) -> Value {
        do throws(SystemError) {
            return try body()
        } catch {
            let phase = outcome == .read ? FetchError.Phase.input : .output
            throw FetchError(outcome, phase, "\(what) the \(title) \(path)", error)
        }
    }
}
