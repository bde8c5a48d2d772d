// SPDX-License-Identifier: MIT
import Glibc
import SmallWeb
import SmallWebTestSupport
import Testing

/// Requests that are pushed into a run, and other controls of a run.
@Suite(.timeLimit(.minutes(30)))
struct RunQueueTests {
    private let bench: Bench
    private let web: Client

    init() throws {
        bench = try Bench()
        web = try bench.web()
    }

    /// A finger server that replies with the query.
    private func echo() throws -> LoopbackServer {
        try LoopbackServer { peer in
            guard let line = peer.readLine() else { return }
            peer.write(String(decoding: line.dropLast(2), as: UTF8.self))
        }
    }

    private func request(_ server: LoopbackServer, _ name: String) -> RunRequest {
        RunRequest(server.url("/\(name)", scheme: "finger"), tag: name)
    }

    @Test(arguments: [1, 8])
    func whatIsFoundIsFetchedInTheSameRun(_ parallel: Int) async throws {
        let server = try echo()
        let queue = RunQueue()
        try queue.push(request(server, "1"))
        var found: [String] = []
        for try await result in web.run(queue, parallel: parallel, options: .init(perHost: 8)) {
            let name = try result.get().text
            #expect(result.request.tag == name)
            found.append(name)
            // A tree of 63 pages, each with two links.
            guard let number = Int(name), number < 32 else { continue }
            for link in [2 * number, 2 * number + 1] { try queue.push(request(server, "\(link)")) }
        }
        #expect(Set(found) == Set((1..<64).map(String.init)))
        #expect(found.count == 63)
        let error = #expect(throws: FetchError.self) { try queue.push(request(server, "late")) }
        #expect(error?.outcome == .usage)
    }

    @Test func aQueueThatIsHeldOpenEndsWhenItIsTold() async throws {
        let server = try echo()
        let queue = RunQueue(holdsOpen: true)
        let iterator = web.run(queue).makeAsyncIterator()
        let reader = Task { () throws -> [String] in
            var all: [String] = []
            while let result = try await iterator.next() {
                all.append(try result.get().text)
                // The consumer waits with nothing under way, and the run goes on all the same.
                if all.count == 1 {
                    let (queue, second) = (queue, request(server, "b"))
                    Task.detached {
                        try queue.push(second)
                        queue.end()
                    }
                }
            }
            return all
        }
        try queue.push(request(server, "a"))
        #expect(try await reader.value == ["a", "b"])
    }

    @Test func anEmptyQueueIsAnEmptyRun() async throws {
        let iterator = web.run(RunQueue()).makeAsyncIterator()
        #expect(try await iterator.next() == nil)
    }

    @Test func cancellingARunThatWaitsForAPushEndsIt() async throws {
        let (web, queue) = (web, RunQueue(holdsOpen: true))
        let hasBegun = Locked(false)
        let task = Task { () -> FetchError? in
            do throws(FetchError) {
                hasBegun.withLock { $0 = true }
                for try await _ in web.run(queue) {}
                return nil
            } catch {
                return error
            }
        }
        try await eventually("the run has begun") { hasBegun.withLock { $0 } }
        task.cancel()
        #expect(await task.value?.outcome == .interrupted)
    }

    @Test func cancellingWithAThousandWaitingEndsAllOfThem() async throws {
        let server = try LoopbackServer { peer in peer.hang() }
        let queue = RunQueue()
        for number in 0..<1000 { try queue.push(request(server, "\(number)")) }
        let results = web.run(queue, parallel: 4, options: .init(perHost: 4))
        let end = try await cancelling(results) { server.clientSockets == 4 }
        #expect(end == .interrupted)
        #expect(server.clientSockets == 0)
        #expect(server.connections.count == 4)
    }

    @Test func twoRunsOfOneClientDoNotMeet() async throws {
        let server = try echo()
        let (web, names) = (web, (0..<50).map(String.init))
        let urls = names.map { server.url("/\($0)", scheme: "finger") }
        let runs = (0..<2).map { _ in
            Task { () throws -> [String] in
                var all: [String] = []
                for try await result in web.run(urls, parallel: 5) {
                    all.append(try result.get().text)
                }
                return all
            }
        }
        for run in runs { #expect(try await run.value == names) }
    }

    // MARK: Requests and options

    @Test func eachRequestHasItsOwnInputAndLimits() async throws {
        let server = try LoopbackServer { peer in
            guard let line = peer.readLine() else { return }
            let words = String(decoding: line, as: UTF8.self).split(separator: "\t")
            peer.write(words.last.map(String.init) ?? "")
        }
        let url = server.url("/7/search", scheme: "gopher")
        var large = RunRequest(url, input: "words")
        large.limits.bodyBytesMax = 3
        let results = try await collect(
            web.run([RunRequest(url, input: "one"), RunRequest(url, input: "two"), large]))
        #expect(try results.prefix(2).map { try $0.get().text } == ["one\r\n", "two\r\n"])
        guard case .failure(let error) = results[2].result else {
            Issue.record("the limit was not kept")
            return
        }
        #expect(error.outcome == .tooLarge)
    }

    @Test func inputAndUploadsThatASchemeDoesNotTakeAreResults() async throws {
        let server = try echo()
        let url = server.url("/x", scheme: "finger")
        var upload = RunRequest(url)
        upload.upload = .init(byteCount: 0, mediaType: "text/plain") { [] }
        for request in [RunRequest(url, input: "words"), upload] {
            let results = try await collect(web.run([request]))
            guard case .failure(let error) = try #require(results.first).result else {
                Issue.record("it was accepted")
                continue
            }
            #expect(error.outcome == .usage)
            #expect(results.first?.attempts == 0)
        }
    }

    @Test func afterTheDeadlineNothingStarts() async throws {
        let isOver = Monitor(false)
        let server = try LoopbackServer { peer in
            guard peer.readLine() != nil else { return }
            try? isOver.wait(for: "the deadline is over") { $0 ? () : nil }
            peer.write("x")
        }
        let names = ["a", "b", "c"]
        var options = RunOptions()
        options.deadline = .seconds(1)
        options.keepsOrder = false
        let requests = names.map { request(server, $0) }
        var outcomes: [String: Outcome] = [:]
        for try await result in web.run(requests, options: options) {
            // Requests that were not started end first: the server waits for them.
            outcomes[result.request.tag ?? ""] =
                switch result.result {
                case .success(let page): page.outcome
                case .failure(let error): error.outcome
                }
            if outcomes.count == 2 { isOver.update { $0 = true } }
        }
        #expect(outcomes == ["a": .ok, "b": .interrupted, "c": .interrupted])
    }

    @Test func severalThreadsFetchTheSame() async throws {
        let servers = try (0..<4).map { _ in try echo() }
        var options = RunOptions()
        options.loops = 3
        let requests = (0..<40).map { request(servers[$0 % 4], "\($0)") }
        let results = try await collect(web.run(requests, parallel: 8, options: options))
        #expect(try results.map { try $0.get().text } == (0..<40).map(String.init))
    }

    private func collect(_ results: Client.Results) async throws -> [FetchResult] {
        var all: [FetchResult] = []
        for try await result in results { all.append(result) }
        return all
    }
}
