// SPDX-License-Identifier: MIT
import Glibc
import SmallWebCore
import SmallWebTestSupport
import SmallWebTransport
import Testing

@testable import SmallWeb

/// First visits append a line to the store, and readers parse only the new lines.
@Suite(.timeLimit(.minutes(30)))
struct TrustGrowthTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    private func facts(_ byte: UInt8, expires: Int? = nil) -> Connection.TLS {
        let certificate = Connection.Certificate(
            sha256: [], spkiSHA256: [UInt8](repeating: byte, count: 32), subject: "", issuer: "",
            notBefore: nil, notAfter: expires ?? 4_000_000_000, matchesHost: true)
        return Connection.TLS(version: "", cipher: "", serverName: nil, certificate: certificate)
    }

    /// The result of a visit: a verdict or an outcome.
    private func visit(
        _ store: TrustStore, _ host: String, key: UInt8 = 1, expires: Int? = nil
    ) async -> String {
        let (loop, facts) = (bench.loop, facts(key, expires: expires))
        return await Task(executorPreference: loop) { () -> String in
            do throws(FetchError) {
                return try await store.judge(
                    Endpoint(host: host, port: 1965, security: .tls), facts, now: UTCDate.now,
                    loop: loop
                ).verdict.rawValue
            } catch {
                return error.outcome.rawValue
            }
        }.value
    }

    private func store(_ policy: TrustStore.Policy = .tofu) -> TrustStore {
        TrustStore(path: bench.storePath, policy: policy)
    }

    private var bytes: [UInt8] {
        get throws { try StoreFile(bench.storePath, title: "store").read() }
    }

    private var lines: [String] {
        get throws {
            String(decoding: try bytes, as: UTF8.self).split(separator: "\n").map(String.init)
        }
    }

    private var inode: ino_t {
        var facts = stat()
        _ = stat(bench.storePath, &facts)
        return facts.st_ino
    }

    private func write(_ bytes: [UInt8]) throws {
        let file = open(bench.storePath, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        try #require(file >= 0)
        #expect(Glibc.write(file, bytes, bytes.count) == bytes.count)
        close(file)
    }

    @Test func firstVisitsAddToTheFileThatIsThere() async throws {
        let store = store()
        #expect(await visit(store, "a.test") == "first-use")
        let first = (inode, try bytes)
        #expect(await visit(store, "b.test") == "first-use")
        #expect(await visit(self.store(), "c.test") == "first-use")
        #expect(inode == first.0)
        #expect(try bytes.starts(with: first.1))
        for host in ["a.test", "b.test", "c.test"] {
            #expect(await visit(store, host) == "match")
            #expect(await visit(store, host, key: 2) == "trust-changed")
        }
        #expect(try lines.count == 4)
    }

    @Test func theDayOfAVisitIsWrittenOverTheLastOne() async throws {
        #expect(await visit(store(), "a.test", expires: 2_000_000_000) == "first-use")
        #expect(await visit(store(), "b.test", expires: 2_000_000_000) == "first-use")
        let text = String(decoding: try bytes, as: UTF8.self)
        let days = text.split(separator: " ").filter { $0.hasPrefix("last=") }
        let old = days.reduce(text) { $0.replacing($1, with: "last=1700000000") }
        try write(Array(old.utf8))
        let before = inode
        let (one, other) = (store(), store())
        #expect(await visit(other, "b.test", expires: 2_000_000_000) == "match")
        #expect(await visit(one, "a.test", expires: 2_000_000_000) == "match")
        #expect(inode == before)
        let now = String(decoding: try bytes, as: UTF8.self)
        #expect(now.utf8.count == text.utf8.count)
        #expect(!now.contains("last=17000") && now.ranges(of: " n=2 ").count == 2)
        #expect(KnownHosts(parsing: try bytes).pins(of: "a.test:1965").first?.days == 2)
        for store in [one, other] {
            #expect(await visit(store, "a.test", expires: 2_000_000_000) == "match")
            #expect(await visit(store, "b.test", key: 2) == "trust-changed")
        }
        #expect(try bytes == Array(now.utf8))
        // Ten days need more room, another date is another promise. An open file keeps its number.
        let held = open(bench.storePath, O_RDONLY)
        defer { close(held) }
        try write(Array(old.replacing(" n=1 ", with: " n=9 ").utf8))
        #expect(await visit(store(), "a.test", expires: 2_000_000_000) == "match")
        #expect(await visit(store(), "b.test", expires: 2_000_000_001) == "match")
        #expect(inode != before)
        let pins = KnownHosts(parsing: try bytes).pins
        #expect(pins.map(\.days) == [10, 10])
        #expect(pins.map(\.expires) == [2_000_000_000, 2_000_000_001])
    }

    /// More visits than a run searches for: the copy in memory gets each change of the file.
    @Test func aRunOfManyVisitsSeesItsOwnChanges() async throws {
        let store = store()
        for number in 0..<40 {
            #expect(await visit(store, "h\(number).test") == "first-use")
            #expect(await visit(store, "h\(number / 2).test") == "match")
        }
        let old = String(decoding: try bytes, as: UTF8.self)
        let days = Set(old.split(separator: " ").filter { $0.hasPrefix("last=") })
        let older = days.reduce(old) { $0.replacing($1, with: "last=1700000000") }
        try write(Array(older.utf8))
        let later = self.store()
        let before = inode
        for round in 0..<2 {
            for number in 0..<40 { #expect(await visit(later, "h\(number).test") == "match") }
            #expect(await visit(later, "x\(round).test") == "first-use")
        }
        #expect(inode == before)
        let pins = KnownHosts(parsing: try bytes).pins
        #expect(pins.map(\.days) == [Int](repeating: 2, count: 40) + [1, 1])
        for number in 0..<40 {
            #expect(await visit(later, "h\(number).test", key: 2) == "trust-changed")
        }
    }

    @Test func aStoreThatMustNotBeWrittenIsReplaced() async throws {
        let store = store()
        #expect(await visit(store, "a.test") == "first-use")
        chmod(bench.storePath, 0o400)
        #expect(await visit(store, "b.test") == "first-use")
        #expect(try lines.count == 3)
    }

    /// Two stores are as good as two processes.
    @Test func eachSeesWhatTheOtherHasAdded() async throws {
        let stores = [store(), store()]
        for number in 0..<20 {
            let (one, other) = (stores[number % 2], stores[(number + 1) % 2])
            #expect(await visit(one, "h\(number).test") == "first-use")
            #expect(await visit(other, "h\(number).test", key: 2) == "trust-changed")
            #expect(await visit(other, "h\(number).test") == "match")
        }
        #expect(try lines.count == 21)
    }

    /// Files that replace each other by turns get each other's numbers.
    @Test func eachSeesWhatTheOtherHasReplaced() async throws {
        let stores = [store(), store()]
        let old = UTCDate.now - 10
        for number in 0..<5 {
            #expect(await visit(stores[0], "h\(number).test", expires: old) == "first-use")
        }
        for round in 0..<10 {
            for number in 0..<5 {
                let key = UInt8(2 + round)
                #expect(
                    await visit(stores[number % 2], "h\(number).test", key: key, expires: old)
                        == "renewed")
                #expect(
                    await visit(stores[(number + 1) % 2], "x\(round)\(number).test", key: key)
                        == "first-use")
            }
        }
        #expect(try lines.count == 56)
        #expect(try lines.filter { $0.contains(String(repeating: "0b", count: 32)) }.count == 10)
    }

    @Test func aLineThatAnEditorChangesInPlaceIsSeen() async throws {
        let store = store()
        #expect(await visit(store, "a.test") == "first-use")
        let text = String(decoding: try bytes, as: UTF8.self)
        try write(Array(text.replacing("0101", with: "0202").utf8))
        #expect(await visit(store, "a.test", key: 2) == "match")
        // Longer, and not by an addition.
        try write(Array(text.replacing("a.test", with: "www.a.test").utf8))
        #expect(await visit(store, "a.test", key: 3) == "first-use")
    }

    /// A kill during an append can leave any part of a line.
    @Test func aLineThatWasNeverFinishedIsNoneWhereverItWasTorn() async throws {
        #expect(await visit(store(), "a.test") == "first-use")
        let before = try bytes
        #expect(await visit(store(), "b.test") == "first-use")
        let line = try Array(bytes.dropFirst(before.count))
        for count in 1...line.count {
            let torn = [0] + line.dropFirst().prefix(count - 1)
            try write(before + torn)
            #expect(await visit(store(.locked), "a.test") == "match")
            #expect(await visit(store(.locked), "b.test", key: 2) == "untrusted")
            #expect(await visit(store(), "b.test", key: 2) == "first-use")
            #expect(try bytes.starts(with: before))
            #expect(try lines.count == 3, "torn after \(count) bytes")
            #expect(await visit(store(), "b.test", key: 1) == "trust-changed")
        }
        // A change of another line leaves it out, too.
        try write(before + [0] + line.dropFirst())
        #expect(await visit(store(), "b.test") == "first-use")
        try write(
            Array(
                String(decoding: before, as: UTF8.self)
                    .replacing("last=", with: "last=1").utf8) + [0, 1])
        #expect(await visit(store(), "a.test", expires: UTCDate.now + 5000) == "match")
        #expect(try lines.count == 2)
    }

    /// A full disk, a power cut or another program can leave a truncated line. It may be a pin, so
    /// it counts as one, or everything is refused; another key never takes its place.
    @Test func aLineThatIsCutOffNeverLetsAnotherKeyIn() async throws {
        #expect(await visit(store(), "a.test") == "first-use")
        let whole = try bytes
        let start = try #require(lines.first).utf8.count + 1
        for count in (start + "a.test:1965".utf8.count)..<whole.count {
            try write(Array(whole[..<count]))
            let verdict = await visit(store(), "a.test", key: 2)
            #expect(["untrusted", "trust-changed"].contains(verdict), "\(count): \(verdict)")
            #expect(try bytes == Array(whole[..<count]))
            // Nor when a line has been added.
            #expect(await visit(store(), "b.test") == "first-use")
            let later = await visit(store(), "a.test", key: 2)
            #expect(verdict == later, "\(count)")
        }
    }

    @Test func whatAKilledProcessHasLeftOfACopyGoesWithTheNextReader() async throws {
        #expect(await visit(store(), "a.test") == "first-use")
        let part = bench.directory + "/.smallweb.part"
        close(open(part, O_WRONLY | O_CREAT, 0o600))
        // Another process is at it.
        let lock = open(bench.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        #expect(flock(lock, LOCK_EX) == 0)
        #expect(await visit(store(), "a.test") == "match")
        #expect(access(part, F_OK) == 0)
        flock(lock, LOCK_UN)
        close(lock)
        #expect(await visit(store(), "a.test") == "match")
        #expect(access(part, F_OK) != 0)
    }

    @Test func manyLoopsUseOneStoreAtTheSameTime() async throws {
        let (store, other) = (store(), store())
        let threads = try (0..<4).map { _ in try LoopThread() }
        let loops = threads.map(\.loop)
        let facts = facts(1)
        let verdicts = try await withThrowingTaskGroup(of: Connection.Trust.Verdict.self) { group in
            for number in 0..<400 {
                let loop = loops[number % 4]
                group.addTask(executorPreference: loop) {
                    try await (number % 3 == 0 ? other : store).judge(
                        Endpoint(host: "host\(number / 4).test", port: 1965, security: .tls), facts,
                        now: UTCDate.now, loop: loop
                    ).verdict
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(verdicts.filter { $0 == .firstUse }.count == 100)
        #expect(verdicts.filter { $0 == .match }.count == 300)
        #expect(try lines.count == 101)
        #expect(try Set(lines).count == 101)
    }
}

struct KnownHostsKeyTests {
    /// Lines about a place have its key, whatever they look like.
    @Test func linesAboutAPlaceHaveItsKey() {
        var random = SeededGenerator(seed: 16)
        let pieces = [
            "a", "B", ".", ".", ":", ":", "1", "19", " ", "\t", "[", "]", "#", "x.test", "x.test:1",
            "k", "\u{FEFF}", "\u{E9}", ",", "a:1", "A.:1", "\r", "[::1]", "[::1]:1",
        ]
        let places = [
            "a:1", "a.:1", "x.test:1", "x.test:19", "[a:1", "b:1:1", "a..:19", "[::1]:1",
            "[::1.]:1", "a:", "a::1",
        ].map(KnownHosts.canonical)
        var count = 0
        for _ in 0..<30_000 {
            let line = (0..<Int.random(in: 0...8, using: &random))
                .map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
            for place in places {
                let place = Array(place.utf8)
                guard let key = KnownHosts.key(of: place[...]),
                    KnownHosts.isAbout(place, Array(line.utf8)[...])
                else { continue }
                count += 1
                #expect(KnownHosts.key(of: Array(line.utf8)[...]) == key, "\(line)")
            }
        }
        #expect(count > 500)
    }

    @Test func placesOfOneHostHaveKeysOfTheirOwn() {
        let places = ["a.test:1", "a.test:19", "b.test:1", "[::1]:1", "[::1]:19", "[::2]:1"]
        #expect(Set(places.map { KnownHosts.key(of: Array($0.utf8)[...]) }).count == places.count)
        for text in ["", "a.test", "[::1", "# comment"] {
            #expect(KnownHosts.key(of: Array(text.utf8)[...]) == nil, "\(text)")
        }
    }
}
