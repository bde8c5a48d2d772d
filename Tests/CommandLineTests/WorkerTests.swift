// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

@testable import SmallWebCLI

/// Needs of an engine that starts workers: an end in time, a status that tells if the work was
/// done, and results that can be merged.
@Suite struct WorkerTests {
    private let smallweb = Smallweb()

    private func write(_ text: String, _ name: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: smallweb.home.file(name)))
    }

    private func ledger(_ name: String = "ledger") throws -> Records {
        try Records(smallweb.home.content(name) ?? [])
    }

    // MARK: The deadline

    @Test(arguments: [[], ["--ordered"]])
    func nothingStartsAfterTheDeadline(_ options: [String]) throws {
        let server = try LoopbackServer { peer in
            _ = peer.readLine()
            peer.write("a page")
        }
        let urls = (0..<4).map { "gopher://127.0.0.1:\(server.port)/9/\($0)" }
        let list = urls.joined(separator: "\n") + "\nnot a url\n"
        let words = ["-Z", "--ledger", "ledger"] + options
        func run(within seconds: String) throws -> (Records, Smallweb.Result) {
            unlink(smallweb.home.file("ledger"))
            return try smallweb.records(
                words + ["--deadline", seconds, "--per-host-delay", "60", "-"], stdin: list)
        }
        var (records, result) = try run(within: "0.3")
        // A busy machine may have begun none of them by then.
        for seconds in ["3", "30"] where records.exits.first != 0 {
            (records, result) = try run(within: seconds)
        }
        #expect(records.exits == [0, 130, 130, 130, 3])
        for record in records.terminal[1..<4] {
            #expect(record["outcome"]?.string == "interrupted")
            #expect(record["attempts"]?.int == 0 && record["error"]?["retryable"]?.bool == true)
        }
        #expect(result.status == 130 && records.summary?["exit"]?.int == 130)
        #expect(result.errors.contains("warning: 3 URLs not fetched: the run's deadline passed"))
        // Requests that the deadline left are not done.
        #expect(try ledger().exits == [0, 3])
        let second = try smallweb.records(["-Z", "--ledger", "ledger", "-"], stdin: list)
        #expect(second.records.terminal.map { $0["n"]?.int } == [1, 2, 3, 4])
        #expect(second.records.exits == [0, 0, 0, 3] && second.result.status == 3)
    }

    @Test func requestsUnderWayFinish() throws {
        // A busy machine may have begun none of them by the first deadline.
        for seconds in [1.0, 5, 25] {
            let asked = Monitor(0)
            let server = try LoopbackServer { peer in
                _ = peer.readLine()
                asked.update { $0 += 1 }
                // After the deadline.
                Thread.sleep(forTimeInterval: seconds)
                peer.write("late and whole")
            }
            let urls = ["9/a", "9/b", "9/c"].map { "gopher://127.0.0.1:\(server.port)/\($0)" }
            let result = try smallweb.run(["get", "-j", "2", "--deadline", "\(seconds)"] + urls)
            if asked.update({ $0 }) < 2 && seconds < 25 { continue }
            #expect(result.text == "late and wholelate and whole" && result.status == 130)
            #expect(asked.update { $0 } == 2)
            return
        }
    }

    /// A body that comes behind one that was not fetched is delivered all the same.
    @Test func whatIsDoneIsDeliveredAroundWhatIsNot() throws {
        let (fast, other) = (try Hole(), try Hole())
        let urls = [fast, fast, other].map { $0.place + "/0/about.txt" }
        for seconds in ["1", "5", "25"] {
            let words = ["get", "-Z", "--per-host-delay", "60", "--deadline", seconds]
            let result = try smallweb.run(words + ["--exit-status", "run"] + urls)
            let count = result.text.split(whereSeparator: \.isNewline).count
            // A busy machine may have begun none of them by then.
            if count < 2 && seconds != "25" { continue }
            #expect(count == 2 && result.status == 0)
            return
        }
    }

    /// An attempt that failed is not repeated, and its own outcome counts.
    @Test func noRetryStartsAfterTheDeadline() throws {
        for seconds in ["0.5", "5", "50"] {
            let words = ["--retry", "9", "--retry-delay", "60", "--deadline", seconds]
            let (records, result) = try smallweb.records(words + ["gopher://127.0.0.1:1/"])
            let record = try #require(records.terminal.first)
            // A busy machine may not have begun by then.
            if record["attempts"]?.int == 0 && seconds != "50" { continue }
            #expect(record["outcome"]?.string == "interrupted" && record["attempts"]?.int == 1)
            #expect(result.status == 130)
            return
        }
    }

    @Test func inputThatDoesNotEndIsNotWaitedFor() throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Smallweb.binary)
        process.arguments = ["get", "--json", "--deadline", "0.2", "--exit-status", "run", "-"]
        process.environment = Smallweb.poller.merging(["HOME": smallweb.home.path]) { $1 }
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        try input.send("nosuch://x/\n")
        let records = try Records(Array(output.fileHandleForReading.readDataToEndOfFile()))
        process.waitInTime()
        #expect(process.terminationStatus == 0 && records.exits == [1])
        try input.fileHandleForWriting.close()
    }

    /// However long the list: each line has its record, or the engine would ask why.
    @Test func everyLineOfAListHasARecord() throws {
        let hole = try Hole()
        let list = (0..<5000).map { "\(hole.place)/0/about.txt?\($0)\n" }.joined()
        let words = ["-s", "--body", "none", "--deadline", "0", "--exit-status", "run", "-"]
        let (records, result) = try smallweb.records(words, stdin: list, areWhole: false)
        #expect(result.status == 0 && records.terminal.count == 5000)
        #expect(records.exits.allSatisfy { $0 == 130 })
    }

    @Test(arguments: ["", "x", "-1", "1q", "1e10", "1e9w"])
    func aBadDeadlineIsAUsageError(_ value: String) throws {
        #expect(try smallweb.run(["get", "--deadline", value, "gopher://x/"]).status == 2)
    }

    // MARK: Loops

    /// Another loop continues with the state of the last attempt: under `make sanitize` another
    /// order ends with another status.
    @Test func attemptsAreHandedBetweenLoops() throws {
        let urls = (1...40).map { "gopher://127.0.0.\($0):1/" }
        let words = ["-s", "-j", "16", "--retry", "2", "--retry-delay", "0"]
        let (records, result) = try smallweb.records(words + ["--loops", "3"] + urls)
        #expect(result.status == 7, "\(result.errors)")
        #expect(records.terminal.map { $0["attempts"]?.int } == Array(repeating: 3, count: 40))
    }

    // MARK: The exit status

    @Test func aRunThatDidItsWorkSucceeds() throws {
        let hole = try Hole()
        try write("not a url\n{\n\(hole.place)/0/missing\ngopher://127.0.0.1:1/\n", "list")
        let run = { (words: [String]) throws in
            try smallweb.records(["-s"] + words + ["@list"])
        }
        let (records, result) = try run(["--exit-status", "run"])
        #expect(records.exits == [3, 2, 22, 7] && result.status == 0)
        #expect(records.summary?["exit"]?.int == 0 && records.summary?["failed"]?.int == 4)
        #expect(try run(["--exit-status", "first"]).result.status == 3)
        #expect(try run([]).result.status == 3)
        #expect(try run(["--exit-status", "last"]).result.status == 2)
    }

    @Test func aRunThatDidNotFails() throws {
        let hole = try Hole()
        let url = hole.place + "/0/missing"
        let run = { (words: [String], output: String?) throws in
            try smallweb.run(
                ["get", "--json", "-s", "--exit-status", "run"] + words, output: output
            )
            .status
        }
        #expect(try run(["--ledger", "/nonexistent/ledger", url], nil) == 23)
        #expect(try run(["--ledger", "/dev/full", url], nil) == 23)
        #expect(try run([url], "/dev/full") == 23)
        #expect(try run([url, "@missing", url], nil) == 26)
        #expect(try run(["--fail-early", url, "@missing"], nil) == 22)
        #expect(try run(["--nosuch", url], nil) == 2)
    }

    @Test func aSignalIsNoSuccess() throws {
        let asked = Monitor(0)
        let server = try LoopbackServer { peer in
            asked.update { $0 += 1 }
            peer.hang()
        }
        let words = ["get", "--json", "--exit-status", "run", "gopher://127.0.0.1:\(server.port)/"]
        let result = try smallweb.run(words) { pid in
            try asked.wait(for: "it has asked") { $0 >= 1 ? () : nil }
            kill(pid, SIGTERM)
        }
        #expect(result.status == -SIGTERM)
    }

    // MARK: Ledgers

    private func record(_ url: String, _ start: String, _ outcome: String = "ok") -> String {
        let type = outcome == "ok" ? "response" : "error"
        let time = start.isEmpty ? "" : #","time":{"start":\#(start)}"#
        return #"{"type":"\#(type)","v":1,"outcome":"\#(outcome)","url":"\#(url)"\#(time)}"#
    }

    @Test func theNewestRecordOfEachURLIsKept() throws {
        let summary = #"{"type":"summary","v":1}"#
        let first = [
            record("a", "10.5"), record("b", "10", "timeout"), record("c", "7"), summary,
            record("d", ""), record("e", "1"), record("e", "3", "connect"), record("e", "2"),
            record("http://u:word@h/", "1"), record("f", "1e999"), record("g", #""9""#),
        ]
        let second = [
            record("a", "9", "timeout"), record("b", "10.000001"), record("c", "7", "connect"),
            record("d", "", "timeout"), record("http://u:***@h/", "2"), record("f", "0"),
            record("g", "0"),
        ]
        try write(first.joined(separator: "\n") + "\n", "1")
        try write(second.joined(separator: "\n") + "\n", "2")
        let result = try smallweb.run(["ledger", "merge", "1", "2"])
        let wanted = [first[0], first[6]] + second[1...]
        #expect(result.text == wanted.map { $0 + "\n" }.joined())
        #expect(result.status == 0 && result.errors.isEmpty)
        // The result of a merge is a ledger, and merging it again changes nothing.
        try Data(result.output).write(to: URL(fileURLWithPath: smallweb.home.file("3")))
        #expect(try smallweb.run(["ledger", "merge", "3", "3"]).output == result.output)
    }

    @Test func aTornLastLineIsLeftOutWithAWarning() throws {
        try write(record("a", "1") + "\n" + record("b", "1"), "torn")
        try write("\n\n# a comment\n" + record("c", "1") + "\r\n", "whole")
        let result = try smallweb.run(["ledger", "merge", "torn", "whole"])
        #expect(result.text == record("a", "1") + "\n" + record("c", "1") + "\n")
        #expect(result.status == 0)
        #expect(result.errors == "smallweb: warning: torn: left out a last line without its end\n")
        #expect(smallweb.home.content("torn")?.last != 0x0A)
    }

    @Test func whatIsNoRecordIsLeftOutWithAWarning() throws {
        let foreign = [
            "not json", "{", "[1]", #"{"type":"response","url":"x"}"#, record("x", "}"),
            String(repeating: "[", count: 100_000), String(repeating: "x", count: 2_000_000),
            #"{"type":"response","v":1,"outcome":"ok","url":"\ud800"}"#, "\u{0}\u{1B}[31m",
        ]
        let known = [
            #"{"type":"response","v":1,"outcome":"ok","url":null}"#, record("x", "1", "new"),
        ]
        try write((foreign + known + [record("a", "1")]).map { $0 + "\n" }.joined(), "list")
        let result = try smallweb.run(["ledger", "merge", "list"])
        #expect(result.text == record("a", "1") + "\n" && result.status == 0)
        #expect(result.errors.contains("list: left out 9 lines that are not records"))
        try write("", "empty")
        #expect(try smallweb.run(["ledger", "merge", "empty"]).output.isEmpty)
    }

    /// A line has a bound, which is too large for a test.
    @Test func aHugeLineIsLeftOut() throws {
        let huge = record(String(repeating: "x", count: 5000), "1")
        try write([huge, record("a", "1"), huge, ""].joined(separator: "\n"), "list")
        var settings = MessageSettings()
        settings.isSilent = true
        var merge = LedgerMerge(Messages(settings), lineBytesMax: 4096)
        try merge.read(smallweb.home.file("list"))
        #expect(merge.urlCount == 1 && merge.foreign == 2)
    }

    @Test func whatCannotBeReadIsAnError() throws {
        try write(record("a", "1") + "\n", "list")
        for name in ["missing", ".", "/dev/null"] {
            let result = try smallweb.run(["ledger", "merge", "list", name])
            #expect(result.status == 26 && result.output.isEmpty, "\(name)")
        }
        #expect(try smallweb.run(["ledger", "merge", "list"], output: "/dev/full").status == 23)
        #expect(try smallweb.run(["ledger"]).status == 2)
        #expect(try smallweb.run(["ledger", "split", "list"]).status == 2)
    }

    /// `--fields` does not apply to the ledger.
    @Test func aLedgerAlwaysHasWhatAMergeNeeds() throws {
        let hole = try Hole()
        let words = ["--fields", "size", "--ledger", "ledger", hole.place + "/0/about.txt"]
        _ = try smallweb.records(words, areWhole: false)
        let record = try Records(smallweb.home.content("ledger") ?? [], areWhole: false).terminal[0]
        #expect(record["time"]?["start"]?.double ?? 0 > 1e9 && record["outcome"] == .string("ok"))
    }

    // MARK: Together

    /// Ten workers, of them one killed and started again: each URL is done, and each host was asked
    /// by a single worker.
    @Test(.timeLimit(.minutes(30))) func aKilledWorkerLeavesNoGap() throws {
        let pace = 0.05
        let asked = Monitor([Int: [Date]]())
        let servers = try (0..<15).map { host in
            try LoopbackServer { peer in
                _ = peer.readLine()
                asked.update { $0[host, default: []].append(Date()) }
                peer.write("a page")
            }
        }
        let places = servers.map { "gopher://127.0.0.1:\($0.port)" }
        let urls = (0..<20).flatMap { page in places.map { "\($0)/9/\(page)" } }
        try write(urls.joined(separator: "\n"), "urls")
        let victim = try smallweb.run(["shard", "10"], stdin: places[0]).text.prefix(1)
        let worker = { (index: String) throws -> Process in
            let process = Process()
            process.executableURL = URL(fileURLWithPath: Smallweb.binary)
            process.arguments = [
                "get", "-s", "--json", "-Z", "--per-host-delay", "\(pace)", "--exit-status", "run",
                "--shard", "\(index)/10", "--ledger", "part\(index)", "@urls",
            ]
            process.environment = Smallweb.poller.merging(["HOME": smallweb.home.path]) { $1 }
            process.currentDirectoryURL = URL(fileURLWithPath: smallweb.home.path)
            process.standardOutput = FileHandle.nullDevice
            try process.run()
            return process
        }
        let indexes = (0..<10).map(String.init)
        let workers = try indexes.map(worker)
        try asked.wait(for: "five pages are asked for") { $0[0]?.count ?? 0 >= 5 ? () : nil }
        kill(workers[try #require(Int(victim))].processIdentifier, SIGKILL)
        for process in workers { process.waitInTime() }
        #expect(workers.count { $0.terminationReason == .uncaughtSignal } == 1)
        let again = try worker(String(victim))
        again.waitInTime()
        #expect(again.terminationReason == .exit && again.terminationStatus == 0)

        let merged = try smallweb.run(["ledger", "merge"] + indexes.map { "part" + $0 })
        let done = try Records(merged.output).terminal
        #expect(merged.status == 0 && done.allSatisfy { $0["outcome"]?.string == "ok" })
        #expect(done.count == urls.count)
        #expect(Set(done.compactMap { $0["url"]?.string }) == Set(urls))
        // A busy machine hands over some late: never eleven in half of the time that they take.
        for (host, times) in asked.update({ $0 }) {
            let times = times.sorted()
            #expect(20...28 ~= times.count, "\(host): \(times.count)")
            for (first, last) in zip(times, times.dropFirst(10)) {
                #expect(last.timeIntervalSince(first) > 5 * pace, "\(host)")
            }
        }
    }
}
