// SPDX-License-Identifier: MIT

/// One exchange of a protocol that a program speaks: the program to run, and the traffic to relay
/// between it and the server.
package struct ProgramRequest: Sendable {
    package enum Transport: Sendable, Hashable {
        /// No server is needed.
        case none
        /// A connection, encrypted or not.
        case stream(Endpoint)
        /// A connected socket; one read or write is one datagram.
        case datagrams(Endpoint)
    }

    package struct Limits: Sendable, Hashable {
        package var processorSeconds = 60
        package var memoryBytes = 1 << 30
        package var descriptors = 64

        package init() {}
    }

    /// The working directory, absolute.
    package let folder: String
    /// The program and its arguments.
    package let words: [String]
    /// Its environment, beyond the variables that every program gets.
    package let environment: [String: String]
    package let transport: Transport
    /// The URL's host, in lower case; `nil` where it has none.
    package var host: String?
    /// True if the server speaks first, so that the host connects at once.
    package let isServerFirst: Bool
    /// The transports of its connections after the first, each opened when it asks.
    package var connections: [ProgramConnection] = []
    /// True if it may open a URI, given in its normal form, with the URI's own port or its scheme's
    /// default.
    package var mayFetch: @Sendable (URI, _ port: UInt16, _ isUsualPort: Bool) -> Bool = {
        _, _, _ in false
    }
    /// True if it is told the results of its commands.
    package var wantsAnswers = false
    /// True if authorities judge its servers' keys, where the scheme itself does not say so.
    package var asksAuthorities = false
    /// True if the server's first datagram may come from another port; later ones are sent there.
    package var acceptsAnyPort = false
    /// The upload that it reads from descriptor 5.
    package var upload: Request.Upload?
    package var limits = Limits()
    /// Further readable files: absolute paths without links.
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

package enum ProgramConnection: String, CaseIterable, Sendable, Hashable {
    case tcp, udp
}

/// A command from a program to its host. Connections count from 0.
package enum ProgramCommand: Sendable, Hashable {
    case open(Int, ProgramConnection, Endpoint)
    /// A URL for the host to fetch; the program reads the body.
    case fetch(Int, url: String)
    case startTLS(Int)
}

/// The plugin's response to its program's output: its commands, and true if only the body bytes
/// already written are still wanted.
package typealias ProgramDemand = (isEnough: Bool, commands: [ProgramCommand])

/// Output of a program, in order of precedence: all available events come before the available body
/// bytes.
package enum ProgramOutput: Sendable {
    /// Bytes of descriptor 3.
    case events(ArraySlice<UInt8>)
    /// Bytes of descriptor 4.
    case body(ArraySlice<UInt8>)
    /// Bytes of descriptor 2.
    case diagnostics(ArraySlice<UInt8>)
}

package struct ProgramEnding: Sendable, Hashable {
    package enum Reason: Sendable, Hashable {
        case exited(Int32)
        case signalled(Int32)
        /// Stopped by the host, because nothing more was wanted.
        case stopped
    }

    package let reason: Reason
    /// The end of the URL's server's side; `nil` while it had not ended, and without a server.
    /// `reset` if any connection was reset, or ended TLS without close_notify.
    package let server: ByteStream.Ending?

    package init(_ reason: Reason, server: ByteStream.Ending?) {
        self.reason = reason
        self.server = server
    }
}

/// Runs programs, contained, with their descriptors connected to servers.
package protocol ProgramRunner {
    /// Runs one program to its end, and ends all processes that it started.
    ///
    /// - Parameters:
    ///   - isAnswered: True once the program has given its head: it then needs no server that it
    ///     has not asked for.
    ///   - onOutput: Takes the bytes; nothing more is read from the program until it returns.
    /// - Throws: `plugin` when it cannot be started; the errors of ``Dialer/dial(_:)``; `timeout`,
    ///   `interrupted`.
    func run(
        _ program: ProgramRequest, isAnswered: () -> Bool,
        onOutput: (ProgramOutput) async throws(FetchError) -> ProgramDemand
    ) async throws(FetchError) -> ProgramEnding
}
