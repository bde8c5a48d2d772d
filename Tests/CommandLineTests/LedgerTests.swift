// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

/// Interrupted runs, and how a ledger resumes them.
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
        process.environment = Smallweb.poller.merging(
            ["HOME": smallweb.home.path, "PATH": "/usr/bin:/bin"]) { $1 }
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let line = output.fileHandleForReading.readDataToEndOfFile()
        let said = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitInTime()
        #expect(try Records(Array(line)).all.count == 1)
        #expect(said.isEmpty && process.terminationStatus == 128 + SIGPIPE)
    }

    /// Every file that one run has; who has it is named.
    @Test(arguments: [
        ["get", "--ledger", "file"], ["crawl", "--state", "file"], ["get", "--warc", "file"],
        ["watch", "--max-time", "1", "--state", "file"],
        ["feed", "--new", "--max-time", "1", "--state", "file"],
    ])
    func aFileInUseIsSaidWithItsHolder(_ command: [String]) throws {
        let file = open(smallweb.home.file("file"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        #expect(flock(file, LOCK_EX) == 0)
        let result = try smallweb.run(command + ["nex://127.0.0.1:1/"])
        #expect(result.status == (command.contains("--max-time") ? 28 : 23), "\(result.errors)")
        #expect(result.errors.contains("process \(getpid()) ("), "\(result.errors)")
        close(file)
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
            try waiting.wait(for: "two requests wait") { $0 >= 2 ? () : nil }
            kill(pid, signal)
        }
        #expect(result.status == -signal)
        let records = try Records(result.output)
        #expect(records.exits == [0, 0, 130, 130, 130, 130])
        #expect(records.terminal[5]["outcome"]?.string == "interrupted")
        #expect(records.summary?["exit"]?.int == Int(128 + signal))
        // Interrupted requests are not in the ledger: they are not done.
        #expect(try ledger().exits == [0, 0])
    }

    /// A body that waited for its turn, which never came, is fetched again.
    @Test func whatWasHeldBackAtASignalIsNotDone() throws {
        let (server, waiting) = try stuckServer()
        let urls = [0, 2, 1, 3].map { "gopher://127.0.0.1:\(server.port)/9/\($0)" }
        let arguments = ["get", "-s", "-j", "2", "--per-host", "2", "--ledger", "ledger"] + urls
        let result = try smallweb.run(arguments) { pid in
            try waiting.wait(for: "two requests wait") { $0 >= 2 ? () : nil }
            kill(pid, SIGINT)
        }
        #expect(result.status == -SIGINT && result.text == "a page")
        #expect(try ledger().terminal.map { $0["url"]?.string } == [urls[0]])
    }

    @Test func aSignalEndsACoprocessThatWaitsForALine() throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Smallweb.binary)
        process.arguments = ["get", "--json", "-", "nosuch://x/"]
        process.environment = Smallweb.poller.merging(["HOME": smallweb.home.path]) { $1 }
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        try input.send("nosuch://y/\n")
        var bytes = output.fileHandleForReading.availableData
        process.interrupt()
        bytes += output.fileHandleForReading.readDataToEndOfFile()
        process.waitInTime()
        #expect(process.terminationReason == .uncaughtSignal)
        #expect(try Records(Array(bytes)).exits == [1, 130])
    }

    /// A poll that a signal breaks off says nothing of the list, which may be silent.
    @Test(.enabled(if: Programs.has("strace"), "strace is not installed"))
    func aSignalBeforeAListIsReadEndsTheRun() throws {
        let trace = smallweb.home.file("trace")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/strace")
        process.arguments = [
            "-o", trace, "-e", "trace=poll", "-e", "inject=poll:error=EINTR:when=1",
            Smallweb.binary, "get", "--json", "-",
        ]
        process.environment = Smallweb.poller.merging(["HOME": smallweb.home.path]) { $1 }
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        try eventually("strace has broken off a poll") {
            String(decoding: smallweb.home.content("trace") ?? [], as: UTF8.self)
                .contains("INJECTED")
        }
        let child = try String(
            contentsOfFile: "/proc/\(process.processIdentifier)/task/"
                + "\(process.processIdentifier)/children", encoding: .utf8)
        kill(try #require(Int32(child.split(separator: " ")[0])), SIGTERM)
        _ = output.fileHandleForReading.readDataToEndOfFile()
        process.waitInTime()
        #expect(process.terminationReason == .uncaughtSignal)
        #expect(process.terminationStatus == SIGTERM)
        try input.fileHandleForWriting.close()
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
                try asked.wait(for: "pages of round \(round) are asked for") {
                    $0.count >= min(40 * round, 290) ? () : nil
                }
                kill(pid, SIGKILL)
            }
        }
        #expect(try smallweb.run(arguments, stdin: list).status == 0)
        let done = try ledger().terminal.compactMap { $0["url"]?.string }
        #expect(done.count == 300 && Set(done) == Set(urls))
        // Only requests under way at a kill are sent twice.
        let repeated = asked.update { $0.values.reduce(0, +) } - 300
        #expect(repeated <= 6 * 8, "\(repeated)")
    }

    // MARK: One file for two

    /// By whatever path or link, whether it is there already or not.
    @Test(arguments: [true, false])
    func noOutputTakesItsPlace(_ exists: Bool) throws {
        let hole = try Hole()
        let url = hole.place + "/0/about.txt"
        let smallweb = Smallweb()
        let manager = FileManager.default
        try manager.createDirectory(
            atPath: smallweb.home.file("sub"), withIntermediateDirectories: true)
        var names = [
            "about.txt", "./about.txt", "sub/../about.txt", smallweb.home.file("about.txt"),
        ]
        let old = Array("{\"type\":\"note\"}\n".utf8)
        if exists {
            try Data(old).write(to: URL(fileURLWithPath: smallweb.home.file("about.txt")))
            try manager.linkItem(
                atPath: smallweb.home.file("about.txt"), toPath: smallweb.home.file("hard"))
            names.append("hard")
        }
        try manager.createSymbolicLink(
            atPath: smallweb.home.file("soft"), withDestinationPath: "about.txt")
        names.append("soft")
        let outputs = names.flatMap { [["-o", $0], ["-D", $0], ["--known-hosts", $0]] }
        for words in outputs + [["-O"], ["-O", "--overwrite"], ["-O", "-P", "sub/.."]] {
            let result = try smallweb.run(["get", "--ledger", "about.txt"] + words + [url])
            #expect(result.status == 2, "\(words): \(result.errors)")
            let option = ["-o": "--output", "-D": "--dump-header", "-O": "--remote-name"][words[0]]
            #expect(result.errors.contains("--ledger"), "\(words): \(result.errors)")
            #expect(result.errors.contains(option ?? words[0]), "\(words): \(result.errors)")
            #expect(smallweb.home.content("about.txt") == (exists ? old : nil), "\(words)")
        }
        #expect(hole.server.connections.isEmpty)
        // Bodies and headers in one file lose one of them.
        #expect(try smallweb.run(["get", "-o", "x", "-D", "./x", url]).status == 2)
        // A device is not replaced, so two options may share it.
        let words = ["get", "-o", "/dev/null", "-D", "/dev/null", "--ledger", "/dev/null", url]
        #expect(try smallweb.run(words).status == 0)
    }

    /// Names that are known late: of a list's line, of a list's URL.
    @Test func noOutputOfAListTakesItsPlace() throws {
        let hole = try Hole()
        let url = hole.place + "/0/about.txt"
        let smallweb = Smallweb()
        let order = "{\"url\":\"\(url)\",\"output\":\"./about.txt\"}\n"
        for (words, list) in [([], order), (["-O", "--overwrite"], url + "\n")] {
            let result = try smallweb.run(
                ["get", "--ledger", "about.txt"] + words + ["-"], stdin: list)
            #expect(result.status == 2 && result.errors.contains("--ledger"), "\(result.errors)")
            let text = String(decoding: smallweb.home.content("about.txt") ?? [], as: UTF8.self)
            #expect(text.hasPrefix("{\"type\":\"error\""), "\(text)")
        }
        let free = try smallweb.run(["get", "--ledger", "about.txt", "-O", "-"], stdin: url + "\n")
        #expect(free.status == 0 && smallweb.home.names == ["about.txt", "about.txt.1"])
    }

    // MARK: Signals

    /// However early it comes: while the ledger is read, no URL has been looked at.
    @Test(arguments: [SIGINT, SIGTERM])
    func aSignalBeforeTheFirstLineLeavesRecords(_ signal: Int32) throws {
        let smallweb = Smallweb()
        let line = "{\"type\":\"response\",\"v\":1,\"outcome\":\"ok\",\"url\":\"nex://x/\"}\n"
        let ledger = smallweb.home.file("ledger")
        try Data(String(repeating: line, count: 40_000).utf8).write(
            to: URL(fileURLWithPath: ledger))
        let urls = (1...3).map { "gopher://127.0.0.1:1/\($0)" }
        let result = try smallweb.run(["get", "--json", "--ledger", "ledger"] + urls) { process in
            // Until it has opened the ledger.
            let place = "/proc/\(process)/fd"
            while true {
                guard let names = try? FileManager.default.contentsOfDirectory(atPath: place) else {
                    return
                }
                let files = names.map {
                    try? FileManager.default.destinationOfSymbolicLink(atPath: "\(place)/\($0)")
                }
                if files.contains(where: { $0?.hasSuffix("/ledger") == true }) { break }
            }
            kill(process, signal)
        }
        let records = try Records(result.output)
        #expect(result.status == -signal)
        #expect(
            records.terminal.map { $0["outcome"]?.string }
                == Array(repeating: "interrupted", count: 3))
    }
}
