// SPDX-License-Identifier: MIT

/// One exchange of a protocol that a program speaks: what the host runs, and what it carries
/// between the program and the server.
public struct ProgramRequest: Sendable {
    /// What carries the program's bytes to the server.
    public enum Transport: Sendable, Hashable {
        /// Nothing: it needs no server.
        case none
        /// A connection, encrypted or not.
        case stream(Endpoint)
        /// A connected socket; one read or write is one datagram.
        case datagrams(Endpoint)
    }

    /// What the program may use.
    public struct Limits: Sendable, Hashable {
        /// Of processor time.
        public var processorSeconds = 60
        /// Of address space.
        public var memoryBytes = 1 << 30
        /// Open at the same time.
        public var descriptors = 64

        /// The defaults.
        public init() {}
    }

    /// Where it is started, absolute.
    public let folder: String
    /// The program and its arguments.
    public let words: [String]
    /// Its environment, beside what every program gets.
    public let environment: [String: String]
    /// Where its bytes go.
    public let transport: Transport
    /// Whether the server speaks first, so that the connection is made at once.
    public let isServerFirst: Bool
    /// What it reads from descriptor 5.
    public var upload: Upload?
    /// What it may use.
    public var limits = Limits()
    /// Those of the fetch.
    public var fetchLimits: SmallWebCore.Limits

    /// A run without an upload, under the default limits.
    public init(
        folder: String, words: [String], environment: [String: String], transport: Transport,
        isServerFirst: Bool, fetchLimits: SmallWebCore.Limits
    ) {
        self.folder = folder
        self.words = words
        self.environment = environment
        self.transport = transport
        self.isServerFirst = isServerFirst
        self.fetchLimits = fetchLimits
    }
}

/// What a program has written, in the order in which it counts: all events that are there come
/// before the body bytes that are there.
public enum ProgramOutput: Sendable {
    /// Bytes of descriptor 3.
    case events(ArraySlice<UInt8>)
    /// Bytes of descriptor 4.
    case body(ArraySlice<UInt8>)
    /// Bytes of descriptor 2.
    case diagnostics(ArraySlice<UInt8>)
}

/// How a program ended.
public struct ProgramEnding: Sendable, Hashable {
    /// Why the process is gone.
    public enum Reason: Sendable, Hashable {
        case exited(Int32)
        case signalled(Int32)
        /// Nothing more was wanted of it.
        case stopped
    }

    /// Why the process is gone.
    public let reason: Reason
    /// How the server ended its side; `nil` while it had not, and without a server.
    public let server: StreamEnding?

    /// An ending with both.
    public init(_ reason: Reason, server: StreamEnding?) {
        self.reason = reason
        self.server = server
    }
}

/// Runs programs, contained, with their descriptors connected to servers.
public protocol ProgramRunner {
    /// Runs one program to its end, and ends all that it has started.
    ///
    /// - Parameters:
    ///   - isAnswered: Whether the program has given its head: it then needs no server that it has
    ///     not asked for.
    ///   - onOutput: Returns when it has taken the bytes; while it does not, nothing more is read
    ///     from the program. With `false` it wants nothing more but the body bytes that have been
    ///     written.
    /// - Throws: `plugin` when it cannot be started; what ``Dialer/dial(_:)`` throws; `timeout`,
    ///   `interrupted`.
    func run(
        _ program: ProgramRequest, isAnswered: () -> Bool,
        onOutput: (ProgramOutput) async throws(FetchError) -> Bool
    ) async throws(FetchError) -> ProgramEnding
}
