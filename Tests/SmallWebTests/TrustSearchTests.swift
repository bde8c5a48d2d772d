// SPDX-License-Identifier: MIT
import Glibc
import SmallWebCore
import SmallWebTestSupport
import Testing

@testable import SmallWeb

/// Visits find the lines of a place in the file as the parser of all of it does.
@Suite(.timeLimit(.minutes(30)))
struct TrustSearchTests {
    private let bench: Bench
    private static let key = String(repeating: "0f", count: 32)

    init() throws { bench = try Bench() }

    private var file: StoreFile { StoreFile(bench.storePath, title: "store") }

    private func write(_ bytes: [UInt8], _ flags: Int32 = O_TRUNC) throws {
        let file = open(bench.storePath, O_WRONLY | O_CREAT | flags, 0o600)
        try #require(file >= 0)
        #expect(Glibc.write(file, bytes, bytes.count) == bytes.count)
        close(file)
    }

    private static let places = [
        "a.test:1965", "A.test.:1965", "b.test:1", "b.test:19", "[::1]:1965", "c.test:1", "d.test",
        "a..test:1", "",
    ]

    /// Lines as this and other programs, editors and kills leave them.
    private static let traps: [String] = [
        "# smallweb known_hosts 1", "", "   ", "\r", "a.test:1965 k sha256:\(key) n=1",
        "A.TEST:1965 K SHA256:\(key.uppercased()) n=2", "a.test.:1965 k sha256:\(key) n=3\r",
        "a.test..:1965 k sha256:\(key)", "\u{FEFF} \ta.test:1965\tk  sha256:\(key) n=4",
        "a.test:19650 k sha256:\(key)", "# a.test:1965 k sha256:\(key)", "xa.test:1965 k",
        "a.test:1965", "a.test:1965,x", "b.test:1 c sha512:\(key)\(key) x=\u{E9}", "b.test:1",
        "b.test:19 k sha256:short", "[::1]:1965 k sha256:\(key)", "a.test:1965 k sha256:\(key)\0",
        "\0a.test:1965 k sha256:\(key)",
        "c.test:1 k sha256:\(key) " + String(repeating: "y", count: 300),
        String(repeating: " ", count: 90) + "c.test:1 k sha256:\(key) expires=17",
    ]

    private static func corpus(_ generator: inout SeededGenerator) -> [UInt8] {
        var lines = traps.shuffled(using: &generator)
        lines += traps.shuffled(using: &generator).prefix(4)
        var bytes = Array(lines.joined(separator: "\n").utf8)
        if Bool.random(using: &generator) { bytes.append(ASCII.lineFeed) }
        if Bool.random(using: &generator) { bytes += [0xFF, 0xFE, ASCII.lineFeed] }
        return bytes
    }

    /// The compared facts of a line: pins are compared by value.
    private func facts(_ lines: [KnownHosts.Line]) -> [String] {
        lines.map { "\($0.start) \($0.number) \($0.pin.map { "\($0)" } ?? "damaged")" }
    }

    @Test func partsOfEverySizeSayWhatTheWholeFileSays() throws {
        var generator = SeededGenerator(seed: 31)
        let bytes = Self.corpus(&generator)
        try write(bytes)
        let view = try #require(try file.view())
        let whole = KnownHosts(parsing: Array(StoreFile.whole(bytes)))
        for room in 1...(bytes.count + 1) {
            var found: [String: [String]] = [:]
            var numbers: [String: Int] = [:]
            var pins: [KnownHosts.Pin] = []
            var joined: [UInt8] = []
            try file.forEachPart(of: view.file, 0..<view.count, room: room) { part, start in
                #expect(start == joined.count)
                #expect(part.last == ASCII.lineFeed || start + part.count == view.count)
                joined += part
                let hosts = KnownHosts(parsing: part)
                pins += hosts.pins
                for place in Self.places {
                    let canonical = KnownHosts.canonical(place)
                    found[place, default: []] += facts(
                        hosts.lines(of: canonical, from: start, number: &numbers[place, default: 0])
                    )
                }
            }
            #expect(joined == Array(StoreFile.whole(bytes)))
            #expect(pins == whole.pins)
            for place in Self.places {
                #expect(found[place] == facts(whole.lines(of: place)), "\(place), room \(room)")
            }
        }
    }

    @Test func visitsFindWhatTheParserFinds() throws {
        var generator = SeededGenerator(seed: 32)
        for _ in 0..<60 {
            // Lines appended after the first look are in an index of their own.
            let pieces = (0..<3).map { _ in Self.corpus(&generator) }
            var snapshot = TrustSnapshot()
            var bytes: [UInt8] = []
            for piece in pieces {
                try write(piece, O_APPEND)
                bytes += piece
                let whole = KnownHosts(parsing: Array(StoreFile.whole(bytes)))
                // More often than an index is made after.
                for place in Self.places.shuffled(using: &generator) {
                    let found = try snapshot.lines(of: place, in: file)
                    let all = whole.lines(of: place)
                    #expect(found.map(\.pin) == all.map(\.pin), "\(place)")
                    #expect(found.map(\.start) == all.map(\.start), "\(place)")
                    for (line, other) in zip(found, all) where other.pin == nil {
                        #expect(line.number == other.number, "\(place)")
                    }
                }
            }
            unlink(bench.storePath)
        }
    }

    @Test func aLineThatIsLongerThanAPartIsOneLine() throws {
        let long = String(repeating: "z", count: 200_000)
        let line = { (host: String) in "\(host).test:1 k sha256:\(Self.key) \(long)\n" }
        let bytes = Array((line("a") + line("b") + "\(long)\n" + line("c")).utf8)
        try write(bytes)
        var snapshot = TrustSnapshot()
        for _ in 0..<5 {
            for host in ["a", "b", "c"] {
                let found = try snapshot.lines(of: "\(host).test:1", in: file)
                #expect(found.map(\.pin?.key) == [Self.key])
            }
        }
        #expect(try snapshot.lines(of: "z.test:1", in: file).isEmpty)
        try write(Array(("\0" + long).utf8), O_APPEND)
        let view = try #require(try file.view())
        #expect(view.count == bytes.count)
        try write(Array("\n".utf8), O_APPEND)
        #expect(try file.view()?.count == bytes.count)
    }

    @Test func aFileThatIsCutOffMeanwhileEndsThere() throws {
        let line = { (number: Int) in "h\(number).test:1 k sha256:\(Self.key)\n" }
        let text = (0..<5000).map(line).joined()
        try write(Array(text.utf8))
        let view = try #require(try file.view())
        #expect(truncate(bench.storePath, 100_000) == 0)
        var joined: [UInt8] = []
        let isWhole = try file.forEachPart(of: view.file, 0..<view.count) { part, _ in
            joined += part
        }
        #expect(!isWhole)
        #expect(joined == Array(text.utf8.prefix(100_000)))
        // Bytes appended later must not complete the truncated line.
        try write(Array(text.utf8.prefix(100_000)))
        var count = 0
        let isAll = try file.forEachPart(of: view.file, 0..<view.count, room: 70_000) { part, _ in
            count += part.count
            if count == 100_000 { try? write(Array(text.utf8)) }
        }
        #expect(!isAll && count == 100_000)
        // By an index, too.
        try write(Array(text.utf8))
        var snapshot = TrustSnapshot()
        for number in 0..<20 {
            #expect(try snapshot.lines(of: "h\(number).test:1", in: file).count == 1)
        }
        #expect(truncate(bench.storePath, 100_000) == 0)
        #expect(try snapshot.lines(of: "h4999.test:1", in: file).isEmpty)
        #expect(try snapshot.lines(of: "h3.test:1", in: file).count == 1)
        #expect(truncate(bench.storePath, 0) == 0)
        #expect(try snapshot.lines(of: "h3.test:1", in: file).isEmpty)
    }

    @Test func whatOthersAddMeanwhileCountsWithTheNextVisit() throws {
        let line = { (host: String) in Array("\(host).test:1 k sha256:\(Self.key)\n".utf8) }
        try write(line("a"))
        let view = try #require(try file.view())
        try write(line("b"), O_APPEND)
        var joined: [UInt8] = []
        try file.forEachPart(of: view.file, 0..<view.count, room: 1) { part, _ in joined += part }
        #expect(joined == line("a"))
        var snapshot = TrustSnapshot()
        #expect(try snapshot.lines(of: "b.test:1", in: file).count == 1)
        // An unfinished addition does not count, nor does a file that a rename has replaced.
        try write([0] + line("c").dropFirst(), O_APPEND)
        #expect(try snapshot.lines(of: "c.test:1", in: file).isEmpty)
        try write(line("a") + line("b") + line("c"))
        #expect(try snapshot.lines(of: "c.test:1", in: file).count == 1)
        let other = bench.directory + "/other"
        #expect(rename(bench.storePath, other) == 0)
        try write(line("d"))
        #expect(try snapshot.lines(of: "c.test:1", in: file).isEmpty)
        #expect(try snapshot.lines(of: "d.test:1", in: file).count == 1)
    }
}
