// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
package import SmallWebCore

/// Runs programs: connects their descriptors to a server, and hands out their output.
///
/// One task does all of it in turns: the server's bytes go to the program, the program's bytes go
/// to the server, and its events come before its body.
package struct ProgramExchange: ProgramRunner {
    private let loop: EventLoop
    private let deadline: Instant
    private let network: any ProgramNetwork

    /// - Parameters:
    ///   - deadline: Deadline of the whole fetch.
    ///   - network: Opens the program's connections.
    package init(on loop: EventLoop, by deadline: Instant, network: some ProgramNetwork) {
        self.loop = loop
        self.deadline = deadline
        self.network = network
    }

    package func run(
        _ program: ProgramRequest, isAnswered: () -> Bool,
        onOutput: (ProgramOutput) async throws(FetchError) -> ProgramDemand
    ) async throws(FetchError) -> ProgramEnding {
        let ending: Result<ProgramEnding, FetchError>
        do throws(FetchError) {
            ending = .success(try await exchange(program, isAnswered, onOutput))
        } catch {
            ending = .failure(error)
        }
        await network.finish()
        return try ending.get()
    }

    private func exchange(
        _ program: ProgramRequest, _ isAnswered: () -> Bool,
        _ onOutput: (ProgramOutput) async throws(FetchError) -> ProgramDemand
    ) async throws(FetchError) -> ProgramEnding {
        // A closed pipe shall be an error of the write, as with sockets; see ``ProgramPipe``.
        swposix_ignore_pipe()
        let turns = try ProgramTurns(program, on: loop)
        defer { turns.end() }
        let first = turns.links[0]
        if program.isServerFirst && program.transport != .none {
            first.channel = try await network.dial(for: program)
        }
        var silence = silenceEnd(program)
        while true {
            if turns.ended != nil { turns.begin() }
            var hasMoved = try await turns.handOut(onOutput)
            if turns.isEnough { return try await turns.stop(onOutput) }
            if try turns.readRequests() {
                // Events that it wrote before these requests come first.
                if try await turns.handOutEvents(onOutput) { hasMoved = true }
                if turns.isEnough { return try await turns.stop(onOutput) }
            }
            for command in turns.takeCommands() {
                try await perform(command, program, turns)
                hasMoved = true
            }
            if try turns.wantsServer(isAnswered: isAnswered()) {
                first.channel = try await network.dial(for: program)
                hasMoved = true
            }
            var hasSent = false
            for (number, link) in turns.links.enumerated() {
                if let sent = try link.moveToServer() {
                    hasSent = true
                    // Datagrams can always be sent, even without a server.
                    if !link.keepsDatagrams { hasMoved = true }
                    try await network.noteSent(sent, over: number)
                }
                if let received = try turns.moveToProgram(link) {
                    if !link.isFetched { network.noteReceived(received) }
                    hasMoved = true
                }
            }
            try turns.moveAnswers()
            if try turns.moveUpload() { hasMoved = true }
            // After the program's end, only unsent data keeps the exchange going.
            if turns.ended == nil ? hasMoved : hasSent { silence = silenceEnd(program) }
            if hasMoved || hasSent { continue }
            if try turns.reap() {
                if turns.ended == .exited(0) { continue }
                repeat {
                    turns.begin()
                    if turns.isEnough { return try await turns.stop(onOutput) }
                } while try await turns.handOut(onOutput)
            }
            if let reason = turns.ended, reason != .exited(0) || turns.isAllSent {
                return turns.ending(reason)
            }
            let patience = min(deadline, silence)
            let moment = isAnswered() ? patience : min(patience, turns.dialMoment)
            if await turns.wait(by: moment) == .cancelled { throw .cancelled }
            // A turn may end before any bytes have moved.
            if Instant.now >= patience { throw .silence(.body) }
        }
    }

    /// Carries out a command of the program, and reports its result.
    private func perform(
        _ command: ProgramCommand, _ program: ProgramRequest, _ turns: ProgramTurns
    ) async throws(FetchError) {
        switch command {
        case .open(let number, let kind, let endpoint):
            let link = try turns.link(number, toOpenAs: kind)
            (link.isAsked, link.hasControl) = (true, turns.links[0].channel != nil)
            let address: String?
            do throws(FetchError) {
                (link.channel, address) = try await network.open(
                    number, kind, endpoint, for: program)
            } catch {
                return try refuse(link, number, error, turns)
            }
            link.isSecure = endpoint.security == .tls
            try turns.answer(number) { $0.member("address", address) }
        case .fetch(let number, let url):
            let link = try turns.link(number, toOpenAs: .tcp)
            (link.isAsked, link.isFetched) = (true, true)
            let fetched: FetchedReply
            do throws(FetchError) {
                fetched = try await network.fetch(url, for: program)
            } catch {
                return try refuse(link, number, error, turns)
            }
            do throws(FetchError) {
                link.channel = try fetched.body.get()
                try turns.answer(number) { $0.members(of: fetched) }
            } catch {
                try refuse(link, number, error, turns, fetched)
            }
        case .startTLS(let number):
            let (link, channel) = try turns.linkToSecure(number)
            guard link.isDrained, try isSilent(channel) else {
                throw FetchError(
                    .protocolError, .tls,
                    "the server sent more than its agreement to begin TLS")
            }
            let address: String?
            (link.channel, address) = try await network.secure(number, channel, for: program)
            link.isSecure = true
            try turns.answer(number) { $0.member("address", address) }
        }
    }

    /// - Throws: `error`, if the program takes no answers, or if it is not about a server.
    private func refuse(
        _ link: ProgramLink, _ number: Int, _ error: FetchError, _ turns: ProgramTurns,
        _ fetched: FetchedReply? = nil
    ) throws(FetchError) {
        link.refuse()
        guard turns.wantsAnswers, ![.interrupted, .plugin, .write].contains(error.outcome)
        else { throw error }
        try turns.answer(number, isOK: false) { writer in
            writer.member("outcome", error.outcome.rawValue)
            writer.member("message", error.message)
            if let fetched { writer.members(of: fetched) }
        }
    }

    /// True if there is no unread data.
    ///
    /// - Throws: `tls` when the server has closed the connection.
    private func isSilent(_ channel: any Carrier) throws(FetchError) -> Bool {
        var byte: UInt8 = 0
        let read = withUnsafeMutableBytes(of: &byte) { room in
            Result { () throws(FetchError) in try channel.receive(into: room) }
        }
        switch try read.get() {
        case .bytes: return false
        case .wouldBlock: return true
        case .ended: throw FetchError(.tls, .tls, "the server closed the connection")
        }
    }

    private func silenceEnd(_ program: ProgramRequest) -> Instant {
        .end(of: program.fetchLimits.idleSeconds)
    }
}
