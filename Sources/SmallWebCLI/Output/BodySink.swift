// SPDX-License-Identifier: MIT
internal import SmallWeb

/// The place for what is delivered of one URL. Opened by the reply's head, so a refusal creates
/// nothing.
final class BodySink {
    enum Destination: Hashable {
        case standardOutput
        /// `-o -`: even binary, even to a terminal.
        case rawStandardOutput
        case file(String)
        /// `-O`: a name from the URL, in a directory.
        case remoteName(directory: String?)
        /// The record has it, or it is not wanted.
        case nowhere

        /// Whether a file that is there stays.
        var takesFreeName: Bool { if case .remoteName = self { true } else { false } }

        /// Whether what comes is the rest of a file. With `-C -`, what is named by the URL has
        /// become a ``file(_:)`` (``RequestPlan/configure(_:)``): what only the reply names begins
        /// from the start.
        func continues(_ resume: FetchSettings.Resume) -> Bool {
            switch resume {
            case .fromStart: false
            case .from: true
            case .fromFile: !takesFreeName
            }
        }

        var isFile: Bool {
            switch self {
            case .standardOutput, .rawStandardOutput, .nowhere: false
            case .file, .remoteName: true
            }
        }
    }

    let destination: Destination
    /// What standard output means.
    let target: BodyTarget
    private let uri: URI
    private let settings: URLSettings
    private let patience: Patience
    private var file: FileOutput?
    /// For a terminal; `nil` where the bytes go out as they are.
    private var filter: TerminalText.Filter?
    /// Where the body is, once it is in a file: absolute.
    private(set) var path: String?
    /// What a person should know of it.
    private(set) var notes: [Note] = []
    /// What is left of a body that was cut off, for `-C -`.
    private(set) var leftover: String?

    /// - Parameter uri: As the user gave it: a redirect does not choose the name of a file.
    init(_ destination: Destination, target: BodyTarget, uri: URI, settings: URLSettings) {
        // With whatever reads the file, if it is a FIFO.
        patience = Patience(seconds: settings.fetch.totalSeconds)
        self.destination = destination
        self.target = target
        self.uri = uri
        self.settings = settings
        let isShown = destination == .standardOutput && Environment.isTerminal(1)
        filter = isShown ? TerminalText.Filter() : nil
    }

    /// The file that a destination means; `nil` for none, and without a head where only the reply
    /// tells its name.
    static func path(
        _ destination: Destination, _ uri: URI, _ output: OutputSettings, head: Head? = nil
    ) -> String? {
        switch destination {
        case .standardOutput, .rawStandardOutput, .nowhere: return nil
        case .file(let path): return path
        case .remoteName(let directory):
            let name =
                head.map { FileName.name(for: uri, head: $0) } ?? FileName.name(for: uri)
            return name.map { (places(directory, uri, output) + [$0]).joined(separator: "/") }
        }
    }

    /// The directories of a file that is named after its URL, or the reply.
    static func places(_ directory: String?, _ uri: URI, _ output: OutputSettings) -> [String] {
        (directory.map { [$0] } ?? []) + (output.keepsTree ? FileName.tree(for: uri) : [])
    }

    /// With `--skip-existing`, whether there is nothing to write: what another URL of this run has
    /// made was not there before.
    static func isEnough(_ path: String, _ uri: URI, _ output: OutputSettings) -> Bool {
        output.existing == .enough && FileOutput.isTaken(path)
            && !output.made.has(path, ofOtherThan: uri)
    }

    func begin(_ head: Head) throws(FetchError) {
        switch destination {
        case .standardOutput, .rawStandardOutput, .nowhere: break
        case .file(let path):
            file = try FileOutput(
                path,
                clash: clash(
                    settings.output.existing == .kept && FileOutput.isTaken(path)
                        ? .number : .overwrite),
                createsDirectories: settings.output.createsDirectories, patience: patience)
        case .remoteName(let directory):
            let place =
                settings.output.keepsTree
                ? try FileOutput.makeTree(FileName.tree(for: uri), in: directory ?? ".") : directory
            let name = FileName.name(for: uri, head: head)
            let path = place.map { "\($0)/\(name)" } ?? name
            if Self.isEnough(path, uri, settings.output) {
                self.path = FileOutput.absolute(path)
                notes = [.alreadyThere(path)]
                return
            }
            file = try FileOutput(
                path, clash: clash(settings.output.existing == .replaced ? .replace : .number),
                createsDirectories: settings.output.createsDirectories)
        }
        file?.note(head.bodyState)
    }

    /// Writes what a server sent, after ``begin(_:)``: to a terminal it is made safe, unless
    /// `-o -` asks for the bytes.
    func write(_ bytes: ArraySlice<UInt8>) throws(FetchError) {
        try writeSafe((filter?.filter(bytes)).map { $0[...] } ?? bytes)
    }

    /// Writes text that is safe already, with its colours and links.
    func writeSafe(_ bytes: ArraySlice<UInt8>) throws(FetchError) {
        if let file { return try file.write(bytes) }
        if destination != .nowhere && !destination.isFile { try target.write(bytes) }
    }

    /// Makes a file permanent, unless it was cut off: that never gets its final name.
    func commit(_ ending: Ending) throws(FetchError) {
        // Half of a character may be held back.
        if let rest = filter?.filter([], isLast: true) { try writeSafe(rest[...]) }
        guard let file, ending.outcome != .truncated else { return }
        if destination.takesFreeName && settings.output.existing == .enough {
            settings.output.made.add(file.wanted, of: uri)
        }
        try file.commit()
        path = FileOutput.absolute(file.path)
        if file.path != file.wanted {
            notes.append(Note("renamed", "\(file.wanted) exists: written to \(file.path)"))
        }
        if let option = ending.head?.contentOption {
            notes.append(Note("listing", "saved a list of names; use --\(option) for the files"))
        }
    }

    private func clash(_ usual: FileOutput.Clash) -> FileOutput.Clash {
        destination.continues(settings.fetch.resume) ? .append : usual
    }

    /// Leaves nothing of a file behind that was not made permanent, unless another fetch can go on
    /// with it.
    func discard(keepsPart: Bool) { leftover = file?.discard(keepsPart: keepsPart) }
}

extension Note {
    static func alreadyThere(_ path: String) -> Note {
        Note("exists", "\(path) exists: nothing was fetched")
    }
}
