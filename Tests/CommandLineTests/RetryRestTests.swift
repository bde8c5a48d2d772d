// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

/// `--retry` without `-C`: the part that came is continued where a strong validator says that the
/// page has its bytes, and is left out otherwise. No byte comes twice, and none is lost.
@Suite struct RetryRestTests {
    private static let body = "0123456789abcdefghijklmnopqrstuv"
    private static let tag = "ETag: \"a\"\r\n"

    /// Calls `serve` for each request, with its number from 0 and the offset that it asks for.
    private final class Site {
        typealias Answer = @Sendable (Peer, WebRequest, _ turn: Int, _ offset: Int?) -> Void

        let server: LoopbackServer
        let asked = Recorder<WebRequest>()

        init(_ serve: @escaping Answer) throws {
            let (asked, turns) = (asked, Locked(0))
            server = try LoopbackServer { peer in
                guard let request = WebRequest(from: peer) else { return }
                asked.add(request)
                let turn = turns.withLock { turns in
                    turns += 1
                    return turns - 1
                }
                let range = request["range"].first.flatMap { Int($0.dropFirst(6).dropLast()) }
                serve(peer, request, turn, range)
            }
        }

        func url(_ path: String = "f") -> String { "http://127.0.0.1:\(server.port)/\(path)" }
        var offsets: [Int?] {
            asked.values.map { $0["range"].first.flatMap { Int($0.dropFirst(6).dropLast()) } }
        }
    }

    /// The first `count` bytes of the rest of a body from `offset` on, or of all of it.
    private static func send(
        _ peer: Peer, _ offset: Int?, of body: String = body, fields: String = tag, count: Int
    ) {
        let all = Array(body.utf8)
        let rest = all[(offset ?? 0)...]
        let range = offset.map { "Content-Range: bytes \($0)-\(all.count - 1)/\(all.count)\r\n" }
        peer.write(
            "HTTP/1.1 \(offset == nil ? 200 : 206) X\r\n\(fields)\(range ?? "")"
                + "Content-Length: \(rest.count)\r\n\r\n")
        peer.write(Array(rest.prefix(count)))
    }

    private let smallweb = Smallweb()

    private func get(_ words: [String], _ url: String) throws -> Smallweb.Result {
        try smallweb.run(["get", "--retry-delay", "0"] + words + [url])
    }

    private func text(_ name: String) -> String? {
        smallweb.home.content(name).map { String(decoding: $0, as: UTF8.self) }
    }

    // MARK: Continued

    /// Every reply ends after so many bytes, closed or reset, with a length or in chunks.
    @Test(arguments: [1, 2, 3, 5, 7, 11, 31, 32], ["", "reset", "chunked"])
    func aBodyThatIsCutAnywhereComesWhole(_ step: Int, _ way: String) throws {
        let (sent, all) = (Locked(0), Array(Self.body.utf8))
        let site = try Site { peer, request, _, offset in
            if let offset, request["if-range"] != ["\"a\""] || offset >= all.count {
                peer.write("HTTP/1.1 416 No\r\nContent-Range: bytes */\(all.count)\r\n")
                peer.write("Content-Length: 0\r\n\r\n")
                return
            }
            let rest = all[(offset ?? 0)...]
            sent.withLock { $0 += min(step, rest.count) }
            guard way == "chunked" else {
                Self.send(peer, offset, count: step)
                guard way == "reset" && step < rest.count else { return }
                // What is still to be read may be lost at a reset.
                try? eventually("the client has what was sent") { peer.isAllRead }
                return peer.reset()
            }
            let range = offset.map { "Content-Range: bytes \($0)-31/32\r\n" } ?? ""
            peer.write("HTTP/1.1 \(offset == nil ? 200 : 206) X\r\n\(Self.tag)\(range)")
            peer.write("Transfer-Encoding: chunked\r\n\r\n")
            let piece = Array(rest.prefix(step))
            peer.write("\(String(piece.count, radix: 16))\r\n")
            peer.write(piece + [0x0D, 0x0A])
        }
        for words in [["-o", "f"], ["-O", "--overwrite"], ["--json", "-o", "f"]] {
            sent.withLock { $0 = 0 }
            let result = try get(["--retry", "40", "-m", "1"] + words, site.url())
            #expect(result.status == 0, "\(result.errors)")
            #expect(text("f") == Self.body && smallweb.home.names == ["f"])
            #expect(sent.withLock { $0 } == all.count)
            guard words[0] == "--json" else { continue }
            let record = try Records(result.output).terminal[0]
            #expect(record["size"]?.int == all.count)
            #expect(record["body"]?["complete"]?.bool == true)
            let hash = try smallweb.run([], shell: "sha256sum f").text.prefix(64)
            #expect(record["body"]?["sha256"]?.string == String(hash))
        }
    }

    /// Between two parts of a body all fails in ways that pass.
    @Test func aPartOutlivesOtherFailures() throws {
        let site = try Site { peer, _, turn, offset in
            switch turn {
            case 0: Self.send(peer, nil, count: 4)
            case 1: peer.write("HTTP/1.1 503 X\r\nContent-Length: 5\r\n\r\nlater")
            case 2: peer.reset()
            case 3: break
            case 4: peer.write("HTTP/1.1 429 X\r\nContent-Length: 0\r\n\r\n")
            case 5: Self.send(peer, offset, count: 0)
            default: Self.send(peer, offset, count: 99)
            }
        }
        let result = try get(["--retry", "9", "--json", "-o", "f"], site.url())
        #expect(result.status == 0 && text("f") == Self.body, "\(result.errors)")
        #expect(site.offsets == [nil, 4, 4, 4, 4, 4, 4])
        let record = try Records(result.output).terminal[0]
        #expect(record["attempts"]?.int == 7 && record["size"]?.int == Self.body.utf8.count)
        #expect(record["body"]?["sha256"]?.string != nil)
    }

    /// A date does as well.
    @Test func aDateIsAValidator() throws {
        let day = "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
        let site = try Site { peer, _, turn, offset in
            let fields = day + "Date: Sun, 06 Nov 1994 09:00:00 GMT\r\n"
            Self.send(peer, offset, fields: fields, count: turn == 0 ? 4 : 99)
        }
        #expect(try get(["--retry", "1", "-o", "f"], site.url()).status == 0)
        #expect(text("f") == Self.body && site.offsets == [nil, 4])
        #expect(site.asked.values[1]["if-range"] == ["Sun, 06 Nov 1994 08:49:37 GMT"])
    }

    // MARK: Begun again

    struct Turn: Sendable, CustomStringConvertible {
        let status: String
        var fields = ""
        var body = ""
        var description: String { status + " " + fields.debugDescription }
    }

    private static let rest = "Content-Range: bytes 4-31/32\r\n"

    /// All that a server says to a request for the rest, other than the rest.
    static let turns: [Turn] = [
        Turn(status: "206 X", fields: rest + "ETag: \"b\"\r\n", body: "WRONG"),
        Turn(status: "206 X", fields: rest + "ETag: W/\"b\"\r\n", body: "WRONG"),
        Turn(status: "206 X", fields: tag + "Content-Range: bytes 4-32/33\r\n", body: "WRONG"),
        Turn(status: "206 X", fields: tag + "Content-Range: bytes 0-31/32\r\n", body: "WRONG"),
        Turn(status: "206 X", fields: tag + "Content-Range: bytes 5-31/32\r\n", body: "WRONG"),
        Turn(status: "206 X", fields: tag + "Content-Range: bytes 4-3/32\r\n", body: ""),
        Turn(status: "206 X", fields: tag + "Content-Range: bytes -4/32\r\n", body: "WRONG"),
        Turn(status: "206 X", fields: tag + "Content-Range: items 4-31/32\r\n", body: "WRONG"),
        Turn(status: "206 X", fields: tag, body: "WRONG"),
        Turn(status: "206 X", fields: tag + rest + "Content-Encoding: gzip\r\n", body: "WRONG"),
        Turn(
            status: "206 X", fields: tag + rest + "Content-Length: 40\r\n",
            body: String(repeating: "W", count: 40)),
        Turn(
            status: "206 X", fields: tag + rest + "Transfer-Encoding: chunked\r\n",
            body: "28\r\n" + String(repeating: "W", count: 40) + "\r\n0\r\n\r\n"),
        Turn(status: "416 X", fields: "Content-Range: bytes */4\r\nETag: \"b\"\r\n"),
        Turn(status: "416 X", fields: "Content-Range: bytes */9\r\n"),
        Turn(status: "416 X"), Turn(status: "404 X", body: "WRONG"),
        Turn(status: "400 X"), Turn(status: "412 X"), Turn(status: "200 X", body: "WRONG"),
        Turn(status: "200 X", fields: tag, body: "WRONG"),
        Turn(status: "200 X", fields: "Content-Encoding: gzip\r\n", body: "WRONG"),
        Turn(status: "302 X", fields: "Location: gopher://127.0.0.1:1/\r\n"),
        Turn(status: "302 X", fields: "Location: /loop\r\n"), Turn(status: "banana"),
        Turn(status: "401 X"), Turn(status: "204 X"), Turn(status: "304 X"),
    ]

    /// The whole page, as it is by then, replaces the part in the same attempt.
    @Test(arguments: turns)
    func anyOtherReplyBeginsAgain(_ turn: Turn) throws {
        let site = try Site { peer, _, number, offset in
            guard offset != nil else {
                let body = number == 0 ? Self.body : "another"
                return Self.send(peer, nil, of: body, count: number == 0 ? 4 : 99)
            }
            let length = turn.fields.contains("Length") || turn.fields.contains("chunked")
            peer.write(
                "HTTP/1.1 \(turn.status)\r\n\(turn.fields)"
                    + (length ? "" : "Content-Length: \(turn.body.utf8.count)\r\n") + "\r\n"
                    + turn.body)
        }
        let result = try get(["--retry", "1", "-o", "f"], site.url())
        #expect(result.status == 0, "\(result.errors)")
        #expect(text("f") == "another" && smallweb.home.names == ["f"])
        // A redirect is followed with the request for the rest.
        let isLoop = turn.fields.contains("/loop")
        #expect(site.offsets == [nil, 4] + (isLoop ? [4] : []) + [nil])
    }

    /// A server that has another version each time, and cuts each, gives one of them at the end.
    @Test func versionsAreNotJoined() throws {
        let site = try Site { peer, request, turn, offset in
            let body = String(repeating: "\(turn % 10)", count: 32)
            let isLast = turn == 8
            // It lies about the condition, but not about its version.
            Self.send(
                peer, offset, of: body, fields: "ETag: \"\(turn)\"\r\n", count: isLast ? 99 : 4)
        }
        let result = try get(["--retry", "20", "-o", "f"], site.url())
        let text = try #require(self.text("f"))
        #expect(result.status == 0 && text.count == 32 && Set(text).count == 1, "\(text)")
        // One request for a rest has shown that there is none.
        #expect(site.offsets.compactMap { $0 }.count == 1)
    }

    struct Weak: Sendable, CustomStringConvertible {
        var fields = ""
        var words: [String] = []
        var description: String { "\(fields.debugDescription) \(words)" }
    }

    private static let day = "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n"

    /// Without a strong validator, and where a rest would be wrong, nothing but the whole is asked
    /// for.
    @Test(arguments: [
        Weak(), Weak(fields: "ETag: W/\"a\"\r\n"), Weak(fields: "ETag: a\r\n"),
        Weak(fields: day + "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"), Weak(fields: day),
        Weak(fields: tag + "Accept-Ranges: none\r\n"),
        Weak(fields: tag, words: ["--no-fail"]), Weak(fields: tag, words: ["-X", "POST"]),
        Weak(fields: tag, words: ["--json", "--with-links"]),
        Weak(fields: tag, words: ["-d", "x", "--retry-data"]),
        Weak(fields: tag, words: ["-H", "If-Match: \"a\""]),
        Weak(fields: tag, words: ["--render", "plain"]),
    ])
    func whatIsNotSureBeginsAgain(_ weak: Weak) throws {
        let site = try Site { peer, _, turn, offset in
            Self.send(peer, offset, fields: weak.fields, count: turn == 0 ? 4 : 99)
        }
        let result = try get(["--retry", "1", "-o", "f"] + weak.words, site.url())
        // A request that may change something is not sent twice.
        let isOnce = weak.words == ["-X", "POST"]
        #expect(result.status == (isOnce ? 18 : 0), "\(result.errors)")
        #expect(site.offsets == (isOnce ? [nil] : [nil, nil]))
        #expect(isOnce || text("f")?.hasPrefix(Self.body) == true)
    }

    /// The decoded bytes are not those that the tag is of.
    @Test func aDecodedBodyBeginsAgain() throws {
        let site = try Site { peer, _, turn, _ in
            peer.write("HTTP/1.1 200 OK\r\n\(Self.tag)Content-Encoding: gzip\r\nContent-Length: ")
            peer.write("\(DemoSites.gzipBytes.count)\r\n\r\n")
            peer.write(Array(DemoSites.gzipBytes.dropLast(turn == 0 ? 9 : 0)))
        }
        #expect(try get(["--retry", "1", "-o", "f"], site.url()).status == 0)
        #expect(text("f") == DemoSites.gzipText && site.offsets == [nil, nil])
    }

    // MARK: Files

    /// Each way to name a file leaves the same files as where nothing was cut.
    @Test(arguments: ContinueTests.names, [false, true])
    func theFileIsTheOneOfAWholeReply(_ name: ContinueTests.Name, _ isThere: Bool) throws {
        var trees: [[String: String]] = []
        for isCut in [false, true] {
            let site = try Site { peer, _, turn, offset in
                Self.send(peer, offset, count: isCut && turn == 0 ? 4 : 99)
            }
            let smallweb = Smallweb()
            let place = "127.0.0.1:\(site.server.port)"
            let file = name.file.replacing("@", with: "\(site.server.port)")
            try smallweb.home.write("", to: "d/x")
            if isThere { try smallweb.home.write("the older one", to: file) }
            if let link = name.link { symlink(file, smallweb.home.file(link)) }
            var words = ["get", "--retry", "1", "--retry-delay", "0"] + name.words
            words.append(name.order == nil ? site.url("d/f") : "-")
            let line = name.order.map { "{\"url\":\"\(site.url("d/f"))\",\($0)}\n" }
            let result = try smallweb.run(words, stdin: line)
            #expect(result.status == 0, "\(result.errors)")
            #expect(site.offsets == (isCut ? [nil, 4] : [nil]))
            var tree: [String: String] = [:]
            for path in smallweb.home.files(below: ".") {
                let content = smallweb.home.content(path) ?? []
                tree[path.replacing(place, with: "@")] = String(decoding: content, as: UTF8.self)
            }
            trees.append(tree)
        }
        #expect(trees[0] == trees[1] && trees[0].values.contains(Self.body))
    }

    /// The last failure leaves the part, and its hint continues it; a missing page leaves nothing.
    @Test(arguments: ["503 X", "404 X", "cut", "kill", "interrupt"])
    func theEndLeavesWhatCanBeContinued(_ end: String) throws {
        let isOver = Locked(false)
        let site = try Site { peer, _, turn, offset in
            if isOver.withLock({ $0 }) { return Self.send(peer, offset, count: 99) }
            if turn == 0 || end == "cut" { return Self.send(peer, offset, count: 4) }
            peer.write("HTTP/1.1 \(end)\r\nContent-Length: 0\r\n\r\n")
        }
        let words = ["get", "--retry", "2", "-o", "f", site.url()]
        let signals: [String: Int32] = ["kill": SIGKILL, "interrupt": SIGINT]
        let signal = signals[end]
        let delay = signal == nil ? "0" : "60"
        let result = try smallweb.run(words + ["--retry-delay", delay]) { process in
            guard let signal else { return }
            while text("f.part") != String(Self.body.prefix(4)) { usleep(10_000) }
            _ = try site.server.waitForConnections(1)
            kill(process, signal)
        }
        let statuses: [String: Int32] = ["503 X": 75, "404 X": 22, "cut": 18]
        let status = statuses[end] ?? -(signal ?? 0)
        #expect(result.status == status, "\(result.errors)")
        #expect(result.errors.contains("-C - continues it") == !["404 X", "kill"].contains(end))
        guard end != "404 X" else { return #expect(smallweb.home.names.isEmpty) }
        isOver.withLock { $0 = true }
        #expect(try smallweb.run(["get", "-C", "-", "-o", "f", site.url()]).status == 0)
        #expect(text("f") == Self.body && smallweb.home.names == ["f"])
    }

    /// No room for the rest: no file, and no part of one that a later fetch would take for it.
    @Test func aFullDiskIsAFailedWrite() throws {
        let body = String(repeating: "x", count: 40_000)
        let site = try Site { peer, _, turn, offset in
            Self.send(peer, offset, of: body, count: turn == 0 ? 4_000 : 99_999)
        }
        let result = try smallweb.run(
            ["get", "--retry", "2", "--retry-delay", "0", "-o", "f", site.url()],
            shell: "ulimit -f 20; exec \"$@\"")
        #expect(result.status == 23, "\(result.errors)")
        #expect(smallweb.home.names.isEmpty && site.offsets == [nil, 4_000])
    }

    /// The limit is of the whole, in however many parts it comes.
    @Test func aLimitOfSizeIsOfTheWhole() throws {
        let site = try Site { peer, _, _, offset in
            peer.write(
                "HTTP/1.1 \(offset == nil ? 200 : 206) X\r\n\(Self.tag)"
                    + "Transfer-Encoding: chunked\r\n"
                    + "Content-Range: bytes \(offset ?? 0)-99999/100000\r\n\r\n"
                    + "A\r\n0123456789\r\n")
        }
        let words = ["--retry", "20", "--max-filesize", "45", "-o", "f"]
        let result = try get(words, site.url())
        #expect(result.status == 63 && smallweb.home.names.isEmpty, "\(result.errors)")
        #expect(site.offsets == [nil, 10, 20, 30, 40])
    }
}
