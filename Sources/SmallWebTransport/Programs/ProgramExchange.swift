// SPDX-License-Identifier: MIT
internal import Glibc
package import SmallWebCore

/// Runs programs: connects their descriptors to a server, and hands out what they say.
///
/// One task does all of it in turns: what the server sends goes to the program, what the program
/// writes goes to the server, and its events come before its body.
package struct ProgramExchange: ProgramRunner {
    private let loop: EventLoop
    private let deadline: Instant
    private let connect: (ProgramRequest) async throws(FetchError) -> any Carrier
    private let onSent: (_ bytes: [UInt8]) async throws(FetchError) -> Void
    private let onReceived: (_ count: Int) -> Void

    /// - Parameters:
    ///   - deadline: End of the whole fetch.
    ///   - connect: Connects to the server.
    ///   - onSent: Called with what has gone out.
    ///   - onReceived: Called with how much has come in.
    package init(
        on loop: EventLoop, by deadline: Instant,
        connect: @escaping (ProgramRequest) async throws(FetchError) -> any Carrier,
        onSent: @escaping (_ bytes: [UInt8]) async throws(FetchError) -> Void = { _ in },
        onReceived: @escaping (_ count: Int) -> Void = { _ in }
    ) {
        self.loop = loop
        self.deadline = deadline
        self.connect = connect
        self.onSent = onSent
        self.onReceived = onReceived
    }

    package func run(
        _ program: ProgramRequest, isAnswered: () -> Bool,
        onOutput: (ProgramOutput) async throws(FetchError) -> Bool
    ) async throws(FetchError) -> ProgramEnding {
        // Its end is an error of the write, like that of a server; see ``ProgramPipe``.
        signal(SIGPIPE, SIG_IGN)
        let turns = try ProgramTurns(program, on: loop)
        defer { turns.process.end() }
        if program.isServerFirst && program.transport != .none {
            turns.channel = try await connect(program)
        }
        var silence = silenceEnd(program)
        while true {
            var hasMoved = try await turns.handOut(onOutput)
            if turns.isEnough { return try await turns.stop(onOutput) }
            try turns.readRequest()
            if try turns.wantsServer(isAnswered: isAnswered()) {
                turns.channel = try await connect(program)
                hasMoved = true
            }
            let sent = try turns.moveToServer()
            if let sent { try await onSent(sent) }
            let received = try turns.moveToProgram()
            if let received { onReceived(received) }
            if try turns.moveUpload() || received != nil { hasMoved = true }
            // Datagrams can always be sent, also to a server that is not there.
            if hasMoved || sent != nil && !turns.keepsDatagrams { silence = silenceEnd(program) }
            if hasMoved || sent != nil { continue }
            if let reason = try turns.process.reap() {
                turns.process.end()
                repeat {
                    turns.begin()
                    if turns.isEnough { return try await turns.stop(onOutput) }
                } while try await turns.handOut(onOutput)
                return ProgramEnding(reason, server: turns.serverEnding)
            }
            let patience = min(deadline, silence)
            let moment = isAnswered() ? patience : min(patience, turns.dialMoment)
            if await turns.wait(by: moment) == .cancelled { throw .cancelled }
            // A turn may be over before anything has moved.
            if Instant.now >= patience { throw .silence(.body) }
        }
    }

    private func silenceEnd(_ program: ProgramRequest) -> Instant {
        .after(seconds: program.fetchLimits.idleSeconds)
    }
}

/// The state of one run, and its steps, of which none waits.
private final class ProgramTurns {
    let process: ContainedProcess
    private let loop: EventLoop
    private let program: ProgramRequest
    private let input: ProgramPipe
    private let output: ProgramPipe
    private let errors: ProgramPipe
    private let events: ProgramPipe
    private let body: ProgramPipe
    private var upload: ProgramPipe?
    var channel: (any Carrier)?
    private(set) var serverEnding: ByteStream.Ending?

    /// Bytes on their way, if there are any. A datagram goes as it came, and may be empty.
    private var toServer: [UInt8]?
    private var toProgram: [UInt8]?
    private var toUpload: [UInt8]?
    private(set) var keepsDatagrams = false
    /// Whether nothing more is wanted of the program.
    private(set) var isEnough = false
    private var piece = [UInt8](repeating: 0, count: 65_536)
    private var isServerTold = false
    /// Whether a paced channel was not asked, since the program had not read all.
    private var isHeldBack = false
    private var ended: Set<ObjectIdentifier> = []
    private let began = Instant.now

    /// How long a program may think before its server is dialled all the same.
    private static let patienceSeconds = 0.05
    /// How often a paced channel's pipe is looked at.
    private static let paceSeconds = 0.001

    init(_ program: ProgramRequest, on loop: EventLoop) throws(FetchError) {
        self.loop = loop
        self.program = program
        if case .datagrams = program.transport { keepsDatagrams = true }
        var theirs: [Int32] = []
        defer { for end in theirs { close(end) } }
        do throws(SystemError) {
            func pipe(
                isReader: Bool, _ keepsDatagrams: Bool = false
            ) throws(SystemError) -> ProgramPipe {
                let pipe = try ProgramPipe.make(
                    isReader: isReader, keepsDatagrams: keepsDatagrams, on: loop)
                theirs.append(pipe.theirs)
                return pipe.ours
            }
            // In the order of their numbers in the program, from 0.
            input = try pipe(isReader: false, keepsDatagrams)
            output = try pipe(isReader: true, keepsDatagrams)
            errors = try pipe(isReader: true)
            events = try pipe(isReader: true)
            body = try pipe(isReader: true)
            if program.upload == nil {
                theirs.append(try systemCall { open("/dev/null", O_RDONLY | O_CLOEXEC) })
            } else {
                upload = try pipe(isReader: false)
            }
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

    private func isOpen(_ pipe: ProgramPipe) -> Bool { !ended.contains(ObjectIdentifier(pipe)) }

    /// - Returns: What is there; `nil` for nothing.
    private func read(_ pipe: ProgramPipe) throws(FetchError) -> ArraySlice<UInt8>? {
        guard isOpen(pipe) else { return nil }
        let read = piece.withUnsafeMutableBytes { buffer in
            Result { () throws(FetchError) in try pipe.receive(into: buffer) }
        }
        switch try read.get() {
        case .bytes(let count): return piece[..<count]
        case .wouldBlock: return nil
        case .ended:
            ended.insert(ObjectIdentifier(pipe))
            return nil
        }
    }

    /// What the program says. A head that it wrote before the body comes before it: the events are
    /// read once more when a piece of the body is there.
    ///
    /// - Returns: Whether there was anything.
    func handOut(
        _ onOutput: (ProgramOutput) async throws(FetchError) -> Bool
    ) async throws(FetchError) -> Bool {
        var hasMoved = false
        func give(_ output: ProgramOutput) async throws(FetchError) {
            hasMoved = true
            if try await !onOutput(output) { isEnough = true }
        }
        if let said = try read(errors) { try await give(.diagnostics(said)) }
        let content = try read(body).map { Array($0) }
        while !isEnough, let told = try read(events) { try await give(.events(told)) }
        if let content { try await give(.body(content[...])) }
        return hasMoved
    }

    /// Hands out the body that the program had written before it was enough, as far as one turn
    /// goes.
    func stop(
        _ onOutput: (ProgramOutput) async throws(FetchError) -> Bool
    ) async throws(FetchError) -> ProgramEnding {
        while let content = try read(body) { _ = try await onOutput(.body(content)) }
        return ProgramEnding(.stopped, server: serverEnding)
    }

    /// A new turn: pipes give more bytes again.
    func begin() {
        for pipe in [errors, events, body] { _ = pipe.interests() }
    }

    /// When a server is dialled that the program has not asked for; never once there is one.
    var dialMoment: Instant {
        channel == nil && program.transport != .none
            ? Instant(nanoseconds: began.nanoseconds + UInt64(Self.patienceSeconds * 1e9)) : .never
    }

    /// Whether now is the time to dial: the program has written, or has nothing to say first.
    func wantsServer(isAnswered: Bool) throws(FetchError) -> Bool {
        guard channel == nil, program.transport != .none else { return false }
        if toServer != nil { return true }
        guard !isAnswered, Instant.now >= dialMoment else { return false }
        return try process.reap() == nil
    }

    /// What the program writes for its server; without one, to nowhere.
    func readRequest() throws(FetchError) {
        guard toServer == nil, let bytes = try read(output) else { return }
        if program.transport != .none { toServer = Array(bytes) }
    }

    /// - Returns: What has gone out; `nil` for nothing.
    func moveToServer() throws(FetchError) -> [UInt8]? {
        guard let channel else { return nil }
        var sent: [UInt8]?
        while let bytes = toServer {
            let written = try bytes.span.bytes.withUnsafeBytes(channel.send)
            guard case .bytes(let count) = written else { break }
            sent = (sent ?? []) + bytes.prefix(count)
            toServer = rest(of: bytes, after: count)
        }
        if toServer == nil && !isOpen(output) && !isServerTold {
            isServerTold = true
            channel.endSending()
        }
        return sent
    }

    /// What is still to go; `nil` when nothing is, not even an empty datagram.
    private func rest(of bytes: [UInt8], after count: Int) -> [UInt8]? {
        count < bytes.count ? Array(bytes[count...]) : nil
    }

    /// - Returns: How many bytes came from the server; `nil` when nothing came.
    func moveToProgram() throws(FetchError) -> Int? {
        guard let channel else { return nil }
        var received: Int?
        isHeldBack = channel.keepsPieces && input.hasUnread
        if toProgram == nil && serverEnding == nil && !isHeldBack {
            let read = piece.withUnsafeMutableBytes { buffer in
                Result { () throws(FetchError) in try channel.receive(into: buffer) }
            }
            switch try read.get() {
            case .bytes(let count):
                received = count
                toProgram = Array(piece[..<count])
            case .wouldBlock: break
            case .ended(let how): serverEnding = how
            }
        }
        // To a program that receives datagrams, an end would be empty ones without end.
        try move(
            &toProgram, to: input, closesAtEnd: serverEnding != nil && !keepsDatagrams)
        return received
    }

    private func move(
        _ buffer: inout [UInt8]?, to pipe: ProgramPipe, closesAtEnd: Bool
    ) throws(FetchError) {
        while let bytes = buffer {
            switch try bytes.span.bytes.withUnsafeBytes(pipe.send) {
            case .bytes(let count): buffer = rest(of: bytes, after: count)
            case .wouldBlock: return
            // It reads no more.
            case nil: buffer = nil
            }
        }
        if closesAtEnd { pipe.close() }
    }

    /// - Returns: Whether anything was read to be uploaded.
    func moveUpload() throws(FetchError) -> Bool {
        guard let pipe = upload, let next = program.upload?.next else { return false }
        var hasMoved = false
        if toUpload == nil {
            let bytes = try next()
            guard !bytes.isEmpty else {
                pipe.close()
                upload = nil
                return false
            }
            toUpload = bytes
            hasMoved = true
        }
        let before = toUpload?.count ?? 0
        try move(&toUpload, to: pipe, closesAtEnd: false)
        return hasMoved || toUpload?.count ?? 0 < before
    }

    /// Suspends until a step may do something again.
    func wait(by moment: Instant) async -> WaitResult {
        var all: [[Interest]?] = [
            [Interest(descriptor: process.endDescriptor, readiness: .readable)]
        ]
        for pipe in [errors, events, body] where isOpen(pipe) { all.append(pipe.interests()) }
        if toServer == nil {
            if isOpen(output) { all.append(output.interests()) }
        } else if let channel {
            all.append(channel.interests(.writable))
        }
        if toProgram != nil {
            all.append(input.interests())
        } else if let channel, serverEnding == nil {
            all.append(channel.interests(.readable))
        }
        if toUpload != nil, let upload { all.append(upload.interests()) }
        // The end of a turn is not an edge to wait for, and neither is what the program reads.
        let isTurnOver = all.contains { $0 == nil }
        var moment = isHeldBack ? min(moment, .after(seconds: Self.paceSeconds)) : moment
        if toProgram == nil, let channel { moment = min(moment, channel.readableAt) }
        let result = await loop.wait(
            for: isTurnOver ? [] : all.flatMap { $0 ?? [] }, by: isTurnOver ? .now : moment)
        return isTurnOver && result == .timedOut ? .ready : result
    }
}
