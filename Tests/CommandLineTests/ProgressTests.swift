// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

@testable import SmallWebCLI

/// Progress on a terminal.
@Suite(.timeLimit(.minutes(30)))
struct ProgressTests {
    /// Lets servers and test wait for each other.
    private let gate = DispatchSemaphore(value: 0)
    private let smallweb = Smallweb()

    /// Half of a body of 1 MiB, and the rest when the test opens the gate.
    private func server(hasLength: Bool = true) throws -> LoopbackServer {
        try LoopbackServer { [gate] peer in
            while let line = peer.readLine(), line != Array("\r\n".utf8) {}
            let length = hasLength ? "Content-Length: 1048576\r\n" : ""
            peer.write("HTTP/1.1 200 OK\r\nConnection: close\r\n\(length)\r\n")
            peer.write([UInt8](repeating: 0x61, count: 524_288))
            _ = gate.wait(timeout: .now() + .seconds(Overdue.seconds))
            peer.write([UInt8](repeating: 0x61, count: 524_288))
        }
    }

    /// Runs with standard error on `screen`, and the gate opened after `look`.
    private func run(
        _ arguments: [String], on screen: Screen, look: (Screen) throws -> Void
    ) throws -> Int32 {
        try smallweb.run(arguments, on: screen) { screen in
            try look(screen)
            gate.signal()
        }
    }

    @Test func aLongDownloadHasABarThatIsErased() throws {
        let server = try server()
        let screen = try Screen(isTerminal: true)
        let url = "http://127.0.0.1:\(server.port)/big"
        let status = try run(["get", "-o", "big", url], on: screen) {
            $0.waitFor(" 50% [", ">", "] 512.0 KiB of 1.0 MiB, ", "/s, ", " left")
        }
        #expect(status == 0)
        #expect(screen.shown.contains(" 50% [=") && screen.shown.contains("KiB of 1.0 MiB, "))
        let lines = screen.shown.split(separator: "\r\u{1B}[J")
        // The cursor goes back to the beginning.
        #expect(lines.dropFirst().allSatisfy { $0.last == "\r" && $0.count <= 80 }, "\(lines)")
        #expect(screen.shown.hasSuffix("\r\u{1B}[J"), "the last is erased")
        #expect(smallweb.home.content("big")?.count == 1_048_576)
    }

    @Test func whatIsContinuedHasTheBarOfTheWholeFile() throws {
        let server = try LoopbackServer { [gate] peer in
            while let line = peer.readLine(), line != Array("\r\n".utf8) {}
            peer.write(
                "HTTP/1.1 206 Partial Content\r\nConnection: close\r\nContent-Length: 524288\r\n"
                    + "Content-Range: bytes 524288-1048575/1048576\r\n\r\n")
            peer.write([UInt8](repeating: 0x61, count: 262_144))
            _ = gate.wait(timeout: .now() + .seconds(Overdue.seconds))
            peer.write([UInt8](repeating: 0x61, count: 262_144))
        }
        try Data(repeating: 0x61, count: 524_288).write(
            to: URL(fileURLWithPath: smallweb.home.file("big")))
        let screen = try Screen(isTerminal: true)
        let url = "http://127.0.0.1:\(server.port)/big"
        let status = try run(["get", "-c", "-o", "big", url], on: screen) {
            $0.waitFor(" 75% [", "] 768.0 KiB of 1.0 MiB, ")
        }
        #expect(status == 0 && smallweb.home.content("big")?.count == 1_048_576)
    }

    @Test func aProgressRecordHasNoPassword() throws {
        let server = try server()
        let url = "http://ada:hush@127.0.0.1:\(server.port)/big"
        let screen = try Screen(isTerminal: false)
        let status = try run(["get", "--progress", "json", "-o", "big", url], on: screen) {
            $0.waitFor("\n")
        }
        #expect(status == 0 && screen.shown.contains("ada:***@") && !screen.shown.contains("hush"))
    }

    @Test func aDumbTerminalHasNone() throws {
        let server = try server()
        let screen = try Screen(isTerminal: true)
        var smallweb = smallweb
        smallweb.environment["TERM"] = "dumb"
        let url = "http://127.0.0.1:\(server.port)/big"
        let status = try smallweb.run(["get", "-o", "big", "--max-time", "1.5", url], on: screen) {
            $0.waitFor("took too long")
            gate.signal()
        }
        #expect(status == 28 && !screen.shown.contains("\u{1B}[J"), "\(screen.shown)")
    }

    @Test func aNarrowTerminalHasNoRoomForTheBar() throws {
        let server = try server()
        let screen = try Screen(isTerminal: true, columns: 40)
        let url = "http://127.0.0.1:\(server.port)/big"
        let status = try run(["get", url, "-o", "big"], on: screen) {
            $0.waitFor("50% of 1.0 MiB, ", " left")
        }
        #expect(status == 0 && screen.shown.contains("50% of 1.0 MiB, "))
    }

    @Test func withoutALengthThereIsNoPercentage() throws {
        let server = try server(hasLength: false)
        let screen = try Screen(isTerminal: true)
        let url = "http://127.0.0.1:\(server.port)/big"
        let status = try run(["get", url], on: screen) { $0.waitFor("512.0 KiB received, ") }
        #expect(status == 0 && screen.shown.contains("512.0 KiB received, "))
        #expect(!screen.shown.contains("%"))
    }

    @Test func aSilentServerIsWaitedForAndTheLineIsErasedBeforeAnError() throws {
        let server = try LoopbackServer { [gate] peer in
            _ = gate.wait(timeout: .now() + .seconds(Overdue.seconds))
            _ = peer
        }
        let screen = try Screen(isTerminal: true)
        let status = try run(["get", "gopher://127.0.0.1:\(server.port)/1/"], on: screen) {
            $0.waitFor("waiting for 127.0.0.1")
        }
        #expect(status == 52)
        let lines = screen.shown.split(separator: "\r\u{1B}[J", omittingEmptySubsequences: false)
        #expect(lines.contains { $0.hasPrefix("waiting for 127.0.0.1:\(server.port) …") })
        #expect(lines.last?.contains("smallweb: ") == true)
        #expect(lines.last?.contains("waiting") == false)
    }

    @Test func anUploadHasABar() throws {
        let server = try LoopbackServer(tls: .make()) { [gate] peer in
            _ = peer.readLine()
            _ = peer.read(65_536)
            _ = gate.wait(timeout: .now() + .seconds(Overdue.seconds))
            _ = peer.read(8 << 20)
            peer.write("20 text/gemini\r\nstored\n")
        }
        let path = smallweb.home.file("big.gmi")
        try Data(repeating: 0x61, count: (8 << 20) + 65_536).write(to: URL(fileURLWithPath: path))
        let screen = try Screen(isTerminal: true)
        let words = ["put", "-k", "titan://127.0.0.1:\(server.port)/a.gmi", path]
        let status = try run(words, on: screen) { $0.waitFor("] ", " of 8.0 MiB, ") }
        #expect(status == 0)
        #expect(screen.shown.contains(" of 8.0 MiB, "))
    }

    @Test func severalAtATimeShareOneLineThatIsErased() throws {
        let server = try server()
        let screen = try Screen(isTerminal: true)
        let url = "http://127.0.0.1:\(server.port)/"
        let urls = ["nope://x/", url + "a", url + "b"]
        let words = ["get", "-j", "3", "-O", "--per-host", "3"] + urls
        let status = try run(words, on: screen) {
            $0.waitFor("1 of 3 done, 1 failed, 1.0 MiB, ", "/s")
            gate.signal()
        }
        #expect(status == 1)
        #expect(screen.shown.contains("1 of 3 done, 1 failed, 1.0 MiB, "), "\(screen.shown)")
        #expect(screen.shown.hasSuffix("\r\u{1B}[J"), "the last is erased: \(screen.shown)")
        #expect(smallweb.home.content("b")?.count == 1_048_576)
        // No progress is drawn over output to the same terminal.
        gate.signal()
        let both = try Screen(isTerminal: true)
        #expect(try smallweb.run(["get", "-j", "2", url], on: both, output: true) { _ in } == 0)
        #expect(!both.shown.contains(" done"))
    }

    @Test func recordsGoToStandardErrorOnceASecond() throws {
        let server = try server()
        let screen = try Screen(isTerminal: false)
        let url = "http://127.0.0.1:\(server.port)/big"
        let words = ["get", "--json", "-j", "2", "--body", "none", "--progress", "json", url]
        #expect(try run(words, on: screen) { $0.waitFor("\n", "\n") } == 0)
        let records = try Records(Array(screen.shown.utf8))
        #expect(records["progress"].count >= 2 && records.all.count == records["progress"].count)
        for record in records["progress"] {
            #expect(record["received"]?.int == 524_288)
            #expect(record["total"]?.int == 1_048_576)
            #expect(record["url"]?.string == url)
        }
    }

    @Test(
        arguments: [
            ([], true, false), (["-q"], true, true), (["-s"], true, true),
            (["--progress", "none"], true, true), ([], false, true), (["-#"], false, false),
        ] as [([String], Bool, Bool)])
    func whoGetsToSeeIt(_ options: [String], _ isTerminal: Bool, _ isSilent: Bool) throws {
        let server = try LoopbackServer { [gate] peer in
            _ = gate.wait(timeout: .now() + .seconds(Overdue.seconds))
            peer.write("Login\r\n")
        }
        let screen = try Screen(isTerminal: isTerminal)
        let url = "finger://127.0.0.1:\(server.port)/a"
        let status = try run(["get", url] + options, on: screen) {
            if isSilent {
                // Until another one, which began later, has said something.
                try server.waitForClient()
                let other = try Screen(isTerminal: true)
                let status = try smallweb.run(["get", url], on: other) {
                    $0.waitFor("waiting for")
                    for _ in 0..<2 { gate.signal() }
                }
                #expect(status == 0)
            } else {
                $0.waitFor("waiting for")
            }
        }
        #expect(status == 0)
        #expect(screen.shown.isEmpty == isSilent, "\(screen.shown)")
    }

    @Test func figuresAreWhatTheySay() {
        var transfer = Transfer(total: 4 << 20)
        let start = Instant.now
        for second in 1...12 {
            transfer.bytes += second <= 6 ? 1 << 18 : 1 << 17
            transfer.sample(at: start.advanced(seconds: Double(second)))
        }
        // The rate of the last seconds, which were slower.
        #expect(transfer.rate.map { Int($0.rounded()) } == 1 << 17)
        #expect(transfer.bytes == (9 << 18))
        let bar = String(repeating: "=", count: 16) + ">" + String(repeating: " ", count: 12)
        let figures = "2.2 MiB of 4.0 MiB, 128.0 KiB/s, 0:14 left"
        #expect(transfer.line(columns: 79) == " 56% [\(bar)] \(figures)")
        #expect(transfer.line(columns: 30) == "56% of 4.0 MiB, 0:14 left")
        // The rest of a file of 8 MiB with 4 MiB present: the bar shows the whole file.
        #expect(
            transfer.line(columns: 79, offset: 4 << 20).hasPrefix(" 78% [=")
                && transfer.line(columns: 79, offset: 4 << 20).contains("6.2 MiB of 8.0 MiB, "))
        transfer.bytes = 4 << 20
        #expect(transfer.line(columns: 79).hasPrefix("100% [====="))
        // More than was announced, or nothing: no bar, no division by zero.
        transfer.bytes += 1
        #expect(transfer.line(columns: 79) == "4.0 MiB received, 128.0 KiB/s")
        #expect(Transfer(total: 0).line(columns: 79) == "0 B received, 0 B/s")
        #expect(Transfer.time(59.2) == "1:00" && Transfer.time(3_725) == "1:02:05")
        #expect(Transfer.time(.infinity) == "days")
    }
}
