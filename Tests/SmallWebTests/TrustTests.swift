// SPDX-License-Identifier: MIT
import Glibc
import SmallWebCore
import SmallWebTesting
import SmallWebTestSupport
import SmallWebTransport
import Testing

@testable import SmallWeb

@Suite(.timeLimit(.minutes(30)))
struct TrustTests {
    private let bench: Bench
    private let certificate = TestCertificate.make()
    private let server: LoopbackServer

    init() throws {
        bench = try Bench()
        server = try LoopbackServer(tls: certificate, handler: DemoSites.gemini())
    }

    private var place: String { "127.0.0.1:\(server.port)" }

    private func visit(store: String? = nil) async -> Played {
        await bench.play(server.url("/about"), store: store)
    }

    private func write(_ text: String, to path: String? = nil) throws {
        let file = open(path ?? bench.storePath, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        try #require(file >= 0)
        let bytes = Array(text.utf8)
        #expect(Glibc.write(file, bytes, bytes.count) == bytes.count)
        close(file)
    }

    private func read(_ path: String? = nil) -> String {
        let file = open(path ?? bench.storePath, O_RDONLY)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = Glibc.read(file, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }

    private func status(_ path: String) -> stat {
        var status = stat()
        _ = lstat(path, &status)
        return status
    }

    private func pin(_ key: String, expires: Int?, last: Int? = UTCDate.now) -> String {
        let pin = KnownHosts.Pin(
            place: place, key: key, expires: expires, first: 1000, last: last, days: 3,
            via: "first-use")
        return String(decoding: pin.line, as: UTF8.self)
    }

    @Test func theFirstVisitPinsTheKeyInAPrivateFile() async throws {
        let played = await visit()
        #expect(played.outcome == .ok)
        #expect(played.connections.first?.trust?.verdict == .firstUse)
        #expect(status(bench.storePath).st_mode & 0o777 == 0o600)
        let pins = KnownHosts(parsing: Array(read().utf8)).pins(of: place)
        #expect(pins.map(\.key) == [certificate.spkiSHA256.hex])
        #expect(read().hasPrefix(KnownHosts.header + "\n"))
    }

    @Test func theSameKeyMatchesAndTheFileStaysAsItIs() async throws {
        _ = await visit()
        let before = status(bench.storePath).st_ino
        let played = await visit()
        #expect(played.connections.first?.trust?.verdict == .match)
        #expect(status(bench.storePath).st_ino == before)
    }

    @Test(arguments: ["  ", "\r", " \r "])
    func aLineThatAPersonHasIndentedStillCounts(_ indent: String) async throws {
        let other = String(repeating: "ab", count: 32)
        try write(indent + pin(other, expires: UTCDate.now + 1000) + "\r\n")
        #expect(await visit().error?.outcome == .trustChanged)
    }

    @Test func aChangedKeyStopsTheFetchBeforeTheRequest() async throws {
        let other = String(repeating: "ab", count: 32)
        let line = pin(other, expires: UTCDate.now + 1000)
        try write(line + "\n")
        let played = await visit()
        let error = try #require(played.error)
        #expect(error.outcome == .trustChanged)
        #expect(error.expected == "spki-sha256:" + other)
        #expect(error.actual == "spki-sha256:" + certificate.spkiSHA256.hex)
        #expect(read() == line + "\n")
        server.stop()
        #expect(server.connections.map(\.received) == [[]])
    }

    @Test(arguments: ["z sha256:", "k sha256:0", "k sha999:"])
    func aDamagedPinStopsTheFetchBeforeTheRequest(_ field: String) async throws {
        let line = "\(place) \(field)\(certificate.spkiSHA256.hex)"
        try write("# first\n\(line)\n")
        let error = try #require(await visit().error)
        #expect(error.outcome == .untrusted)
        #expect(error.message.hasPrefix("\(bench.storePath):2: "))
        #expect(read() == "# first\n\(line)\n")
        server.stop()
        #expect(server.connections.map(\.received) == [[]])
    }

    @Test func aDamagedLineBesideTheRightPinDoesNoHarm() async throws {
        try write("\(place) k sha256:x\n\(pin(certificate.spkiSHA256.hex, expires: nil))\n")
        #expect(await visit().connections.first?.trust?.verdict == .match)
    }

    @Test func aDotAtTheEndOfAHostDoesNotMakeItAnotherPlace() async throws {
        let store = TrustStore(path: bench.storePath, policy: .tofu)
        let loop = bench.loop
        let keys = (1...2).map { facts(UInt8($0)) }
        let outcome = await Task(executorPreference: loop) { () -> Outcome? in
            do throws(FetchError) {
                for (index, host) in ["x.test", "x.test."].enumerated() {
                    _ = try await store.judge(
                        Endpoint(host: host, port: 1965, security: .tls), keys[index],
                        now: UTCDate.now, loop: loop)
                }
                return nil
            } catch {
                return error.outcome
            }
        }.value
        #expect(outcome == .trustChanged)
    }

    @Test func aKeyWhoseCertificateNeverExpiresIsNeverRenewed() async throws {
        try write(pin(String(repeating: "ab", count: 32), expires: nil) + "\n")
        #expect(await visit().outcome == .trustChanged)
    }

    @Test func afterTheOldCertificateHasExpiredANewKeyIsRenewal() async throws {
        try write(pin(String(repeating: "ab", count: 32), expires: UTCDate.now - 10) + "\n")
        let played = await visit()
        #expect(played.connections.first?.trust?.verdict == .renewed)
        #expect(
            KnownHosts(parsing: Array(read().utf8)).pins(of: place).map(\.key)
                == [certificate.spkiSHA256.hex])
    }

    @Test func whatThisVersionDoesNotKnowSurvivesARewrite() async throws {
        let known = pin(certificate.spkiSHA256.hex, expires: 5, last: 0) + " color=blue flag"
        let others = [
            "# smallweb known_hosts 1", "", "# a comment", "other.test:1965 ca something",
            "v9 from the future", "   ", "x.test:1 k sha256:short",
        ]
        try write((others + [known, "# the end"]).joined(separator: "\n") + "\n")
        #expect(await visit().outcome == .ok)
        let lines = read().split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        #expect(Array(lines.prefix(others.count)) == others)
        let rewritten = lines[others.count]
        #expect(rewritten != known, "the pin was brought up to date")
        #expect(rewritten.hasSuffix(" color=blue flag"))
        #expect(Array(lines.suffix(2)) == ["# the end", ""])
    }

    @Test func aStoreBehindASymbolicLinkIsChangedWhereItIs() async throws {
        _ = mkdir(bench.directory + "/store", 0o700)
        let target = bench.directory + "/store/known_hosts"
        let link = bench.directory + "/link"
        #expect(symlink("store/known_hosts", link) == 0)
        // First while the target does not exist yet.
        #expect(await visit(store: link).outcome == .ok)
        #expect(status(link).st_mode & S_IFMT == S_IFLNK)
        #expect(KnownHosts(parsing: Array(read(target).utf8)).pins(of: place).count == 1)
        try write("# kept\n", to: target)
        #expect(await visit(store: link).outcome == .ok)
        #expect(status(link).st_mode & S_IFMT == S_IFLNK)
        #expect(read(target).hasPrefix("# kept\n\(place) k "))
    }

    @Test func aStoreThatCannotBeWrittenFailsTheFetch() async throws {
        // Not even root makes files there.
        let played = await visit(store: "/proc/known_hosts")
        #expect(played.error?.outcome == .write)
        server.stop()
        #expect(server.connections.map(\.received) == [[]])
    }

    @Test func missingDirectoriesAreMade() async throws {
        let path = bench.directory + "/store/known_hosts"
        #expect(await visit(store: path).outcome == .ok)
        #expect(status(bench.directory + "/store").st_mode & 0o777 == 0o700)
    }

    private func facts(_ byte: UInt8) -> Connection.TLS {
        let certificate = Connection.Certificate(
            sha256: [], spkiSHA256: [UInt8](repeating: byte, count: 32), subject: "", issuer: "",
            notBefore: nil, notAfter: UTCDate.now + 1000, matchesHost: true)
        return Connection.TLS(version: "", cipher: "", serverName: nil, certificate: certificate)
    }

    @Test func judgementsAtTheSameTimeLoseNoLine() async throws {
        let store = TrustStore(path: bench.storePath, policy: .tofu)
        // Each opens the directory anew, so to the lock they are as good as processes.
        let threads = try (0..<4).map { _ in try LoopThread() }
        try await withThrowingTaskGroup(of: Connection.Trust.self) { group in
            for number in 0..<50 {
                let (loop, facts) = (threads[number % 4].loop, facts(UInt8(number)))
                group.addTask(executorPreference: loop) {
                    try await store.judge(
                        Endpoint(host: "host\(number).test", port: 1965, security: .tls), facts,
                        now: UTCDate.now, loop: loop)
                }
            }
            for try await facts in group { #expect(facts.verdict == .firstUse) }
        }
        let hosts = KnownHosts(parsing: Array(read().utf8))
        for number in 0..<50 {
            #expect(hosts.pins(of: "host\(number).test:1965").count == 1, "host\(number)")
        }
    }

    @Test func firstVisitsAtTheSameTimePinOnce() async throws {
        let (bench, server) = (bench, server)
        let verdicts = await withTaskGroup(of: Connection.Trust.Verdict?.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    await bench.play(server.url("/about")).connections.first?.trust?.verdict
                }
            }
            return await group.reduce(into: [Connection.Trust.Verdict?]()) { $0.append($1) }
        }
        #expect(verdicts.filter { $0 == .firstUse }.count == 1)
        #expect(verdicts.filter { $0 == .match }.count == 19)
        #expect(KnownHosts(parsing: Array(read().utf8)).pins(of: place).count == 1)
    }

    @Test func waitingForTheLockEndsWithTheTask() async throws {
        let lock = open(bench.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        #expect(flock(lock, LOCK_EX) == 0)
        defer { close(lock) }
        let (bench, server) = (bench, server)
        let task = Task { await bench.play(server.url("/about")) }
        let canceller = Task.detached {
            try? server.waitForClient()
            task.cancel()
        }
        #expect(await task.value.error?.outcome == .interrupted)
        await canceller.value
        #expect(read() == "")
    }
}

struct KnownHostsTests {
    private let key = String(repeating: "0f", count: 32)

    @Test func aPinIsReadAndWrittenAlike() throws {
        let line =
            "[::1]:1965 k sha256:\(key) expires=7 first=1 last=- n=12 via=first-use x=y word"
        let hosts = KnownHosts(parsing: Array("\(line)\n".utf8))
        #expect(hosts.bytes == Array("\(line)\n".utf8))
        let pin = try #require(hosts.pins(of: "[::1]:1965").first)
        #expect(pin.expires == 7)
        #expect(pin.first == 1)
        #expect(pin.last == nil)
        #expect(pin.days == 12)
        #expect(pin.via == "first-use")
        #expect(pin.others == [Array("x=y".utf8), Array("word".utf8)])
    }

    @Test(arguments: [
        "", "\n", "# only a comment\n", "no line feed at the end", "\n\n\n", "a b c\n\nd\n",
        "h:1 k sha256:nothex\n", "h:1 k md5:00\n", "h:1 k\n",
    ])
    func otherLinesStayAsTheyAre(_ text: String) {
        let hosts = KnownHosts(parsing: Array(text.utf8))
        switch text {
        case "": #expect(hosts.bytes == Array("\(KnownHosts.header)\n".utf8))
        case "no line feed at the end": #expect(hosts.bytes == Array("\(text)\n".utf8))
        default: #expect(hosts.bytes == Array(text.utf8))
        }
        #expect(hosts.pins(of: "h:1") == [])
        #expect(KnownHosts(parsing: hosts.bytes) == hosts)
    }

    @Test func aFileWithCarriageReturnsStillPins() {
        let hosts = KnownHosts(
            parsing: Array(
                "# from elsewhere\r\na:1 k sha256:\(key) n=1\r\nb:1 k sha256:\(key)\r\n".utf8))
        #expect(hosts.pins(of: "a:1").map(\.key) == [key])
        #expect(hosts.pins(of: "b:1").map(\.key) == [key])
    }

    /// The same pin, as a person or another program may have written it.
    @Test(arguments: [
        "x.test:1 k sha256:KEY", "X.Test:1 K SHA256:KEY", "x.test:1\tk\tsha256:KEY\tn=1",
        "\u{FEFF}x.test:1 k sha256:KEY", "x.test.:1 k sha256:key", " \tx.test:1 k sha256:key",
    ])
    func whatIsClearIsRead(_ line: String) {
        let line = line.replacing("KEY", with: key.uppercased()).replacing("key", with: key)
        for place in ["x.test:1", "X.test:1", "x.test.:1"] {
            let hosts = KnownHosts(parsing: Array("# first\n\(line)\n".utf8))
            #expect(hosts.pins(of: place).map(\.key) == [key], "\(place)")
            #expect(hosts.lines(of: place).map(\.number) == [2])
        }
    }

    @Test(arguments: [
        "x.test:1", "x.test:1 k", "x.test:1 k sha256:KEYx", "x.test:1 z sha256:KEY",
        "x.test:1 k md5:KEY", "x.test:1 k sha256:K\u{E9}Y", "X.TEST.:1  k", "x.test:1,k sha256:KEY",
        "\u{FEFF}x.test:1 k sha256:short",
    ])
    func whatIsDamagedIsNoticed(_ line: String) {
        let bytes = Array("\(line.replacing("KEY", with: key))\n".utf8)
        let hosts = KnownHosts(parsing: bytes)
        #expect(hosts.pins(of: "x.test:1") == [])
        #expect(hosts.lines(of: "x.test:1").map(\.number) == [1])
        #expect(hosts.lines(of: "x.test:11").isEmpty)
        var removed = hosts
        #expect(removed.remove("x.test:1") == 1)
        #expect(removed.bytes.isEmpty)
        let pin = KnownHosts.Pin(
            place: "x.test:1", .key, .sha256, digest: key, first: nil, via: "import")
        var merged = hosts
        #expect(merged.merge([pin].compactMap(\.self), replacing: false) == [])
    }

    @Test(arguments: [
        "# x.test:1 k sha256:KEY", "x.test:12 k sha256:KEY", "y.x.test:1 k sha256:KEY",
        "x.test k sha256:KEY", "", "xtest:1 k",
    ])
    func whatIsAboutAnotherPlaceDoesNotCount(_ line: String) {
        let hosts = KnownHosts(parsing: Array("\(line.replacing("KEY", with: key))\n".utf8))
        #expect(hosts.lines(of: "x.test:1").isEmpty)
    }

    @Test func bytesThatAreNotUTF8SurviveARewrite() throws {
        let field: [UInt8] = Array("note=".utf8) + [0xE9, 0xFF]
        var hosts = KnownHosts(parsing: Array("x.test:1 k sha256:\(key) ".utf8) + field)
        let pin = try #require(hosts.pins(of: "x.test:1").first)
        var newer = pin
        newer.days = 5
        hosts.replace(pin, by: newer)
        #expect(hosts.bytes.suffix(field.count + 2) == [0x20] + field + [0x0A])
        #expect(hosts.pins(of: "x.test:1").first?.days == 5)
    }
}
