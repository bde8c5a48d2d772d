// SPDX-License-Identifier: MIT
import Foundation
import Glibc
import SmallWebCore
import SmallWebTestSupport
import SmallWebTransport
import Testing

@testable import SmallWeb

/// A program's own.
private let handler: @convention(c) (Int32) -> Void = { _ in }

/// The library within a program, whose process is its own.
@Suite(.timeLimit(.minutes(30)))
struct ProcessStateTests {
    /// The state that a library shares with its program, by name.
    private static func state() -> [String: String] {
        var state: [String: String] = [:]
        for number in Int32(1)...64 {
            var action = sigaction()
            guard sigaction(number, nil, &action) == 0 else { continue }
            let handler = unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            state["signal \(number)"] = "\(handler) \(action.sa_flags)"
        }
        var mask = sigset_t()
        pthread_sigmask(SIG_SETMASK, nil, &mask)
        state["mask"] = (1...64).map { "\(sigismember(&mask, Int32($0)))" }.joined()
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        state["umask"] = status.split(separator: "\n").first { $0.hasPrefix("Umask") }
            .map(String.init)
        state["locale"] = setlocale(LC_ALL, nil).map { String(cString: $0) }
        state["directory"] = FileManager.default.currentDirectoryPath
        state["environment"] = "\(ProcessInfo.processInfo.environment.sorted { $0 < $1 })"
        for (name, kind) in [
            ("core", RLIMIT_CORE), ("files", RLIMIT_NOFILE), ("size", RLIMIT_FSIZE),
        ] {
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(kind.rawValue), &limit)
            state["limit \(name)"] = "\(limit.rlim_cur) \(limit.rlim_max)"
        }
        return state
    }

    /// In a process of its own, since tests share theirs.
    @Test func nothingOfTheProgramIsChanged() async {
        await #expect(processExitsWith: .success) {
            for number in [SIGALRM, SIGCHLD, SIGPIPE, SIGUSR1] { signal(number, handler) }
            let before = Self.state()
            #expect(before.count > 60)
            let bench = try Bench()
            try await Self.fetchAll(bench)
            try await Self.cancelARun(bench)
            try await Self.runAProgram(bench)
            let after = Self.state()
            for (name, value) in before where after[name] != value {
                Issue.record("\(name) was \(value) and is \(after[name] ?? "gone")")
            }
            exit(after == before ? 0 : 1)
        }
    }

    private static func fetchAll(_ bench: Bench) async throws {
        let web = try LoopbackServer(handler: DemoSites.web)
        let urls = [try LoopbackServer.capsule()].map { $0.url("/about") }
        for url in urls + [web.url("/about", scheme: "http")] {
            _ = try? await bench.web().fetch(url)
        }
    }

    private static func cancelARun(_ bench: Bench) async throws {
        let servers = try (0..<4).map { _ in try LoopbackServer { peer in peer.hang() } }
        var options = RunOptions()
        options.loops = 2
        let urls = servers.map { $0.url("/", scheme: "finger") }
        let results = try bench.web().run(urls, parallel: 4, options: options)
        let end = try await cancelling(results) { servers.allSatisfy { $0.clientSockets == 1 } }
        #expect(end == .interrupted)
    }

    /// One that does not read what is sent to it.
    @concurrent
    private static func runAProgram(_ bench: Bench) async throws {
        let server = try LoopbackServer { peer in
            for _ in 0..<100 { peer.write(String(repeating: "x", count: 10_000)) }
        }
        let fetcher = bench.fetcher()
        let request = try fetcher.request(server.url("/", scheme: "finger"))
        let loop = fetcher.loop
        let endpoint = try request.endpoint
        nonisolated(unsafe) let hop = Hop(fetcher, request.scheme, Limits(), by: .never) { _ in }
        let ending = try await withTaskExecutorPreference(loop) { () async throws(FetchError) in
            precondition(loop.isCurrent)
            let program = ProgramRequest(
                folder: bench.directory, words: ["/bin/sh", "-c", "exec <&-; sleep 0.1"],
                environment: [:],
                transport: .stream(endpoint), isServerFirst: true, fetchLimits: Limits())
            let runner = try NetworkDialer(hop: hop).runner()
            return try await runner.run(program, isAnswered: { true }) { _ in (false, []) }
        }
        #expect(ending.reason == .exited(0))
    }
}
