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
        let whole = KnownHosts(parsing: Array(StoreFile.whole(bytes)))
        for room in 1...(bytes.count + 1) {
            var found: [String: [String]] = [:]
            var numbers: [String: Int] = [:]
            var pins: [KnownHosts.Pin] = []
            var joined: [UInt8] = []
            var last = ASCII.lineFeed
            let extent = try file.forEachPart(room: room) { part, start in
                #expect(start == joined.count && last == ASCII.lineFeed)
                last = part.last ?? 0
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
            #expect(joined == Array(StoreFile.whole(bytes)) && extent?.count == joined.count)
            #expect(extent?.canGrow == (last == ASCII.lineFeed))
            #expect(pins == whole.pins)
            for place in Self.places {
                #expect(found[place] == facts(whole.lines(of: place)), "\(place), room \(room)")
            }
        }
    }

    @Test func visitsFindWhatTheParserFinds() throws {
        var generator = SeededGenerator(seed: 32)
        for _ in 0..<60 {
            // The file is held after some searches, and searched again once it has grown.
            let pieces = (0..<3).map { _ in Self.corpus(&generator) }
            var lookup = TrustLookup()
            var bytes: [UInt8] = []
            for piece in pieces {
                try write(piece, O_APPEND)
                bytes += piece
                let whole = KnownHosts(parsing: Array(StoreFile.whole(bytes)))
                for place in Self.places.shuffled(using: &generator) {
                    let found = try lookup.lines(of: place, in: file)
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
        var lookup = TrustLookup()
        for _ in 0..<5 {
            for host in ["a", "b", "c"] {
                let found = try lookup.lines(of: "\(host).test:1", in: file)
                #expect(found.map(\.pin?.key) == [Self.key])
            }
        }
        #expect(try lookup.lines(of: "z.test:1", in: file).isEmpty)
        try write(Array(("\0" + long).utf8), O_APPEND)
        #expect(try file.forEachPart { _, _ in }?.count == bytes.count)
        try write(Array("\n".utf8), O_APPEND)
        #expect(try file.forEachPart { _, _ in }?.count == bytes.count)
    }

    @Test func aFileThatIsCutOffMeanwhileEndsThere() throws {
        let line = { (number: Int) in "h\(number).test:1 k sha256:\(Self.key)\n" }
        let text = (0..<5000).map(line).joined()
        try write(Array(text.utf8))
        var joined: [UInt8] = []
        let cutOff = try file.forEachPart { part, start in
            joined += part
            if start == 0 { truncate(bench.storePath, 100_000) }
        }
        #expect(cutOff?.count == 100_000 && cutOff?.canGrow == false)
        #expect(joined == Array(text.utf8.prefix(100_000)))
        // Its rest is not the end of that line if it comes back.
        try write(Array(text.utf8))
        var count = 0
        let again = try file.forEachPart(room: 70_000) { part, start in
            count += part.count
            if start == 0 { truncate(bench.storePath, 100_000) }
            if count == 100_000 { try? write(Array(text.utf8)) }
        }
        #expect(again?.count == 100_000 && again?.isSettled == false)
        // A file that is held is another one, too.
        var lookup = TrustLookup()
        for number in 0..<20 {
            #expect(try lookup.lines(of: "h\(number).test:1", in: file).count == 1)
        }
        #expect(truncate(bench.storePath, 100_000) == 0)
        #expect(try lookup.lines(of: "h4999.test:1", in: file).isEmpty)
        #expect(try lookup.lines(of: "h3.test:1", in: file).count == 1)
        #expect(truncate(bench.storePath, 0) == 0)
        #expect(try lookup.lines(of: "h3.test:1", in: file).isEmpty)
    }

    @Test func linesThatOthersAddMeanwhileCountWithTheNextVisit() throws {
        let line = { (host: String) in Array("\(host).test:1 k sha256:\(Self.key)\n".utf8) }
        try write(line("a"))
        var joined: [UInt8] = []
        try file.forEachPart(room: 1) { part, _ in
            joined += part
            try? write(line("b"), O_APPEND)
        }
        #expect(joined == line("a"))
        // The first visits search, later ones have the file in memory.
        for searches in [0, 20] {
            try write(line("a") + line("b"))
            var lookup = TrustLookup()
            for _ in 0..<searches { _ = try lookup.lines(of: "a.test:1", in: file) }
            #expect(try lookup.lines(of: "b.test:1", in: file).count == 1)
            // The line of an addition that is under way does not count, nor a file that was
            // replaced.
            try write([0] + line("c").dropFirst(), O_APPEND)
            #expect(try lookup.lines(of: "c.test:1", in: file).isEmpty)
            try write(line("a") + line("b") + line("c"))
            #expect(try lookup.lines(of: "c.test:1", in: file).count == 1)
            let other = bench.directory + "/other"
            #expect(rename(bench.storePath, other) == 0)
            try write(line("d"))
            #expect(try lookup.lines(of: "c.test:1", in: file).isEmpty)
            #expect(try lookup.lines(of: "d.test:1", in: file).count == 1)
        }
    }
}
