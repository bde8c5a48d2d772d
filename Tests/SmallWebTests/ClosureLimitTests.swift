// SPDX-License-Identifier: MIT
import Glibc
import SmallWeb
import SmallWebTestSupport
import Testing

/// Closures of a program that wait, block, or answer when nobody asks any more.
@Suite(.timeLimit(.minutes(30)))
struct ClosureLimitTests {
    private let bench: Bench
    private let server: LoopbackServer

    init() throws {
        bench = try Bench()
        server = try .capsule()
    }

    /// The end of a fetch whose closure has not answered.
    enum End: CaseIterable, Sendable { case limit, cancel }

    private static let all = Closure.allCases.flatMap { closure in
        End.allCases.flatMap { end in Rest.allCases.map { (closure, end, $0) } }
    }

    @Test(arguments: all)
    func aClosureThatDoesNotAnswerEndsWithItsFetch(
        _ closure: Closure, _ end: End, _ rest: Rest
    ) async throws {
        let plain = try LoopbackServer { $0.write("y") }
        let (asked, answered, isFreed) = (Monitor(0), Monitor(0), Monitor(false))
        let web = try bench.web { options in
            closure.set(in: &options, bench.storePath) {
                asked.update { $0 += 1 }
                await rest.take(isFreed)
                answered.update { $0 += 1 }
            }
        }
        let url = server.url(closure.path)
        switch end {
        case .limit:
            // A busy machine may need longer until it is asked.
            for seconds in [0.2, 2, 20] {
                let error = await #expect(throws: FetchError.self) {
                    try await web.fetch(url, limits: closure.limits(seconds))
                }
                #expect(error?.outcome == .timeout && error?.url == url)
                if asked.update({ $0 }) > 0 { break }
            }
        case .cancel:
            let task = Task { try await web.fetch(url, limits: .patient) }
            try await eventually("it is asked") { asked.update { $0 } == 1 }
            #expect(try await web.fetch(plain.url("/", scheme: "finger")).text == "y")
            task.cancel()
            let error = await #expect(throws: FetchError.self) { _ = try await task.value }
            #expect(error?.outcome == .interrupted)
        }
        #expect(server.clientSockets == 0)
        let count = asked.update { $0 }
        #expect(count > 0)
        // A yes that comes late has no effect.
        isFreed.update { $0 = true }
        try await eventually("it has answered") { answered.update { $0 } == count }
        #expect(try await web.fetch(plain.url("/", scheme: "finger")).text == "y")
        #expect(try TrustStore(path: bench.storePath).hosts().pins.isEmpty == closure.isOfTrust)
        let lines = Set(server.requestLines).subtracting([""])
        #expect(lines.isSubset(of: closure.isOfTrust ? [] : [url]))
    }

    /// In a process of its own, since all tests share few threads.
    @Test func aThreadThatAClosureBlocksIsNotWaitedFor() async {
        await #expect(processExitsWith: .success) {
            let server = try LoopbackServer.capsule()
            let plain = try LoopbackServer { $0.write("y") }
            for closure in Closure.allCases {
                let (isAsked, hasEnded) = (Monitor(false), Monitor(false))
                let isFreed = Monitor(false)
                let bench = try Bench()
                let web = try bench.web { options in
                    closure.set(in: &options, bench.storePath) {
                        isAsked.update { $0 = true }
                        while !isFreed.update({ $0 }) { usleep(1000) }
                        hasEnded.update { $0 = true }
                    }
                }
                for seconds in [0.3, 3, 30] where !isAsked.update({ $0 }) {
                    let error = await #expect(throws: FetchError.self) {
                        try await web.fetch(
                            server.url(closure.path), limits: closure.limits(seconds))
                    }
                    if error?.outcome != .timeout { exit(1) }
                }
                let page = try await web.fetch(plain.url("/", scheme: "finger"))
                let isLeft = isAsked.update { $0 } && !hasEnded.update { $0 }
                isFreed.update { $0 = true }
                if !isLeft || page.text != "y" { exit(1) }
            }
            exit(0)
        }
    }

    /// An answer in time counts, wherever the closure has been.
    @Test(arguments: Closure.allCases, Excursion.allCases)
    func anAnswerInTimeCounts(_ closure: Closure, _ excursion: Excursion) async throws {
        let web = try bench.web { options in
            closure.set(in: &options, bench.storePath) {
                do throws(FetchError) {
                    try await excursion.take { await Task.yield() }
                } catch {}
            }
        }
        let urls = (0..<8).map { _ in server.url(closure.path) }
        for try await result in web.run(urls, parallel: 8, limits: .patient) {
            #expect(try result.get().outcome == .ok)
        }
    }

    /// The asker of this package is called on the loop.
    @Test(arguments: [false, true])
    func anAskerIsOnTheLoopIfItIsOurs(_ isOurs: Bool) async throws {
        let (loop, places) = (bench.loop, Recorder<Bool>())
        var store = TrustStore(path: bench.storePath, policy: .ask)
        store.asksOnLoop = isOurs
        store.asker = { _ in
            places.add(loop.isCurrent)
            return true
        }
        let played = await bench.play(server.url("/about"), options: { $0.trustStore = store })
        #expect(played.outcome == .ok && places.values == [isOurs])
    }
}

/// A closure of a program, each with a page that needs it.
enum Closure: CaseIterable, Sendable {
    case asker, keeper, mayFollow, answer

    private struct Keeper: TrustStore.Keeper {
        let wait: @Sendable () async -> Void

        func keys(of endpoint: Endpoint) async -> [TrustStore.Key] {
            await wait()
            return []
        }

        func remember(_: TrustStore.Key, of: Endpoint, replacing: TrustStore.Key?) -> Bool { true }
    }

    var isOfTrust: Bool { self == .asker || self == .keeper }

    var path: String {
        switch self {
        case .asker, .keeper: "/about"
        case .mayFollow: "/redirect/1"
        case .answer: "/input"
        }
    }

    /// A keeper has the time to connect in.
    func limits(_ seconds: Double) -> Limits {
        self == .keeper ? Limits(connect: .seconds(seconds)) : Limits(total: .seconds(seconds))
    }

    /// Has the closure wait, and then say yes.
    func set(
        in options: inout Client.Options, _ path: String,
        _ wait: @escaping @Sendable () async -> Void
    ) {
        switch self {
        case .asker:
            var store = TrustStore(path: path, policy: .ask)
            store.asker = { _ in
                await wait()
                return true
            }
            options.trust = store
        case .keeper: options.trust = TrustStore(keeper: Keeper(wait: wait))
        case .mayFollow:
            options.mayFollow = { _ in
                await wait()
                return true
            }
        case .answer:
            options.answer = { _ in
                await wait()
                return "x"
            }
        }
    }
}
