// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import Testing

@testable import SmallWebArchive

/// Archives that a crash, a disk or another program has damaged: whole records are replayed, with
/// one sentence about the rest, and `warc check` reports the fault.
@Suite struct DamagedArchiveTests {
    private static let urls = ["a", "b", "c"].map { "http://h.test/\($0)" }
    private static let pages = ["a", "b", "c"].map {
        Array(TestArchive.page("http://h.test/\($0)", $0).utf8)
    }

    private func texts(_ archive: TestArchive) async throws -> [String] {
        try await archive.get(Self.urls[0], Self.urls[1], Self.urls[2])
    }

    /// - Parameter isCompressed: Each record as a member of gzip.
    private func records(_ isCompressed: Bool) throws -> [[UInt8]] {
        isCompressed ? try Self.pages.map { try TestArchive.gzip($0) } : Self.pages
    }

    /// A last record truncated at any byte leaves the records before it readable.
    @Test(arguments: [false, true])
    func whatIsBeforeATearIsReplayed(_ isCompressed: Bool) async throws {
        let records = try records(isCompressed)
        let before = records[0] + records[1]
        for count in stride(from: 1, to: records[2].count, by: 7) {
            let archive = try TestArchive(before + records[2].prefix(count))
            #expect(try await texts(archive) == ["a", "b", "not-recorded"], "\(count)")
            #expect(archive.complaints.count == 1, "\(count)")
            #expect(archive.complaints[0].contains("at byte \(before.count): "), "\(count)")
            #expect(archive.fault?.contains("at byte \(before.count): ") ?? false, "\(count)")
        }
    }

    static let fillings: [[UInt8]] =
        ["\r\n", "\n\n\n", "\r\n\r\nnonsense", "WARC", "W", "see WARC/1.1\n", "WARC/0.9\r\n\r\n"]
        .map { Array($0.utf8) }
        + [
            [0], [UInt8](repeating: 0, count: 70_000), [0x1F, 0x8B, 8], [0x1F, 0x8B, 8, 0, 0, 1],
            (0...255).map { UInt8($0) },
        ]

    /// Also where it is before the first record and behind the last.
    @Test(arguments: [false, true], fillings)
    func whatIsBetweenRecordsIsPassedOver(
        _ isCompressed: Bool, _ filling: [UInt8]
    ) async throws {
        let records = try records(isCompressed)
        let between = Array(records.joined(separator: filling))
        for bytes in [between, filling + between, between + filling] {
            let archive = try TestArchive(bytes)
            // The first bytes tell the format of a file.
            guard isCompressed == bytes.starts(with: [0x1F, 0x8B, 8]) else { continue }
            #expect(try await texts(archive) == ["a", "b", "c"])
            #expect(archive.complaints.count == 1)
            #expect(archive.fault != nil)
        }
    }

    /// Some end each record with a line more, within its member.
    @Test func whatIsBehindTheRecordOfAMemberIsPassedOver() async throws {
        for extra in ["\r\n", "\0\0\0", String(repeating: " ", count: 100_000)] {
            let members = try Self.pages.map { try TestArchive.gzip($0 + Array(extra.utf8)) }
            let archive = try TestArchive(Array(members.joined()))
            #expect(try await texts(archive) == ["a", "b", "c"])
            #expect(archive.complaints.count == 1 && archive.fault != nil)
        }
    }

    /// A member that lost its end before another program went on.
    @Test(arguments: [1, 5, 8])
    func aTearInTheMiddleCostsOneRecord(_ lost: Int) async throws {
        let records = try records(true)
        let archive = try TestArchive(records[0] + records[1].dropLast(lost) + records[2])
        #expect(try await texts(archive) == ["a", "not-recorded", "c"])
        #expect(archive.complaints.count == 1 && archive.fault != nil)
    }

    /// A length that is wrong costs its record alone.
    @Test(arguments: [-1, 1, 30])
    func aLengthThatLiesCostsOneRecord(_ wrong: Int) async throws {
        let text = String(decoding: Self.pages[1], as: UTF8.self)
        let length = try #require(text.firstMatch(of: /Content-Length: (\d+)/))
        let lie = text.replacing(
            length.0, with: "Content-Length: \(try #require(Int(length.1)) + wrong)")
        for last in [[], Array("\r\n".utf8)] {
            let archive = try TestArchive(
                Self.pages[0] + Array(lie.utf8) + last + Self.pages[0] + Self.pages[2])
            let found = try await texts(archive)
            #expect(found == ["a", "not-recorded", "c"], "\(found)")
        }
    }

    /// The block of a record that is cut off may be an archive that the server has made.
    @Test func aBodyIsNotTakenForRecords() async throws {
        let body = String(decoding: Self.pages[1], as: UTF8.self) + String(repeating: "x", count: 9)
        let torn = TestArchive.page("http://h.test/c", body).utf8.dropLast(9)
        let archive = try TestArchive(Self.pages[0] + torn)
        #expect(try await texts(archive) == ["a", "not-recorded", "not-recorded"])
        #expect(archive.complaints.count == 1)
    }

    /// A file that has nothing whole is not an archive.
    @Test func withoutAWholeRecordThereIsNoReplay() throws {
        for bytes in [
            Array("my letters\n".utf8), Self.pages[0].dropLast(), Array("WARC/1.1\r\n".utf8),
            try TestArchive.gzip(Array("my letters\n".utf8)),
            try TestArchive.gzip(Self.pages[0]).dropLast(),
            try TestArchive.gzip(Self.pages[0] + Self.pages[1]),
        ] {
            let archive = try TestArchive(Array(bytes))
            let error = #expect(throws: FetchError.self) { try archive.client() }
            #expect(error?.outcome == .protocolError)
            #expect(error?.message.contains("at byte 0: ") ?? false)
        }
    }

    /// Each of these begins as a record does: they are looked at once.
    @Test(arguments: ["WARC/1.1\n", "WARC/1.1\r\n\r\n", "WARC/1.1 ", "W"])
    func whatOnlyBeginsAsARecordIsPassedOver(_ beginning: String) async throws {
        let filling = Array(String(repeating: beginning, count: 30_000).utf8)
        let archive = try TestArchive(Self.pages[0] + filling + Self.pages[1] + Self.pages[2])
        #expect(try await texts(archive) == ["a", "b", "c"])
    }
}
