// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWebCore

/// A command whose standard input and output are the connection, as with ssh's ProxyCommand. It is
/// ended with this object.
final class CommandCarrier: Carrier {
    private let socket: TCPSocket
    private let loop: EventLoop
    private let process: pid_t
    /// Whether a signal reaches what the command has started, too.
    private let hasGroup: Bool
    /// Becomes readable when the process has ended; -1 where the kernel has none.
    private let processEnd: Int32
    /// As `waitpid` has it; `nil` while it runs.
    private var status: Int32?
    private var hasReceived = false
    private var ending: ByteStream.Ending?

    /// Not one of `waitpid`.
    private static let unknown: Int32 = -1
    /// How long it may take to end when it is told to.
    private static let endMilliseconds: Int32 = 200

    /// Starts it.
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

    /// With all that it has started, where that is possible.
    private func end() {
        guard !reaped() else { return }
        for signal in [SIGTERM, SIGKILL] {
            kill(hasGroup ? -process : process, signal)
            awaitEnd()
            if status != nil { return }
        }
    }

    /// `%h` and `%p` by host and port, quoted for the shell.
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
            // Bytes that it wrote before it ended count; that others hold its output open does not.
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
        // A server that closes without a word would not have read it either.
        return .bytes(bytes.count)
    }

    /// The command has closed its side, and is about to say with which status.
    ///
    /// - Throws: `proxy` when it died before anything had come.
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
        // Where SIGCHLD is ignored, as some parents leave it, the system keeps no status.
        guard ended == process || ended < 0 && errno == ECHILD else { return false }
        status = ended == process ? number : Self.unknown
        return true
    }

    /// Blocks for a moment at most: it is on its way.
    private func awaitEnd() {
        var event = pollfd(fd: processEnd, events: Int16(POLLIN), revents: 0)
        // What follows asks whether it has ended.
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
