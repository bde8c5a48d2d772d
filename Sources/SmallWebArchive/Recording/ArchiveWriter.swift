// SPDX-License-Identifier: MIT
internal import Glibc
package import SmallWebCore

/// Appends exchanges to an archive atomically: the file is locked, and writes are serialized.
package final class ArchiveWriter: Sendable {
    package let path: String
    /// The directory of the archive, also for temporary files.
    let directory: String
    package let keepsSecrets: Bool
    /// A remark for the user about the file's earlier content.
    package let note: String?
    private let state: Locked<State>

    private struct State {
        let sink: ArchiveSink
        var known: KnownRecords
        var generator = FastGenerator()
        var failure: FetchError?
    }

    /// Opens an archive to append to it, or creates it.
    ///
    /// - Parameters:
    ///    - path: If the name ends in `.gz`, each record is a gzip member of its own.
    ///    - software: Name and version for the `warcinfo` record.
    ///    - commandLine: Command line for the `warcinfo` record, without secrets.
    /// - Throws: `write` if the file cannot be used, is not an archive, or is locked by another
    ///   run.
    package init(
        _ path: String, software: String, commandLine: String, keepsSecrets: Bool = false
    ) throws(FetchError) {
        (self.path, self.keepsSecrets) = (path, keepsSecrets)
        let isCompressed = path.hasSuffix(".gz")
        let slash = path.lastIndex(of: "/")
        directory = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let file = try Self.open(path)
        let found = try FoundArchive(path, isCompressed: isCompressed)
        note = found.note
        state = Locked(
            State(
                sink: try ArchiveSink(path, file, end: found.end, isCompressed: isCompressed),
                known: found.known))
        try change { state throws(FetchError) in
            try Self.writeInfo(&state, software, commandLine)
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
        } catch {
            throw FetchError(.write, .output, "cannot open the archive \(path)", error)
        }
        let file = Descriptor(owning: number)
        guard fstat(number, &status) == 0 else {
            throw FetchError(
                .write, .output, "cannot open the archive \(path)", SystemError(number: errno))
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw FetchError(.write, .output, "cannot write the archive \(path): it is not a file")
        }
        guard flock(file.borrowed, LOCK_EX | LOCK_NB) == 0 else {
            throw FetchError(
                .write, .output,
                "the archive \(path) is in use: \(LockHolder.words(status)) has it")
        }
        return file
    }

    /// - Throws: The `write` error of an earlier failure.
    package func check() throws(FetchError) {
        let failure = state.withLock { $0.failure }
        if let failure { throw failure }
    }

    /// Refuses all further writes: the archive would be incomplete.
    func fail(_ error: FetchError) {
        state.withLock { $0.failure = $0.failure ?? error }
    }

    /// True if there are too many replies to remember, so that repeated ones are written in full
    /// again.
    package var isFull: Bool { state.withLock { $0.known.isFull } }

    /// Writes one unit, or rolls it back on failure.
    private func change(
        _ body: (inout State) throws(FetchError) -> Void
    ) throws(FetchError) {
        try state.withLock { state throws(FetchError) in
            if let failure = state.failure { throw failure }
            do throws(FetchError) {
                try body(&state)
                try state.sink.commit()
            } catch {
                state.sink.undo()
                state.failure = error
                throw error
            }
        }
    }

    private static func writeInfo(
        _ state: inout State, _ software: String, _ commandLine: String
    ) throws(FetchError) {
        var text: [UInt8] = []
        text.append("software: \(software)\r\nformat: WARC File Format 1.1\r\n")
        text.append(
            "conformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/"
                + "warc-1.1/\r\n")
        let line = commandLine.utf8.map { $0 < ASCII.space ? ASCII.space : $0 }
        text.append("commandLine: " + String(decoding: line, as: UTF8.self) + "\r\n")
        var header = state.sink.begin(
            "warcinfo", RecordID(using: &state.generator), RecordDate.now.line)
        header.add("Content-Type: ", "application/warc-fields")
        header.addDigest("WARC-Block-Digest: ", state.sink.sha256(text[...]))
        try state.sink.add(header, .bytes(text))
    }

    func write(_ exchange: FinishedExchange) throws(FetchError) {
        try change { state throws(FetchError) in
            var records = ExchangeRecords(exchange, state.sink, state.generator)
            try records.write(&state.known)
            state.generator = records.generator
        }
    }

    /// Adds a record that belongs to no exchange.
    ///
    /// - Parameter refersTo: Identifier of the record that this one describes.
    /// - Returns: The identifier of the new record.
    package func write(
        type: String, target: String, contentType: String, refersTo: String? = nil,
        _ block: [UInt8]
    ) throws(FetchError) -> String {
        var text = ""
        try change { state throws(FetchError) in
            let id = RecordID(using: &state.generator)
            text = id.text
            var header = state.sink.begin(type, id, RecordDate.now.line)
            header.add("WARC-Target-URI: ", target)
            if let refersTo {
                header.add(
                    type == "metadata" ? "WARC-Refers-To: " : "WARC-Concurrent-To: ", refersTo)
            }
            header.add("Content-Type: ", contentType)
            header.addDigest("WARC-Block-Digest: ", state.sink.sha256(block[...]))
            try state.sink.add(header, .bytes(block))
        }
        return text
    }
}
