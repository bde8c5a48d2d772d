// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

/// Bodies that are as long as they say, or do not arrive; and attempts that begin them again.
@Suite(.timeLimit(.minutes(30))) struct UploadTests {
    private static let schemes = Registry.builtIn.schemes.filter { $0.uploads != nil }.map(\.name)
    private let bench: Bench
    private let taken = Locked([[UInt8]]())

    init() throws { bench = try Bench() }

    /// Takes what a request line announces, and says so; refuses the first requests for now.
    private func server(_ scheme: String, refusals: Int = 0) throws -> LoopbackServer {
        let isSecure = try #require(Registry.builtIn[scheme]?.scheme).isSecure
        let (left, taken) = (Locked(refusals), taken)
        taken.withLock { $0 = [] }
        return try LoopbackServer(tls: isSecure ? .make() : nil) { peer in
            let line = String(decoding: peer.readLine() ?? [], as: UTF8.self)
            let size = line.firstMatch(of: /(?:size=| )(\d+)/).flatMap { Int($0.output.1) } ?? -1
            let body = peer.read(max(0, size))
            taken.withLock { $0.append(body) }
            guard body.count == size else { return }
            let isRefused = left.withLock { left in
                left -= 1
                return left >= 0
            }
            peer.write(
                isSecure
                    ? (isRefused ? "40 later\r\n" : "20 text/gemini\r\nstored\n")
                    : (isRefused ? "5 later\r\n" : "2 text/gemini\r\nstored\n"))
        }
    }

    /// The bodies of all requests, as far as they came.
    private func bodies(_ server: LoopbackServer) -> [[UInt8]] {
        server.stop()
        return taken.withLock { $0 }
    }

    private static func pieces(_ pieces: [[UInt8]]) -> Request.Upload.Next {
        let rest = Locked(pieces[...])
        return { rest.withLock { $0.popFirst() ?? [] } }
    }

    private static let wrong: [(said: Int, pieces: [Int])] = [
        (100, [10]), (100, []), (1, []), (100, [50, 49]),
        (10, [100]), (10, [10, 1]), (10, [5, 6]), (0, [1]), (70_000, [65_536, 4_464, 1]),
    ]

    @Test(arguments: schemes, wrong.indices)
    func aBodyOfAnotherLengthNeverArrives(_ scheme: String, _ index: Int) async throws {
        let server = try server(scheme)
        let wrong = Self.wrong[index]
        let played = await bench.play(server.url("/a", scheme: scheme)) {
            $0.upload = .init(
                byteCount: wrong.said, mediaType: "",
                next: Self.pieces(wrong.pieces.map { [UInt8](repeating: 7, count: $0) }))
        }
        #expect(played.error?.outcome == .read, "\(played.result)")
        let sum = wrong.pieces.reduce(0, +)
        let wanted =
            sum < wrong.said
            ? "the upload ended after \(sum) of \(wrong.said) bytes"
            : "the upload has more than its \(wrong.said) bytes"
        #expect(played.error?.message.hasPrefix(wanted) == true, "\(played.result)")
        // The server has seen no complete body, and of an empty one not even the request.
        for body in bodies(server) { #expect(body.count < wrong.said) }
    }

    private static let bytes = (0..<150_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }

    private enum Form: CaseIterable {
        case bytes, slice, file, sequence, rewound
    }

    private func upload(_ form: Form) throws -> Request.Upload {
        let bytes = Self.bytes
        switch form {
        case .bytes: return .init(bytes)
        case .slice: return .init(Data([1] + bytes)[1...], mediaType: "text/plain")
        case .file:
            let path = bench.directory + "/link"
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            return try .init(file: path)
        case .sequence: return .init(bytes.lazy.map { $0 }, byteCount: bytes.count)
        case .rewound:
            let rest = Locked(bytes[...])
            var upload = Request.Upload(byteCount: bytes.count, mediaType: "") {
                rest.withLock { rest in
                    defer { rest = rest.dropFirst(1_000) }
                    return Array(rest.prefix(1_000))
                }
            }
            upload.rewind = { rest.withLock { $0 = bytes[...] } }
            return upload
        }
    }

    /// One request, fetched twice, and again at the same time.
    @Test(arguments: schemes, Form.allCases)
    private func aBodyIsSentAgainFromItsStart(_ scheme: String, _ form: Form) async throws {
        let server = try server(scheme)
        let web = try bench.web()
        var request = try web.request(server.url("/a", scheme: scheme))
        request.upload = try upload(form)
        #expect(request.upload?.rewind != nil)
        for _ in 0..<2 { #expect(try await web.fetch(request).text == "stored\n") }
        if form != .rewound {
            let same = request
            async let one = web.fetch(same)
            async let two = web.fetch(same)
            #expect(try await [one.outcome, two.outcome] == [.ok, .ok])
        }
        let bodies = bodies(server)
        #expect(bodies.count == (form == .rewound ? 2 : 4))
        #expect(bodies.allSatisfy { $0 == Self.bytes })
    }

    @Test(arguments: Form.allCases)
    private func aBodyCanBeReadByHand(_ form: Form) throws {
        let upload = try upload(form)
        for _ in 0..<2 {
            var all: [UInt8] = []
            while case let piece = try upload.next(), !piece.isEmpty {
                #expect(piece.count <= 65_536)
                all += piece
            }
            #expect(all == Self.bytes && all.count == upload.byteCount)
            try upload.rewind?()
        }
    }

    @Test(arguments: schemes)
    func aBodyThatIsReadOnceIsSentOnce(_ scheme: String) async throws {
        let server = try server(scheme)
        let web = try bench.web()
        var request = try web.request(server.url("/a", scheme: scheme))
        request.upload = .init(byteCount: 3, mediaType: "", next: Self.pieces([[1, 2], [3]]))
        #expect(try await web.fetch(request).outcome == .ok)
        let error = await #expect(throws: FetchError.self) { try await web.fetch(request) }
        #expect(error?.outcome == .read)
        #expect(bodies(server).filter { $0 == [1, 2, 3] }.count == 1)
    }

    /// A server that refuses for now gets the whole body again, and only where that is possible.
    @Test(arguments: schemes, [true, false])
    func aRetrySendsTheBodyAgain(_ scheme: String, _ canBeRepeated: Bool) async throws {
        let server = try server(scheme, refusals: 1)
        var asked = RunRequest(server.url("/a", scheme: scheme))
        asked.upload =
            canBeRepeated
            ? .init([1, 2, 3]) : .init(byteCount: 3, mediaType: "", next: Self.pieces([[1, 2, 3]]))
        var options = RunOptions(retries: 1, retryDelay: .milliseconds(1))
        options.retriesData = true
        for try await result in try bench.web().run([asked], options: options) {
            #expect(try result.get().outcome == (canBeRepeated ? .ok : .temporaryFailure))
            #expect(result.attempts == (canBeRepeated ? 2 : 1))
        }
        #expect(bodies(server) == Array(repeating: [1, 2, 3], count: canBeRepeated ? 2 : 1))
    }

    /// The type of the file's name, or else the scheme's usual one, as `smallweb put` has it.
    @Test func aBodyWithoutATypeHasTheUsualOne() async throws {
        let file = bench.directory + "/link"
        try Data("a".utf8).write(to: URL(fileURLWithPath: file))
        for (upload, type) in [
            (Request.Upload("a".utf8), "text/gemini"), (try .init(file: file), "text/gemini"),
            (try .init(file: file, mediaType: "text/csv"), "text/csv"),
            (.init("a".utf8, mediaType: "text/plain"), "text/plain"),
        ] {
            let server = try server("titan")
            let played = await bench.play(server.url("/a", scheme: "titan")) { $0.upload = upload }
            #expect(played.outcome == .ok, "\(played.result)")
            server.stop()
            let received = String(decoding: server.connections[0].received, as: UTF8.self)
            #expect(received.contains(";mime=\(type)\r\n"), "\(received)")
        }
    }

    @Test(arguments: ["nowhere", "", "/dev/null", "/"])
    func onlyARegularFileIsAnUpload(_ name: String) {
        let path = name.hasPrefix("/") ? name : bench.directory + "/" + name
        let error = #expect(throws: FetchError.self) { try Request.Upload(file: path) }
        #expect(error?.outcome == .read && error?.message.contains("cannot upload") == true)
    }

    /// A file that becomes shorter while it is sent, or longer.
    @Test(arguments: [3, 9])
    func aFileIsSentAsLongAsItWas(_ count: Int) async throws {
        let path = bench.directory + "/link"
        try Data(repeating: 1, count: 5).write(to: URL(fileURLWithPath: path))
        let upload = try Request.Upload(file: path)
        let file = try #require(FileHandle(forUpdatingAtPath: path))
        try file.truncate(atOffset: UInt64(count))
        let server = try server("titan")
        let played = await bench.play(server.url("/a", scheme: "titan")) { $0.upload = upload }
        #expect(played.outcome == (count < 5 ? .read : .ok), "\(played.result)")
        #expect(bodies(server).allSatisfy { count > 5 ? $0.count == 5 : $0.count < 5 })
    }
}
