// SPDX-License-Identifier: MIT
import Foundation
import SmallWebCore
import SmallWebTestSupport
import Testing

/// `-C -` over HTTP: bytes of two states of a file are never joined.
@Suite struct HTTPResumeTests {
    private static let tag = "ETag: \"a\"\r\n"
    private static let day = "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
    private static let now = "Date: Sun, 06 Nov 1994 09:00:00 GMT\r\n"

    struct Turn: Sendable, CustomStringConvertible {
        /// Fields of the first reply, of whose 10 bytes 4 came.
        var first = ""
        /// Fields of the second.
        let second: String
        var status = "206 Part"
        var body = "efghij"
        /// The values of `If-Range` in the request for the rest.
        var condition: [String] = []
        let exit: Int32
        var description: String { "\(first.debugDescription) \(second.debugDescription) \(status)" }
    }

    private static let rest = "Content-Range: bytes 4-9/10\r\n"

    static let turns: [Turn] = [
        // The same state, or no validator to tell.
        Turn(second: rest, exit: 0),
        Turn(first: tag, second: rest + tag, condition: ["\"a\""], exit: 0),
        Turn(first: tag, second: rest, condition: ["\"a\""], exit: 0),
        Turn(first: tag + day, second: rest + day, condition: ["\"a\""], exit: 0),
        Turn(first: "ETag: W/\"a\"\r\n", second: rest + "ETag: W/\"a\"\r\n", exit: 0),
        Turn(first: day, second: rest + day, exit: 0),
        Turn(
            first: day + now, second: rest + day,
            condition: ["Sun, 06 Nov 1994 08:49:37 GMT"], exit: 0),
        Turn(first: day + "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n", second: rest, exit: 0),
        Turn(second: rest + "Content-Encoding: identity\r\n", exit: 0),
        // Another one.
        Turn(first: tag, second: rest + "ETag: \"b\"\r\n", condition: ["\"a\""], exit: 22),
        Turn(first: tag, second: rest + "ETag: W/\"b\"\r\n", condition: ["\"a\""], exit: 22),
        Turn(first: "ETag: W/\"a\"\r\n", second: rest + "ETag: \"b\"\r\n", exit: 22),
        Turn(
            first: day, second: rest + "Last-Modified: Sun, 06 Nov 1994 08:49:38 GMT\r\n",
            exit: 22),
        Turn(second: "Content-Range: bytes 4-9/11\r\n", exit: 22),
        Turn(first: tag, second: tag, status: "200 OK", condition: ["\"a\""], exit: 22),
        Turn(first: tag, second: "", status: "200 OK", condition: ["\"a\""], exit: 22),
        Turn(second: "", status: "200 OK", exit: 22),
        Turn(second: "Content-Range: bytes */4\r\n", status: "416 No", body: "", exit: 22),
        Turn(
            first: tag, second: "Content-Range: bytes */10\r\nETag: \"b\"\r\n", status: "416 No",
            body: "", condition: ["\"a\""], exit: 22),
        // Other bytes than were asked for.
        Turn(second: "Content-Range: bytes 0-5/10\r\n", exit: 8),
        Turn(second: "Content-Range: bytes 5-9/10\r\n", body: "fghij", exit: 8),
        Turn(second: "Content-Range: bytes 4-9/9\r\n", exit: 8),
        Turn(second: "Content-Range: bytes 4-3/4\r\n", body: "", exit: 22),
        Turn(second: "Content-Range: bytes 4-3/*\r\n", body: "", exit: 8),
        Turn(second: "Content-Range: bytes */10\r\n", body: "", exit: 8),
        Turn(second: "Content-Range: items 4-9/10\r\n", exit: 8),
        Turn(second: "", exit: 8),
        Turn(second: "Content-Type: multipart/byteranges; boundary=x\r\n", exit: 8),
        Turn(second: rest, body: "efghijk", exit: 8),
    ]

    private func serve(
        _ turn: Turn, noting asked: Recorder<WebRequest> = Recorder()
    ) throws -> LoopbackServer {
        try LoopbackServer { peer in
            guard let request = WebRequest(from: peer) else { return }
            asked.add(request)
            if request["range"].isEmpty {
                peer.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\(turn.first)\r\nabcd")
            } else {
                peer.write(
                    "HTTP/1.1 \(turn.status)\r\nContent-Length: \(turn.body.utf8.count)\r\n"
                        + turn.second + "\r\n" + turn.body)
            }
        }
    }

    @Test(arguments: turns)
    func aRestIsOfTheSameState(_ turn: Turn) throws {
        let asked = Recorder<WebRequest>()
        let server = try serve(turn, noting: asked)
        let smallweb = Smallweb()
        let words = ["-C", "-", "-o", "f", "http://127.0.0.1:\(server.port)/"]
        #expect(try smallweb.run(words).status == 18)
        let result = try smallweb.run(words)
        #expect(result.status == turn.exit, "\(result.errors)")
        #expect(asked.values.last?["range"] == ["bytes=4-"])
        #expect(asked.values.last?["if-range"] == turn.condition)
        if turn.exit == 0 {
            #expect(smallweb.home.names == ["f"])
            #expect(smallweb.home.content("f") == Array("abcdefghij".utf8))
        } else {
            #expect(smallweb.home.names == ["f.part"])
            #expect(smallweb.home.content("f.part") == Array("abcd".utf8))
        }
    }

    /// Neither a user's file nor a part of ours is continued.
    @Test(arguments: ["gzip", "x-gzip", "br", "deflate", "zstd", "GZIP", "identity, gzip", "foo"])
    func aRestInACodingIsRefused(_ coding: String) throws {
        let coded = "Content-Range: bytes 4-9/10\r\nContent-Encoding: \(coding)\r\n"
        for name in ["f", "f.part"] {
            let server = try serve(Turn(second: coded, exit: 8))
            let smallweb = Smallweb()
            try Data("abcd".utf8).write(to: URL(fileURLWithPath: smallweb.home.file(name)))
            let result = try smallweb.run(
                ["-C", "-", "-o", "f", "http://127.0.0.1:\(server.port)/"])
            #expect(result.status == 8, "\(result.errors)")
            #expect(smallweb.home.names == [name])
            #expect(smallweb.home.content(name) == Array("abcd".utf8))
        }
    }

    /// The decoded bytes come from another representation, with its own tag and length but the same
    /// modification time.
    @Test(arguments: [("", ""), (day, day), (tag + day, day), (tag, ""), (day + now, now)])
    func aDecodedBeginningIsContinued(_ first: String, _ second: String) throws {
        let whole = Array(DemoSites.gzipText.utf8)
        let server = try LoopbackServer { peer in
            guard let request = WebRequest(from: peer) else { return }
            guard let range = request["range"].first, let at = Int(range.dropFirst(6).dropLast())
            else {
                peer.write(
                    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: "
                        + "\(DemoSites.gzipBytes.count)\r\n\(first)\r\n")
                peer.write(Array(DemoSites.gzipBytes.dropLast(9)))
                return
            }
            peer.write(
                "HTTP/1.1 206 Part\r\nContent-Range: bytes \(at)-\(whole.count - 1)/\(whole.count)"
                    + "\r\nETag: \"other\"\r\n\(second)Content-Length: \(whole.count - at)\r\n\r\n")
            peer.write(Array(whole[at...]))
        }
        let smallweb = Smallweb()
        let words = ["-C", "-", "-o", "f", "http://127.0.0.1:\(server.port)/"]
        #expect(try smallweb.run(words).status == 18)
        let result = try smallweb.run(words)
        #expect(result.status == 0, "\(result.errors)")
        #expect(smallweb.home.content("f") == whole)
    }

    /// A file that nothing is missing of, by all that servers say instead of 416.
    @Test(arguments: [
        ("206 Part", "Content-Range: bytes 4-3/4\r\n", ""),
        ("206 Part", "Content-Range: bytes */4\r\n", ""),
        ("416 No", "Content-Range: bytes */4\r\n", "no"),
        ("416 No", "Content-Range: Bytes */4\r\n", "no"),
    ])
    func aWholeFileIsComplete(_ status: String, _ fields: String, _ body: String) throws {
        let turn = Turn(second: fields, status: status, body: body, exit: 0)
        let server = try serve(turn)
        let url = "http://127.0.0.1:\(server.port)/"
        for name in ["f", "f.part"] {
            let smallweb = Smallweb()
            try Data("abcd".utf8).write(to: URL(fileURLWithPath: smallweb.home.file(name)))
            let result = try smallweb.run(["-C", "-", "-o", "f", url])
            #expect(result.status == 0, "\(result.errors)")
            #expect(smallweb.home.names == ["f"])
            #expect(smallweb.home.content("f") == Array("abcd".utf8))
        }
    }

    /// A rest that was cut off again, of a state that the second reply has named first.
    @Test func theStateStaysWithAPart() throws {
        let turns = Locked(0)
        let server = try LoopbackServer { peer in
            guard WebRequest(from: peer) != nil else { return }
            switch turns.withLock({ turns in
                turns += 1
                return turns
            }) {
            case 1:
                peer.write("HTTP/1.1 206 Part\r\nContent-Range: bytes 4-9/10\r\n\(Self.tag)")
                peer.write("Content-Length: 6\r\n\r\nef")
            case 2:
                peer.write("HTTP/1.1 206 Part\r\nContent-Range: bytes 6-9/10\r\nETag: \"b\"\r\n")
                peer.write("Content-Length: 4\r\n\r\nghij")
            default:
                peer.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nABCDEFGHIJ")
            }
        }
        let smallweb = Smallweb()
        try Data("abcd".utf8).write(to: URL(fileURLWithPath: smallweb.home.file("f.part")))
        let url = "http://127.0.0.1:\(server.port)/"
        #expect(try smallweb.run(["-c", "-o", "f", url]).status == 18)
        #expect(smallweb.home.content("f.part") == Array("abcdef".utf8))
        let changed = try smallweb.run(["-c", "-o", "f", url])
        #expect(changed.status == 22)
        #expect(changed.errors.contains("has changed on the server since its first 6 bytes came"))
        #expect(smallweb.home.content("f.part") == Array("abcdef".utf8))
        #expect(try smallweb.run(["-o", "f", url]).status == 0)
        #expect(smallweb.home.content("f") == Array("ABCDEFGHIJ".utf8))
    }
}
