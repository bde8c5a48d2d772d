// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import Synchronization

/// Destination of one URL's output. Opened at the reply's head, so that a refusal does not create a
/// file.
final class BodySink {
    let plan: URLPlan
    let target: BodyTarget
    private let uri: URI
    /// `nil` for a body from its first byte on.
    private let rest: FileOutput.Rest?
    private let keepsPart: Bool
    /// True for the rest of a part that this run has left: the file gets the name that it would.
    private let isRetry: Bool
    private let patience: Patience
    private var file: FileOutput?
    /// Filter for a terminal; `nil` to write bytes unchanged.
    private var filter: TerminalText.Filter?
    /// Absolute path of the file with the body, once it is complete.
    private(set) var path: String?
    private(set) var notes: [Note] = []
    /// True if the file was left alone, as nothing has changed.
    private(set) var isUnchanged = false
    /// Bytes written to the file; `nil` without one.
    var bytesWritten: Int? { file?.bytesWritten }
    /// Path of a truncated body, for `-C -`.
    private(set) var leftover: String?

    private var settings: Settings { plan.settings }
    private var destination: URLPlan.Destination { plan.destination }

    /// - Parameters:
    ///   - uri: The requested URL.
    ///   - offset: The first byte that is asked for.
    ///   - isRetry: True if an attempt of this run has left the bytes before.
    ///   - canResume: True if another request can ask for the rest.
    init(
        _ plan: URLPlan, target: BodyTarget, uri: URI, offset: Int = 0, isRetry: Bool = false,
        canResume: Bool = false
    ) {
        let isGiven = if case .from = plan.settings.fetch.resume { true } else { false }
        rest = isRetry || plan.continuesFile(of: uri) ? (offset, isGiven) : nil
        self.isRetry = isRetry
        keepsPart = canResume && plan.keepsPart
        // Timeout for the reader of a FIFO.
        patience = Patience(seconds: plan.settings.fetch.totalSeconds)
        self.plan = plan
        self.target = target
        self.uri = uri
        filter = plan.destination == .standardOutput && plan.isSeen ? TerminalText.Filter() : nil
    }

    func begin(_ head: Head) throws(FetchError) {
        if head.isUnchanged {
            isUnchanged = true
            path = plan.path(of: uri).map(FileOutput.absolute)
            return
        }
        let (path, clash): (String, FileOutput.Clash)
        let existing = settings.output.existing
        switch destination {
        case .standardOutput, .rawStandardOutput, .nowhere: return
        case .file(let name):
            let isKept = existing == .kept && FileOutput.isTaken(name)
            (path, clash) = (name, isKept ? .number : .overwrite)
        case .remoteName:
            let place = try plan.place(of: uri, makes: true)
            // The name of the file whose length was taken.
            let known = rest == nil ? nil : FileName.name(for: uri, settings.output)
            let name = known ?? FileName.name(for: uri, head: head, settings.output)
            path = place.map { "\($0)/\(name)" } ?? name
            let replaces = [.replaced, .updated].contains(existing)
            let isAsked = known != nil && !isRetry
            let dated = settings.fetch.datedFile.flatMap { FileIdentity(path: $0) }
            let isDated = dated.map { $0 == FileIdentity(path: path) } ?? false
            clash =
                replaces || isAsked && existing != .kept
                ? .replace : isDated && existing != .kept ? .overwrite : .number
            if plan.isEnough(path, of: uri) {
                self.path = FileOutput.absolute(path)
                notes = [.alreadyThere(path)]
                return
            }
        }
        file = try FileOutput(
            path, clash: clash, rest: rest,
            createsDirectories: settings.output.createsDirectories, patience: patience)
        if keepsPart { file?.note(head.bodyState) }
        if settings.output.existing == .updated { file?.comparison = .asked }
        if settings.output.takesRemoteTime {
            file?.modified = head.fields?["last-modified"].flatMap { HTTPDate.unixSeconds($0) }
        }
    }

    /// Writes data of a server, after ``begin(_:)``. Escaped for a terminal, except with `-o -`.
    func write(_ bytes: ArraySlice<UInt8>) throws(FetchError) {
        try writeSafe((filter?.filter(bytes)).map { $0[...] } ?? bytes)
    }

    /// Writes text that is already safe, with its colours and links.
    func writeSafe(_ bytes: ArraySlice<UInt8>) throws(FetchError) {
        if let file { return try file.write(bytes) }
        if destination != .nowhere && !destination.isFile { try target.write(bytes) }
    }

    /// Gives the file its final name, unless the body is truncated.
    func commit(_ ending: Ending) throws(FetchError) {
        // The filter may hold an incomplete character.
        if let rest = filter?.filter([], isLast: true) { try writeSafe(rest[...]) }
        guard let file, ending.outcome != .truncated else { return }
        if destination.takesFreeName && settings.output.existing == .enough {
            settings.output.made.add(file.wanted, of: uri)
        }
        try file.commit()
        path = FileOutput.absolute(file.path)
        isUnchanged = file.comparison == .same
        if file.path != file.wanted {
            var note = Note("renamed", "\(file.wanted) exists: written to \(file.path)")
            note.isWarning = true
            notes.append(note)
        }
        if let option = ending.head?.contentOption {
            notes.append(Note("listing", "saved a list of names; use --\(option) for the files"))
        }
    }

    /// Deletes an uncommitted file, unless another fetch can continue it after this failure.
    func discard(keepsPart isPart: Bool) {
        leftover = file?.discard(keepsPart: isPart && keepsPart)
    }
}

extension Note {
    static func alreadyThere(_ path: String) -> Note {
        Note("exists", "\(path) exists: nothing was fetched")
    }
}

struct BodyOutput: EventSink {
    let sink: BodySink
    let log: FetchLog

    func take(_ event: Event) throws(FetchError) {
        switch event {
        case .head(let head): try sink.begin(head)
        case .body(let bytes): try sink.write(bytes)
        default: break
        }
    }

    func finish(_ ending: Ending) throws(FetchError) {
        try sink.commit(ending)
        for note in sink.notes { log.note(.note(note)) }
    }
}

/// A page that is laid out into a file.
struct PageFile: EventSink {
    let file: BodyOutput
    /// Writes to the sink of ``file``.
    let page: TerminalBody

    var pageSink: (any PageSink)? { page.pageSink }

    func take(_ event: Event) throws(FetchError) {
        if case .head = event { try file.take(event) }
        try page.take(event)
    }

    func finish(_ ending: Ending) throws(FetchError) {
        try page.finish(ending)
        try file.finish(ending)
    }
}

/// `--show-headers`: writes the reply's header to standard output before the body, even if the body
/// goes to a file.
struct HeaderOutput: EventSink {
    let sink: BodySink

    func take(_ event: Event) throws(FetchError) {
        guard case .head(let head) = event, sink.plan.destination != .nowhere else { return }
        let header = sink.plan.isFiltered ? TerminalText.escape(head.header) : head.header
        try sink.target.write(header[...])
    }
}

/// Files written in this run under names that URLs can share, with the URL of each: the page
/// `about` of one host is not that of another. Stores hashes, since a list may be long.
final class MadeFiles: Sendable {
    private let urls = Mutex<[Int: Int]>([:])

    func add(_ path: String, of uri: URI) {
        let url = uri.description.hashValue
        urls.withLock { if $0[path.hashValue] == nil { $0[path.hashValue] = url } }
    }

    func has(_ path: String, ofOtherThan uri: URI) -> Bool {
        let url = urls.withLock { $0[path.hashValue] }
        return url != nil && url != uri.description.hashValue
    }
}
