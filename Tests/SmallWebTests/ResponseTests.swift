// SPDX-License-Identifier: MIT
import Glibc
import SmallWeb
import SmallWebTestSupport
import Testing

/// Bodies that are read as they come, and saved.
@Suite(.timeLimit(.minutes(30)))
struct ResponseTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    private func gopher() throws -> LoopbackServer { try LoopbackServer(handler: DemoSites.gopher) }

    @Test func aHeadIsThereBeforeTheBody() async throws {
        let server = try LoopbackServer.capsule()
        let response = try await bench.web().response(server.url("/relative/dir/page"))
        #expect(response.head?.mediaType?.essence == "text/gemini")
        #expect(response.uri.description == server.url("/about"))
        var bytes: [UInt8] = []
        for try await piece in response.body { bytes += piece }
        #expect(String(decoding: bytes, as: UTF8.self) == "# About\r\nNothing much.\r\n")
        let again = await #expect(throws: FetchError.self) {
            for try await _ in response.body { Issue.record("it was read already") }
        }
        #expect(again?.outcome == .usage)
    }

    /// Another iterator goes on where the first one was left, and without a head nothing is lost.
    @Test func aBodyWithoutAHeadIsWhole() async throws {
        let server = try LoopbackServer { peer in
            _ = peer.readLine()
            peer.write([UInt8](repeating: 0x61, count: 300_000))
        }
        for scheme in ["finger", "gopher", "nex"] {
            let response = try await bench.web().response(server.url("/0/a", scheme: scheme))
            let first = try await response.body.makeAsyncIterator().next()
            let rest = try await response.body.collect(upTo: 300_000)
            #expect((first?.count ?? 0) + rest.count == 300_000)
        }
    }

    @Test(arguments: [
        ("/nothing", Outcome.permanentFailure), ("/truncated", .truncated), ("/input", .needsInput),
        ("/malformed", .protocolError), ("/no-reply", .emptyReply),
    ])
    func noFailureIsAnEmptyBody(_ path: String, _ outcome: Outcome) async throws {
        let server = try LoopbackServer.capsule()
        let (web, file) = (try bench.web(), "\(bench.directory)/page")
        let read = await #expect(throws: FetchError.self) {
            try await web.response(server.url(path)).body.collect(upTo: 1 << 20)
        }
        #expect(read?.outcome == outcome && read?.url == server.url(path))
        let saved = await #expect(throws: FetchError.self) {
            try await web.download(server.url(path), to: file)
        }
        #expect(saved?.outcome == outcome && saved?.url == server.url(path))
        #expect(names == ["authority.pem", "known_hosts"])
    }

    @Test func aReaderThatWaitsMakesTheServerWait() async throws {
        let written = Locked<Int?>(nil)
        let server = try LoopbackServer { peer in
            _ = peer.readLine()
            let count = peer.writeUntilBlocked(most: 256 << 20)
            written.withLock { $0 = count }
        }
        let url = server.url("/0/a", scheme: "gopher")
        let response = try await bench.web().response(url, limits: Limits(bodyBytesMax: nil))
        try await eventually("the server waits") { written.withLock { $0 } != nil }
        #expect(try #require(written.withLock { $0 }) < 64 << 20)
        let error = await #expect(throws: FetchError.self) {
            try await response.body.collect(upTo: 4096)
        }
        #expect(error?.outcome == .tooLarge && error?.url == url)
    }

    @Test func aBodyIsReadOnce() async throws {
        let server = try LoopbackServer.capsule()
        let response = try await bench.web().response(server.url("/about"))
        _ = try await response.body.collect(upTo: 1 << 20)
        let error = await #expect(throws: FetchError.self) {
            try await response.body.collect(upTo: 1 << 20)
        }
        #expect(error?.outcome == .usage && error?.url == server.url("/about"))
    }

    @Test func aTimeoutIsOfThatCall() async throws {
        let server = try LoopbackServer.capsule()
        let web = try bench.web()
        let (url, timeout) = (server.url("/silent-body"), Duration.milliseconds(50))
        let file = "\(bench.directory)/page"
        let calls: [@Sendable () async throws -> Void] = [
            { _ = try await web.fetch(url, timeout: timeout) },
            { _ = try await web.response(url, timeout: timeout).body.collect(upTo: 9_999) },
            { _ = try await web.download(url, to: file, timeout: timeout) },
            { _ = try await web.fetch(URI(parsing: url), timeout: timeout) },
            {
                _ = try await web.response(URI(parsing: url), timeout: timeout).body.collect(
                    upTo: 9)
            },
            { _ = try await web.download(URI(parsing: url), to: file, timeout: timeout) },
        ]
        for call in calls {
            let error = await #expect(throws: FetchError.self) { try await call() }
            #expect(error?.outcome == .timeout || error?.outcome == .tooLarge)
        }
    }

    @Test func aPageIsSaved() async throws {
        let (capsule, gopher) = (try LoopbackServer.capsule(), try gopher())
        let (web, file) = (try bench.web(), "\(bench.directory)/page")
        defer { unlink(file) }
        let ending = try await web.download(capsule.url("/about"), to: file)
        #expect(ending.bodyBytes == text(file)?.utf8.count)
        #expect(text(file) == "# About\r\nNothing much.\r\n")
        chmod(file, 0o640)
        symlink(file, "\(bench.directory)/link")
        let menu = try URI(parsing: gopher.url("/1/", scheme: "gopher"))
        try await web.download(menu, to: "\(bench.directory)/link")
        #expect(text(file)?.contains("\t127.0.0.1\t") == true)
        var status = stat()
        #expect(stat(file, &status) == 0 && status.st_mode & 0o7777 == 0o640)
        // A failure leaves the file as it was.
        let before = text(file)
        for path in ["/nothing", "/truncated"] {
            await #expect(throws: FetchError.self) {
                try await web.download(capsule.url(path), to: file)
            }
            #expect(text(file) == before)
        }
        #expect(names == ["authority.pem", "known_hosts", "link", "page"])
    }

    @Test(arguments: ["", "/dev/null", "missing/page", "page\0.png", "/"])
    func whatIsNoFileIsNotReplaced(_ name: String) async throws {
        let server = try LoopbackServer.capsule()
        let path = name.first == "/" ? name : "\(bench.directory)/\(name)"
        let web = try bench.web()
        let error = await #expect(throws: FetchError.self) {
            try await web.download(server.url("/about"), to: path)
        }
        #expect(error?.outcome == .write)
        server.stop()
        #expect(server.connections.isEmpty && names == ["authority.pem"])
    }

    /// A reply of success that has no body, or a part of one, is no file.
    @Test func whatIsNoWholeBodyIsNotAFile() async throws {
        let server = try LoopbackServer { peer in
            let head = peer.readHeader()
            if head.contains("If-None-Match: \"v1\"") {
                peer.write("HTTP/1.1 304 Not Modified\r\nETag: \"v1\"\r\n\r\n")
            } else {
                peer.write("HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: 4\r\n\r\nbody")
            }
        }
        let (web, file) = (try bench.web(), "\(bench.directory)/page")
        defer { unlink(file) }
        let url = server.url("/", scheme: "http")
        let whole = try await web.download(url, to: file)
        let validator = try #require(whole.head?.validator)
        var request = try web.request(url)
        request.validator = Request.Validator(validator, of: request.uri)
        let same = try await web.download(request, to: file)
        #expect(same.head?.isUnchanged == true && text(file) == "body")
        for change in [{ $0.resumeOffset = 2 }, { $0.wantsHeadAlone = true }]
            as [(inout Request) -> Void]
        {
            var request = try web.request(url)
            change(&request)
            let error = await #expect(throws: FetchError.self) {
                try await web.download(request, to: file)
            }
            #expect(error?.outcome == .usage && text(file) == "body")
        }
        #expect(names == ["authority.pem", "page"])
    }

    /// The article "Resume a download": bytes that are there, their state, and the end of it.
    @Test(arguments: [false, true])
    func aBodyIsResumed(_ hasChanged: Bool) async throws {
        let server = try LoopbackServer { peer in
            let head = peer.readHeader()
            guard head.contains("Range: bytes=") else {
                peer.write(
                    "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: 8\r\n\r\nbody")
                return
            }
            if hasChanged || !head.contains("If-Range: \"v1\"") {
                peer.write("HTTP/1.1 200 OK\r\nETag: \"v2\"\r\nContent-Length: 3\r\n\r\nnew")
            } else if head.contains("bytes=4-") {
                peer.write(
                    "HTTP/1.1 206 Partial Content\r\nETag: \"v1\"\r\nContent-Length: 4\r\n"
                        + "Content-Range: bytes 4-7/8\r\n\r\n and")
            } else {
                peer.write(
                    "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: bytes */8\r\n"
                        + "Content-Length: 0\r\n\r\n")
            }
        }
        let (web, url) = (try bench.web(), server.url("/", scheme: "http"))
        var (bytes, state): ([UInt8], String?) = ([], nil)
        nonisolated(nonsending) func resume() async throws {
            var request = try web.request(url, limits: Limits())
            if !bytes.isEmpty { (request.resumeOffset, request.bodyState) = (bytes.count, state) }
            let response = try await web.response(request)
            if bytes.isEmpty { state = response.head?.bodyState }
            for try await piece in response.body { bytes += piece }
        }
        let cut = await #expect(throws: FetchError.self) { try await resume() }
        #expect(cut?.isRetryable == true && bytes == Array("body".utf8) && state != nil)
        guard !hasChanged else {
            let error = await #expect(throws: FetchError.self) { try await resume() }
            #expect(error?.outcome == .permanentFailure && bytes == Array("body".utf8))
            return
        }
        for _ in 0..<2 {
            try await resume()
            #expect(String(decoding: bytes, as: UTF8.self) == "body and")
        }
    }

    @Test func aURIIsTakenWhereAStringIs() async throws {
        let server = try LoopbackServer.capsule()
        let (web, uri) = (try bench.web(), try URI(parsing: server.url("/about")))
        #expect(try await web.fetch(uri).outcome == .ok)
        #expect(try web.request(uri).uri == uri)
        #expect(try await web.response(uri).uri == uri)
        var count = 0
        for try await event in web.events(uri) { if case .end = event { count += 1 } }
        for try await result in web.run([uri, uri]) {
            count += try result.get().outcome == .ok ? 1 : 0
        }
        #expect(count == 3 && RunRequest(uri).url == uri.description)
    }

    @Test func whoCancelsGetsItsOutcome() async throws {
        let server = try LoopbackServer.capsule()
        let web = try bench.web()
        let task = Task { try await web.response(server.url("/silent")).head }
        try server.waitForClient()
        task.cancel()
        let error = await #expect(throws: FetchError.self) { try await task.value }
        #expect(error?.outcome == .interrupted)
        #expect(error?.isCancelled == true && FetchError.cancelled.isCancelled)
        #expect(!FetchError.postponed.isCancelled && !FetchError.tooLarge(1).isCancelled)
    }

    private func text(_ path: String) -> String? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count], as: UTF8.self)
    }

    private var names: [String] {
        guard let directory = opendir(bench.directory) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names.sorted()
    }
}
