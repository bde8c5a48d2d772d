// SPDX-License-Identifier: MIT
internal import SmallWeb

/// Where the body of one URL goes. Opened by the reply's head, so that a refusal creates nothing.
final class BodySink {
    enum Destination: Hashable {
        case standardOutput
        /// `-o -`: even binary, even to a terminal.
        case rawStandardOutput
        case file(String)
        /// `-O`: a name from the URL, in a directory.
        case remoteName(directory: String?)
    }

    private enum Open {
        case stream
        case terminal(TerminalBody)
        case file(FileOutput)
    }

    private let destination: Destination
    private let settings: Settings
    private var open: Open?

    init(_ destination: Destination, settings: Settings) {
        self.destination = destination
        self.settings = settings
    }

    func begin(_ head: Head, uri: URI) throws(FetchError) {
        switch destination {
        case .rawStandardOutput:
            open = .stream
        case .standardOutput:
            guard Environment.isTerminal(1) else {
                open = .stream
                return
            }
            let usesColor = Environment.usesColor(settings.color, on: 1)
            open = .terminal(try TerminalBody(head, usesColor: usesColor))
        case .file(let path):
            open = .file(
                try FileOutput(
                    path, clash: .overwrite, createsDirectories: settings.createsDirectories))
        case .remoteName(let directory):
            let name = FileName.name(for: uri, head: head)
            let path = directory.map { "\($0)/\(name)" } ?? name
            open = .file(
                try FileOutput(
                    path, clash: .number, createsDirectories: settings.createsDirectories))
        }
    }

    func write(_ bytes: ArraySlice<UInt8>) throws(FetchError) {
        switch open {
        case .stream: try StandardStream.output.write(bytes)
        case .terminal(let body): try body.write(bytes)
        case .file(let file): try file.write(bytes)
        case nil: break
        }
    }

    func write(_ item: Item) throws(FetchError) {
        if case .terminal(let body) = open { try body.write(item) }
    }

    /// Makes the body permanent; without it a file is discarded.
    func commit() throws(FetchError) {
        switch open {
        case .file(let file): try file.commit()
        case .terminal(let body): try body.finish()
        case .stream, nil: break
        }
        open = nil
    }

    func discard() {
        if case .file(let file) = open { file.discard() }
        open = nil
    }
}
