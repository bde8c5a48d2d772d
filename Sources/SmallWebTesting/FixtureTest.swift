// SPDX-License-Identifier: MIT
package import SmallWebCore
package import SmallWebTransport

/// Replays the fixtures of a plugin, a program's or a built-in one's.
package struct FixtureTest: Sendable {
    package struct Report: Sendable {
        package let name: String
        /// The play that failed, and lines that say how; `nil` when all passed.
        package var failure: (play: String, lines: [String])?
        /// The reason that its program cannot run at all.
        package var refusal: FetchError?
    }

    /// Limit of one play, and of one with a program that has begun late.
    private static let seconds = 5.0
    private static let patientSeconds = 15.0
    /// Silence of a server that is silent at the end, and of one that is cut after a datagram.
    private static let silenceSeconds = 0.5
    private static let cutSilenceSeconds = 0.2
    private static let patience = 8.0
    /// Offsets that are tried of a long reply.
    private static let offsetsMax = 16
    private static let parallelMax = 2

    private let plugin: any ProtocolHandler

    package init(plugin: any ProtocolHandler) { self.plugin = plugin }

    /// - Parameter onReport: Called in the order of the fixtures.
    /// - Throws: `plugin` when the program cannot run; errors of `onReport`.
    package func run(
        _ fixtures: [(name: String, text: [UInt8])], on loop: EventLoop,
        onReport: (Report) throws(FetchError) -> Void
    ) async throws(FetchError) {
        for start in stride(from: 0, to: fixtures.count, by: Self.parallelMax) {
            let some = fixtures[start..<min(start + Self.parallelMax, fixtures.count)]
            for report in await reports(some, on: loop) {
                if let refusal = report.refusal { throw refusal }
                try onReport(report)
            }
        }
    }

    private func reports(
        _ fixtures: ArraySlice<(name: String, text: [UInt8])>, on loop: EventLoop
    ) async -> [Report] {
        await withTaskGroup(of: (Int, Report).self) { group in
            for (index, fixture) in zip(fixtures.indices, fixtures) {
                group.addTask { (index, await report(fixture, on: loop)) }
            }
            var reports: [Int: Report] = [:]
            for await (index, report) in group { reports[index] = report }
            return fixtures.indices.compactMap { reports[$0] }
        }
    }

    private func report(
        _ fixture: (name: String, text: [UInt8]), on loop: EventLoop
    ) async -> Report {
        let wire: WireCase
        do throws(WireCase.Malformed) {
            wire = try WireCase(name: fixture.name, fixture.text)
        } catch {
            return Report(name: fixture.name, failure: ("cannot be read", [error.why]))
        }
        var report = Report(name: fixture.name)
        for play in plays(of: wire) {
            do throws(FetchError) {
                let lines = try await differences(wire, play, on: loop)
                if lines.isEmpty { continue }
                report.failure = (play.description, lines)
            } catch {
                report.refusal = error
            }
            break
        }
        return report
    }

    /// True if the plugin does what a fixture expects, however its reply comes.
    package func passes(_ name: String, _ text: [UInt8], on loop: EventLoop) async -> Bool {
        let report = await report((name, text), on: loop)
        return report.failure == nil && report.refusal == nil
    }

    private func keepsDatagrams(_ wire: WireCase) -> Bool {
        let scheme = URI.scheme(of: wire.url)
        return plugin.schemes.contains { $0.name == scheme && $0.transport == .udp }
    }

    private func plays(of wire: WireCase) -> [Play] {
        if keepsDatagrams(wire) {
            let count = wire.steps.count {
                if case .reply = $0 { true } else { false }
            }
            return [.whole] + (0..<count).map { .cut($0, .silence) }
        }
        let offsets = Self.offsets(in: wire.reply)
        return [.whole] + (wire.reply.count > 1 ? [.byteByByte] : [])
            + offsets.filter { $0 > 0 }.map { .split($0) }
            + offsets.enumerated().map { .cut($1, $0 % 2 == 0 ? .fin : .reset) }
    }

    /// All offsets of a short reply; otherwise some around its first ends of lines, and others.
    static func offsets(in reply: [UInt8]) -> [Int] {
        guard reply.count > offsetsMax else { return Array(reply.indices) }
        var offsets: Set<Int> = [0, 1, reply.count - 1]
        for index in reply.indices where reply[index] == ASCII.lineFeed {
            if offsets.count < offsetsMax / 2 { offsets.formUnion([index, index + 1]) }
        }
        let room = offsetsMax - offsets.count
        for number in 1...max(1, room) { offsets.insert(number * reply.count / (room + 1)) }
        return offsets.filter { $0 < reply.count }.sorted()
    }

    // MARK: One play

    /// - Returns: The differences as lines with the expected and the seen value; empty when they
    ///   agree.
    /// - Throws: The reason that the program cannot run.
    private func differences(
        _ wire: WireCase, _ play: Play, on loop: EventLoop
    ) async throws(FetchError) -> [String] {
        var seconds = Self.seconds
        var deadline = Instant.after(seconds: seconds)
        let known = plugin.options.map(\.key)
        if let option = wire.options.first(where: { !known.contains($0.name) }) {
            return ["the plugin has no option \(option.name)"]
        }
        var (played, said, server) = try await self.play(wire, play, by: deadline, on: loop)
        if played.error?.outcome == .timeout, server.awaited != nil, Instant.now < deadline {
            // On a slow or busy machine a program may begin after the silence is over.
            seconds = Self.patientSeconds
            deadline = .after(seconds: seconds)
            (played, said, server) = try await self.play(
                wire, play, by: deadline, on: loop, isPatient: true)
        }
        var comparison = Comparison(wire: wire, keepsDatagrams: keepsDatagrams(wire))
        if case .cut(let count, _) = play {
            comparison.checkCut(played, after: count)
        } else {
            comparison.checkWhole(played)
        }
        if played.error?.outcome == .timeout, Instant.now >= deadline {
            comparison.note("the program did not end within \(Int(seconds)) s")
        }
        guard !comparison.lines.isEmpty else { return [] }
        if played.error?.outcome == .timeout, let awaited = server.awaited {
            comparison.note(awaited)
        }
        let words = String(decoding: said.suffix(2000), as: UTF8.self)
        for line in words.split(separator: "\n").suffix(5) {
            comparison.note("the program said: \(line)")
        }
        return comparison.lines
    }

    /// The handler's events for a fixture, without a comparison.
    ///
    /// - Throws: The reason that the program cannot run.
    package func played(
        _ wire: WireCase, on loop: EventLoop
    ) async throws(FetchError) -> Played {
        try await play(wire, .whole, by: .after(seconds: Self.seconds), on: loop).played
    }

    private func play(
        _ wire: WireCase, _ play: Play, by deadline: Instant, on loop: EventLoop,
        isPatient: Bool = false
    ) async throws(FetchError) -> (played: Played, said: [UInt8], server: ScriptedServer) {
        let server = ScriptedServer(wire, play, keepsDatagrams: keepsDatagrams(wire))
        let dialer = ScriptedDialer(server, on: loop, by: deadline)
        var (played, said, order) = (Played(), [UInt8](), Event.Order())
        do throws(FetchError) {
            var request = try wire.prepared(for: plugin)
            request.limits.idleSeconds = wire.close == .silence ? Self.silenceSeconds : nil
            if case .cut(_, .silence) = play {
                request.limits.idleSeconds = Self.cutSilenceSeconds
            }
            if isPatient, let seconds = request.limits.idleSeconds {
                request.limits.idleSeconds = seconds * Self.patience
            }
            let completeness = try await plugin.fetch(request, dialer: dialer) {
                event async throws(FetchError) in
                try order.add(event)
                switch event {
                case .body(let bytes): played.body += bytes
                case .diagnostics(let bytes): said += bytes
                default:
                    if let line = eventLine(event, hasFacts: true) { played.events.append(line) }
                }
            }
            try order.end()
            played.completeness = completeness
        } catch {
            // A mistake of a running program is not an error of the system.
            if error.outcome == .plugin && error.errnoName != nil { throw error }
            played.error = error
        }
        played.sent = server.sent
        played.dialled = dialer.dialled
        return (played, said, server)
    }
}
