// SPDX-License-Identifier: MIT
import Glibc
import SmallWebCore
import SmallWebTestSupport
import Testing

@testable import SmallWebTransport

/// A state of a connection in which the peer can leave us waiting for ever.
enum Stage: CaseIterable, Sendable {
    case connecting, handshaking, reading, writing, readingTLS, writingTLS

    var isTLS: Bool { [.handshaking, .readingTLS, .writingTLS].contains(self) }
}

/// A peer that lets a client come as far as a stage.
private struct Trap {
    let stage: Stage
    private let silent: SilentPort?
    private let server: LoopbackServer?

    init(_ stage: Stage) throws {
        self.stage = stage
        silent = stage == .connecting ? try SilentPort() : nil
        server =
            stage == .connecting
            ? nil
            : try LoopbackServer(
                tls: [.readingTLS, .writingTLS].contains(stage) ? .shared : nil
            ) { $0.hangWithoutReading() }
    }

    var port: UInt16 { silent?.port ?? server?.port ?? 0 }
    var clientSockets: Int { silent?.clientSockets ?? server?.clientSockets ?? 0 }

    /// Blocks until the client has come, as far as that can be seen.
    func waitForClient() throws { try server?.waitForClient() }

    /// Goes into the trap, and comes out by an error alone.
    func enter(
        _ loop: EventLoop, connect: Instant, idle: Double?, deadline: Instant
    ) async -> FetchError? {
        return await failure { () async throws(FetchError) in
            let stream = try await stream(
                to: port, stage.isTLS ? .tls : .none, on: loop, connect: connect, idle: idle,
                deadline: deadline)
            switch stage {
            case .writing, .writingTLS:
                while true { try await stream.writeAll(DemoSites.block) }
            default: _ = try await stream.readSome()
            }
        }
    }
}

@Suite(.timeLimit(.minutes(30)))
struct InterruptionTests {
    @Test(arguments: Stage.allCases)
    func theDeadlineOfTheFetchEndsEveryStage(_ stage: Stage) async throws {
        let trap = try Trap(stage)
        let error = try await onLoop { loop in
            await trap.enter(loop, connect: .never, idle: nil, deadline: .after(seconds: 0.1))
        }
        #expect(error?.outcome == .timeout)
        #expect(trap.clientSockets == 0)
    }

    @Test(arguments: Stage.allCases)
    func theNearerLimitEndsEveryStage(_ stage: Stage) async throws {
        let trap = try Trap(stage)
        let isSetUp = [.connecting, .handshaking].contains(stage)
        let phase: FetchError.Phase =
            switch stage {
            case .connecting: .connect
            case .handshaking: .tls
            case .reading, .readingTLS: .body
            case .writing, .writingTLS: .send
            }
        // On a busy machine the first limit may be over before that stage.
        for seconds in [0.05, 1, 20] {
            let error = try await onLoop { loop in
                await trap.enter(
                    loop, connect: .after(seconds: isSetUp ? seconds : 100), idle: seconds,
                    deadline: .after(seconds: 200))
            }
            #expect(error?.outcome == .timeout)
            #expect(trap.clientSockets == 0)
            if error?.phase != phase && seconds < 20 { continue }
            #expect(error?.phase == phase)
            return
        }
    }

    @Test(arguments: Stage.allCases)
    func cancellationEndsEveryStageAndLeaksNothing(_ stage: Stage) async throws {
        let trap = try Trap(stage)
        let error = try await onLoop { loop in
            let task = Task(executorPreference: loop) {
                await trap.enter(loop, connect: .never, idle: nil, deadline: .after(seconds: 30))
            }
            // From a thread of its own: the loop is not to be blocked.
            try onThread {
                try? trap.waitForClient()
                task.cancel()
            }
            return await task.value
        }
        #expect(error?.outcome == .interrupted)
        #expect(trap.clientSockets == 0)
    }

    @Test(arguments: Layer.allCases)
    func aServerThatNeverStopsSendingMeetsTheDeadline(_ layer: Layer) async throws {
        let server = try layer.server { while $0.write(DemoSites.block) {} }
        var seconds = 0.2
        var bytes = 0
        // On a busy machine the first deadline may be over before anything has come.
        while bytes == 0 && seconds < 60 {
            let deadline = seconds
            let error: FetchError?
            (error, bytes) = try await onLoop { loop in
                var bytes = 0
                let error = await failure { () async throws(FetchError) in
                    let stream = try await layer.stream(
                        to: server, on: loop, connect: .never,
                        deadline: .after(seconds: deadline))
                    while bytes < 64 << 30 { bytes += try await stream.readSome().count }
                }
                return (error, bytes)
            }
            #expect(error?.outcome == .timeout)
            seconds *= 2
        }
        #expect(bytes > 0)
    }

    @Test(arguments: Layer.allCases)
    func aServerThatNeverStopsSendingCanBeCancelled(_ layer: Layer) async throws {
        let server = try layer.server { while $0.write(DemoSites.block) {} }
        let error = try await onLoop { loop in
            let task = Task(executorPreference: loop) {
                return await failure { () async throws(FetchError) in
                    let stream = try await layer.stream(to: server, on: loop)
                    while stream.bytesReceived < 4 << 30 { _ = try await stream.readSome() }
                }
            }
            try onThread {
                try? server.waitForClient()
                task.cancel()
            }
            return await task.value
        }
        #expect(error?.outcome == .interrupted)
        #expect(server.clientSockets == 0)
    }

    @Test func aServerThatNeverStopsSendingLeavesTurnsToOthers() async throws {
        let endless = try LoopbackServer { while $0.write(DemoSites.block) {} }
        let quick = try LoopbackServer { $0.write("quick\n") }
        try await onLoop { loop in
            let greedy = Task(executorPreference: loop) {
                return await failure { () async throws(FetchError) in
                    let stream = try await stream(to: endless.port, on: loop)
                    while stream.bytesReceived < 4 << 30 { _ = try await stream.readSome() }
                }
            }
            let other = try await stream(to: quick.port, on: loop)
            #expect(try await other.readLine(upTo: 10).count == 6)
            greedy.cancel()
            #expect(await greedy.value?.outcome == .interrupted)
        }
    }

    /// The other tests here trust this count.
    @Test func anOpenSocketIsCountedUntilItIsClosed() async throws {
        let server = try LoopbackServer { $0.hang() }
        try await onLoop { loop in
            let stream = try await stream(to: server.port, on: loop)
            #expect(server.clientSockets == 1)
            stream.close()
            #expect(server.clientSockets == 0)
        }
    }

    /// There is always more to read, so the socket never makes the reader wait.
    @Test(arguments: [false, true])
    func aConsumerSlowerThanItsServerIsInterruptedToo(_ isCancelled: Bool) async throws {
        let error = try await onLoop { loop in
            let (ours, theirs) = try socketPair()
            try onThread {
                blockBrokenPipeSignal()
                while write(theirs, DemoSites.block, DemoSites.block.count) > 0 {}
                close(theirs)
            }
            let task = Task(executorPreference: loop) {
                await failure { () async throws(FetchError) in
                    let stream = try await adopt(
                        ours, on: loop, deadline: .after(seconds: isCancelled ? 30 : 0.05))
                    while stream.bytesReceived < 64 << 20 {
                        _ = try await stream.readSome()
                        usleep(1000)
                    }
                }
            }
            if isCancelled { task.cancel() }
            return await task.value
        }
        #expect(error?.outcome == (isCancelled ? .interrupted : .timeout))
    }
}
