// SPDX-License-Identifier: MIT
// Sends the lines of standard input, and prints those of the server: lines HOST PORT < LINES
import Glibc
import SmallWeb
import Synchronization

/// A task that sends lines and receives lines. Its state can be looked at from anywhere.
final class LineTask: Sendable {
    private let web: Client
    private let endpoint: Endpoint
    private let current = Mutex(ByteStream.State.initialised)

    var state: ByteStream.State { current.withLock { $0 } }

    init(_ web: Client, to endpoint: Endpoint) { (self.web, self.endpoint) = (web, endpoint) }

    /// Sends the lines and ends writing, and passes each line that comes to `onLine`.
    func run(_ lines: [String], _ onLine: @escaping @Sendable (String) -> Void) async throws {
        let limits = Limits(total: .seconds(30))
        try await web.withStream(to: endpoint, limits: limits, onState: note) { stream in
            for line in lines { try await stream.writeAll(try LineFramer.frame(line.utf8)) }
            try await stream.finishWriting()
            let framer = LineFramer(lineBytesMax: 65_536)
            while let line = try await stream.readMessage(by: framer) {
                onLine(String(decoding: line, as: UTF8.self))
            }
        }
    }

    @Sendable private func note(_ state: ByteStream.State) {
        current.withLock { $0 = state }
        switch state {
        case .initialised: print("initialised")
        case .starting: print("starting")
        case .started: print("started")
        case .stopped(nil): print("stopped")
        case .stopped(let error?): print("stopped: \(error)")
        }
    }
}

let arguments = CommandLine.arguments.dropFirst()
guard arguments.count == 2, let port = UInt16(arguments.last ?? "") else {
    print("usage: lines HOST PORT < LINES")
    exit(2)
}
let endpoint = Endpoint(host: arguments.first ?? "", port: port, security: .none)
var lines: [String] = []
while let line = readLine() { lines.append(line) }
do {
    try await LineTask(try Client(), to: endpoint).run(lines) { line in
        print("<", TerminalText.escapeLine(line))
    }
} catch {
    print("lines: \(error)")
    exit(1)
}
