// SPDX-License-Identifier: MIT
import Glibc
import SmallWebCore
import SmallWebTestSupport
import Testing

@testable import SmallWebTransport

@Suite(.timeLimit(.minutes(30)))
struct TCPConnectorTests {
    /// Connects to `literals` in turn, and returns the result and the attempts.
    private func connect(
        to literals: [String], port: UInt16, seconds: Double = 10
    ) async throws -> (Result<String, FetchError>, attempts: [String]) {
        try await onLoop { loop in
            let attempts = Recorder<String>()
            var connector = TCPConnector(loop: loop, deadline: .after(seconds: seconds)) {
                address async throws(FetchError) in
                attempts.add(address.host)
            }
            let addresses = literals.compactMap { SocketAddress(literal: $0, port: port) }
            do throws(FetchError) {
                let winner = try await connector.connect(to: addresses, named: "test") {}
                return (.success(winner.address.host), attempts.values)
            } catch {
                return (.failure(error), attempts.values)
            }
        }
    }

    /// A server on 127.0.0.2 and something else on the same port of 127.0.0.1.
    private func pair<Obstacle>(
        _ make: (UInt16) throws -> Obstacle
    ) throws -> (LoopbackServer, Obstacle) {
        // Another process may have the port of 127.0.0.1: then try another.
        for _ in 0..<20 {
            let server = try LoopbackServer(address: "127.0.0.2") { $0.hang() }
            if let obstacle = try? make(server.port) { return (server, obstacle) }
        }
        throw SystemError(number: EADDRINUSE)
    }

    @Test func afterARefusalTheNextAddressIsTriedAtOnce() async throws {
        let (server, refusing) = try pair { try RefusingPort(port: $0) }
        var fastest = Double.infinity
        // A busy machine may make any one attempt slow, a wait would make all of them slow.
        for _ in 0..<20 where fastest >= TCPConnector.headStart {
            let seconds = try await elapsed {
                let (result, attempts) = try await connect(
                    to: ["127.0.0.1", "127.0.0.2"], port: server.port)
                #expect(try result.get() == "127.0.0.2")
                #expect(attempts == ["127.0.0.1", "127.0.0.2"])
            }
            fastest = min(fastest, seconds)
        }
        #expect(fastest < TCPConnector.headStart)
        #expect(server.clientSockets == 0)
        withExtendedLifetime(refusing) {}
    }

    @Test func aSilentAddressGetsAHeadStartAndNoMore() async throws {
        let (server, silent) = try pair { try SilentPort(port: $0) }
        let seconds = try await elapsed {
            let (result, attempts) = try await connect(
                to: ["127.0.0.1", "127.0.0.2"], port: server.port)
            #expect(try result.get() == "127.0.0.2")
            #expect(attempts == ["127.0.0.1", "127.0.0.2"])
        }
        #expect(seconds >= TCPConnector.headStart)
        #expect(silent.clientSockets == 0, "the loser is closed")
    }

    @Test func theFirstAddressThatAnswersIsTheOnlyOneTried() async throws {
        let server = try LoopbackServer(address: "127.0.0.2") { $0.hang() }
        let (result, attempts) = try await connect(
            to: ["127.0.0.2", "127.0.0.1"], port: server.port)
        #expect(try result.get() == "127.0.0.2")
        #expect(attempts == ["127.0.0.2"])
    }

    @Test func whenAllRefuseTheLastReasonIsTold() async throws {
        let refusing = try RefusingPort()
        let (result, attempts) = try await connect(
            to: ["127.0.0.1", "127.0.0.1"], port: refusing.port)
        let error = #expect(throws: FetchError.self) { try result.get() }
        #expect(error?.outcome == .connect)
        #expect(error?.errnoName == "ECONNREFUSED")
        #expect(attempts.count == 2)
    }

    @Test func silenceEndsAtTheDeadline() async throws {
        let silent = try SilentPort()
        let (result, _) = try await connect(to: ["127.0.0.1"], port: silent.port, seconds: 0.05)
        let error = #expect(throws: FetchError.self) { try result.get() }
        #expect(error?.outcome == .timeout)
        #expect(error?.phase == .connect)
        #expect(silent.clientSockets == 0)
    }

    @Test func aDeadlineWithinTheHeadStartIsKept() async throws {
        let silent = try SilentPort()
        let (result, attempts) = try await connect(
            to: ["127.0.0.1", "127.0.0.1"], port: silent.port, seconds: 0.05)
        #expect(throws: FetchError.self) { try result.get() }
        #expect(attempts.count == 1)
        #expect(silent.clientSockets == 0)
    }
}
