// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
package import SmallWebCore

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
