// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

/// Output that no program takes: `--max-time` and the first signal end it.
@Suite(.timeLimit(.minutes(30)))
struct SlowReaderTests {
    /// More than a pipe holds, which is 16 pages of up to 64 KiB.
    private static let count = 4 << 20

    private static func server() throws -> LoopbackServer {
        try LoopbackServer { peer in
            _ = peer.readLine()
            peer.write([UInt8](repeating: 0x78, count: count))
        }
    }

    private enum End: CaseIterable {
        case time, signal
    }

    /// - Parameter shell: Keeps the output from being read.
    private func run(
        _ arguments: [String], shell: String, _ end: End, seconds: String = "1"
    ) throws -> Smallweb.Result {
        let (server, smallweb) = (try Self.server(), Smallweb())
        let limits = end == .time ? ["-m", seconds] : []
        let url = "gopher://127.0.0.1:\(server.port)/9/x"
        return try smallweb.run(["get"] + limits + arguments + [url], shell: shell) { process in
            guard end == .signal else { return }
            // Until it waits in the kernel for the output, not for the network.
            try eventually("it waits for its reader") {
                Smallweb.waits(process, in: "pipe", "fifo", "wait_for_partner")
            }
            kill(process, SIGINT)
        }
    }

    @Test(arguments: [[], ["--json"], ["-D", "-"], ["--retry", "1", "--retry-delay", "0"]])
    func standardOutputIsNotWaitedForForEver(_ options: [String]) throws {
        // A pipe with a reader that never reads: the shell's own descriptor.
        let shell = "mkfifo f; exec 3<>f; exec \"$@\" >&3"
        let late = try run(options, shell: shell, .time)
        #expect(late.status == 28, "\(late.errors)")
        let stopped = try run(options, shell: shell, .signal)
        #expect(stopped.status == -SIGINT, "\(stopped.errors)")
    }

    @Test(arguments: ["-o", "-D"])
    func aFIFOWithoutAReaderIsNotWaitedForForEver(_ option: String) throws {
        let shell = "mkfifo f; exec \"$@\""
        // A busy machine may be late for other reasons.
        for seconds in ["1", "10", "60"] {
            let late = try run([option, "f"], shell: shell, .time, seconds: seconds)
            #expect(late.status == 28)
            if !late.errors.contains("no program opens f") && seconds != "60" { continue }
            #expect(late.errors.contains("no program opens f"), "\(late.errors)")
            break
        }
        let stopped = try run([option, "f"], shell: shell, .signal)
        #expect(stopped.status == -SIGINT, "\(stopped.errors)")
    }

    @Test func aFIFOWhoseReaderIsStuckIsNotWaitedForForEver() throws {
        let shell = "mkfifo f; exec 3<>f; exec \"$@\""
        let late = try run(["-o", "f"], shell: shell, .time)
        #expect(late.status == 28, "\(late.errors)")
        let stopped = try run(["-o", "f"], shell: shell, .signal)
        #expect(stopped.status == -SIGINT, "\(stopped.errors)")
    }

    @Test func aConfigFileThatIsAFIFOIsNotWaitedForForEver() throws {
        let late = try run(["-K", "f"], shell: "mkfifo f; exec \"$@\"", .time)
        #expect(late.status == 28, "\(late.errors)")
    }

    @Test func aReaderThatComesLateGetsEverything() throws {
        let (server, smallweb) = (try Self.server(), Smallweb())
        let fifo = smallweb.home.file("f")
        var received = 0
        let result = try smallweb.run(
            ["get", "-m", "600", "-o", "f", "gopher://127.0.0.1:\(server.port)/9/x"],
            shell: "mkfifo f; exec \"$@\""
        ) { process in
            try eventually("it waits for a reader") {
                Smallweb.waits(process, in: "fifo", "wait_for_partner")
            }
            received = (try? FileHandle(forReadingAtPath: fifo)?.readToEnd()?.count) ?? 0
        }
        #expect(result.status == 0, "\(result.errors)")
        #expect(received == Self.count)
    }

    // MARK: Terminals and limits

    @Test(arguments: [SIGINT, SIGQUIT, SIGTERM, SIGHUP])
    func aSignalAtAHiddenPromptLeavesTheTerminalAsItWas(_ signal: Int32) throws {
        let (capsule, screen) = (try Capsule(), try Screen(isTerminal: true))
        let status = try Smallweb().run(
            ["get", "-k", "\(capsule.place)/sensitive"], on: screen, input: true
        ) { screen, process in
            screen.waitFor("password?")
            #expect(!Self.echoes(screen))
            // The signal may come while it waits for the answer, or just before.
            kill(process, signal)
        }
        #expect(status == -signal)
        #expect(Self.echoes(screen))
    }

    private static func echoes(_ screen: Screen) -> Bool {
        var modes = termios()
        tcgetattr(screen.reader.fileDescriptor, &modes)
        return modes.c_lflag & tcflag_t(ECHO) != 0
    }

    /// 4 is one less than the event loop needs, 5 one less than a socket needs.
    @Test(arguments: [4, 5])
    func tooFewDescriptorsAreNoBug(_ count: Int) throws {
        let server = try Self.server()
        let result = try Smallweb().run(
            ["get", "--json", "gopher://127.0.0.1:\(server.port)/9/x"],
            shell: "ulimit -n \(count); exec \"$@\"")
        #expect(result.status == 7, "\(result.errors)")
        #expect(result.errors.contains("too many open files"))
        if count == 5 { #expect(result.text.contains("ulimit -n")) }
    }
}
