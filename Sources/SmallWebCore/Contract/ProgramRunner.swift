// SPDX-License-Identifier: MIT

/// One exchange of a protocol that a program speaks: what the host runs, and what it carries
/// between the program and the server.
package struct ProgramRequest: Sendable {
    /// What carries the program's bytes to the server.
    package enum Transport: Sendable, Hashable {
        /// Nothing: it needs no server.
        case none
        /// A connection, encrypted or not.
        case stream(Endpoint)
        /// A connected socket; one read or write is one datagram.
        case datagrams(Endpoint)
    }

    /// What the program may use.
    package struct Limits: Sendable, Hashable {
        package var processorSeconds = 60
        package var memoryBytes = 1 << 30
        package var descriptors = 64

        package init() {}
    }

    /// Where it is started, absolute.
    package let folder: String
    /// The program and its arguments.
    package let words: [String]
    /// Its environment, beside what every program gets.
    package let environment: [String: String]
    package let transport: Transport
    /// That of the URL, in lower case; `nil` where it has none.
    package var host: String?
    /// Whether the server speaks first, so that the connection is made at once.
    package let isServerFirst: Bool
    /// What carries the bytes of its connections after the first, each opened when it asks.
    package var connections: [ProgramConnection] = []
    /// Whether it may open what a URI leads to, in its normal form; the port is the URI's own, or
    /// that of its scheme.
    package var mayFetch: @Sendable (URI, _ port: UInt16, _ isUsualPort: Bool) -> Bool = {
        _, _, _ in false
    }
    /// Whether it is told what came of what it asked for.
    package var wantsAnswers = false
    /// Whether its keys are judged by authorities, where the scheme itself does not say so.
    package var asksAuthorities = false
    /// Whether the server's first datagram may come from another port, where later ones go then.
    package var acceptsAnyPort = false
    /// What it reads from descriptor 5.
    package var upload: Request.Upload?
    package var limits = Limits()
    /// What it may read in addition: absolute paths without links.
    package var reads: [String] = []
    package var fetchLimits: SmallWebCore.Limits

    package init(
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

/// What carries the bytes of one of a program's connections.
package enum ProgramConnection: String, CaseIterable, Sendable, Hashable {
    case tcp, udp
}

/// What a program asks of its host. Connections count from 0.
package enum ProgramCommand: Sendable, Hashable {
    case open(Int, ProgramConnection, Endpoint)
    /// A URL that the host fetches: the program reads the body.
    case fetch(Int, url: String)
    case startTLS(Int)
}

/// What the plugin makes of what its program has written.
package struct ProgramDemand: Sendable {
    /// Whether nothing more is wanted but the body bytes that have been written.
    package var isEnough = false
    /// In the order in which they were asked for.
    package var commands: [ProgramCommand] = []

    package init() {}
}

/// What a program has written, in the order in which it counts: all events that are there come
/// before the body bytes that are there.
package enum ProgramOutput: Sendable {
    /// Bytes of descriptor 3.
    case events(ArraySlice<UInt8>)
    /// Bytes of descriptor 4.
    case body(ArraySlice<UInt8>)
    /// Bytes of descriptor 2.
    case diagnostics(ArraySlice<UInt8>)
}

/// How a program ended.
package struct ProgramEnding: Sendable, Hashable {
    /// Why the process is gone.
    package enum Reason: Sendable, Hashable {
        case exited(Int32)
        case signalled(Int32)
        /// Nothing more was wanted of it.
        case stopped
    }

    package let reason: Reason
    /// How the server of the URL ended its side; `nil` while it had not, and without a server. A
    /// reset where that of any connection did, or ended TLS without close_notify.
    package let server: ByteStream.Ending?

    package init(_ reason: Reason, server: ByteStream.Ending?) {
        self.reason = reason
        self.server = server
    }
}

/// Runs programs, contained, with their descriptors connected to servers.
package protocol ProgramRunner {
    /// Runs one program to its end, and ends all that it has started.
    ///
    /// - Parameters:
    ///   - isAnswered: Whether the program has given its head: it then needs no server that it has
    ///     not asked for.
    ///   - onOutput: Returns when it has taken the bytes; while it does not, nothing more is read
    ///     from the program.
    /// - Throws: `plugin` when it cannot be started; what ``Dialer/dial(_:)`` throws; `timeout`,
    ///   `interrupted`.
    func run(
        _ program: ProgramRequest, isAnswered: () -> Bool,
        onOutput: (ProgramOutput) async throws(FetchError) -> ProgramDemand
    ) async throws(FetchError) -> ProgramEnding
}
