// SPDX-License-Identifier: MIT
internal import Glibc
package import SmallWebCore

/// Appends exchanges to an archive atomically: the file is locked, and writes are serialized.
package final class ArchiveWriter: Sendable {
    /// The directory of the archive, also for temporary files.
    let directory: String
    package let keepsSecrets: Bool
    /// Bytes of the largest page of a cache: whole replies without secrets alone, and no failure
    /// ends the run. `nil` for other archives.
    let pageBytesMax: Int?
    var keepsPagesAlone: Bool { pageBytesMax != nil }
    /// A remark for the user about the file's earlier content.
    package let note: String?
    private let file: Locked<ArchiveFile>

    /// Opens an archive to append to it, or creates it.
    ///
    /// - Parameters:
    ///    - path: If the name ends in `.gz`, each record is a gzip member of its own.
    ///    - software: Name and version for the `warcinfo` record.
    ///    - commandLine: Command line for the `warcinfo` record, without secrets.
    ///    - pageBytesMax: Bytes of the largest page of a cache, whose index says where its records
    ///      end; `nil` for other archives.
    /// - Throws: `write` if the file cannot be used, is not an archive, or is locked by another
    ///   run.
    package init(
        _ path: String, software: String, commandLine: String, keepsSecrets: Bool = false,
        pageBytesMax: Int? = nil
    ) throws(FetchError) {
        (self.keepsSecrets, self.pageBytesMax) = (keepsSecrets, pageBytesMax)
        let keepsPagesAlone = pageBytesMax != nil
        let isCompressed = path.hasSuffix(".gz")
        let slash = path.lastIndex(of: "/")
        directory = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        // O_NONBLOCK, or a FIFO without a reader would block here.
        let lines = try LineFile.open(path, title: "archive", O_NONBLOCK)
        guard lines.isLocked else {
            throw FetchError(
                .write, .output,
                "cannot write the archive \(path): it "
                    + (lines.isRegular ? "cannot be locked" : "is not a file"))
        }
        let index = CaptureIndex(of: path).flatMap { $0.isWhole ? $0 : nil }
        let known =
            if let index, keepsPagesAlone {
                KnownRecords(end: index.archiveBytes)
            } else {
                try KnownRecords(of: path, isCompressed: isCompressed)
            }
        note = known.note
        let archive = try ArchiveFile(lines, known, isCompressed: isCompressed)
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
            try file.end(Array(text.utf8), of: nil)
        }
    }

    /// Adds what this run has recorded to the index; makes it for a cache.
    ///
    /// - Throws: `write`, `read`.
    package func finishIndex() throws(FetchError) {
        let file = file.withLock { $0 }
        let path = file.file.path
        guard file.file.isThere else { return }
        if let lines = file.lines {
            try CaptureIndex.add(lines, upTo: file.place, of: path)
        } else if keepsPagesAlone || CaptureIndex.exists(of: path) {
            try CaptureIndex.update(path)
        }
    }

    /// Size of the file.
    var bytes: Int { file.withLock { $0.place } }

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

    /// True if it has a page of HTTP that "not modified" can refer to.
    package func hasPage(_ target: String) -> Bool {
        file.withLock { $0.known.reply(target, []) != nil }
    }

    private func change(_ body: (ArchiveFile) throws(FetchError) -> Void) throws(FetchError) {
        try file.withLock { file throws(FetchError) in try file.change(body) }
    }

    func write(_ capture: Capture) throws(FetchError) {
        try change { file throws(FetchError) in try file.write(capture) }
    }

    /// Adds metadata of a URL that belong to no exchange.
    ///
    /// - Parameter json: On one line.
    func write(_ kind: String, _ json: [UInt8], of target: String) throws(FetchError) {
        try change { file throws(FetchError) in
            var note = IndexLines.Reply(offset: file.place, date: ArchiveFile.now, isChange: true)
            file.begin("metadata", date: note.date, target: target)
            try file.end(json, of: kind)
            note.bytes = file.place - note.offset
            guard kind == IndexLines.change else { return }
            file.lines?.add(note, exchange: note.offset..<file.place, of: target)
        }
    }
}
