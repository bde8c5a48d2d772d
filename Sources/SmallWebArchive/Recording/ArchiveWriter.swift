// SPDX-License-Identifier: MIT
internal import Glibc
package import SmallWebCore

/// Appends exchanges to an archive atomically: the file is locked, and writes are serialized.
package final class ArchiveWriter: Sendable {
    /// The directory of the archive, also for temporary files.
    let directory: String
    package let keepsSecrets: Bool
    /// True for a cache: whole replies without secrets alone, and no failure ends the run.
    let keepsPagesAlone: Bool
    /// A remark for the user about the file's earlier content.
    package let note: String?
    private let file: Locked<ArchiveFile>

    /// Opens an archive to append to it, or creates it.
    ///
    /// - Parameters:
    ///    - path: If the name ends in `.gz`, each record is a gzip member of its own.
    ///    - software: Name and version for the `warcinfo` record.
    ///    - commandLine: Command line for the `warcinfo` record, without secrets.
    ///    - keepsPagesAlone: True for a cache, whose index says where its records end.
    /// - Throws: `write` if the file cannot be used, is not an archive, or is locked by another
    ///   run.
    package init(
        _ path: String, software: String, commandLine: String, keepsSecrets: Bool = false,
        keepsPagesAlone: Bool = false
    ) throws(FetchError) {
        (self.keepsSecrets, self.keepsPagesAlone) = (keepsSecrets, keepsPagesAlone)
        let isCompressed = path.hasSuffix(".gz")
        let slash = path.lastIndex(of: "/")
        directory = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let descriptor = try Self.open(path)
        let index = CaptureIndex(of: path).flatMap { $0.isWhole ? $0 : nil }
        let known =
            if let index, keepsPagesAlone {
                KnownRecords(end: index.archiveBytes)
            } else {
                try KnownRecords(of: path, isCompressed: isCompressed)
            }
        note = known.note
        let archive = try ArchiveFile(path, descriptor, known, isCompressed: isCompressed)
        if index != nil || keepsPagesAlone && known.end == 0 {
            archive.lines = IndexLines(of: path, isCompressed: isCompressed, behind: index)
        }
        file = Locked(archive)
        let line = commandLine.utf8.map { $0 < ASCII.space ? ASCII.space : $0 }
        let text = """
            software: \(software)\r
            format: WARC File Format 1.1\r
            conformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/\
            warc-1.1/\r
            commandLine: \(String(decoding: line, as: UTF8.self))\r

            """
        try change { file throws(FetchError) in
            file.begin("warcinfo")
            file.add("Content-Type: ", "application/warc-fields")
            try file.end(Array(text.utf8))
        }
    }

    private static func open(_ path: String) throws(FetchError) -> Descriptor {
        var status = stat()
        let number: Int32
        do throws(SystemError) {
            number = try systemCall {
                // O_NONBLOCK, or a FIFO without a reader would block here.
                Glibc.open(path, O_RDWR | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0o600)
            }
            _ = try systemCall { fstat(number, &status) }
        } catch {
            throw FetchError(.write, .output, "cannot open the archive \(path)", error)
        }
        let file = Descriptor(owning: number)
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw FetchError(.write, .output, "cannot write the archive \(path): it is not a file")
        }
        guard (try? file.lock()) ?? false else {
            throw FetchError(
                .write, .output,
                "the archive \(path) is in use: \(lockHolder(of: status.st_ino)) has it")
        }
        return file
    }

    /// The process that holds a file's lock, as far as the system tells: `process 1234 (smallweb)`,
    /// or `another process`.
    private static func lockHolder(of file: ino_t) -> String {
        func text(_ path: String) -> String? {
            (try? FileBytes.read(path, limit: 16 << 20)).map { String(decoding: $0, as: UTF8.self) }
        }
        for line in text("/proc/locks")?.split(separator: "\n") ?? [] {
            // 1: FLOCK ADVISORY WRITE 1234 fd:01:5678 0 EOF
            let words = line.split(separator: " ")
            guard words.count >= 6, words[1] == "FLOCK",
                words[5].split(separator: ":").last == "\(file)"
            else { continue }
            let name = text("/proc/\(words[4])/comm")?.split(separator: "\n").first
            return "process \(words[4])" + (name.map { " (\($0))" } ?? "")
        }
        return "another process"
    }

    /// Adds what this run has recorded to the index; makes it for a cache.
    ///
    /// - Throws: `write`, `read`.
    package func finishIndex() throws(FetchError) {
        let file = file.withLock { $0 }
        if let lines = file.lines {
            try CaptureIndex.add(lines, upTo: file.place, of: file.path)
        } else if keepsPagesAlone || CaptureIndex.exists(of: file.path) {
            try CaptureIndex.update(file.path)
        }
    }

    /// The `write` error that has ended the recording.
    package var failure: FetchError? { file.withLock { $0.failure } }

    /// - Throws: The `write` error of an earlier failure.
    package func check() throws(FetchError) {
        if let failure { throw failure }
    }

    /// Refuses all further writes: the archive would be incomplete.
    func fail(_ error: FetchError) {
        file.withLock { $0.failure = $0.failure ?? error }
    }

    /// True if there are too many replies to remember, so that repeated ones are written in full
    /// again.
    package var isFull: Bool { file.withLock { $0.known.isFull } }

    /// Writes one unit, or rolls it back on failure.
    private func change(_ body: (ArchiveFile) throws(FetchError) -> Void) throws(FetchError) {
        try file.withLock { file throws(FetchError) in
            if let failure = file.failure { throw failure }
            do throws(FetchError) {
                try body(file)
                try file.commit()
            } catch {
                file.undo()
                file.failure = error
                throw error
            }
        }
    }

    func write(_ capture: Capture) throws(FetchError) {
        try change { file throws(FetchError) in try file.write(capture) }
    }

    /// Adds metadata of a URL that belong to no exchange.
    package func write(
        metadata text: [UInt8], of target: String, contentType: String
    ) throws(FetchError) {
        try change { file throws(FetchError) in
            file.begin("metadata", target: target)
            file.add("Content-Type: ", contentType)
            try file.end(text)
        }
    }
}
