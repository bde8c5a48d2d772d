// SPDX-License-Identifier: MIT
internal import Glibc
package import SmallWebCore

/// Adds exchanges to an archive, each as a whole: one process has the file, and one place writes.
package final class ArchiveWriter: Sendable {
    package let path: String
    /// Where it is, and what is kept for it meanwhile.
    let directory: String
    /// Whether secrets are written, too.
    package let keepsSecrets: Bool
    /// What a person should know about what was found in the file.
    package let note: String?
    private let state: Locked<State>

    private struct State {
        let sink: ArchiveSink
        var known: KnownRecords
        var generator = FastGenerator()
        /// Why nothing more can be written.
        var failure: FetchError?
    }

    /// Opens an archive to add to it, or makes it.
    ///
    /// - Parameters:
    ///   - path: With a name that ends in `.gz` each record is a member of a gzip file.
    ///   - software: For the record that says who wrote what follows it.
    ///   - commandLine: The same, without secrets.
    /// - Throws: `write` when the file cannot be used, is not an archive, or another run has it.
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
                // A pipe without a reader would keep us.
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

    /// - Throws: `write` when something could not be written before.
    package func check() throws(FetchError) {
        let failure = state.withLock { $0.failure }
        if let failure { throw failure }
    }

    /// Nothing more can be written, as something is missing.
    func fail(_ error: FetchError) {
        state.withLock { $0.failure = $0.failure ?? error }
    }

    /// Whether replies that are the same as earlier ones are written again, as there are too many.
    package var isFull: Bool { state.withLock { $0.known.isFull } }

    /// Adds what belongs together. What cannot be written leaves nothing behind.
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

    /// Adds all records of an exchange, one behind the other.
    func write(_ exchange: FinishedExchange) throws(FetchError) {
        try change { state throws(FetchError) in
            var records = ExchangeRecords(exchange, state.sink, state.generator)
            try records.write(&state.known)
            state.generator = records.generator
        }
    }

    /// Adds a record that belongs to no exchange.
    ///
    /// - Parameter refersTo: The identifier of the record that it describes.
    /// - Returns: Its identifier.
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
