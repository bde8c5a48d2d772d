// SPDX-License-Identifier: MIT
import SmallWeb
import SmallWebTestSupport
import Testing

/// Keys that are kept elsewhere than in a file, and rules by scheme and host.
@Suite(.timeLimit(.minutes(30)))
struct KeeperTests {
    private let bench: Bench
    private let server: LoopbackServer
    private let database = Database()
    private var place: Endpoint {
        Endpoint(host: "127.0.0.1", port: server.port, security: .tls)
    }

    init() throws {
        bench = try Bench()
        server = try .capsule()
    }

    /// A table of keys, and the ways in which one can fail.
    private actor Database: TrustStore.Keeper {
        struct Own: Error {}

        var rows: [Endpoint: [TrustStore.Key]] = [:]
        var remembered = 0
        var fails = false
        var sleeps = false
        var refuses = false

        func set(_ change: @Sendable (isolated Database) -> Void) { change(self) }

        func keys(of endpoint: Endpoint) async throws -> [TrustStore.Key] {
            if fails { throw Own() }
            if sleeps { try await Task.sleep(for: .seconds(600)) }
            return rows[endpoint] ?? []
        }

        func remember(
            _ key: TrustStore.Key, of endpoint: Endpoint, replacing old: TrustStore.Key?
        ) throws -> Bool {
            remembered += 1
            let keys = rows[endpoint] ?? []
            guard !refuses, old.map(keys.contains) ?? keys.isEmpty else { return false }
            rows[endpoint] = keys.filter { $0 != old } + [key]
            return true
        }
    }

    private func web(
        _ policy: TrustStore.Policy? = nil, _ change: (inout TrustStore) -> Void = { _ in }
    ) throws -> Client {
        var store = TrustStore(keeper: database, policy: policy)
        change(&store)
        return try bench.web { $0.trust = store }
    }

    private func verdict(_ web: Client) async throws -> Connection.Trust.Verdict? {
        let page = try await web.fetch(server.url("/about"), limits: .patient)
        return page.ending.connection?.trust?.verdict
    }

    /// The outcome of a fetch that fails before a byte of its request is sent.
    private func outcome(_ web: Client, _ limits: Limits = .patient) async throws -> Outcome? {
        let error = await #expect(throws: FetchError.self) {
            try await web.fetch(server.url("/about"), limits: limits)
        }
        server.stop()
        #expect(server.requestLines.joined().isEmpty)
        return error?.outcome
    }

    private func know(_ key: TrustStore.Key) async {
        let place = place
        await database.set { $0.rows[place] = [key] }
    }

    private let other = TrustStore.Key(
        digest: "sha256:" + String(repeating: "a", count: 64), firstSeen: 1)

    @Test func aKeyIsRememberedAtTheFirstVisitAndKnownAfterwards() async throws {
        #expect(try await verdict(web()) == .firstUse)
        #expect(await database.rows[place]?.count == 1)
        #expect(try await verdict(web()) == .match)
        #expect(try await verdict(web(.locked)) == .match)
        #expect(await database.remembered == 1, "a visit on the same day changes nothing")
    }

    @Test func fetchesAtTheSameTimeRememberOneKey() async throws {
        let web = try web()
        let urls = (0..<16).map { _ in server.url("/about") }
        let options = RunOptions(perHost: 16)
        let results = web.run(urls, parallel: 16, options: options, limits: .patient)
        for try await result in results {
            #expect(try result.get().outcome == .ok)
        }
        #expect(await database.rows[place]?.count == 1)
    }

    @Test func anotherKeyIsRefusedAndTheKnownOneStays() async throws {
        await know(other)
        #expect(try await outcome(web()) == .trustChanged)
        #expect(await database.rows[place] == [other])
    }

    @Test func aKeyWhoseCertificateHasExpiredIsReplaced() async throws {
        var old = other
        old.expires = 2
        await know(old)
        #expect(try await verdict(web()) == .renewed)
        #expect(await database.rows[place]?.contains(old) == false)
        #expect(try await verdict(web()) == .match)
    }

    @Test func anUnknownKeyIsRefusedByALockedStore() async throws {
        #expect(try await outcome(web(.locked)) == .untrusted)
        #expect(await database.remembered == 0)
    }

    /// A key as it is kept, and in the forms of errors.
    @Test func aKeyIsTheSameInEachForm() {
        let hex = String(repeating: "a", count: 64)
        for (form, isOfCertificate) in [("", false), ("spki-", false), ("certificate-", true)] {
            let key = TrustStore.Key(digest: "\(form)sha256:\(hex)")
            #expect(key.digest == "sha256:" + hex && key.isOfCertificate == isOfCertificate)
            var changed = TrustStore.Key(digest: "")
            changed.digest = "\(form)sha256:\(hex)"
            #expect(changed == key)
            #expect((key == TrustStore.Key(digest: "sha256:" + hex)) == !isOfCertificate)
        }
    }

    /// The keys that an error names can be kept and compared as they are written there.
    @Test(arguments: [false, true])
    func theKeyOfAnErrorCanBeKept(_ ofCertificate: Bool) async throws {
        var known = other
        known.isOfCertificate = ofCertificate
        await know(known)
        let error = await #expect(throws: FetchError.self) {
            try await web().fetch(server.url("/about"), limits: .patient)
        }
        #expect(error?.outcome == .trustChanged)
        let (expected, actual) = (try #require(error?.expected), try #require(error?.actual))
        #expect(TrustStore.Key(digest: expected, firstSeen: 1) == known)
        await know(TrustStore.Key(digest: actual))
        #expect(try await verdict(web(.locked)) == .match)
    }

    @Test(arguments: [
        "", "sha256", "sha256:", "sha256:12", "md5:" + String(repeating: "a", count: 64),
    ])
    func aKeyThatCannotBeReadIsNotTrusted(_ digest: String) async throws {
        await know(TrustStore.Key(digest: digest, expires: 2))
        #expect(try await outcome(web()) == .untrusted)
        #expect(await database.remembered == 0)
    }

    @Test func aKeeperThatFailsEndsTheFetch() async throws {
        await database.set { $0.fails = true }
        #expect(try await outcome(web()) == .read)
    }

    @Test func aKeeperThatRemembersNothingEndsTheFetch() async throws {
        await database.set { $0.refuses = true }
        #expect(try await outcome(web()) == .write)
        #expect(await database.remembered < 20)
    }

    @Test func aKeeperThatSleepsIsCancelledWithTheConnection() async throws {
        await database.set { $0.sleeps = true }
        #expect(try await outcome(web(), Limits(connect: .milliseconds(300))) == .timeout)
    }

    @Test func cancellingAFetchCancelsItsKeeper() async throws {
        await database.set { $0.sleeps = true }
        let (web, url) = (try web(), server.url("/about"))
        let task = Task { try await web.fetch(url).outcome }
        task.cancel()
        let error = await #expect(throws: FetchError.self) { try await task.value }
        #expect(error?.outcome == .interrupted)
    }

    @Test(arguments: [false, true])
    func aQuestionHasTheServerAndBothKeys(_ answer: Bool) async throws {
        await know(other)
        let questions = Recorder<TrustStore.Question>()
        let web = try web(.ask) { store in
            store.asker = { question in
                questions.add(question)
                return answer ? .always : .no
            }
        }
        let result = try? await verdict(web)
        #expect(result == (answer ? .changed : nil))
        let question = try #require(questions.values.first)
        #expect(questions.values.count == 1)
        #expect(question.endpoint == place && question.known == [other])
        #expect(question.error.outcome == .trustChanged && !question.message.isEmpty)
        let keys = await database.rows[place]?.map(\.digest)
        #expect(keys == [answer ? question.presented.digest : other.digest])
    }

    /// The same question of a file.
    @Test func aQuestionOfAFileHasItsKeys() async throws {
        let questions = Recorder<TrustStore.Question>()
        var store = TrustStore(path: bench.storePath, policy: .ask)
        store.asker = { question in
            questions.add(question)
            return true
        }
        let web = try bench.web { $0.trust = store }
        #expect(try await verdict(web) == .firstUse)
        #expect(questions.values.first?.known == [])
        #expect(questions.values.first?.endpoint == place)
        let known = try store.pins(of: place.description).map { $0.digest }
        #expect(known == [questions.values.first?.presented.digest])
    }

    // MARK: Rules

    /// A policy by scheme and host, over that of the store.
    @Test func aRuleIsForItsSchemeAndHostAlone() async throws {
        let secure = try LoopbackServer(tls: .make(), handler: DemoSites.gopher)
        let urls = [server.url("/about"), secure.url("/0/about.txt", scheme: "gophers")]
        let asked = Recorder<String>()
        let web = try web(.locked) { store in
            store.policies = { scheme, endpoint in
                asked.add("\(scheme) \(endpoint)")
                return scheme == "gophers" ? .skip : nil
            }
        }
        await #expect(throws: FetchError.self) { try await web.fetch(urls[0]) }
        let page = try await web.fetch(urls[1])
        #expect(page.ending.connection?.trust?.verdict == .skipped)
        #expect(
            Set(asked.values) == ["gemini \(place)", "gophers 127.0.0.1:\(secure.port)"])
    }

    /// Without TLS there is no key to ask for; with it, libcurl cannot ask.
    @Test func policiesOfKeysAreNoQuestionOfPlainHTTP() async throws {
        let site = try LoopbackServer(handler: DemoSites.web)
        for (policy, isAllowed) in [
            (TrustStore.Policy.ask, true), (.tofu, true), (.skip, true), (.both, false),
            (.locked, false),
        ] {
            let page = try? await web(policy).fetch(site.url("/about", scheme: "http"))
            #expect((page?.outcome == .ok) == isAllowed, "\(policy)")
            let error = await #expect(throws: FetchError.self) {
                try await web(policy).fetch("https://127.0.0.1:1/")
            }
            #expect(error?.outcome == (policy == .skip ? .connect : .usage), "\(policy)")
        }
        let ruled = try web(.ask) { store in
            store.policies = { scheme, _ in scheme == "https" ? .ca : nil }
        }
        let error = await #expect(throws: FetchError.self) {
            try await ruled.fetch("https://127.0.0.1:1/")
        }
        #expect(error?.outcome == .connect)
    }
}
