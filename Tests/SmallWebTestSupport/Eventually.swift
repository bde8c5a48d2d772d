// SPDX-License-Identifier: MIT
internal import Glibc

/// A state that has not come in time. It is printed, too: a server's thread has nobody to throw to.
public struct Overdue: Error, CustomStringConvertible {
    /// Limit of every wait for a state, in seconds; none takes as long, on a busy machine either.
    public static let seconds = 120

    public let description: String

    init(_ state: String, _ place: String) {
        description = "\(place): waited \(Self.seconds) s for this: \(state)"
        let line = Array("\(description)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
    }
}

/// Blocks until `condition` holds.
///
/// - Parameter state: Says what that means, for the message.
/// - Throws: `Overdue`.
public func eventually(
    _ state: String, file: String = #fileID, line: Int = #line, _ condition: () throws -> Bool
) throws {
    let end = ContinuousClock.now + .seconds(Overdue.seconds)
    while try !condition() {
        guard ContinuousClock.now < end else { throw Overdue(state, "\(file):\(line)") }
        usleep(1000)
    }
}

/// Suspends until `condition` holds or the task is cancelled: no test may block the threads that
/// all of them share.
///
/// - Parameter state: Says what that means, for the message.
/// - Throws: `Overdue`.
public func eventually(
    _ state: String, file: String = #fileID, line: Int = #line, _ condition: () -> Bool
) async throws {
    let end = ContinuousClock.now + .seconds(Overdue.seconds)
    while !condition() && !Task.isCancelled {
        guard ContinuousClock.now < end else { throw Overdue(state, "\(file):\(line)") }
        try? await Task.sleep(for: .milliseconds(1))
    }
}
