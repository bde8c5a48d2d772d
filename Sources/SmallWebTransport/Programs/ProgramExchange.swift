// SPDX-License-Identifier: MIT
internal import Glibc
package import SmallWebCore

/// A program's way to its server: bytes, or datagrams. Nothing of it waits.
package protocol ProgramChannel: AnyObject {
    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(FetchError) -> TransportRead
    func send(_ bytes: UnsafeRawBufferPointer) throws(FetchError) -> TransportWrite
    /// Says that nothing more comes, where the transport can.
    func endSending()
    /// What there is to wait for; `nil` at the end of a turn, which this begins anew.
    func interests(_ readiness: Readiness) -> [Interest]?
    /// Whether it is asked for more only when the program has read all that there was: each piece
    /// is then a read of its own.
    var isPaced: Bool { get }
}

extension ProgramChannel {
    package var isPaced: Bool { false }
}

/// Runs programs: connects their descriptors to a server, and hands out what they say.
///
/// One task does all of it in turns: what the server sends goes to the program, what the program
/// writes goes to the server, and its events come before its body.
package struct ProgramExchange: ProgramRunner {
    /// What the network's side does for it.
    package struct Network {
        /// Connects to the server.
        let connect: (ProgramRequest) async throws(FetchError) -> any ProgramChannel
        /// Called with what has gone out, and with how much has come in.
        let onSent: (_ bytes: [UInt8]) async throws(FetchError) -> Void
        let onReceived: (_ count: Int) -> Void

        package init(
            connect:
                @escaping (ProgramRequest) async throws(FetchError) -> any ProgramChannel,
            onSent: @escaping (_ bytes: [UInt8]) async throws(FetchError) -> Void,
            onReceived: @escaping (_ count: Int) -> Void
        ) {
            self.connect = connect
            self.onSent = onSent
            self.onReceived = onReceived
        }
    }

    private let loop: EventLoop
    private let deadline: Instant
    private let network: Network

    /// - Parameter deadline: End of the whole fetch.
    package init(on loop: EventLoop, by deadline: Instant, _ network: Network) {
        self.loop = loop
        self.deadline = deadline
        self.network = network
    }

    package func run(
        _ program: ProgramRequest, isAnswered: () -> Bool,
        onOutput: (ProgramOutput) async throws(FetchError) -> Void
    ) async throws(FetchError) -> ProgramEnding {
        // Its end is an error of the write, like that of a server; see ``ProgramPipe``.
        signal(SIGPIPE, SIG_IGN)
        let turns = try ProgramTurns(program, on: loop)
        defer { turns.process.end() }
        if program.isServerFirst && program.transport != .none {
            turns.channel = try await network.connect(program)
        }
        var silence = silenceEnd(program)
        while true {
            var hasMoved = try await turns.handOut(onOutput)
            try turns.readRequest()
            if try turns.wantsServer(isAnswered: isAnswered()) {
                turns.channel = try await network.connect(program)
                hasMoved = true
            }
            let sent = try turns.moveToServer()
            if !sent.isEmpty { try await network.onSent(sent) }
            let received = try turns.moveToProgram()
            network.onReceived(received)
            if try turns.moveUpload() || !sent.isEmpty || received > 0 { hasMoved = true }
            if hasMoved {
                silence = silenceEnd(program)
                continue
            }
            if let reason = try turns.process.reap() {
                turns.process.end()
                repeat { turns.begin() } while try await turns.handOut(onOutput)
                return ProgramEnding(reason, server: turns.serverEnding)
            }
            let patience = min(deadline, silence)
            let moment = isAnswered() ? patience : min(patience, turns.dialMoment)
            if await turns.wait(by: moment) == .cancelled { throw .cancelled }
            // Something may be ready for ever without a byte: empty datagrams.
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
    var channel: (any ProgramChannel)?
    private(set) var serverEnding: StreamEnding?

    /// Bytes on their way: a datagram goes as it came.
    private var toServer: [UInt8] = []
    private var toProgram: [UInt8] = []
    private var toUpload: [UInt8] = []
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
        var keepsDatagrams = false
        if case .datagrams = program.transport { keepsDatagrams = true }
        var theirs: [Int32] = []
        defer { for end in theirs { close(end) } }
        do throws(SystemError) {
            let zero = try ProgramPipe.writer(keepsDatagrams: keepsDatagrams, on: loop)
            theirs.append(zero.theirs)
            let one = try ProgramPipe.reader(keepsDatagrams: keepsDatagrams, on: loop)
            theirs.append(one.theirs)
            let two = try ProgramPipe.reader(on: loop)
            theirs.append(two.theirs)
            let three = try ProgramPipe.reader(on: loop)
            theirs.append(three.theirs)
            let four = try ProgramPipe.reader(on: loop)
            theirs.append(four.theirs)
            if program.upload == nil {
                theirs.append(try systemCall { open("/dev/null", O_RDONLY | O_CLOEXEC) })
            } else {
                let five = try ProgramPipe.writer(on: loop)
                theirs.append(five.theirs)
                upload = five.ours
            }
            (input, output, errors, events, body) = (
                zero.ours, one.ours, two.ours, three.ours, four.ours
            )
        } catch {
            throw FetchError(
                .plugin, .plugin, "no pipe for the program: \(error.sentence)",
                errnoName: error.name, remedy: error.remedy)
        }
        process = try ContainedProcess(
            folder: program.folder, words: program.words, environment: program.environment,
            limits: program.limits, descriptors: theirs)
        do throws(SystemError) {
            try loop.attach(process.endDescriptor)
        } catch {
            throw FetchError(.plugin, .plugin, error.sentence, errnoName: error.name)
        }
    }

    private func isOpen(_ pipe: ProgramPipe) -> Bool { !ended.contains(ObjectIdentifier(pipe)) }

    /// - Returns: What is there; empty for nothing.
    private func read(_ pipe: ProgramPipe) throws(FetchError) -> ArraySlice<UInt8> {
        guard isOpen(pipe) else { return [] }
        let read = piece.withUnsafeMutableBytes { buffer in
            Result { () throws(FetchError) in try pipe.receive(into: buffer) }
        }
        switch try read.get() {
        case .bytes(let count): return piece[..<count]
        case .wouldBlock: return []
        case .ended:
            ended.insert(ObjectIdentifier(pipe))
            return []
        }
    }

    /// What the program says. A head that it wrote before the body comes before it: the events are
    /// read once more when a piece of the body is there.
    ///
    /// - Returns: Whether there was anything.
    func handOut(
        _ onOutput: (ProgramOutput) async throws(FetchError) -> Void
    ) async throws(FetchError) -> Bool {
        var hasMoved = false
        let said = try read(errors)
        if !said.isEmpty {
            hasMoved = true
            try await onOutput(.diagnostics(said))
        }
        let content = Array(try read(body))
        while true {
            let told = try read(events)
            if told.isEmpty { break }
            hasMoved = true
            try await onOutput(.events(told))
        }
        if !content.isEmpty {
            hasMoved = true
            try await onOutput(.body(content[...]))
        }
        return hasMoved
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
        if !toServer.isEmpty { return true }
        guard !isAnswered, Instant.now >= dialMoment else { return false }
        return try process.reap() == nil
    }

    /// What the program writes for its server; without one, to nowhere.
    func readRequest() throws(FetchError) {
        guard toServer.isEmpty else { return }
        let bytes = try read(output)
        if program.transport != .none { toServer = Array(bytes) }
    }

    /// - Returns: What has gone out.
    func moveToServer() throws(FetchError) -> [UInt8] {
        guard let channel else { return [] }
        var sent: [UInt8] = []
        while !toServer.isEmpty {
            let written = toServer.withUnsafeBytes { bytes in
                Result { () throws(FetchError) in try channel.send(bytes) }
            }
            guard case .bytes(let count) = try written.get() else { break }
            sent += toServer.prefix(count)
            toServer.removeFirst(count)
        }
        if toServer.isEmpty && !isOpen(output) && !isServerTold {
            isServerTold = true
            channel.endSending()
        }
        return sent
    }

    /// - Returns: How many bytes came from the server.
    func moveToProgram() throws(FetchError) -> Int {
        guard let channel else { return 0 }
        var received = 0
        isHeldBack = channel.isPaced && input.hasUnread
        if toProgram.isEmpty && serverEnding == nil && !isHeldBack {
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
        try move(&toProgram, to: input, closesAtEnd: serverEnding != nil)
        return received
    }

    private func move(
        _ buffer: inout [UInt8], to pipe: ProgramPipe, closesAtEnd: Bool
    ) throws(FetchError) {
        while !buffer.isEmpty {
            let written = buffer.withUnsafeBytes { bytes in
                Result { () throws(FetchError) in try pipe.send(bytes) }
            }
            switch try written.get() {
            case .bytes(let count): buffer.removeFirst(count)
            case .wouldBlock: return
            // It reads no more.
            case nil: buffer = []
            }
        }
        if closesAtEnd { pipe.close() }
    }

    /// - Returns: Whether anything was read to be uploaded.
    func moveUpload() throws(FetchError) -> Bool {
        guard let pipe = upload, let next = program.upload?.next else { return false }
        var hasMoved = false
        if toUpload.isEmpty {
            let bytes = try next()
            guard !bytes.isEmpty else {
                pipe.close()
                upload = nil
                return false
            }
            toUpload = bytes
            hasMoved = true
        }
        let before = toUpload.count
        try move(&toUpload, to: pipe, closesAtEnd: false)
        return hasMoved || toUpload.count < before
    }

    /// Suspends until a step may do something again.
    func wait(by moment: Instant) async -> WaitResult {
        var all: [[Interest]?] = [
            [Interest(descriptor: process.endDescriptor, readiness: .readable)]
        ]
        for pipe in [errors, events, body] where isOpen(pipe) { all.append(pipe.interests()) }
        if toServer.isEmpty {
            if isOpen(output) { all.append(output.interests()) }
        } else if let channel {
            all.append(channel.interests(.writable))
        }
        if !toProgram.isEmpty {
            all.append(input.interests())
        } else if let channel, serverEnding == nil {
            all.append(channel.interests(.readable))
        }
        if !toUpload.isEmpty, let upload { all.append(upload.interests()) }
        // The end of a turn is no edge to wait for, and neither is what the program reads.
        let isTurnOver = all.contains { $0 == nil }
        let moment = isHeldBack ? min(moment, .after(seconds: Self.paceSeconds)) : moment
        let result = await loop.wait(
            for: isTurnOver ? [] : all.flatMap { $0 ?? [] }, by: isTurnOver ? .now : moment)
        return isTurnOver && result == .timedOut ? .ready : result
    }
}
