// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import Testing

@testable import SmallWebArchive

/// Habits of other programs that write archives, replayed.
@Suite struct ForeignArchiveTests {
    private let url = "http://h.test/x"

    // MARK: Status 304

    private func unmodified(_ fields: [String], version: String = "1.1") -> String {
        let profile =
            "WARC-Profile: http://netpreserve.org/warc/\(version)/revisit/server-not-modified"
        return TestArchive.record(
            "revisit", url, "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n",
            [profile] + fields, version: version, mediaType: "application/http; msgtype=response")
    }

    static let references = [
        [], ["WARC-Refers-To-Target-URI: http://h.test/x"],
        [
            "WARC-Refers-To-Target-URI: http://h.test/x",
            "WARC-Refers-To-Date: 2026-01-01T00:00:00Z",
        ],
        ["WARC-Refers-To: <urn:uuid:9>"],
        // Digest of an empty body, which many replies have.
        ["WARC-Payload-Digest: sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"],
    ]

    @Test(arguments: ["1.0", "1.1"], references)
    func aPageThatIsNotModifiedIsThereOrNot(_ version: String, _ fields: [String]) async throws {
        let revisit = unmodified(fields, version: version)
        let empty = TestArchive.page(
            "http://h.test/empty", "",
            ["WARC-Payload-Digest: sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"])
        #expect(try await TestArchive(empty + revisit).get(url) == ["not-recorded"])
        let page = TestArchive.page(url, "hello")
        #expect(
            try await TestArchive(page + revisit).get(url, url, url) == ["hello", "hello", "hello"])
    }

    /// A client that has the page, and asks for a change alone, is told that there is none.
    @Test(arguments: ["If-None-Match", "If-Modified-Since"])
    func whoAsksForAChangeIsToldOfNone(_ name: String) async throws {
        let request = TestArchive.record(
            "request", url, "GET /x HTTP/1.1\r\nHost: h.test\r\n\(name): \"x\"\r\n\r\n")
        let archive = try TestArchive(request + unmodified([]))
        let client = try archive.client()
        var asked = try client.request(url)
        asked.options["header"] = .list(["\(name): \"x\""])
        #expect(try await client.fetch(asked).status == 304)
    }

    // MARK: Bodies

    /// A header that names a coding which the body has no more, beside those that are right.
    @Test(arguments: ["gzip", "x-gzip", "GZIP", "br", "deflate", "zstd", "identity"])
    func aBodyThatWasDecodedIsReadAsItIs(_ coding: String) async throws {
        for (body, transfer) in [
            ("hello, all", "X: y"), ("hi", "Content-Length: 26"), ("h", "Content-Length: 21"),
            ("5\r\nhello\r\n0\r\n\r\n", "Transfer-Encoding: chunked"),
            ("1\r\nh\r\n1\r\ni\r\n0\r\n\r\n", "Transfer-Encoding: chunked"),
        ] {
            let text = TestArchive.page(url, body, ["Content-Encoding: \(coding)", transfer])
            let isShort = coding == "identity" && transfer.hasPrefix("Content-L")
            let chunks = [
                "5\r\nhello\r\n0\r\n\r\n": "hello", "1\r\nh\r\n1\r\ni\r\n0\r\n\r\n": "hi",
            ]
            #expect(
                try await TestArchive(text).get(url) == [
                    isShort ? "truncated" : chunks[body] ?? body
                ],
                "\(body)")
        }
    }

    @Test func aBodyThatIsStillCodedIsDecoded() async throws {
        let coded = try TestArchive.gzip(Array("hello".utf8))
        for (step, fields) in [
            (1, ""), (7, ""), (coded.count, "Content-Length: \(coded.count)\r\n"),
        ] {
            var block = Array("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\(fields)".utf8)
            if step < coded.count { block += Array("Transfer-Encoding: chunked\r\n".utf8) }
            block += [13, 10]
            for start in stride(from: 0, to: coded.count, by: step) {
                let chunk = coded[start..<min(start + step, coded.count)]
                let size = Array((String(chunk.count, radix: 16) + "\r\n").utf8)
                block += step < coded.count ? size + chunk + [13, 10] : Array(chunk)
            }
            if step < coded.count { block += Array("0\r\n\r\n".utf8) }
            let text = TestArchive.record("response", url, "")
            let head = text.dropLast(4).replacing(
                "Content-Length: 0", with: "Content-Length: \(block.count)")
            let archive = try TestArchive(
                Array(head.utf8) + [13, 10, 13, 10] + block + [13, 10, 13, 10])
            #expect(try await archive.get(url) == ["hello"], "\(step)")
        }
    }

    /// wget leaves out the bytes after the last chunk; a body without the last chunk is truncated.
    @Test(arguments: [
        ("4\r\nabc\n\r\n0\r\n\r\n", "abc\n"), ("4\r\nabc\n\r\n0\r\n", "abc\n"),
        ("4\r\nabc\n\r\n0\r\nX-Trailer: 1\r\n", "abc\n"),
        ("4\r\nabc\n\r\n0\r\nX-Trailer: 1\r\nY: 2", "abc\n"), ("0\r\n", ""),
        ("4\r\nabc\n\r\n", "truncated"), ("4\r\nab", "truncated"), ("4\r\nabc\n\r\n0", "truncated"),
        ("4\r\nabc\n\r\nno\r\n", "protocol-error"), ("hello", "hello"), ("{\"a\":1}", "{\"a\":1}"),
        ("ab", "truncated"),
    ])
    func theLastChunkIsTheEnd(_ body: String, _ found: String) async throws {
        let text = TestArchive.page(url, body, ["Transfer-Encoding: chunked"])
        #expect(try await TestArchive(text).get(url) == [found])
    }

    @Test func aHeadAloneNeedsNoLastChunk() async throws {
        let text = TestArchive.page(url, "", ["Transfer-Encoding: chunked"])
        let client = try TestArchive(text).client(isLoose: true)
        var request = try client.request(url)
        request.wantsHeadAlone = true
        #expect(try await client.fetch(request).status == 200)
    }

    /// Each chunk costs a look, and no more.
    @Test func aBodyOfManyChunksIsRead() async throws {
        let body = String(repeating: "1\r\nx\r\n", count: 30_000) + "0\r\n\r\n"
        let text = TestArchive.page(url, body, ["Transfer-Encoding: chunked"])
        #expect(try await TestArchive(text).get(url) == [String(repeating: "x", count: 30_000)])
    }

    // MARK: Targets

    @Test(arguments: [
        ("a b.txt", "a%20b.txt"), ("a\tb", "a%09b"), ("a\\b", "a%5Cb"), ("a|b", "a%7Cb"),
        ("é", "%C3%A9"), ("q?a b", "q?a%20b"), ("a\u{7F}", "a%7F"), ("a%20b", "a%20b"),
    ])
    func aTargetIsFoundAsAURLHasIt(_ written: String, _ asked: String) async throws {
        for target in ["http://h.test/\(written)", "<http://h.test/\(written)>"] {
            let text = TestArchive.page(target, "hello").replacing(
                "application/<http", with: "application/http")
            #expect(try await TestArchive(text).get("http://h.test/" + asked) == ["hello"])
        }
        let reply = TestArchive.page("http://h.test/\(written)", "hello")
        let revisit = TestArchive.record(
            "revisit", url, "",
            [
                "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
                "WARC-Refers-To-Target-URI: http://h.test/\(asked)",
                "WARC-Refers-To-Date: 2026-01-01T00:00:00Z",
            ])
        #expect(try await TestArchive(reply + revisit).get(url) == ["hello"])
    }

    // MARK: Keys

    /// libcurl tells nothing of a certificate that it refuses: the reason is all that there is.
    @Test(arguments: ["untrusted", "trust-changed"])
    func theReasonOfARefusedKeyIsTheRecordedOne(_ outcome: String) async throws {
        let place = "https://h.test/"
        let facts = TestArchive.record(
            "metadata", place, #"{"attempts":1}"#, mediaType: "application/x-smallweb-exchange")
        let failure = TestArchive.record(
            "metadata", place, "outcome: \(outcome)\r\nmessage: it has expired\r\nphase: tls\r\n",
            mediaType: "application/warc-fields")
        let archive = try TestArchive(facts + failure)
        let error = await #expect(throws: FetchError.self) {
            try await archive.client().fetch(place)
        }
        #expect(error?.outcome.rawValue == outcome && error?.message == "it has expired")
        // A client that judges no key is not told of a refusal, and there is no page.
        let skipped = await #expect(throws: FetchError.self) {
            try await archive.client(policy: .skip).fetch(place)
        }
        #expect(skipped?.outcome == .notRecorded)
    }
}
