// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWebCore

/// The state of one run, and its steps. No step blocks.
final class ProgramTurns {
    private let process: ContainedProcess
    /// Reason for the end of the program and its children; `nil` while it runs.
    private(set) var ended: ProgramEnding.Reason?
    /// The servers' ending at that time.
    private var serverEnding: ByteStream.Ending?
    private let loop: EventLoop
    private let program: ProgramRequest
    /// The first is the connection of the URL.
    let links: [ProgramLink]
    private let errors: ProgramPipe
    private let events: ProgramPipe
    private let body: ProgramPipe
    private var upload: ProgramPipe?
    private let answers: ProgramPipe?
    private var toAnswers: [UInt8]?
    private var toUpload: [UInt8]?
    private var commands: [ProgramCommand] = []
    /// True once the output so far suffices.
    private(set) var isEnough = false
    private var piece = [UInt8](repeating: 0, count: 65_536)
    private let began = Instant.now

    /// Delay after which the server is dialled although the program has written nothing.
    private static let patienceSeconds = 0.05
    /// Interval for checking the pipe of a paced channel.
    private static let paceSeconds = 0.001

    init(_ program: ProgramRequest, on loop: EventLoop) throws(FetchError) {
        self.loop = loop
        self.program = program
        let first: ProgramConnection =
            if case .datagrams = program.transport { .udp } else { .tcp }
        var theirs: [Int32] = []
        defer { for end in theirs where end >= 0 { close(end) } }
        do throws(SystemError) {
            func pipe(
                isReader: Bool, _ keepsDatagrams: Bool = false
            ) throws(SystemError) -> ProgramPipe {
                let pipe = try ProgramPipe.make(
                    isReader: isReader, keepsDatagrams: keepsDatagrams, on: loop)
                theirs.append(pipe.theirs)
                return pipe.ours
            }
            func link(
                _ kind: ProgramConnection, isFurther: Bool
            ) throws(SystemError) -> ProgramLink {
                let input = try pipe(isReader: false, kind == .udp)
                return ProgramLink(
                    input, try pipe(isReader: true, kind == .udp), kind,
                    isFurther: isFurther)
            }
            // In the order of their numbers in the program, from 0.
            var links = [try link(first, isFurther: false)]
            errors = try pipe(isReader: true)
            events = try pipe(isReader: true)
            body = try pipe(isReader: true)
            if program.upload == nil {
                theirs.append(try systemCall { open("/dev/null", O_RDONLY | O_CLOEXEC) })
            } else {
                upload = try pipe(isReader: false)
            }
            answers = program.wantsAnswers ? try pipe(isReader: false) : nil
            if answers == nil { theirs.append(-1) }
            for kind in program.connections { links.append(try link(kind, isFurther: true)) }
            if case .stream(let endpoint) = program.transport {
                links[0].isSecure = endpoint.security == .tls
            }
            self.links = links
        } catch {
            throw FetchError(
                .plugin, .plugin, "no pipe for the program", error, remedy: error.remedy)
        }
        let executables = try Provenance.check(folder: program.folder, words: program.words)
        process = try ContainedProcess(
            folder: program.folder, words: program.words, environment: program.environment,
            limits: program.limits, descriptors: theirs, executables: executables,
            confinement: Confinement(reads: program.reads))
        do throws(SystemError) {
            try loop.attach(process.endDescriptor)
        } catch {
            throw FetchError(.plugin, .plugin, error.sentence, errnoName: error.name)
        }
    }

    /// Hands out the program's output. A head that it wrote before the body comes before it: the
    /// events are read once more after a piece of the body.
    ///
    /// - Returns: False if there was no output.
    func handOut(
        _ onOutput: (ProgramOutput) async throws(FetchError) -> ProgramDemand
    ) async throws(FetchError) -> Bool {
        var hasMoved = false
        if let said = try errors.read(&piece) {
            hasMoved = true
            take(try await onOutput(.diagnostics(said)))
        }
        let content = try body.read(&piece).map { Array($0) }
        if try await handOutEvents(onOutput) { hasMoved = true }
        if let content {
            hasMoved = true
            take(try await onOutput(.body(content[...])))
        }
        return hasMoved
    }

    /// - Returns: False if there were no events.
    func handOutEvents(
        _ onOutput: (ProgramOutput) async throws(FetchError) -> ProgramDemand
    ) async throws(FetchError) -> Bool {
        var hasMoved = false
        while !isEnough, let told = try events.read(&piece) {
            hasMoved = true
            take(try await onOutput(.events(told)))
        }
        return hasMoved
    }

    private func take(_ demand: ProgramDemand) {
        if demand.isEnough { isEnough = true }
        commands += demand.commands
    }

    func takeCommands() -> [ProgramCommand] {
        defer { commands = [] }
        return commands
    }

    /// Hands out the body that the program had written by then, at most one turn's bytes.
    func stop(
        _ onOutput: (ProgramOutput) async throws(FetchError) -> ProgramDemand
    ) async throws(FetchError) -> ProgramEnding {
        while let content = try body.read(&piece) { _ = try await onOutput(.body(content)) }
        return ending(.stopped)
    }

    /// Starts a new turn: pipes can be read again.
    func begin() {
        for pipe in [errors, events, body] { _ = pipe.interests() }
    }

    /// Time at which the server is dialled without a request; never once it is connected, or the
    /// program has ended.
    var dialMoment: Instant {
        ended == nil && links[0].channel == nil && program.transport != .none
            ? Instant(nanoseconds: began.nanoseconds + UInt64(Self.patienceSeconds * 1e9)) : .never
    }

    /// True if it is time to dial: the program has written, or has been silent for long enough.
    func wantsServer(isAnswered: Bool) throws(FetchError) -> Bool {
        guard links[0].channel == nil, program.transport != .none else { return false }
        if links[0].toServer != nil { return true }
        guard !isAnswered, Instant.now >= dialMoment else { return false }
        return try process.reap() == nil
    }

    /// Reads the program's bytes for its servers; without a server they are dropped.
    ///
    /// - Returns: False if there were none.
    func readRequests() throws(FetchError) -> Bool {
        var hasRead = false
        for (number, link) in links.enumerated() {
            let isKept =
                number == 0
                ? program.transport != .none : link.takesRequests
            // Bytes for a connection that is not open yet stay in the pipe.
            guard number == 0 || link.isAsked else { continue }
            if try link.readRequest(&piece, isKept: isKept) { hasRead = true }
        }
        return hasRead
    }

    /// - Returns: Number of bytes from the server; `nil` for none.
    func moveToProgram(_ link: ProgramLink) throws(FetchError) -> Int? {
        try link.moveToProgram(&piece)
    }

    // MARK: The end

    /// Checks for the end of the program, and ends its remaining processes, so that pipes close.
    ///
    /// - Returns: True if it has ended since the last call.
    func reap() throws(FetchError) -> Bool {
        guard ended == nil, let reason = try process.reap() else { return false }
        process.end()
        serverEnding = seenEnding
        ended = reason
        return true
    }

    func end() { process.end() }

    /// True if all servers have got all bytes of a program that has ended.
    var isAllSent: Bool { links.allSatisfy(\.isAllSent) }

    /// The way in which a server ends after the program does not count: the program has not seen
    /// it.
    func ending(_ reason: ProgramEnding.Reason) -> ProgramEnding {
        ProgramEnding(reason, server: ended == nil ? seenEnding : serverEnding)
    }

    private var seenEnding: ByteStream.Ending? {
        links.contains { $0.serverEnding == .reset } ? .reset : links[0].serverEnding
    }

    // MARK: Commands

    /// - Throws: `plugin` for an unknown number, one that was asked for already, and another kind.
    func link(
        _ number: Int, toOpenAs kind: ProgramConnection
    ) throws(FetchError) -> ProgramLink {
        guard links.indices.dropFirst().contains(number) else {
            throw .plugin(
                "the program opens connection \(number), which its manifest does not name")
        }
        let link = links[number]
        guard !link.isAsked else { throw .plugin("the program opens connection \(number) twice") }
        guard link.kind == kind else {
            throw .plugin(
                "the program opens connection \(number) as \(kind), which is \(link.kind) in its"
                    + " manifest")
        }
        return link
    }

    /// - Throws: `plugin` for a connection that is not open, has TLS, or is of datagrams.
    func linkToSecure(_ number: Int) throws(FetchError) -> (ProgramLink, any Carrier) {
        guard links.indices.contains(number), let channel = links[number].channel,
            !links[number].isFetched
        else {
            throw .plugin("the program begins TLS on connection \(number), which is not open")
        }
        let link = links[number]
        guard !link.isSecure, !link.keepsDatagrams else {
            throw .plugin(
                "the program begins TLS on connection \(number), which "
                    + (link.isSecure ? "has it already" : "is of datagrams"))
        }
        guard program.wantsAnswers else {
            throw .plugin("the program begins TLS, but its manifest has no \"answers\"")
        }
        return (link, channel)
    }

    var wantsAnswers: Bool { answers != nil }

    /// Reports the result of a command, if the program takes answers.
    func answer(
        _ number: Int, isOK: Bool = true, _ writeMembers: (inout JSONWriter) -> Void
    ) throws(FetchError) {
        guard answers != nil else { return }
        toAnswers =
            (toAnswers ?? [])
            + JSONWriter.line { writer in
                writer.member("connection", number)
                writer.member("ok", isOK)
                writeMembers(&writer)
            }
        try moveAnswers()
    }

    func moveAnswers() throws(FetchError) {
        guard let answers else { return }
        try ProgramLink.move(&toAnswers, to: answers)
    }

    /// - Returns: True if any bytes of the upload were read, or accepted by the program.
    func moveUpload() throws(FetchError) -> Bool {
        guard let pipe = upload, let next = program.upload?.next else { return false }
        var hasMoved = false
        if toUpload == nil {
            let bytes = try next()
            guard !bytes.isEmpty else {
                endUpload()
                return false
            }
            toUpload = bytes
            hasMoved = true
        }
        let before = toUpload?.count ?? 0
        guard try ProgramLink.move(&toUpload, to: pipe) else {
            // The rest of a file need not be read for a program that has closed the pipe.
            endUpload()
            return false
        }
        return hasMoved || toUpload?.count ?? 0 < before
    }

    private func endUpload() {
        upload?.close()
        upload = nil
    }

    /// Suspends until a step may make progress.
    func wait(by moment: Instant) async -> WaitResult {
        var all: [[Interest]?] = []
        if ended == nil {
            all.append([Interest(descriptor: process.endDescriptor, readiness: .readable)])
        }
        for pipe in [errors, events, body] where !pipe.hasEnded { all.append(pipe.interests()) }
        for (number, link) in links.enumerated() {
            all += link.interests(readsRequests: number == 0 || link.isAsked)
        }
        if toAnswers != nil, let answers { all.append(answers.interests()) }
        if toUpload != nil, let upload { all.append(upload.interests()) }
        // No edge follows the end of a turn, nor the program's reading: only yield.
        let isTurnOver = all.contains { $0 == nil }
        let moment =
            links.contains(where: \.isHeldBack)
            ? min(moment, .after(seconds: Self.paceSeconds)) : moment
        let result = await loop.wait(
            for: isTurnOver ? [] : all.flatMap { $0 ?? [] }, by: isTurnOver ? .now : moment)
        return isTurnOver && result == .timedOut ? .ready : result
    }
}

extension JSONWriter {
    /// The members of `head` are the same as in the event.
    mutating func members(of fetched: FetchedReply) {
        member("url", fetched.uri.display)
        member("head", object: fetched.head) { writer, head in
            writer.member("class", head.replyClass.rawValue)
            writer.member("status", head.status)
            writer.member("meta", head.meta)
            writer.member("mime", head.mediaType?.description)
            writer.member("size", head.bodyBytes)
            writer.member("name", head.suggestedName)
            writer.member("redirect", head.redirectTarget)
            writer.member("permanent", head.isPermanentRedirect)
            writer.member("sensitive", head.wantsSensitiveInput)
            writer.member("retry_after", head.retryAfter.map { Int($0.inSeconds) })
            writer.member("gone", head.isGone)
            writer.member("validator", head.validator)
            writer.member("unchanged", head.isUnchanged)
            writer.member("facts", object: head.facts) { $0.members(of: $1) }
        }
    }
}
