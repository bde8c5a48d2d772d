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
        /// The record has it, or nobody wants it.
        case nowhere

        init(_ order: Order, _ settings: Settings) {
            if let output = order.output {
                self = .file(output)
            } else if order.n < settings.outputs.count {
                let name = settings.outputs[order.n]
                self = name == "-" ? .rawStandardOutput : .file(name)
            } else if settings.usesRemoteName || settings.bodyForm == .file {
                self = .remoteName(directory: settings.outputDirectory)
            } else {
                let hasNobody = settings.writesJSON || settings.bodyForm == .none
                self = hasNobody ? .nowhere : .standardOutput
            }
        }

        var isFile: Bool {
            switch self {
            case .standardOutput, .rawStandardOutput, .nowhere: false
            case .file, .remoteName: true
            }
        }
    }

    private enum Open {
        case stream
        case terminal(TerminalBody)
        case refs(RefColumns)
        case file(FileOutput)
    }

    private let destination: Destination
    private let target: BodyTarget
    private let settings: Settings
    private let patience: Patience
    private var open: Open?
    /// Where the body is, once it is in a file: absolute.
    private(set) var path: String?

    var isFile: Bool { destination.isFile }

    /// - Parameters:
    ///   - target: What standard output means.
    ///   - patience: With whatever reads the file, if it is a FIFO.
    init(
        _ destination: Destination, target: BodyTarget, settings: Settings,
        patience: Patience = Patience()
    ) {
        self.patience = patience
        self.destination = destination
        self.target = target
        self.settings = settings
    }

    /// Writes to standard output, before the body.
    func writeHeader(_ bytes: [UInt8]) throws(FetchError) {
        if destination == .nowhere || settings.writesJSON { return }
        if case .file(let file) = open { return try file.write(bytes[...]) }
        let isShown = destination == .standardOutput && Environment.isTerminal(1)
        try target.write((isShown ? TerminalText.escape(bytes) : bytes)[...])
    }

    /// - Parameters:
    ///   - uri: As the user gave it: it makes the name of a file.
    ///   - base: After redirects: it makes the targets of links.
    func begin(_ head: Head, uri: URI, base: URI) throws(FetchError) {
        switch destination {
        case .nowhere: break
        case .rawStandardOutput:
            open = .stream
        case .standardOutput:
            // Links and what is said of heads have a form of their own.
            let isOurs = settings.listing == .links || settings.wantsHeadAlone
            let isBinary = head.mediaType.map { !$0.isText } ?? false
            // A program that wants pages laid out gets what cannot be as it is.
            let isForNobody = isBinary && !settings.isReading && !Environment.isTerminal(1)
            guard settings.laysPagesOut && !isOurs && !isForNobody else {
                open = .stream
                return
            }
            if settings.listing == .refs {
                open = .refs(
                    try RefColumns(
                        target: target, columns: Environment.columns(1),
                        usesColor: Environment.usesColor(settings.color, on: 1)))
                return
            }
            open = .terminal(
                try TerminalBody(
                    head, base: base, style: PageStyle(settings),
                    isLaidOut: !settings.wantsRawBody, target: target))
        case .file(let path):
            open = .file(
                try FileOutput(
                    path, clash: settings.resume == .fromStart ? .overwrite : .append,
                    createsDirectories: settings.createsDirectories, patience: patience))
        case .remoteName(let directory):
            let name = FileName.name(for: uri, head: head)
            let path: String
            if settings.keepsTree {
                let place = try FileOutput.makeTree(FileName.tree(for: uri), in: directory ?? ".")
                path = "\(place)/\(name)"
            } else {
                path = directory.map { "\($0)/\(name)" } ?? name
            }
            open = .file(
                try FileOutput(
                    path, clash: .number, createsDirectories: settings.createsDirectories))
        }
    }

    func write(_ bytes: ArraySlice<UInt8>) throws(FetchError) {
        switch open {
        case .stream: try target.write(bytes)
        case .terminal(let body): try body.write(bytes)
        case .file(let file): try file.write(bytes)
        // They come as what they mean, too.
        case .refs, nil: break
        }
    }

    func write(_ item: Item) throws(FetchError) {
        switch open {
        case .terminal(let body): if item.kind != .reference { try body.write(item) }
        case .refs(let columns): try columns.write(item)
        case .stream, .file, nil: break
        }
    }

    /// Makes the body permanent; without it a file is discarded.
    func commit() throws(FetchError) {
        switch open {
        case .file(let file):
            try file.commit()
            path = FileOutput.absolute(file.path)
        case .terminal(let body): try body.finish()
        case .stream, .refs, nil: break
        }
        open = nil
    }

    func discard() {
        if case .file(let file) = open { file.discard() }
        open = nil
    }
}
