// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebRecords
import SmallWebTesting
import Testing

/// Records as a program has them, of servers that are fixtures.
@Suite struct RecordWriterTests {
    private let folder: URL
    private var ledger: String { folder.path + "/ledger" }

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        for name in ["a", "b", "c"] {
            try add(
                name,
                "url gopher://\(name).test/0/\(name)\n> /\(name)\\r\\n\n< \(name)\\r\\n.\\r\\n\n")
        }
        try add("none", "url gopher://a.test/0/none\n> /none\\r\\n\n< 3none\\t\\t\\t\\r\\n\n")
        try add("cut", "url gopher://a.test/0/cut\n> /cut\\r\\n\n< half\nclose reset\n")
    }

    private func add(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: folder.appending(path: name + ".wire"))
    }

    private func client() throws -> Client {
        var options = Client.Options()
        options.trust = TrustStore(path: folder.path + "/known_hosts")
        return try Client(options: options, network: .fixtures(folder.path))
    }

    /// Collects the written lines.
    private final class Lines: Sendable {
        let all = Locked<[[UInt8]]>([])
        /// After so many, `write` throws.
        let most: Int

        init(most: Int = .max) { self.most = most }

        func writer(_ options: RecordOptions = .init(), ledger: String? = nil) -> RecordWriter {
            RecordWriter(options: options, ledger: ledger) { [self] line in
                let isFull = all.withLock { lines in
                    guard lines.count < most else { return true }
                    lines.append(line)
                    return false
                }
                if isFull { throw Full() }
            }
        }

        func records() throws -> [JSONValue] {
            try all.withLock { $0 }.map { line in
                #expect(line.last == UInt8(ascii: "\n"))
                return try JSONValue.parse(line[...])
            }
        }

        func members(_ name: String) throws -> [String] {
            try records().map { record in
                if case .number(let text)? = record[name] { return text }
                return record[name]?.string ?? "null"
            }
        }
    }

    private struct Full: Error {}

    private let urls = ["a", "b", "c"].map { "gopher://\($0).test/0/\($0)" }

    @Test func aRunHasARecordForEachRequestAndASummary() async throws {
        let lines = Lines()
        var requests = urls.map { RunRequest($0, tag: "the \"\($0.last!)\"") }
        requests.append(RunRequest("gopher://a.test/0/none"))
        requests.append(RunRequest("not a URL"))
        let summary = try await client().run(requests, parallel: 4).write(to: lines.writer())
        #expect(summary == RunSummary.of(requests: 5, ok: 3, exitStatus: 22))
        #expect(
            try lines.members("type") == [
                "response", "response", "response", "response", "error", "summary",
            ])
        #expect(try lines.members("n").prefix(5) == ["0", "1", "2", "3", "4"])
        #expect(try lines.members("tag").prefix(2) == ["the \"a\"", "the \"b\""])
        #expect(try lines.records()[1]["body"]?["text"]?.string == "b\r\n")
        #expect(try lines.members("outcome")[3] == "permanent-failure")
        #expect(try lines.records()[4]["error"]?["code"]?.string == "bad-url")
    }

    @Test func oneRequestHasNoSummaryUnlessItIsWanted() async throws {
        let lines = Lines()
        var options = RecordOptions()
        options.fields = ["url", "outcome"]
        try await client().run([urls[0]]).write(to: lines.writer(options))
        let line =
            #"{"type":"response","v":1,"n":0,"id":null,"outcome":"ok","url":"gopher://a.test/0/a"}"#
        #expect(lines.all.withLock { $0 } == [Array((line + "\n").utf8)])
        options.wantsSummary = true
        options.body = .file
        options.fields = nil
        try await client().run([urls[0]]).write(to: lines.writer(options))
        #expect(try lines.members("type").suffix(2) == ["response", "summary"])
        #expect(try lines.records()[1]["body"]?["omitted"]?.string == "none-requested")
    }

    @Test func whatTheLedgerHasIsNotFetchedAgain() async throws {
        let first = Lines()
        let requests = urls + ["gopher://a.test/0/cut"]
        let one = try await client().run(requests).write(to: first.writer(ledger: ledger))
        #expect(one.ok == 3 && one.skipped == 0 && one.exitStatus == 18)
        #expect(
            try Data(contentsOf: URL(filePath: ledger))
                == Data(first.all.withLock { $0.prefix(4).joined() }))
        let second = Lines()
        let two = try await client().run(requests).write(to: second.writer(ledger: ledger))
        #expect(two.requests == 1 && two.skipped == 3)
        #expect(try second.members("type") == ["response", "summary"])
        #expect(try second.members("n")[0] == "3")
    }

    /// Nothing is lost and nothing is there twice.
    @Test func aWriterThatThrowsEndsTheRun() async throws {
        let lines = Lines(most: 1)
        let error = await #expect(throws: FetchError.self) {
            try await client().run(urls).write(to: lines.writer(ledger: ledger))
        }
        #expect(
            error?.outcome == .write && error?.message.contains("cannot write a record") ?? false)
        #expect(
            try Data(contentsOf: URL(filePath: ledger)) == Data(lines.all.withLock { $0.joined() }))
        let rest = Lines()
        let summary = try await client().run(urls).write(to: rest.writer(ledger: ledger))
        #expect(summary.requests == 2 && summary.skipped == 1)
        #expect(try rest.members("n").prefix(2) == ["1", "2"])
    }

    @Test func aDescriptorThatIsClosedIsAnError() async throws {
        let error = await #expect(throws: FetchError.self) {
            try await client().run(urls).write(to: RecordWriter(to: -1))
        }
        #expect(error?.outcome == .write && error?.errnoName == "EBADF")
    }

    @Test func aFieldThatDoesNotExistIsAnError() async throws {
        let lines = Lines()
        var options = RecordOptions()
        options.fields = ["url", "url_base64", "statsu"]
        let error = await #expect(throws: FetchError.self) {
            try await client().run(urls).write(to: lines.writer(options))
        }
        #expect(error?.outcome == .usage && error?.hint?.contains("status") ?? false)
        #expect(lines.all.withLock { $0.isEmpty })
    }

    /// The ledger has the written records and no more, whenever the task is cancelled.
    @Test(arguments: 0..<12) func aRunThatIsCancelledGoesOnLater(_ count: Int) async throws {
        let client = try client()
        let (lines, seen) = (Lines(), Locked(0))
        let ledger = ledger
        let many = (0..<3).flatMap { round in urls.map { $0 + "?\(round)" } } + urls
        let task = Locked<Task<RunSummary?, Never>?>(nil)
        let writer = RecordWriter(ledger: ledger) { line in
            lines.all.withLock { $0.append(line) }
            if seen.withLock({
                $0 += 1; return $0
            }) == count {
                task.withLock { $0?.cancel() }
            }
        }
        let gate = Locked(false)
        let run = Task { () -> RunSummary? in
            while !gate.withLock({ $0 }) { await Task.yield() }
            return try? await client.run(many, parallel: 2).write(to: writer)
        }
        task.withLock { $0 = run }
        if count == 0 { run.cancel() }
        gate.withLock { $0 = true }
        _ = await run.value
        let written = try lines.records().filter {
            $0["outcome"]?.string != "interrupted" && $0["url"] != nil
        }
        let kept = (try? Data(contentsOf: URL(filePath: ledger))) ?? Data()
        #expect(kept.split(separator: 0x0A).count == written.count)
        let rest = try await client.run(many, parallel: 2).write(to: Lines().writer(ledger: ledger))
        #expect(rest.requests + rest.skipped == 12)
    }

    /// Records that the skimmer leaves to the parser have the same key.
    @Test func aLedgerReadsRecordsHoweverTheyAreWritten() throws {
        func key(_ url: String, _ more: String = "") -> TwoHashKey? {
            let line = #"{"type":"error","url":"\#(url)","outcome":"timeout"\#(more)}"#
            return Ledger.Result(Array(line.utf8)[...])?.key
        }
        let plain = try #require(key("gopher://h/"))
        #expect(key(#"gopher:\/\/h\/"#) == plain)
        #expect(key("gopher://h/", #","time":null"#) == plain)
        #expect(key("gopher://h/", #","\u0061":1"#) == plain)
        #expect(key("gopher://h/", #","url":"gopher://h/""#) == nil)
        #expect(key("gopher://h/", ",") == nil)
    }

    @Test func aLedgerThatIsInUseIsAnError() async throws {
        let held = try Ledger(ledger)
        let error = await #expect(throws: FetchError.self) {
            try await client().run(urls).write(to: Lines().writer(ledger: ledger))
        }
        #expect(error?.outcome == .write && error?.message.contains("in use") ?? false)
        withExtendedLifetime(held) {}
    }

    @Test func aQueueIsARunAsWell() async throws {
        let (queue, lines) = (RunQueue(), Lines())
        for url in urls { try queue.push(RunRequest(url)) }
        let summary = try await client().run(queue).write(to: lines.writer())
        #expect(summary.ok == 3)
        #expect(throws: FetchError.self) { try queue.push(RunRequest("gopher://a.test/")) }
    }
}

extension RunSummary {
    fileprivate static func of(requests: Int, ok: Int, exitStatus: Int32) -> RunSummary {
        RunSummary(requests: requests, ok: ok, skipped: 0, exitStatus: exitStatus)
    }
}
