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
    /// Where the body is, once it is in a file: absolute.
    private(set) var path: String?

    /// - Parameter uri: As the user gave it: a redirect does not choose the name of a file.
    init(_ destination: Destination, target: BodyTarget, uri: URI, settings: URLSettings) {
        // With whatever reads the file, if it is a FIFO.
        patience = Patience(seconds: settings.fetch.totalSeconds)
        self.destination = destination
        self.target = target
        self.uri = uri
        self.settings = settings
    }

    func begin(_ head: Head) throws(FetchError) {
        switch destination {
        case .standardOutput, .rawStandardOutput, .nowhere: break
        case .file(let path):
            file = try FileOutput(
                path, clash: settings.fetch.resume == .fromStart ? .overwrite : .append,
                createsDirectories: settings.output.createsDirectories, patience: patience)
        case .remoteName(let directory):
            let place =
                settings.output.keepsTree
                ? try FileOutput.makeTree(FileName.tree(for: uri), in: directory ?? ".") : directory
            let name = FileName.name(for: uri, head: head)
            file = try FileOutput(
                place.map { "\($0)/\(name)" } ?? name, clash: .number,
                createsDirectories: settings.output.createsDirectories)
        }
    }

    /// After ``begin(_:)``.
    func write(_ bytes: ArraySlice<UInt8>) throws(FetchError) {
        if let file { return try file.write(bytes) }
        if destination != .nowhere { try target.write(bytes) }
    }

    /// Makes a file permanent, unless it was cut off: that never gets its final name.
    func commit(_ ending: Ending) throws(FetchError) {
        guard let file, ending.outcome != .truncated else { return }
        try file.commit()
        path = FileOutput.absolute(file.path)
    }

    /// Leaves nothing of a file behind that was not made permanent.
    func discard() { file?.discard() }
}
