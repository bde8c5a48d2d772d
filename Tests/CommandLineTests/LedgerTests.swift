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
}
