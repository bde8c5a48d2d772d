// SPDX-License-Identifier: MIT
internal import Foundation
internal import SmallWeb
internal import SmallWebTesting
internal import Testing

/// Programs and handlers that are tested without a network.
@Suite struct FixtureNetworkTests {
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        try add("page", "url echo://example.test/a\n> a\\r\\n\n< one\\r\\n\nclose close_notify\n")
        try add("other", "url echo://example.test/b\ndial example.test:7\n> b\\r\\n\n< two\n")
        try add(
            "moved",
            "url gemini://example.test/old\n> gemini://example.test/old\\r\\n\n"
                + "< 31 /new\\r\\n\nclose close_notify\n")
        try add(
            "there",
            "url gemini://example.test/new\n> gemini://example.test/new\\r\\n\n"
                + "< 20 text/gemini\\r\\n=> /b B\\n\nclose close_notify\n")
        try add(
            "asks",
            "url gemini://example.test/q\ninput words\n"
                + "> gemini://example.test/q?words\\r\\n\n< 20 text/plain\\r\\nfound\n"
                + "close close_notify\n"
        )
        try add("stops", "url gopher://example.test/0/s\n> /s\\r\\n\n< half\nclose reset\n")
        try add("silent", "url gopher://example.test/0/t\n> /t\\r\\n\n< half\nclose silence\n")
    }

    private func add(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: folder.appending(path: name + ".wire"))
    }

    private func client() throws -> Client {
        var options = Client.Options()
        options.trust = TrustStore(path: folder.path + "/known_hosts")
        return try Client(
            plugins: .builtIn.adding(Echo()), options: options, network: .fixtures(folder.path))
    }

    @Test func aPageComesFromItsFixture() async throws {
        let client = try client()
        let page = try await client.fetch("echo://example.test/a")
        #expect(page.text == "one\r\n" && page.ending.completeness == .complete)
        // As often as it is asked for, and beside others.
        var texts: [String] = []
        for try await result in client.run(["echo://example.test/b", "echo://example.test/a"]) {
            texts.append(try result.get().text)
        }
        #expect(texts == ["two", "one\r\n"])
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/known_hosts"))
    }

    @Test func redirectsAndInputAreFollowed() async throws {
        let client = try client()
        let page = try await client.fetch("gemini://example.test/old")
        #expect(page.url.hasSuffix("/new") && page.links.map(\.label) == ["B"])
        #expect(try await client.fetch("gemini://example.test/q", input: "words").text == "found")
    }

    @Test(arguments: [
        ("echo://example.test/none", Outcome.usage, "no fixture"),
        ("gemini://example.test/q", .usage, "no fixture"),
        ("gopher://example.test/0/t", .timeout, "server"),
        ("https://example.test/", .notBuiltIn, "no HTTP"),
    ])
    func whatNoFixtureAnswersIsAnError(
        _ url: String, _ outcome: Outcome, _ words: String
    ) async throws {
        let error = await #expect(throws: FetchError.self) { try await client().fetch(url) }
        #expect(error?.outcome == outcome)
        #expect(error?.message.contains(words) ?? false, "\(String(describing: error))")
    }

    @Test func aReplyThatStopsIsTruncated() async throws {
        let error = await #expect(throws: FetchError.self) {
            try await client().fetch("gopher://example.test/0/s")
        }
        #expect(error?.outcome == .truncated)
    }

    @Test func otherRequestsAndPlacesAreErrors() async throws {
        try add("page", "url echo://example.test/a\n> another\\r\\n\n< one\n")
        try add("other", "url echo://example.test/b\ndial example.test:8\n> b\\r\\n\n< two\n")
        let client = try client()
        let sent = await #expect(throws: FetchError.self) {
            try await client.fetch("echo://example.test/a")
        }
        #expect(sent?.outcome == .plugin && sent?.expected == "another\\r\\n")
        #expect(sent?.actual == "a\\r\\n")
        let dialled = await #expect(throws: FetchError.self) {
            try await client.fetch("echo://example.test/b")
        }
        #expect(
            dialled?.message.hasSuffix("connected to example.test:7 instead of example.test:8")
                ?? false)
    }

    @Test func foldersThatCannotBeUsedAreErrors() throws {
        try add("bad", "url\n")
        #expect(throws: FetchError.self) { try Network.fixtures(folder.path) }
        #expect(throws: FetchError.self) { try Network.fixtures(folder.path + "/nowhere") }
    }

    @Test func aHandlerIsTestedOnAllPartsOfItsReplies() async throws {
        let events =
            "= {\"event\":\"head\",\"class\":\"success\"}\n"
            + "= {\"event\":\"body\",\"text\":\"one\\r\\n\"}\n"
        let text = "url echo://example.test/a\n> a\\r\\n\n< one\\r\\n\n" + events
        let own = folder.appending(path: "own")
        try FileManager.default.createDirectory(at: own, withIntermediateDirectories: false)
        let file = own.appending(path: "a.wire")
        try Data((text + "= {\"event\":\"end\",\"completeness\":\"unverified\"}\n").utf8)
            .write(to: file)
        #expect(try await Fixtures(own.path).failures(of: Echo()) == [])
        try Data((text + "= {\"event\":\"end\",\"completeness\":\"complete\"}\n").utf8)
            .write(to: file)
        let failures = try await Fixtures(own.path).failures(of: Echo())
        #expect(failures.count == 1 && failures.first?.hasPrefix("a.wire, whole:\n  ") ?? false)
        try FileManager.default.removeItem(at: file)
        await #expect(throws: FetchError.self) {
            try await Fixtures(own.path).failures(of: Echo())
        }
    }

    @Test func aStreamIsReplayed() async throws {
        var sent: [UInt8] = []
        let stream = ByteStream(replaying: "one\ntwo".utf8, ending: .closeNotify) { sent += $0 }
        try await stream.writeAll(Array("ask\r\n".utf8))
        var read: [UInt8] = []
        let ending = try await stream.readToEnd { read += $0 }
        #expect(read == Array("one\ntwo".utf8) && ending == .closeNotify)
        #expect(sent == Array("ask\r\n".utf8))
    }
}

/// Sends the path, and returns the reply.
private struct Echo: ProtocolHandler {
    let schemes = [
        Scheme("echo", plugin: "echo", port: 7, transport: .tcp, summary: "RFC 862, by lines")
    ]

    func fetch(
        _ request: Request, dialer: any Dialer, emit: Emit
    ) async throws(FetchError) -> Completeness {
        let line = try LineFramer.frame(request.uri.path.dropFirst().utf8)
        let stream = try await dialer.dial(request.endpoint)
        defer { stream.close() }
        try await stream.writeAll(line)
        try await emit(.head(Head(.success)))
        return try await stream.readToEnd { bytes async throws(FetchError) in
            try await emit(.body(bytes))
        }.completenessOfClose
    }
}
