// SPDX-License-Identifier: MIT
import Glibc
import SmallWeb
import SmallWebTesting
import SmallWebPlugins
import SmallWebTestSupport
import SmallWebTransport

/// A fetcher with the real plugins, an event loop and a trust store of its own, for one test.
final class Bench: Sendable {
    let directory: String
    private let thread: LoopThread
    var loop: EventLoop { thread.loop }
    /// The certificate of nobody's authority: a machine may have none.
    private static let authority = TestCertificate.make().certificatePEM
    private var authorityFile: String { "\(directory)/authority.pem" }

    init() throws {
        var template = Array("/tmp/smallweb-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemError(number: errno) }
        directory = String(decoding: template.dropLast().map(UInt8.init), as: UTF8.self)
        thread = try LoopThread()
        guard let file = fopen(authorityFile, "we") else { throw SystemError(number: errno) }
        fputs(Self.authority, file)
        fclose(file)
    }

    deinit {
        thread.end()
        for name in ["known_hosts", "link", "store/known_hosts", "authority.pem"] {
            unlink("\(directory)/\(name)")
        }
        rmdir("\(directory)/store")
        rmdir(directory)
    }

    var storePath: String { "\(directory)/known_hosts" }

    func fetcher(
        store: String? = nil, _ change: (inout Fetcher.Options) -> Void = { _ in }
    ) -> Fetcher {
        var options = Fetcher.Options(
            trustStore: TrustStore(path: store ?? storePath))
        options.http.authorityFile = authorityFile
        change(&options)
        return Fetcher(registry: .builtIn, options: options, loop: loop)
    }

    /// The front door, with this bench's trust store.
    func web(
        plugins: Registry = .builtIn, _ change: (inout Client.Options) -> Void = { _ in }
    ) throws -> Client {
        var options = Client.Options()
        options.trust = TrustStore(path: storePath)
        options.http.authorityFile = authorityFile
        change(&options)
        return try Client(plugins: plugins, options: options)
    }

    /// A whole fetch, whatever its end.
    func play(
        _ url: String, store: String? = nil, request change: (inout Request) -> Void = { _ in },
        options: (inout Fetcher.Options) -> Void = { _ in }
    ) async -> Played {
        let fetcher = fetcher(store: store, options)
        let events = Recorder<Event>()
        do throws(FetchError) {
            var request = try fetcher.request(url)
            request.limits = .patient
            change(&request)
            let ending = try await fetcher.run(request) { event throws(FetchError) in
                events.add(event)
            }
            return Played(events: events.values, result: .success(ending))
        } catch {
            return Played(events: events.values, result: .failure(error))
        }
    }
}

/// The result of a fetch.
struct Played: Sendable {
    let events: [Event]
    let result: Result<Ending, FetchError>

    var ending: Ending? { try? result.get() }
    var error: FetchError? { if case .failure(let error) = result { error } else { nil } }
    var outcome: Outcome? { ending?.outcome ?? error?.outcome }

    var body: [UInt8] {
        events.flatMap { if case .body(let bytes) = $0 { Array(bytes) } else { [UInt8]() } }
    }
    var redirects: [Ending.Redirect] {
        events.compactMap { if case .redirect(let redirect) = $0 { redirect } else { nil } }
    }
    var heads: [Head] {
        events.compactMap { if case .head(let head) = $0 { head } else { nil } }
    }
    var connections: [Connection] {
        events.compactMap { if case .connected(let facts) = $0 { facts } else { nil } }
    }
    var items: [Item] {
        events.compactMap { if case .item(let item) = $0 { item } else { nil } }
    }
}

extension LoopbackServer {
    /// The demo capsule with a fresh certificate.
    static func capsule(elsewhere: String = "gopher://127.0.0.1/") throws -> LoopbackServer {
        try LoopbackServer(tls: .make(), handler: DemoSites.gemini(elsewhere: elsewhere))
    }

    /// `gemini://127.0.0.1:PORT` and `path`.
    func url(_ path: String, scheme: String = "gemini", host: String = "127.0.0.1") -> String {
        "\(scheme)://\(host):\(port)\(path)"
    }

    /// The request lines so far, without their ends; of connections that are over.
    var requestLines: [String] {
        connections.map {
            String(decoding: $0.received.prefix { $0 != 0x0D && $0 != 0x0A }, as: UTF8.self)
        }
    }
}

extension Fetcher.Options {
    /// By a policy that needs no store.
    mutating func judge(_ policy: TrustStore.Policy) {
        trustStore = TrustStore(path: "", policy: policy)
    }
}

extension Limits {
    /// No test of ours takes that long, on a busy machine either, and none shall hang. The usual
    /// 15 s for a connection may pass before a test has looked at it.
    static let patient = Limits(
        total: .seconds(1200), connect: .seconds(1200), idle: .seconds(1200))
}
