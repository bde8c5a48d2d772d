// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

/// Runs that end before their time, and what is left of them.
@Suite(.anyNumberOfLoops) struct LedgerTests {
    private let smallweb = Smallweb()

    private func ledger() throws -> Records {
        try Records(smallweb.home.content("ledger") ?? [])
    }

    @Test func whatIsDoneIsNotFetchedAgain() throws {
        let hole = try Hole()
        let urls = [hole.place + "/0/about.txt", hole.place + "/0/missing"]
        let run = { (options: [String]) throws in
            try smallweb.records(["-s", "--ledger", "ledger", "--body", "none"] + options + urls)
        }
        #expect(try run([]).result.status == 22)
        #expect(try ledger().exits == [0, 22])
        let (records, result) = try run([])
        #expect(result.status == 22 && records.terminal.map { $0["n"]?.int } == [1])
        #expect(records.summary?["skipped"]?.int == 1)
        #expect(try run(["--only", "timeout,connect"]).records.terminal.isEmpty)
        #expect(try run(["--only", "permanent-failure"]).records.exits == [22])
        #expect(try run(["--only", "ok"]).records.exits == [0])
        #expect(try smallweb.run(["--only", "ok", urls[0]]).status == 2)
        #expect(try smallweb.run(["--ledger", "ledger", "--only", "okay", urls[0]]).status == 2)
    }

    @Test func itWorksWithoutRecordsOnStandardOutput() throws {
        let hole = try Hole()
        let arguments = ["--ledger", "ledger", hole.place + "/0/about.txt"]
        #expect(try smallweb.run(arguments).text.hasPrefix("This hole"))
        #expect(try smallweb.run(arguments).output.isEmpty)
        #expect(try ledger().terminal[0]["body"]?["omitted"]?.string == "none-requested")
    }

    @Test func aTornLastLineIsTolerated() throws {
        let hole = try Hole()
        let url = hole.place + "/0/about.txt"
        _ = try smallweb.records(["--ledger", "ledger", url])
        let whole = try #require(smallweb.home.content("ledger"))
        let path = smallweb.home.file("ledger")
        for count in [1, 100, whole.count - 1] {
            try Data(whole + whole.prefix(count)).write(to: URL(fileURLWithPath: path))
            #expect(try smallweb.records(["--ledger", "ledger", url]).records.terminal.isEmpty)
            try Data(whole.prefix(count)).write(to: URL(fileURLWithPath: path))
            #expect(try smallweb.records(["--ledger", "ledger", url]).records.exits == [0])
            #expect(try ledger().terminal.count == 1)
        }
    }

    @Test func aFullDiskUnderTheLedgerIsSaid() throws {
        let hole = try Hole()
        let urls = [hole.place + "/0/about.txt", hole.place]
        let (records, result) = try smallweb.records(["--ledger", "/dev/full"] + urls)
        #expect(result.status == 23 && result.errors.contains("/dev/full"))
        #expect(records.terminal.count == 2)
        #expect(try smallweb.run(["--ledger", "/nosuch/ledger", urls[0]]).status == 23)
    }

    @Test func aFullDiskUnderTheRecordsIsSaid() throws {
        let hole = try Hole()
        let result = try smallweb.run(["--json", hole.place, hole.place], output: "/dev/full")
        #expect(result.status == 23 && result.errors.contains("standard output"))
    }

    @Test func aReaderThatGoesAwayEndsTheRunQuietly() throws {
        let hole = try Hole()
        try Data(String(repeating: hole.place + "\n", count: 2000).utf8)
            .write(to: URL(fileURLWithPath: smallweb.home.file("list")))
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = [
            "-c", "set -o pipefail; \"$0\" get --json -Z @list | head -n 1", Smallweb.binary,
        ]
        process.currentDirectoryURL = URL(fileURLWithPath: smallweb.home.path)
        process.environment = ["HOME": smallweb.home.path, "PATH": "/usr/bin:/bin"]
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let line = output.fileHandleForReading.readDataToEndOfFile()
        let said = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(try Records(Array(line)).all.count == 1)
        #expect(said.isEmpty && process.terminationStatus == 128 + SIGPIPE)
    }

    // MARK: Signals

    /// Serves /0 and /1, and keeps everybody else waiting.
    private func stuckServer() throws -> (LoopbackServer, Monitor<Int>) {
        let waiting = Monitor(0)
        let server = try LoopbackServer { peer in
            guard let line = peer.readLine() else { return }
            if line.contains(UInt8(ascii: "0")) || line.contains(UInt8(ascii: "1")) {
                peer.write("a page")
            } else {
                waiting.update { $0 += 1 }
                peer.hang()
            }
        }
        return (server, waiting)
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func aSignalStillAnswersWhatWasAsked(_ signal: Int32) throws {
        let (server, waiting) = try stuckServer()
        let urls = (0..<6).map { "gopher://127.0.0.1:\(server.port)/9/\($0)" }
        let arguments = ["get", "--json", "-j", "2", "--ledger", "ledger"] + urls
        let result = try smallweb.run(arguments) { pid in
            waiting.wait { $0 >= 2 ? () : nil }
            kill(pid, signal)
        }
        #expect(result.status == -signal)
        let records = try Records(result.output)
        #expect(records.exits == [0, 0, 130, 130, 130, 130])
        #expect(records.terminal[5]["outcome"]?.string == "interrupted")
        #expect(records.summary?["exit"]?.int == Int(128 + signal))
        // The ledger keeps what is done, and nothing else.
        #expect(try ledger().exits == [0, 0])
    }

    /// A body that waited for its turn, which never came, is fetched again.
    @Test func whatWasHeldBackAtASignalIsNotDone() throws {
        let (server, waiting) = try stuckServer()
        let urls = [0, 2, 1, 3].map { "gopher://127.0.0.1:\(server.port)/9/\($0)" }
        let arguments = ["get", "-s", "-j", "2", "--per-host", "2", "--ledger", "ledger"] + urls
        let result = try smallweb.run(arguments) { pid in
            waiting.wait { $0 >= 2 ? () : nil }
            kill(pid, SIGINT)
        }
        #expect(result.status == -SIGINT && result.text == "a page")
        #expect(try ledger().terminal.map { $0["url"]?.string } == [urls[0]])
    }

    @Test func aSignalEndsACoprocessThatWaitsForALine() throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Smallweb.binary)
        process.arguments = ["get", "--json", "-", "nosuch://x/"]
        process.environment = ["HOME": smallweb.home.path]
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data("nosuch://y/\n".utf8))
        var bytes = output.fileHandleForReading.availableData
        process.interrupt()
        bytes += output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(process.terminationReason == .uncaughtSignal)
        #expect(try Records(Array(bytes)).exits == [1, 130])
    }

    @Test func aKilledRunResumesWithoutLossOrRepetition() throws {
        let asked = Monitor([String: Int]())
        let server = try LoopbackServer { peer in
            guard let line = peer.readLine() else { return }
            let name = String(decoding: line.dropLast(2), as: UTF8.self)
            asked.update { $0[name, default: 0] += 1 }
            peer.write("page " + name)
        }
        let urls = (0..<300).map { "gopher://127.0.0.1:\(server.port)/9/\($0)" }
        let list = urls.joined(separator: "\n")
        let arguments = ["get", "--json", "-j", "4", "--per-host", "4", "--ledger", "ledger", "-"]
        for round in 1...6 {
            // Killed when a certain number of pages has been asked for: at any place in the code.
            _ = try smallweb.run(arguments, stdin: list) { pid in
                asked.wait { $0.count >= min(40 * round, 290) ? () : nil }
                kill(pid, SIGKILL)
            }
        }
        #expect(try smallweb.run(arguments, stdin: list).status == 0)
        let done = try ledger().terminal.compactMap { $0["url"]?.string }
        #expect(done.count == 300 && Set(done) == Set(urls))
        // Only what was under way at a kill has been asked for twice.
        let repeated = asked.update { $0.values.reduce(0, +) } - 300
        #expect(repeated <= 6 * 8, "\(repeated)")
    }
}
