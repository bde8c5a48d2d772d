// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWebCore

/// A command whose standard input and output are the connection, as with ssh's ProxyCommand. Kills
/// the command in `deinit`.
final class CommandCarrier: Carrier {
    private let socket: TCPSocket
    private let loop: EventLoop
    private let process: pid_t
    /// True if the command has a process group, so that signals reach its children, too.
    private let hasGroup: Bool
    /// A pidfd, readable when the process has ended; -1 if the kernel has none.
    private let processEnd: Int32
    /// As of `waitpid`; `nil` while it runs.
    private var status: Int32?
    private var hasReceived = false
    private var ending: ByteStream.Ending?

    /// Not a status of `waitpid`.
    private static let unknown: Int32 = -1
    /// Time to end after a signal.
    private static let endMilliseconds: Int32 = 200

    /// Starts the command.
    ///
    /// - Throws: `proxy` when that fails.
    init(_ command: String, to endpoint: Endpoint, on loop: EventLoop) throws(FetchError) {
        self.loop = loop
        let text = try Self.expanded(command, endpoint)
        do throws(SystemError) {
            var ends: [Int32] = [-1, -1]
            _ = try systemCall {
                socketpair(AF_UNIX, swposix_stream_socket, 0, &ends)
            }
            let theirs = Descriptor(owning: ends[1])
            socket = try TCPSocket(adopting: ends[0], on: loop)
            // A command that asks at the terminal must be in the foreground there.
            let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC)
            if terminal >= 0 { Glibc.close(terminal) }
            hasGroup = terminal < 0
            process = try Shell.start(
                text, input: theirs.borrowed, output: theirs.borrowed, defaults: [SIGPIPE],
                hasGroup: hasGroup)
            processEnd = swposix_pidfd_open(process)
            if processEnd >= 0 { try loop.attach(processEnd) }
        } catch {
            throw .proxy("cannot start the proxy command: \(error.sentence)")
        }
    }

    deinit {
        end()
        if processEnd >= 0 { Glibc.close(processEnd) }
    }

    /// Ends the command, and its process group if it has one.
    private func end() {
        guard !reaped() else { return }
        for signal in [SIGTERM, SIGKILL] {
            kill(hasGroup ? -process : process, signal)
            awaitEnd()
            if status != nil { return }
        }
    }

    /// Replaces `%h` and `%p` by host and port, quoted for the shell.
    static func expanded(_ command: String, _ endpoint: Endpoint) throws(FetchError) -> String {
        var text = ""
        var rest = command[...]
        while let percent = rest.firstIndex(of: "%") {
            text += rest[..<percent]
            rest = rest[percent...].dropFirst()
            switch rest.popFirst() {
            case "h": text += "'" + endpoint.host.replacing(text: "'", with: "'\\''") + "'"
            case "p": text += String(endpoint.port)
            case "%": text += "%"
            default:
                throw .usage("the proxy command has a % that is not one of %h, %p and %%")
            }
        }
        return text + rest
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(FetchError) -> TransportRead {
        if let ending { return .ended(ending) }
        var read = try socket.receive(into: buffer)
        if case .wouldBlock = read, reaped() {
            // Its last bytes count. Other processes may still hold its output open.
            read = try socket.receive(into: buffer)
            if case .wouldBlock = read { read = .ended(.endOfFile) }
        }
        switch read {
        case .bytes: hasReceived = true
        case .wouldBlock: break
        case .ended: return .ended(try conclude())
        }
        return read
    }

    func send(_ bytes: UnsafeRawBufferPointer) throws(FetchError) -> TransportWrite {
        if ending == nil {
            do throws(FetchError) {
                return try socket.send(bytes)
            } catch {
                guard try conclude() == .endOfFile else { throw error }
            }
        }
        // The same as with a server that closes silently and does not read.
        return .bytes(bytes.count)
    }

    func finishSending() -> Bool {
        socket.endSending()
        return true
    }

    /// Waits for the exit status after the command has closed its output.
    ///
    /// - Throws: `proxy` when it failed before any bytes had come.
    private func conclude() throws(FetchError) -> ByteStream.Ending {
        if !reaped() { awaitEnd() }
        if status == Self.unknown && !hasReceived {
            throw .proxy("the proxy command ended without a reply")
        }
        guard let status, status != 0, status != Self.unknown else {
            ending = .endOfFile
            return .endOfFile
        }
        let reason =
            status & 0x7F == 0
            ? "exit status \(status >> 8 & 0xFF)" : "signal \(status & 0x7F)"
        guard hasReceived else { throw .proxy("the proxy command ended with \(reason)") }
        ending = .reset
        return .reset
    }

    private func reaped() -> Bool {
        if status != nil { return true }
        var number: Int32 = 0
        let ended = waitpid(process, &number, WNOHANG)
        // With SIGCHLD ignored, as some parents leave it, the system keeps no status.
        guard ended == process || ended < 0 && errno == ECHILD else { return false }
        status = ended == process ? number : Self.unknown
        return true
    }

    /// Blocks for ``endMilliseconds`` at most, as the process is about to end.
    private func awaitEnd() {
        var event = pollfd(fd: processEnd, events: Int16(POLLIN), revents: 0)
        // The next line checks for the end, whatever the result.
        _ = poll(&event, processEnd >= 0 ? 1 : 0, Self.endMilliseconds)
        _ = reaped()
    }

    func wait(for readiness: Readiness, by deadline: Instant) async throws(FetchError) {
        try await loop.wait(interests(readiness), for: readiness, by: deadline)
    }

    func interests(_ readiness: Readiness) -> [Interest]? {
        guard let interests = socket.interests(readiness) else { return nil }
        guard processEnd >= 0, status == nil else { return interests }
        return interests + [Interest(descriptor: processEnd, readiness: .readable)]
    }
}
