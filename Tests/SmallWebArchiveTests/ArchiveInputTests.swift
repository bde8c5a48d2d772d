// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import Testing

@testable import SmallWebArchive

/// Files that are not as they should be: each reader says so, and a writer leaves them alone.
@Suite struct ArchiveInputTests {
    private static let url = "gopher://example.org/0/a"

    private func writer(_ path: String) throws(FetchError) -> ArchiveWriter {
        try ArchiveWriter(path, software: "test", commandLine: "")
    }

    /// A file that exists is refused by writers, and left as it was.
    private func expectUntouched(_ archive: TestArchive) throws {
        let before = try Data(contentsOf: URL(filePath: archive.path))
        let error = #expect(throws: FetchError.self) { _ = try writer(archive.path) }
        #expect(error?.outcome == .write)
        #expect(try Data(contentsOf: URL(filePath: archive.path)) == before)
    }

    @Test func whatIsNotAFileIsRefused() throws {
        let folder = try TestArchive("").path + ".folder"
        let fifo = folder + ".fifo"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false)
        #expect(mkfifo(fifo, 0o600) == 0)
        for path in [folder, fifo] {
            let written = #expect(throws: FetchError.self) { _ = try writer(path) }
            #expect(written?.outcome == .write && written?.message.contains(path) ?? false)
            for read in [{ _ = try ArchiveIndex([path]) }, { _ = try ArchiveCheck(path) }]
                as [() throws -> Void]
            {
                let error = #expect(throws: FetchError.self) { try read() }
                #expect(error?.outcome == .read && error?.message.contains(path) ?? false)
            }
        }
        let missing = #expect(throws: FetchError.self) { _ = try ArchiveIndex([folder + "/no"]) }
        #expect(missing?.outcome == .read)
    }

    /// An older version, and gzip of something else, of other methods, and of a whole archive.
    @Test func aFileOfAnotherKindIsToldAndLeftAlone() throws {
        let old = "WARC/0.18 4 response\r\nWARC-Type: response\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
        let record = TestArchive.record("response", Self.url, "")
        for bytes in [
            Array(old.utf8), try TestArchive.gzip("my letters\n".utf8),
            try TestArchive.gzip((record + record).utf8),
            [0x1F, 0x8B, 7, 0] + Array("of a method that never was".utf8),
            [0x1F, 0x9D, 0x90] + Array("of compress(1)".utf8),
        ] {
            let name = bytes.starts(with: [0x1F]) ? "x.warc.gz" : "x.warc"
            let archive = try TestArchive(bytes, name: name)
            #expect(archive.fault?.contains("\(name): at byte 0: ") ?? false)
            let error = #expect(throws: FetchError.self) { try archive.client() }
            #expect(error?.outcome == .protocolError)
            try expectUntouched(archive)
        }
    }

    /// It is no end that a crash has torn.
    @Test(arguments: [-1, 1])
    func aWriterLeavesARecordThatLiesAlone(_ wrong: Int) throws {
        let text = TestArchive.record("response", Self.url, "twelve bytes")
        let lie = text.replacing("Content-Length: 12", with: "Content-Length: \(12 + wrong)")
        let archive = try TestArchive(text + lie + text)
        #expect(archive.fault?.contains("at byte \(text.utf8.count): ") ?? false)
        try expectUntouched(archive)
    }

    /// The plugin of the URL decides how a block is parsed.
    @Test func theMediaTypeOfABlockDecidesNothing() async throws {
        let text = TestArchive.record(
            "response", Self.url, "hello\n.\r\n", mediaType: "application/http; msgtype=response")
        #expect(try await TestArchive(text).get(Self.url, isLoose: true) == ["hello\n"])
    }

    /// A request without a response, and two responses for one request.
    @Test func pairsThatAreNoneAreTold() async throws {
        let request = TestArchive.record("request", Self.url, "/a\r\n", id: "1")
        let responses = (2...3).map {
            TestArchive.record(
                "response", Self.url, "body\($0)\n", id: "\($0)",
                ["WARC-Concurrent-To: <urn:uuid:1>"])
        }
        let web = (request + responses[0]).replacing("gopher", with: "http")
        let headless = try await TestArchive(web).get("http://example.org/0/a", isLoose: true)
        #expect(headless == ["protocol-error"])
        let alone = try TestArchive(request)
        #expect(try ArchiveCheck(alone.path).unanswered == 1)
        #expect(try await alone.get(Self.url) == ["not-recorded"])
        let two = try TestArchive(request + responses.joined())
        #expect(two.fault?.contains("two replies") ?? false)
        // Each has its turn.
        #expect(try await two.get(Self.url, Self.url) == ["body2\n", "body3\n"])
    }

    @Test func aRevisitWithoutItsReplyIsNotRecorded() async throws {
        let (url, first) = ("http://h.example/x", "http://h.example/first")
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\n"
        let revisit = TestArchive.record(
            "revisit", url, head,
            [
                "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
                "WARC-Refers-To-Target-URI: \(first)",
                "WARC-Refers-To-Date: 2026-01-01T00:00:00Z",
            ])
        let reply = TestArchive.record("response", first, head + "hello\n")
        #expect(try await TestArchive(reply + revisit).get(url) == ["hello\n"])
        #expect(try await TestArchive(revisit).get(url) == ["not-recorded"])
        let hole = "gopher://h.example/"
        let gopher = TestArchive.record("revisit", hole, "", ["WARC-Refers-To: <urn:uuid:9>"])
        #expect(try await TestArchive(gopher).get(hole, isLoose: true) == ["not-recorded"])
    }

    /// A segment is cut off, and so is a reply of HTTP that is shorter than its length.
    @Test func aPartOfAReplyIsCutOff() async throws {
        let url = "gopher://h.example/9/x"
        let part = TestArchive.record("response", url, "half", ["WARC-Segment-Number: 1"])
        #expect(try await TestArchive(part).get(url, isLoose: true) == ["truncated"])
        let web = "http://h.example/x"
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n"
        let archive = try TestArchive(TestArchive.record("response", web, head))
        #expect(try await archive.get(web) == ["truncated"])
        let client = try archive.client(isLoose: true)
        var request = try client.request(web)
        request.wantsHeadAlone = true
        #expect(try await client.fetch(request).status == 200)
    }

    /// Their sums are too large for a number.
    @Test func hugeCountsDoNotEndTheProgram() async throws {
        let web = "http://h.example/"
        var text = ""
        for (id, reply) in [
            ("1", "HTTP/1.1 301 X\r\nLocation: /2\r\nContent-Length: 0\r\n\r\n"),
            ("2", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi\n"),
        ] {
            text += TestArchive.record("response", web + id, reply, id: id)
            text += TestArchive.record(
                "metadata", web + id,
                #"{"bytes":{"sent":9223372036854775807,"received":9223372036854775807}}"#,
                ["WARC-Refers-To: <urn:uuid:\(id)>"], mediaType: "application/x-smallweb-exchange")
        }
        #expect(try await TestArchive(text).get(web + "1") == ["hi\n"])
    }

    /// A run records while another one replays: the unfinished record is no damage.
    @Test func aGrowingArchiveIsReplayedAsFarAsItGoes() async throws {
        let text = TestArchive.page("http://h.test/a", "hello")
        let archive = try TestArchive(text + text.prefix(text.count / 2))
        let file = open(archive.path, O_RDWR | O_CLOEXEC)
        #expect(flock(file, LOCK_EX) == 0)
        #expect(try await archive.get("http://h.test/a") == ["hello"])
        #expect(archive.complaints.isEmpty)
        flock(file, LOCK_UN)
        close(file)
        // Without a run that has it, it is a damaged file.
        #expect(try await archive.get("http://h.test/a") == ["hello"])
        #expect(archive.complaints.count == 1)
    }

    // MARK: Cost

    /// Ours are never as long.
    @Test func longTurnsAndFactsCountAsMissing() throws {
        let id = ["WARC-Refers-To: <urn:uuid:1>"]
        func metadata(_ kind: String, _ text: String) -> String {
            TestArchive.record(
                "metadata", Self.url, text, id, mediaType: "application/x-smallweb-\(kind)")
        }
        for (padding, isKnown) in [(0, true), (Turns.bytesMax, false)] {
            let blanks = String(repeating: " ", count: padding)
            let archive = try TestArchive(
                TestArchive.record("response", Self.url, "hello", id: "1")
                    + metadata("turns", #"{"turns":[["received",5,1]]}"# + blanks)
                    + metadata("exchange", #"{"ending":"reset"}"# + blanks))
            let replayer = Replayer(try ArchiveIndex([archive.path]))
            let turns = try Turns(replayer.index.recordings[0], replayer)
            #expect(turns.turns.isEmpty != isKnown)
            #expect((try CaptureFacts(0, replayer).ending == .reset) == isKnown)
        }
    }

    /// A record of certificates is short where it is compressed.
    @Test(arguments: [false, true])
    func ofManyCertificatesTheFirstAreLookedAt(_ isOld: Bool) throws {
        let certificates = (0..<300).map { number in
            let der = [UInt8(number / 256), UInt8(number % 256)]
            let block = WarcHeader.block(Certificates.kind, Certificates.encode([der]))
            let old =
                "-----BEGIN CERTIFICATE-----\n\(Base64.encode(der))\n-----END CERTIFICATE-----\n"
            let (text, fields) =
                isOld
                ? (old, [])
                : (String(decoding: block, as: UTF8.self), ["Smallweb-Kind: certificates"])
            return TestArchive.record(
                "metadata", "gemini://h.test/", text, fields,
                mediaType: isOld ? "application/x-pem-file" : "application/warc-fields")
        }
        let archive = try TestArchive(certificates.joined())
        let replayer = Replayer(try ArchiveIndex([archive.path]))
        let uri = try URI(parsing: "gemini://h.test/")
        func chain(_ certificate: [UInt8]) throws -> [[UInt8]]? {
            let digest = try Digest(.sha256)
            digest.update(certificate[...])
            return try replayer.chain(of: uri, defaultPort: 1965, sha256: digest.finish())
        }
        #expect(try chain([0, 255]) == [[0, 255]])
        #expect(try chain([1, 0]) == nil)
    }

    /// One request that all of them share is read once.
    @Test func manyRevisitsOfOneRequestAreLookedAtTogether() async throws {
        let url = "http://h.test/"
        let body = String(repeating: "x", count: 4 << 20)
        let request = TestArchive.record("request", url, "PUT / HTTP/1.1\r\n\r\n" + body, id: "1")
        let revisits = (2...3000).map { number in
            TestArchive.record(
                "revisit", url, "", id: "\(number)", ["WARC-Concurrent-To: <urn:uuid:1>"])
        }
        let archive = try TestArchive(request + revisits.joined())
        #expect(try await archive.get(url, url) == ["not-recorded", "not-recorded"])
    }

    // MARK: Fixtures

    private func fixtures(
        of archive: TestArchive, textBytesMax: Int = 4 << 20, repeatedBytesMax: Int = 64 << 20
    ) async throws -> (names: [String], skipped: Int, damage: Int) {
        var (names, skipped, damage) = ([String](), 0, 0)
        let loop = try LoopThread()
        var conversion = WireConversion(.builtIn)
        (conversion.textBytesMax, conversion.repeatedBytesMax) = (textBytesMax, repeatedBytesMax)
        try await conversion.forEachFixture(of: archive.path, on: loop.loop) { _ in
            skipped += 1
        } onDamage: { _ in
            damage += 1
        } _: { name, _ in
            names.append(name)
        }
        return (names, skipped, damage)
    }

    @Test func recordingsOfOneURLHaveNumbers() async throws {
        let text = (1...300).map {
            TestArchive.record("response", Self.url, "hello\r\n.\r\n", id: "\($0)")
        }
        let found = try await fixtures(of: try TestArchive(text.joined()))
        let name = "gopher-example.org-0-a"
        #expect(found.names == [name] + (2...300).map { "\(name)-\($0)" })
        let torn = try await fixtures(of: try TestArchive(String(text.joined().dropLast(9))))
        #expect(torn.names.count == 299 && torn.damage == 1)
    }

    /// A fixture is a text that people read.
    @Test func whatIsTooLongForAFixtureIsLeftOut() async throws {
        let long = String(repeating: "x", count: 50_000)
        let kept = "application/x-smallweb-wire; name=\"n\""
        for (record, most, count) in [
            (TestArchive.record("metadata", Self.url, long, mediaType: kept), 49_999, 0),
            (TestArchive.record("metadata", Self.url, long, mediaType: kept), 50_000, 1),
            (TestArchive.record("request", Self.url, long), 49_999, 0),
            (TestArchive.record("response", Self.url, long), 49_999, 0),
            (TestArchive.record("response", Self.url, long), 50_000, 1),
        ] {
            let found = try await fixtures(of: try TestArchive(record), textBytesMax: most)
            #expect(found.names.count == count && found.skipped == 1 - count)
        }
    }

    /// Revisits are short, but the replies that they repeat may be long.
    @Test func whatRevisitsRepeatIsBounded() async throws {
        let records =
            [TestArchive.record("response", Self.url, "hello", id: "1")]
            + (2...60).map {
                TestArchive.record(
                    "revisit", Self.url, "", id: "\($0)", ["WARC-Refers-To: <urn:uuid:1>"])
            }
        let found = try await fixtures(
            of: try TestArchive(records.joined()), repeatedBytesMax: 5000)
        #expect(found.names.count + found.skipped == 60)
        #expect((5...40).contains(found.names.count), "\(found.names.count)")
    }
}
