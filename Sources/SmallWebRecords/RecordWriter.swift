// SPDX-License-Identifier: MIT
public import SmallWeb

/// Writes the results of requests as lines of JSON, the records of docs/json.md: see
/// `Client.Results.write(to:)`.
public struct RecordWriter: Sendable {
    let options: RecordOptions
    let ledger: String?
    let write: @Sendable (_ line: [UInt8]) throws -> Void

    /// - Parameters:
    ///   - options: Contents of the records.
    ///   - ledger: A file that gets the terminal record of each finished request, too. Requests
    ///     with `ok` as their last outcome in it are not fetched again.
    ///   - write: Gets one record after the other, each with its line feed, on the thread that
    ///     fetches, which waits for it. Its errors end the run.
    public init(
        options: RecordOptions = RecordOptions(), ledger: String? = nil,
        write: @escaping @Sendable (_ line: [UInt8]) throws -> Void
    ) {
        (self.options, self.ledger, self.write) = (options, ledger, write)
    }

    /// Writes to an open file, a pipe or a terminal, which stays open.
    ///
    /// - Parameters:
    ///   - descriptor: Must be blocking.
    ///   - options: Contents of the records.
    ///   - ledger: See ``init(options:ledger:write:)``.
    public init(
        to descriptor: Int32, options: RecordOptions = RecordOptions(), ledger: String? = nil
    ) {
        self.init(options: options, ledger: ledger) { line throws(SystemError) in
            try writeAll(line[...], to: descriptor)
        }
    }
}

/// The result of a run.
public struct RunSummary: Sendable, Hashable {
    /// Requests that have a record.
    public let requests: Int
    /// Requests that succeeded.
    public let ok: Int
    /// Requests that are done already, according to the ledger.
    public let skipped: Int
    /// The command line's exit status: the first failed request's, or `interrupted` if the deadline
    /// left any.
    public let exitStatus: Int32

    package init(requests: Int, ok: Int, skipped: Int, exitStatus: Int32) {
        (self.requests, self.ok, self.skipped) = (requests, ok, skipped)
        self.exitStatus = exitStatus
    }
}

extension Client.Results {
    /// Runs, and writes records instead of returning pages, as `smallweb get --json` prints them
    /// for a list of these requests.
    ///
    /// The bodies of refusals are not in their records. A run of several requests ends with a
    /// `summary`.
    ///
    /// - Throws: `usage` for a field that does not exist; `interrupted` when the task is cancelled,
    ///   `write` when a record cannot be written or the ledger cannot be used, and errors of the
    ///   requests' own sequence. Requests with written records are done, and no others are in the
    ///   ledger.
    @discardableResult
    public func write(to writer: RecordWriter) async throws(FetchError) -> RunSummary {
        if let fields = writer.options.fields {
            let names = fields.sorted().filter { !$0.hasSuffix("_base64") }
            _ = try RecordFields.parse(names.joined(separator: ","), client.plugins)
        }
        let shelf = RecordShelf(
            writer,
            try writer.ledger.map { path throws(FetchError) in
                try Ledger(path)
            })
        defer { shelf.ledger?.close() }
        let tally = try await run(reportsRequests: writer.options.includesEvents) {
            asked, request in
            shelf.isDone(asked, request) ? nil : RecordOutput(asked, shelf)
        }
        var verdict = Verdict()
        verdict.miss(tally)
        let exit = verdict.status
        if writer.options.wantsSummary || tally.requests + tally.skipped > 1 {
            try shelf.write(JSONWriter.line { $0.members(of: tally, exit: exit) })
        }
        return RunSummary(
            requests: tally.requests, ok: tally.ok, skipped: tally.skipped, exitStatus: exit)
    }
}

/// Writes the records of one run.
//
// @unchecked: the ledger is used on the loop of the run alone.
private final class RecordShelf: @unchecked Sendable {
    let options: RecordOptions
    private let writer: RecordWriter
    let ledger: Ledger?

    init(_ writer: RecordWriter, _ ledger: Ledger?) {
        var options = writer.options
        // Members that every record has.
        options.fields?.formUnion(RecordFields.common)
        if ledger != nil { options.fields?.formUnion(RecordFields.ofLedgers) }
        // There is no file for bodies.
        if options.body == .file { options.body = .none }
        (self.options, self.writer, self.ledger) = (options, writer, ledger)
    }

    func isDone(_ asked: RunRequest, _ request: Request?) -> Bool {
        ledger?.outcome(request, asked.url) == .ok
    }

    func write(_ line: [UInt8]) throws(FetchError) {
        do {
            try writer.write(line)
        } catch {
            throw error as? FetchError
                ?? (error as? SystemError).map {
                    FetchError(.write, .output, "cannot write a record", $0)
                } ?? FetchError(.write, .output, "cannot write a record: \(error)")
        }
    }
}

/// The records of one request, which are held until its turn has come.
private final class RecordOutput: Output, RecordTarget {
    private let asked: RunRequest
    private let shelf: RecordShelf
    private var recorder: Recorder?
    private var lines: [[UInt8]] = []
    private var isDone = false

    init(_ asked: RunRequest, _ shelf: RecordShelf) { (self.asked, self.shelf) = (asked, shelf) }

    func writeRecord(_ line: [UInt8]) { lines.append(line) }

    func begin(_ job: Job) throws(FetchError) -> Step {
        lines = []
        guard let request = job.request else { throw job.problem ?? .cancelled }
        let log = FetchLog(request.uri)
        let recorder = recorder(job, log)
        self.recorder = recorder
        return .fetch(
            Reply(
                to: request, log, job.fetcher.registry,
                watchers: recorder.sinks))
    }

    /// A record without anything of an earlier attempt.
    private func recorder(_ job: Job, _ log: FetchLog?) -> Recorder {
        var subject = RecordSubject(url: asked.url)
        subject.n = job.n
        subject.tag = asked.tag.map(JSONWriter.string)
        let recorder = Recorder(
            subject, log, shelf.options, RecordScope(), registry: job.fetcher.registry,
            target: self)
        recorder.attempts = job.attempts
        recorder.queueSeconds = job.queueSeconds
        return recorder
    }

    var canBeRepeated: Bool { asked.upload.map { $0.rewind != nil } ?? true }

    func conclude(_ result: Attempt, _ job: Job) async throws(FetchError) -> Outcome {
        let recorder = recorder ?? recorder(job, job.request.map { FetchLog($0.uri) })
        let (line, problem) = try await recorder.finish(
            result, result.outcome, message: result.ending?.message, path: nil)
        lines.append(line)
        let outcome = problem?.outcome ?? result.outcome
        // A request that was given up is not done.
        isDone = outcome != .interrupted
        return outcome
    }

    /// Written before it is added to the ledger.
    func deliver() async throws(FetchError) {
        for line in lines { try shelf.write(line) }
        if isDone, let line = lines.last { try shelf.ledger?.append(line) }
        (lines, recorder) = ([], nil)
    }
}

/// Options for the records of requests.
public struct RecordOptions: Sendable {
    /// The form of a body in its record.
    @nonexhaustive
    public enum BodyForm: String, Sendable, CaseIterable {
        /// Text if the body is text, otherwise base64.
        case auto
        /// Text, with replacement characters for other bytes.
        case text
        /// Base64 (RFC 4648), whatever it is.
        case base64
        /// Not at all: for bodies that go to files.
        case file
        /// Not at all.
        case none
    }

    /// The members of terminal records, by their names in docs/json.md; `nil` for all. With a
    /// ledger, `outcome`, `time` and `url` are always among them.
    public var fields: Set<String>?
    /// The form of a body in its record.
    public var body = BodyForm.auto
    /// Longest body that goes into a record, in bytes. Of a longer text its first part does, and
    /// any other is marked as omitted.
    public var inlineBytesMax = 8 << 20
    /// True to write records of events before the end, too: requests, redirects, notices.
    public var includesEvents = false
    /// True to end a run of one request with a `summary`, like longer ones.
    public var wantsSummary = false
    /// True to write bodies as records of their own, piece by piece.
    package var streamsBodies = false

    /// All members, and no events.
    public init() {}
}
