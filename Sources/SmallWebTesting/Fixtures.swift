// SPDX-License-Identifier: MIT
public import SmallWeb
package import SmallWebCore
internal import SmallWebTransport

/// Recorded conversations: the files `*.wire` of a folder, which docs/wire.md describes.
public struct Fixtures: Sendable {
    /// The path of their folder.
    public let folder: String
    private let files: [(name: String, text: [UInt8])]

    /// Reads the files, and does not parse them.
    ///
    /// - Throws: `read` when the folder or a file cannot be read.
    public init(_ folder: String) throws(FetchError) {
        self.folder = folder
        files = try (UserFiles.exists(folder) ? UserFiles.names(in: folder) : [])
            .filter { $0.hasSuffix(".wire") }
            .map { name throws(FetchError) in (name, try Self.read("\(folder)/\(name)")) }
    }

    /// - Parameter file: The file in which they are.
    package init(_ file: String, _ fixtures: [(name: String, text: [UInt8])]) {
        (folder, files) = (file, fixtures)
    }

    private static func read(_ path: String) throws(FetchError) -> [UInt8] {
        do throws(SystemError) {
            return try FileBytes.read(path, limit: .max)
        } catch {
            throw FetchError(.read, .input, "cannot read \(path)", error)
        }
    }

    /// Number of fixtures.
    public var count: Int { files.count }

    /// Calls `body` for each fixture, by its name without the ending, in the order of names.
    package func forEach(
        _ body: (_ name: String, _ text: [UInt8]) throws(FetchError) -> Void
    ) throws(FetchError) {
        for file in files { try body(String(file.name.dropLast(5)), file.text) }
    }

    /// A test of nothing must not pass.
    private func checkCount() throws(FetchError) {
        guard files.isEmpty else { return }
        throw FetchError(.read, .input, "\(folder) has no fixtures, which are files *.wire")
    }

    /// Runs `handler` against each fixture: the reply as a whole, byte by byte, in two pieces at
    /// many offsets, and cut off.
    ///
    /// - Returns: For each fixture that fails, lines with the expected and the seen value.
    /// - Throws: `read` when there is no fixture, `plugin` when a program cannot run at all.
    public func failures(of handler: any ProtocolHandler) async throws(FetchError) -> [String] {
        try checkCount()
        let thread = try LoopThread()
        return try await withTaskExecutorPreference(thread.loop) { () async throws(FetchError) in
            var failures: [String] = []
            try await reports(of: handler, on: thread.loop) { report in
                guard let failure = report.failure else { return }
                let lines = ["\(report.name), \(failure.play):"] + failure.lines
                failures.append(lines.joined(separator: "\n  "))
            }
            return failures
        }
    }

    /// The results of all fixtures, in the order of the files' names. On the thread of `loop`.
    ///
    /// - Throws: `plugin` when a program cannot run at all; errors of `onReport`.
    package func reports(
        of handler: any ProtocolHandler, on loop: EventLoop,
        onReport: (FixtureTest.Report) throws(FetchError) -> Void
    ) async throws(FetchError) {
        try await FixtureTest(plugin: handler).run(files, on: loop, onReport: onReport)
    }

    /// Parses the fixtures.
    ///
    /// - Throws: `read` when there is none, or one is malformed.
    fileprivate func servers() throws(FetchError) -> [WireCase] {
        try checkCount()
        return try files.map { file throws(FetchError) in
            do throws(WireCase.Malformed) {
                return try WireCase(name: file.name, file.text)
            } catch {
                throw FetchError(.read, .input, "\(folder)/\(error.why)")
            }
        }
    }
}

extension Network {
    /// Servers with the replies of the files `*.wire` of a folder, to test a program without a
    /// network: a request gets the reply of the first fixture with its URL, input and options.
    ///
    /// A request that is in none of them fails with `usage`; a handler that sends other bytes than
    /// the fixture has, or to another server, with `plugin`. HTTP, which libcurl speaks, is
    /// `not-built-in`.
    ///
    /// - Throws: `read` when there is none, or one is malformed.
    public static func fixtures(_ folder: String) throws(FetchError) -> Network {
        let servers = try Fixtures(folder).servers()
        return Network { request, hop in
            let wire = servers.first { $0.isAsked(request) }
            return FixtureDialer(folder: folder, wire: wire, request: request, hop: hop)
        }
    }
}

/// Connects with the server of a fixture.
private struct FixtureDialer: ProgramHost {
    let folder: String
    let wire: WireCase?
    let request: Request
    let hop: Hop

    var isRecorded: Bool { true }

    private func server() throws(FetchError) -> ScriptedServer {
        guard let wire else {
            throw FetchError(
                .usage, .connect, "no fixture of \(folder) asks for \(request.uri.display)")
        }
        return ScriptedServer(
            wire, .whole, keepsDatagrams: request.scheme.transport == .udp, isStrict: true)
    }

    func dial(_ endpoint: Endpoint) async throws(FetchError) -> ByteStream {
        let server = try server()
        try server.checkPlace(endpoint)
        return hop.stream(over: ScriptedCarrier(server))
    }

    func programRunner() throws(FetchError) -> any ProgramRunner {
        ScriptedDialer(try server(), on: hop.loop, by: hop.deadline).programRunner()
    }
}

extension WireCase {
    fileprivate func isAsked(_ request: Request) -> Bool {
        guard let asked = try? prepared(for: request.scheme) else { return false }
        return asked.uri == request.uri && asked.input == request.input
            && asked.options == request.options
            && (asked.upload == nil) == (request.upload == nil)
    }
}

extension ByteStream {
    /// A stream without a network, to test code that reads from one and writes to it.
    ///
    /// - Parameters:
    ///   - reply: Bytes to read.
    ///   - ending: The end of the stream after them.
    ///   - onSent: Gets the bytes written, in pieces of any size.
    public convenience init(
        replaying reply: some Sequence<UInt8>, ending: ByteStream.Ending = .endOfFile,
        onSent: @escaping ([UInt8]) -> Void = { _ in }
    ) {
        self.init(
            ScriptedCarrier(ScriptedServer(reply: Array(reply), ending)), idleSeconds: nil,
            deadline: .never
        ) { bytes in onSent(bytes) }
    }
}
