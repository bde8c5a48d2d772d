// SPDX-License-Identifier: MIT
import SmallWeb
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
