// SPDX-License-Identifier: MIT
import SmallWeb
import SmallWebPlugins
import SmallWebTesting
import SmallWebTestSupport
import Testing

/// A part of a request is sent, or the request is refused before anything is: for each scheme.
@Suite struct RequestCheckTests {
    private struct Part: Sendable, CustomTestStringConvertible {
        let name: String
        let change: @Sendable (inout Request) throws -> Void
        /// True for a scheme that has the part.
        let isOf: @Sendable (Scheme) -> Bool
        /// Text that the part leaves in what is sent, if any of it is sent at first.
        var mark: String?
        var testDescription: String { name }

        init(
            _ name: String, of isOf: @escaping @Sendable (Scheme) -> Bool = { _ in false },
            mark: String? = nil, _ change: @escaping @Sendable (inout Request) throws -> Void
        ) {
            (self.name, self.isOf, self.mark, self.change) = (name, isOf, mark, change)
        }
    }

    private static let parts = [
        Part("input", of: { $0.input != nil }, mark: "w0rds") { $0.input = Array("w0rds".utf8) },
        Part("upload", of: { $0.uploads != nil }, mark: "upl0ad") {
            $0.upload = .init("upl0ad".utf8)
        },
        Part("rest", of: \.canResume, mark: "bytes=5-") { $0.resumeOffset = 5 },
        Part("references", of: \.hasReferences) { $0.referencePatterns = ["v*"] },
        Part("unknown option") { $0.options["headers"] = .list(["X-Key: 1"]) },
        Part("length of an upload", of: { _ in false }) {
            $0.upload = .init(byteCount: -1, mediaType: "") { [] }
        },
        Part("offset") { $0.resumeOffset = -1 },
        Part("state of other bytes") { ($0.resumeOffset, $0.bodyState) = (5, "\"etag\"") },
        Part("limit of the body") { $0.limits.bodyBytesMax = -1 },
        Part("limit of a line") { $0.limits.lineBytesMax = 0 },
        Part("limit of memory") { $0.limits.heldBytesMax = -1 },
        Part("URL of another scheme") {
            let other = $0.scheme.name == "nex" ? "finger" : "nex"
            $0.uri = try URI(parsing: "\(other)://127.0.0.1:1/")
        },
    ]

    private static func url(_ scheme: Scheme) -> String {
        let path = scheme.readsMenus ? "7/s" : scheme.hasReferences ? "r.git" : "a"
        return "\(scheme.name)://127.0.0.1:1/\(path)"
    }

    /// The bytes that a request sends at first, or the error.
    private func sent(_ request: Request, _ web: Client) async -> Result<[UInt8], FetchError> {
        await withTaskExecutorPreference(web.fetcher.loop) {
            do throws(FetchError) {
                return .success(try await web.fetcher.rehearse(request).request)
            } catch {
                return .failure(error)
            }
        }
    }

    @Test(arguments: Registry.builtIn.schemes.map(\.name), parts)
    private func aPartIsSentOrRefused(_ name: String, _ part: Part) async throws {
        let web = try Bench().web()
        let scheme = try #require(web.plugins[name]?.scheme)
        var request = try web.request(Self.url(scheme))
        try part.change(&request)
        switch await sent(request, web) {
        case .success(let bytes):
            #expect(part.isOf(scheme))
            guard let mark = part.mark else { return }
            #expect(String(decoding: bytes, as: UTF8.self).contains(mark), "\(mark): \(bytes)")
        case .failure(let error):
            // An upload is all that some are for.
            #expect(
                !part.isOf(scheme) || scheme.uploads?.isOnlyUse ?? false && part.name != "upload")
            #expect(error.outcome == .usage && !error.message.isEmpty, "\(error)")
        }
    }

    @Test(arguments: Registry.builtIn.schemes.map(\.name))
    func anOptionIsSentOrRefused(_ name: String) async throws {
        let web = try Bench().web()
        let entry = try #require(web.plugins[name])
        let known = entry.handler.options(of: name)
        let all = web.plugins.handlers.flatMap(\.options)
        #expect(all.count > 20)
        let values: [Request.Options.Value] = [
            .flag(true), .text("a/b"), .list(["X-Mark: m4rk"]), .secret([0x6D]),
        ]
        for option in all {
            for value in values {
                var request = try web.request(Self.url(entry.scheme))
                if entry.scheme.uploads?.isOnlyUse ?? false { request.upload = .init([1]) }
                let plain = await sent(request, web)
                request.options[option.key] = value
                let result = await sent(request, web)
                let own = known.first { $0.key == option.key }
                let isKind =
                    switch (own?.kind, value) {
                    case (.flag?, .flag), (.text?, .text), (.list?, .list), (.secret?, .secret):
                        true
                    default: false
                    }
                let what = "\(option.key) = \(value): \(result)"
                if isKind, let bytes = try? result.get() {
                    // References are asked for by a later request.
                    #expect(own?.purpose == .references || (try? plain.get()) != bytes, "\(what)")
                } else {
                    guard case .failure(let error) = result else {
                        Issue.record("\(what)")
                        continue
                    }
                    #expect(error.outcome == .usage, "\(what)")
                }
            }
        }
    }

    /// A header field, a method: the check of the command line's option, with its words.
    @Test func aValueIsCheckedAsThatOfTheCommandLine() async throws {
        let web = try Bench().web()
        for (key, value) in [
            ("header", Request.Options.Value.list(["no field"])), ("request", .text("A B")),
        ] {
            var request = try web.request("http://127.0.0.1:1/")
            request.options[key] = value
            let error = await #expect(throws: FetchError.self) { try await web.fetch(request) }
            #expect(error?.outcome == .usage)
        }
        var typo = try web.request("http://127.0.0.1:1/")
        typo.options["headers"] = .list([])
        let error = await #expect(throws: FetchError.self) { try await web.fetch(typo) }
        #expect(error?.hint == "did you mean \"header\"?")
    }

    /// A request of another client, with schemes and plugins of its own.
    @Test func aRequestIsCheckedByTheClientThatFetchesIt() async throws {
        let bench = try Bench()
        let request = try bench.web().request("nex://127.0.0.1:1/")
        let gemini = try bench.web { $0.schemes = ["gemini"] }
        let none = try bench.web(plugins: Registry())
        for web in [gemini, none] {
            let error = await #expect(throws: FetchError.self) { try await web.fetch(request) }
            #expect(error?.outcome == .unsupportedScheme)
        }
        let forged = Scheme("nex", plugin: "nex", port: 1900, transport: .tcp, summary: "") {
            $0.input = .body
        }
        let other = Request(uri: request.uri, scheme: forged, input: [1])
        let error = await #expect(throws: FetchError.self) {
            try await bench.web().fetch(other)
        }
        #expect(error?.outcome == .usage)
    }

    /// Page, events and many.
    @Test func everyDoorRefuses() async throws {
        let server = try LoopbackServer(handler: DemoSites.nex)
        let web = try Bench().web()
        let url = server.url("/about.txt", scheme: "nex")
        var asked = RunRequest(url)
        asked.options["token"] = .secret([1])
        var request = try web.request(url)
        request.options = asked.options

        var error = await #expect(throws: FetchError.self) { try await web.fetch(request) }
        #expect(error?.outcome == .usage)
        error = await #expect(throws: FetchError.self) {
            for try await _ in web.events(request) {}
        }
        #expect(error?.outcome == .usage)
        for try await result in web.run([asked], options: RunOptions(retries: 2)) {
            #expect(result.attempts == 0)
            error = #expect(throws: FetchError.self) { try result.get() }
            #expect(error?.outcome == .usage)
        }
        server.stop()
        #expect(server.connections.isEmpty)
    }
}
