// SPDX-License-Identifier: MIT
package import SmallWebCore
package import SmallWebTransport

/// Limits a body to a number of bytes a second: while its consumer waits, nothing more is read.
//
// @unchecked: lives on the event loop of the run alone; tasks that share it are pinned there.
package final class Pace: @unchecked Sendable {
    private let bytesPerSecond: Int
    private let loop: EventLoop
    /// Deadline of the fetch.
    private let end: Instant
    private let start = Instant.now
    private var bytes = 0
    /// Bytes passed on at a time: an eighth of a second's.
    package let pieceBytes: Int

    /// - Parameters:
    ///   - bytesPerSecond: At least 1.
    ///   - totalSeconds: Time limit of the fetch; 0 for none.
    package init(bytesPerSecond: Int, totalSeconds: Double, _ loop: EventLoop) {
        self.bytesPerSecond = bytesPerSecond
        pieceBytes = max(1, bytesPerSecond / 8)
        self.loop = loop
        end = .after(seconds: totalSeconds)
    }

    /// Returns when `count` bytes more are due.
    ///
    /// - Throws: `timeout` when the time of the fetch is over before.
    package func pass(_ count: Int) async throws(FetchError) {
        bytes += count
        let due = start.advanced(seconds: Double(bytes) / Double(bytesPerSecond))
        guard due > .now else { return }
        await loop.sleep(until: min(due, end))
        // A sleep ends early when its task is cancelled.
        if Task.isCancelled { throw .cancelled }
        guard end > .now else {
            throw FetchError(
                .timeout, .body, "the fetch took too long", remedy: .raise(.totalTime))
        }
    }
}
