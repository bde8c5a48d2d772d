// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebPlugins
import Testing

@testable import SmallWebArchive

/// Files of archives: written, read, torn and damaged.
@Suite struct ArchiveFileTests {
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    }

    private func path(_ name: String) -> String { folder.appending(path: name).path }

    private func bytes(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: folder.appending(path: name)))
    }

    private func write(_ bytes: some Collection<UInt8>, to name: String) throws {
        try Data(bytes).write(to: folder.appending(path: name))
    }

    /// An archive of two fixtures.
    private func make(_ name: String) throws {
        let archive = try ArchiveWriter(path(name), software: "test", commandLine: "")
        let conversion = WireConversion(.builtIn)
        for page in ["a", "b"] {
            let text =
                "url gopher://example.test/0/\(page)\n> /\(page)\\r\\n\n< \(page)\\r\\n.\\r\\n\n"
            try conversion.add(name: page, Array(text.utf8), to: archive)
        }
    }

    private func types(_ name: String) throws -> [String] {
        let reader = try WarcReader(path(name))
        var types: [String] = []
        while let header = try reader.next() { types.append(header.type) }
        return types
    }

    private static let expected =
        ["warcinfo"] + ["request", "response", "metadata", "metadata", "metadata"]
        + ["request", "response", "metadata", "metadata", "metadata"]

    @Test(arguments: ["x.warc", "x.warc.gz"])
    func whatIsWrittenIsRead(_ name: String) throws {
        try make(name)
        #expect(try types(name) == Self.expected)
        #expect(try ArchiveCheck(path(name)).digests == 11)
        #expect(try bytes(name).starts(with: [0x1F, 0x8B]) == name.hasSuffix(".gz"))
        // Each record is found by its offset.
        let reader = try WarcReader(path(name))
        var offsets: [Int] = []
        while try reader.next() != nil { offsets.append(reader.offset) }
        for (offset, type) in zip(offsets, Self.expected).reversed() {
            reader.seek(to: offset)
            #expect(try reader.next()?.type == type)
        }
    }

    /// Truncation at any byte is found, reported with its offset, and cut off before records are
    /// appended.
    @Test(arguments: ["x.warc", "x.warc.gz"])
    func aCutAtEveryByteIsFound(_ name: String) throws {
        try make(name)
        let whole = try bytes(name)
        let reader = try WarcReader(path(name))
        var ends: [Int] = []
        while try reader.next() != nil { ends.append(reader.offset) }
        let stride = name.hasSuffix(".gz") ? 1 : 7
        for cut in Swift.stride(from: 20, to: whole.count, by: stride) {
            try write(whole[..<cut], to: "cut-" + name)
            let last = ends.last { $0 <= cut } ?? 0
            guard last != cut else { continue }
            let error = try #require(throws: FetchError.self) { try types("cut-" + name) }
            #expect(error.outcome == .protocolError, "\(cut)")
            #expect(error.message.contains("at byte \(last):"), "\(cut): \(error.message)")
            guard cut % 31 == 0, last > 0 else { continue }
            let archive = try ArchiveWriter(
                path("cut-" + name), software: "test", commandLine: "")
            #expect(archive.note?.contains("byte \(last)") == true)
            let found = try types("cut-" + name)
            #expect(found == Self.expected.prefix(ends.count { $0 < last }) + ["warcinfo"])
        }
    }

    @Test(arguments: ["x.warc", "x.warc.gz"])
    func whatIsAddedComesBehindTheRest(_ name: String) throws {
        try make(name)
        let before = try bytes(name)
        try make(name)
        #expect(try types(name).count == 2 * Self.expected.count)
        #expect(try bytes(name).starts(with: before))
        #expect(try ArchiveCheck(path(name)).records == 2 * Self.expected.count)
    }

    @Test func whatIsNoArchiveIsLeftAsItIs() throws {
        for (name, text) in [
            ("text.warc", "my letters\n"), ("old.warc", "WARC/0.18\r\nContent-Length: 0\r\n\r\n"),
            ("plain.warc.gz", "WARC/1.1\r\nWARC-Type: x\r\nContent-Length: 0\r\n\r\n\r\n\r\n"),
        ] {
            try write(Array(text.utf8), to: name)
            let error = try #require(throws: FetchError.self) {
                _ = try ArchiveWriter(path(name), software: "test", commandLine: "")
            }
            #expect(error.outcome == .write)
            #expect(try bytes(name) == Array(text.utf8))
        }
        try make("x.warc.gz")
        let compressed = try bytes("x.warc.gz")
        try write(compressed, to: "named.warc")
        #expect(throws: FetchError.self) {
            _ = try ArchiveWriter(path("named.warc"), software: "test", commandLine: "")
        }
        for name in ["", "none/x.warc"] {
            #expect(throws: FetchError.self) {
                _ = try ArchiveWriter(path(name), software: "test", commandLine: "")
            }
        }
    }

    @Test func twoCannotHaveOneArchive() throws {
        let first = try ArchiveWriter(path("x.warc"), software: "test", commandLine: "")
        let error = try #require(throws: FetchError.self) {
            _ = try ArchiveWriter(path("x.warc"), software: "test", commandLine: "")
        }
        #expect(error.outcome == .write)
        #expect(error.message.contains("process \(getpid()) "))
        _ = first
    }

    @Test func aMemberWithMoreThanARecordIsRefused() throws {
        let record = Array("WARC/1.1\r\nWARC-Type: x\r\nContent-Length: 0\r\n\r\n\r\n\r\n".utf8)
        for extra in [record, [0x20], [UInt8](repeating: 0, count: 1 << 20)] {
            var member: [UInt8] = []
            (record + extra).withUnsafeBytes { bytes in
                try? Deflater().deflate(bytes, to: &member, isLast: true)
            }
            try write(member, to: "two.warc.gz")
            let error = try #require(throws: FetchError.self) { try types("two.warc.gz") }
            #expect(error.message.contains("more in it than a record"))
        }
    }

    @Test func aBombEndsAtItsFirstWrongByte() throws {
        var member: [UInt8] = []
        let zeros = [UInt8](repeating: 0, count: 64 << 20)
        zeros.withUnsafeBytes { bytes in
            try? Deflater().deflate(bytes, to: &member, isLast: true)
        }
        try write(member, to: "bomb.warc.gz")
        let error = try #require(throws: FetchError.self) { try types("bomb.warc.gz") }
        #expect(error.message.contains("at byte 0: there is no WARC record"))
    }

    @Test func faultsOfPairsAndDigestsHaveTheirOffset() throws {
        try make("x.warc")
        let whole = try bytes("x.warc")
        let text = String(decoding: whole, as: UTF8.self)
        let place = try #require(text.range(of: "\r\n\r\n/a\r\n")?.lowerBound)
        let offset = text.utf8.distance(from: text.utf8.startIndex, to: place)
        var damaged = whole
        damaged[offset + 5] = UInt8(ascii: "z")
        try write(damaged, to: "damaged.warc")
        let error = try #require(throws: FetchError.self) {
            _ = try ArchiveCheck(path("damaged.warc"))
        }
        #expect(error.outcome == .protocolError && error.message.contains("digest"))
        // The reply of the first pair twice.
        let reader = try WarcReader(path("x.warc"))
        var offsets: [Int] = []
        while try reader.next() != nil { offsets.append(reader.offset) }
        let reply = String(decoding: whole[offsets[2]..<offsets[3]], as: UTF8.self)
        let other = reply.replacingOccurrences(
            of: "<urn:uuid:\(reply.split(separator: "<urn:uuid:")[1].prefix(8))",
            with: "<urn:uuid:00000000")
        try write(whole + Array(other.utf8), to: "twice.warc")
        let twice = try #require(throws: FetchError.self) {
            _ = try ArchiveCheck(path("twice.warc"))
        }
        #expect(twice.message.contains("at byte \(whole.count): there are two replies"))
    }

    /// Bytes lost on the way through an archive would be lost for its other readers as well.
    @Test(arguments: ["finger", "gemini", "git", "gopher", "nex", "spartan"])
    func fixturesComeBackUnchanged(_ plugin: String) async throws {
        let fixtures = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "PluginTests/Fixtures/\(plugin)")
        let files = try FileManager.default.contentsOfDirectory(atPath: fixtures.path)
            .filter { $0.hasSuffix(".wire") }
        #expect(!files.isEmpty)
        let archive = try ArchiveWriter(path("all.warc.gz"), software: "test", commandLine: "")
        let conversion = WireConversion(.builtIn)
        for file in files {
            let text = Array(try Data(contentsOf: fixtures.appending(path: file)))
            try conversion.add(name: String(file.dropLast(5)), text, to: archive)
        }
        #expect(try ArchiveCheck(path("all.warc.gz")).records > 3 * files.count)
        var found: [String: [UInt8]] = [:]
        let loop = try LoopThread()
        try await conversion.forEachFixture(of: path("all.warc.gz"), on: loop.loop) { _ in
        } _: { name, text in
            found[name + ".wire"] = text
        }
        #expect(found.count == files.count)
        for file in files {
            let text = Array(try Data(contentsOf: fixtures.appending(path: file)))
            #expect(found[file] == text, "\(file)")
        }
    }
}
