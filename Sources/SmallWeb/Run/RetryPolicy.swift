// SPDX-License-Identifier: MIT
package import SmallWebCore

/// Whether and when a URL is tried again, after a failure that may pass.
package struct RetryPolicy: Sendable {
    /// Attempts after the first.
    package var retries = 0
    /// Seconds before each of them; `nil` to begin with one and double it, up to ten minutes.
    package var delaySeconds: Double?
    /// From the first attempt to the start of the last one; `nil` for no limit.
    package var totalSeconds: Double?
    /// Whether data is sent again that the server may have taken.
    package var repeatsData = false

    package init() {}

    /// The next attempt; `nil` when there is none.
    ///
    /// - Parameters:
    ///   - attempts: Those that were made, the first of them at `start`.
    ///   - opening: When the host may be asked again.
    package func retry(
        after attempts: Int, since start: Instant, opening: Instant, now: Instant = .now
    ) -> Retry? {
        guard attempts <= retries else { return nil }
        // Half of the growing wait is chance, so that many clients do not come back at once.
        let grown = min(600, Double(1 << min(attempts - 1, 20))) * .random(in: 0.5...1)
        let delay = delaySeconds ?? grown
        let next = max(now.advanced(seconds: delay), opening)
        if let totalSeconds, next.seconds(since: start) > totalSeconds { return nil }
        return Retry(
            attempts: attempts, attemptsMax: retries + 1, delaySeconds: delay,
            waitSeconds: next.seconds(since: now))
    }
}

/// An attempt that follows one that failed.
package struct Retry: Sendable {
    /// Attempts that were made, and how many there may be in all.
    package let attempts: Int
    package let attemptsMax: Int
    /// What the policy has it wait.
    let delaySeconds: Double
    /// Until it may start: the host may have asked for more.
    package let waitSeconds: Double
}
