// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
package import SmallWebCore

/// Opens the connections of a program. The defaults support only the first connection, without
/// STARTTLS.
package protocol ProgramNetwork {
    /// A carrier and its peer's IP address, `nil` if a proxy resolves the name.
    typealias Opened = (carrier: any Carrier, address: String?)

    /// Connects to the server of the URL.
    func dial(for program: ProgramRequest) async throws(FetchError) -> any Carrier

    /// Opens the connection with this number for the program.
    func open(
        _ number: Int, _ kind: ProgramConnection, _ endpoint: Endpoint, for program: ProgramRequest
    ) async throws(FetchError) -> Opened

    /// Fetches a URL for the program, up to the head of the reply.
    func fetch(
        _ url: String, for program: ProgramRequest
    ) async throws(FetchError) -> FetchedReply

    /// Begins TLS on the connection with this number.
    func secure(
        _ number: Int, _ channel: any Carrier, for program: ProgramRequest
    ) async throws(FetchError) -> Opened

    /// Called with bytes that were sent over the connection with this number.
    func noteSent(_ bytes: [UInt8], over number: Int) async throws(FetchError)
    func noteReceived(_ count: Int)

    /// Ends running fetches.
    func finish() async
}

extension ProgramNetwork {
    package func open(
        _ number: Int, _ kind: ProgramConnection, _ endpoint: Endpoint, for program: ProgramRequest
    ) async throws(FetchError) -> Opened {
        throw FetchError(
            .notRecorded, .connect, "no connection of the program to \(endpoint) is there")
    }

    package func fetch(
        _ url: String, for program: ProgramRequest
    ) async throws(FetchError) -> FetchedReply {
        throw FetchError(.notRecorded, .connect, "no reply to the program's \(url) is there")
    }

    package func secure(
        _ number: Int, _ channel: any Carrier, for program: ProgramRequest
    ) async throws(FetchError) -> Opened {
        throw FetchError(.notRecorded, .tls, "no TLS within a connection is there")
    }

    package func noteSent(_ bytes: [UInt8], over number: Int) async throws(FetchError) {}
    package func noteReceived(_ count: Int) {}
    package func finish() async {}
}

/// The reply to a URL that a program asked for.
package struct FetchedReply {
    /// The final URL, after redirects.
    package let uri: URI
    package let head: Head
    /// The carrier of the body, or the reason for which there is no usable body.
    package let body: Result<any Carrier, FetchError>

    package init(_ uri: URI, _ head: Head, _ body: Result<any Carrier, FetchError>) {
        (self.uri, self.head, self.body) = (uri, head, body)
    }
}

/// Carries the body of a URL that a program has opened, from the task that fetches it to the task
/// that passes it to the program.
package final class FetchedBody: Carrier {
    /// The ends of the fetching task and of the other.
    private let source, end: TCPSocket
    private var failure: FetchError?

    package init(on loop: EventLoop) throws(FetchError) {
        do throws(SystemError) {
            var ends: [Int32] = [-1, -1]
            _ = try systemCall { socketpair(AF_UNIX, swposix_stream_socket, 0, &ends) }
            do throws(SystemError) {
                source = try TCPSocket(adopting: ends[0], on: loop)
            } catch {
                Glibc.close(ends[1])
                throw error
            }
            end = try TCPSocket(adopting: ends[1], on: loop)
        } catch {
            throw FetchError(
                .plugin, .plugin, "no pipe for the program", error, remedy: error.remedy)
        }
    }

    /// Returns when all bytes are sent.
    ///
    /// - Throws: `interrupted` when the task is cancelled.
    package func put(_ bytes: ArraySlice<UInt8>) async throws(FetchError) {
        var rest = bytes
        while !rest.isEmpty {
            switch try rest.span.bytes.withUnsafeBytes(source.send) {
            case .bytes(let count): rest = rest.dropFirst(count)
            case .wouldBlock(let readiness): try await source.wait(for: readiness, by: .never)
            }
        }
    }

    /// Ends the body, with an error or complete.
    package func finish(_ error: FetchError?) {
        failure = error
        source.endSending()
    }

    package func receive(
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(FetchError) -> TransportRead {
        let read = try end.receive(into: buffer)
        if case .ended = read, let failure { throw failure }
        return read
    }

    package func send(_ bytes: UnsafeRawBufferPointer) throws(FetchError) -> TransportWrite {
        .bytes(bytes.count)
    }

    package func wait(for readiness: Readiness, by deadline: Instant) async throws(FetchError) {
        try await end.wait(for: readiness, by: deadline)
    }

    package func interests(_ readiness: Readiness) -> [Interest]? {
        end.interests(readiness)
    }
}
