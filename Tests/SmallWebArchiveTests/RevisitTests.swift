// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebCore
import Testing

@testable import SmallWebArchive

/// References from a `revisit` to an earlier reply, written and read.
@Suite struct RevisitTests {
    private let path: String
    private let target = "http://example.test/"

    init() {
        path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).warc").path
    }

    private func archive() throws -> ArchiveWriter {
        try ArchiveWriter(path, software: "test", commandLine: "")
    }

    private func write(
        _ body: String, status: Int = 200, _ truncated: Truncation? = nil,
        to archive: ArchiveWriter
    ) throws {
        let head = "HTTP/1.1 \(status) X\r\n\r\n"
        var exchange = Capture(target: target)
        exchange.request = Block(Array("GET / HTTP/1.1\r\n\r\n".utf8))
        exchange.requestHeadBytes = 18
        exchange.response = Block(Array((head + body).utf8))
        exchange.responseHeadBytes = head.utf8.count
        (exchange.status, exchange.truncated) = (status, truncated)
        exchange.turns = Array("{}".utf8)
        try archive.write(exchange)
    }

    private func replies() throws -> [WarcHeader] {
        let reader = try WarcReader(path)
        var replies: [WarcHeader] = []
        while let header = try reader.next() {
            if ["response", "revisit"].contains(header.type) { replies.append(header) }
        }
        return replies
    }

    /// In one run, and where each reply is of a run of its own.
    @Test(arguments: [false, true])
    func notModifiedRefersToTheLastPage(_ isContinued: Bool) throws {
        var archive: ArchiveWriter? = try archive()
        for (body, status) in [("B", 200), ("A", 200), ("B", 200), ("no", 503), ("", 304)] {
            if isContinued {
                archive = nil
                archive = try self.archive()
            }
            try write(body, status: status, to: try #require(archive))
        }
        let replies = try replies()
        #expect(replies.map(\.type) == ["response", "response", "revisit", "response", "revisit"])
        #expect(replies[4]["warc-refers-to"] == replies[0].id)
        #expect(replies[4]["warc-refers-to-date"] == replies[0]["warc-date"])
    }

    @Test(arguments: [false, true])
    func whatWasCutOffIsNotReferredTo(_ isContinued: Bool) throws {
        var archive: ArchiveWriter? = try archive()
        try write("B", .disconnect, to: try #require(archive))
        for _ in 1...2 {
            if isContinued {
                archive = nil
                archive = try self.archive()
            }
            try write("", status: 304, to: try #require(archive))
        }
        #expect(try replies().map(\.type) == ["response", "response", "response"])
    }

    @Test func aFullListStillKnowsTheLastPage() {
        var (known, seed) = (KnownRecords(), UInt64(1))
        let (first, last) = (WarcID(after: &seed), WarcID(after: &seed))
        known.add("u", [], first, "")
        for number in 1..<KnownRecords.repliesMax { known.add("\(number)", [], first, "") }
        known.add("u", [], last, "")
        #expect(known.reply("u", [])?.id == last && !known.isFull)
        known.add("other", [], last, "")
        #expect(known.reply("other", []) == nil && known.isFull)
    }

    // MARK: Reading

    private func record(
        _ type: String, _ id: String, _ fields: [String], _ body: String
    ) -> String {
        let block = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n" + body
        let lines =
            [
                "WARC/1.1", "WARC-Type: \(type)", "WARC-Record-ID: <urn:uuid:\(id)>",
                "WARC-Date: 2026-01-0\(id)T00:00:00Z",
                "Content-Type: application/http; msgtype=response",
            ] + fields + ["Content-Length: \(block.utf8.count)", "", block, "", ""]
        return lines.joined(separator: "\r\n")
    }

    private static let page = "WARC-Refers-To-Target-URI: http://h.test/a"
    private static let digest =
        "WARC-Payload-Digest: sha1:6VZNHFX25EQGMKDRJ6ZM4AHXF2KPEJMP"

    /// By URL and date as warcio writes them, by the digest alone, and by the identifier.
    @Test(arguments: [
        ([page, "WARC-Refers-To-Date: 2026-01-01T00:00:00Z"], true), ([digest], true),
        (["WARC-Refers-To: <urn:uuid:1>"], true),
        (["WARC-Refers-To: <urn:uuid:9>", digest], true),
        ([page, "WARC-Refers-To-Date: 2026-01-09T00:00:00Z"], false),
        (["WARC-Refers-To: <urn:uuid:2>"], false), ([], false),
    ])
    func findsTheEarlierReply(_ fields: [String], _ isThere: Bool) throws {
        let text =
            record(
                "response", "1", ["WARC-Target-URI: <http://h.test/a>", Self.digest], "hello\n")
            + record("revisit", "2", ["WARC-Target-URI: http://h.test/x"] + fields, "")
        try Data(text.utf8).write(to: URL(filePath: path))
        let index = try ArchiveIndex([path])
        let uri = try URI(parsing: "http://h.test/x")
        let number = try #require(index.recordings(of: uri, defaultPort: 80).first)
        let source = try? index.source(of: index.recordings[number])
        #expect((source?.response?.offset == 0) == isThere)
        guard !isThere else { return }
        let error = try #require(throws: FetchError.self) {
            _ = try index.source(of: index.recordings[number])
        }
        #expect(error.outcome == .notRecorded)
    }

    /// A request that was not played comes first, and of those that were the last one.
    @Test func recordingsAreTakenInTurn() throws {
        let text = (1...3).map {
            record("response", "\($0)", ["WARC-Target-URI: http://h.test/"], "hello\n")
        }
        try Data(text.joined().utf8).write(to: URL(filePath: path))
        let replayer = Replayer(try ArchiveIndex([path]))
        replayer.notePlayed(0)
        #expect(replayer.inTurn([0, 1, 2]) == [1, 2, 0])
        replayer.notePlayed(2)
        #expect(replayer.inTurn([0, 1, 2]) == [1, 2, 0])
        replayer.notePlayed(1)
        #expect(replayer.inTurn([0, 1, 2]) == [2, 1, 0])
    }
}
