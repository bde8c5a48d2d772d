// SPDX-License-Identifier: MIT
internal import Foundation
internal import SmallWebCore
internal import Testing

@Suite final class LineFileTests {
    private let folder: URL
    private let path: String

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.appending(path: "file").path
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private func open(_ path: String? = nil, _ flags: Int32 = O_APPEND) throws -> LineFile {
        try LineFile.open(path ?? self.path, title: "ledger", flags)
    }

    private func write(_ text: String) throws { try Data(text.utf8).write(to: URL(filePath: path)) }

    private var content: String {
        get throws { String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self) }
    }

    /// Pieces that end anywhere, from anywhere on; the last line is not passed without its end.
    @Test func linesAreReadInPieces() throws {
        let text = "one\n\ntwo and more\nlast\nunfinished"
        try write(text)
        let file = try open()
        for start in 0...text.utf8.count {
            let rest = text.utf8.dropFirst(start).split(
                separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            for pieceBytes in 1...text.utf8.count {
                var lines = LineFile.Lines(
                    file.descriptor, from: start, pieceBytes: pieceBytes, lineBytesMax: 100)
                var offset = start
                for line in rest.dropLast() {
                    #expect(lines.offset == offset)
                    #expect(try lines.next()?.elementsEqual(line) ?? false)
                    offset += line.count + 1
                }
                #expect(try lines.next() == nil && lines.offset == offset)
            }
        }
        var lines = LineFile.Lines(file.descriptor, pieceBytes: 1, lineBytesMax: 3)
        #expect(try lines.next()?.count == 3 && lines.next()?.count == 0)
        #expect(throws: SystemError(number: EFBIG)) { try lines.next() }
        var offsets: [Int] = []
        try file.forEachLine { _, offset in offsets.append(offset) }
        #expect(offsets == [0, 4, 5, 18])
    }

    @Test func oneThatIsInUseIsSaidWithItsHolder() throws {
        let held = try open()
        let error = #expect(throws: FetchError.self) { try open() }
        #expect(error?.outcome == .write)
        let holder = "the ledger \(path) is in use: process \(getpid()) ("
        #expect(error?.message.hasPrefix(holder) ?? false, "\(error?.message ?? "")")
        #expect(try LineFile.openUnlessInUse(path, title: "ledger", 0) == nil)
        // The lock goes over to the file that replaces it.
        try held.replace(by: Array("new\n".utf8))
        #expect(throws: FetchError.self) { try open() }
        let inherited = Descriptor(owning: dup(held.descriptor))
        held.close()
        #expect(try open().end == 4 && inherited.borrowed >= 0)
        #expect(throws: FetchError.self) { try held.append([10]) }
    }

    /// Lines of others are not cut, and those that a crash leaves are.
    @Test func onlyOwnTornLinesAreCut() throws {
        for (rest, isOwn) in [
            ("", true), ("{", true), ("{\"type\":\"x\",\"v", true), ("\0\0\0", true), ("a", false),
            ("{\"typ\":", false), (String(repeating: "x", count: 200_000), false),
        ] {
            for whole in ["", "a note\n"] {
                try write(whole + rest)
                let file = try open()
                if isOwn {
                    try file.cutTornLine()
                    try file.append(Array("{}\n".utf8))
                    #expect(try content == whole + "{}\n" && file.end == content.utf8.count)
                    try file.clear()
                    #expect(try content.isEmpty && file.end == 0)
                } else {
                    let error = #expect(throws: FetchError.self) { try file.cutTornLine() }
                    #expect(error?.outcome == .usage)
                    #expect(try content == whole + rest)
                }
            }
        }
    }

    #if compiler(>=6.3)  // captures of exit tests
    /// As on a disk that is full and then freed: the second addition would come behind a gap.
    @Test func theTornLineGoesAndNothingIsAddedBehindIt() async throws {
        await #expect(processExitsWith: .success) { [path = path as String] in
            signal(SIGXFSZ, SIG_IGN)
            let file = try LineFile.open(path, title: "ledger", O_APPEND)
            try file.append(Array("{}\n".utf8))
            let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
            var limit = rlimit()
            getrlimit(resource, &limit)
            for size in [1_000, limit.rlim_max] {
                limit.rlim_cur = size
                setrlimit(resource, &limit)
                let line = [UInt8](repeating: UInt8(ascii: "x"), count: 2_000)
                let error = #expect(throws: FetchError.self) { try file.append(line) }
                #expect(error?.outcome == .write && error?.errnoName == "EFBIG")
                #expect(try FileBytes.read(path, limit: 9_000) == Array("{}\n".utf8))
            }
        }
    }
    #endif

    @Test func aDeviceThatIsFullSaysSo() throws {
        let full = try open("/dev/full")
        #expect(!full.isRegular && !full.isLocked)
        let error = #expect(throws: FetchError.self) { try full.append([10]) }
        #expect(error?.outcome == .write && error?.errnoName == "ENOSPC")
    }

    @Test func linksAreRefusedWhereTheyMayNotBe() throws {
        let link = folder.appending(path: "link").path
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        #expect(throws: FetchError.self) { try open(link, O_NOFOLLOW) }
        #expect(try open(link).isLocked)
    }
}
