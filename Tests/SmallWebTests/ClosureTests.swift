// SPDX-License-Identifier: MIT
import SmallWeb
import SmallWebRecords
import SmallWebTestSupport
import Testing

/// Decisions of a program by closures, redirects and answers; and the events of a run.
@Suite(.timeLimit(.minutes(30)))
struct ClosureTests {
    private let bench: Bench
    private let server: LoopbackServer

    init() throws {
        bench = try Bench()
        server = try .capsule()
    }

    /// The three ways to fetch, all with the same closures: outcome, body and heads.
    private func everyWay(
        _ web: Client, _ url: String
    ) async throws -> [(outcome: Outcome, body: String, heads: Int?)] {
        let page = try await web.fetch(url)
        var (body, heads, ending) = ([UInt8](), 0, Ending?.none)
        for try await event in web.events(url) {
            switch event {
            case .head: heads += 1
            case .body(let bytes): body += bytes
            case .end(let end): ending = end
            default: break
            }
        }
        var results = [(page.outcome, page.text, Int?.none)]
        results.append((ending?.outcome ?? .internal, String(decoding: body, as: UTF8.self), heads))
        for try await result in web.run([url]) {
            results.append((try result.get().outcome, try result.get().text, nil))
        }
        return results
    }

    // MARK: Redirects

    @Test func aRedirectIsFollowedIfTheProgramSaysSo() async throws {
        let asked = Recorder<Ending.Redirect>()
        // At the first, at the second, at none.
        for allowed in 0...2 {
            let before = asked.values.count
            let web = try bench.web {
                $0.mayFollow = { redirect in
                    asked.add(redirect)
                    return asked.values.count - before <= allowed
                }
            }
            let page = try await web.fetch(server.url("/redirect/2"))
            #expect(page.outcome == (allowed == 2 ? .ok : .redirectRefused))
            #expect(page.ending.uri.path == ["/redirect/2", "/redirect/1", "/about"][allowed])
            #expect(asked.values.count - before == min(allowed + 1, 2))
        }
        #expect(asked.values.last?.from.path == "/redirect/1")
        #expect(asked.values.last?.to.path == "/about")
    }

    @Test func everyWayAsksForRedirects() async throws {
        for answer in [false, true] {
            let web = try bench.web { $0.mayFollow = { _ in answer } }
            for result in try await everyWay(web, server.url("/redirect/2")) {
                #expect(result.outcome == (answer ? .ok : .redirectRefused))
                #expect(result.heads ?? 1 == 1)
            }
        }
    }

    /// The policy comes first: the program is not asked about a redirect that it refuses.
    @Test func aRedirectThatThePolicyRefusesIsNoQuestion() async throws {
        let asked = Recorder<URI>()
        let web = try bench.web {
            $0.mayFollow = { redirect in
                asked.add(redirect.to)
                return true
            }
        }
        let strange = try LoopbackServer(tls: .make()) { peer in
            _ = peer.readLine()
            peer.write("30 gopher://127.0.0.1/\r\n")
        }
        #expect(try await web.fetch(strange.url("/")).outcome == .redirectRefused)
        #expect(asked.values.isEmpty)
        // Nor about one too many.
        let error = await #expect(throws: FetchError.self) {
            try await web.fetch(server.url("/redirect/9"))
        }
        #expect(error?.outcome == .tooManyRedirects && asked.values.count == 5)
    }

    // MARK: Answers

    @Test func aPromptIsAnswered() async throws {
        let prompts = Recorder<String>()
        let web = try bench.web {
            $0.answer = { ending in
                prompts.add(ending.head?.meta ?? "")
                return "a b"
            }
        }
        for result in try await everyWay(web, server.url("/input")) {
            #expect(result.outcome == .ok && result.body == "you said: a%20b\r\n")
            #expect(result.heads ?? 1 == 1)
        }
        #expect(prompts.values == .init(repeating: "What would you like to say?", count: 3))
        #expect(try await web.fetch(server.url("/about")).outcome == .ok)
        #expect(prompts.values.count == 3)
    }

    @Test func aPromptWithoutAnAnswerIsAPage() async throws {
        let web = try bench.web { $0.answer = { _ in nil } }
        for result in try await everyWay(web, server.url("/input")) {
            #expect(result.outcome == .needsInput)
            #expect(result.heads ?? 1 == 1)
        }
    }

    @Test func aServerThatAsksForEverIsAnsweredAsOftenAsRedirectsAreFollowed() async throws {
        let asking = try LoopbackServer(tls: .make()) { peer in
            _ = peer.readLine()
            peer.write("10 Again?\r\n")
        }
        let prompts = Recorder<Ending>()
        let web = try bench.web {
            $0.answer = { ending in
                prompts.add(ending)
                return "yes"
            }
        }
        #expect(try await web.fetch(asking.url("/")).outcome == .needsInput)
        #expect(prompts.values.count == 5)
    }

    @Test func aPromptForASecretIsAnswered() async throws {
        let web = try bench.web { $0.answer = { $0.head?.wantsSensitiveInput == true ? "s" : nil } }
        #expect(try await web.fetch(server.url("/sensitive")).outcome == .ok)
    }

    /// The steps are those of the hop with the answer, in their order.
    @Test func anAnswerHasItsOwnTimes() async throws {
        let web = try bench.web { $0.answer = { _ in "a" } }
        for try await event in web.events(server.url("/input")) {
            guard case .end(let ending) = event else { continue }
            let times = ending.timings
            let steps = [
                times.nameLookup, times.connect, times.appConnect, times.preTransfer,
                times.startTransfer, times.total,
            ].compactMap(\.self)
            #expect(steps.count == 6 && steps == steps.sorted(), "\(steps)")
        }
    }

    /// However it came to the request, and whoever looks: in an event, and in its record.
    @Test func aSecretThatIsTypedIsNotShown() async throws {
        let web = try bench.web { $0.answer = { _ in "hunter2" } }
        var given = RunRequest(server.url("/input"), input: "hunter2")
        given.isInputSecret = true
        var typed = try bench.web().request(server.url("/input"), input: "hunter2")
        typed.isInputSecret = true
        for events in [web.events(server.url("/sensitive")), try bench.web().events(typed)] {
            var shown: [String] = []
            for try await event in events {
                if case .sent(let bytes, _) = event {
                    shown.append(String(decoding: bytes, as: UTF8.self))
                }
            }
            #expect(shown.last == "***" && !shown.joined().contains("hunter2"), "\(shown)")
        }
        let open = try await bench.web().events(server.url("/input"), input: "a").reduce(into: "") {
            if case .sent(let bytes, _) = $1 { $0 += String(decoding: bytes, as: UTF8.self) }
        }
        #expect(open == server.url("/input?a") + "\r\n")
        for (web, asked) in [(web, RunRequest(server.url("/sensitive"))), (web, given)] {
            let lines = Recorder<String>()
            var options = RecordOptions()
            options.includesEvents = true
            let writer = RecordWriter(options: options) {
                lines.add(String(decoding: $0, as: UTF8.self))
            }
            _ = try await web.run([asked]).write(to: writer)
            let sent = lines.values.filter { $0.contains(#""type":"request""#) }.joined()
            #expect(sent.contains(#""raw":"***""#) && !sent.contains("hunter2"), "\(sent)")
        }
    }

    @Test func requestsOfHTTPAreEvents() async throws {
        let server = try LoopbackServer { peer in
            _ = peer.readHeader()
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        var sent: [String] = []
        for try await event in try bench.web().events(server.url("/a", scheme: "http")) {
            guard case .sent(let bytes, let method) = event else { continue }
            sent.append("\(method ?? "") \(String(decoding: bytes.prefix(15), as: UTF8.self))")
        }
        #expect(sent == ["GET GET /a HTTP/1.1"])
    }

    // MARK: A run

    @Test func everyStepOfARunIsAnEvent() async throws {
        let events = Recorder<String>()
        var options = RunOptions(retries: 1, retryDelay: .zero)
        options.onEvent = { event in
            switch event {
            case .started(let request, let attempt): events.add("\(request.url) \(attempt)")
            case .retrying(let request, let outcome, _): events.add("\(request.url) \(outcome)")
            case .ended(let request, let outcome, let bytes, let duration):
                #expect(duration >= .zero)
                events.add("\(request.url) \(outcome) \(bytes)")
            }
        }
        let closed = "nex://127.0.0.1:1/"
        let urls = [server.url("/1k"), closed, "nowhere://x/"]
        var count = 0
        for try await _ in try bench.web().run(urls, parallel: 3, options: options) { count += 1 }
        #expect(count == 3)
        let told = events.values
        #expect(told.filter { $0.hasPrefix(urls[0]) } == ["\(urls[0]) 1", "\(urls[0]) ok 1024"])
        #expect(
            told.filter { $0.hasPrefix(closed) } == [
                "\(closed) 1", "\(closed) connect", "\(closed) 2", "\(closed) connect 0",
            ])
        #expect(told.last { $0.hasPrefix(urls[2]) } == "\(urls[2]) unsupportedScheme 0")
    }
}
