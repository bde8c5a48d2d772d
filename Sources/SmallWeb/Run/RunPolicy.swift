// SPDX-License-Identifier: MIT
package import SmallWebCore

package struct RunPolicy: Sendable {
    /// Requests at the same time, in all and for one host; 1 or more.
    package var jobs = 1
    package var jobsPerHost = 2
    /// Event loops that fetch; `nil` for one per processor, the run's own included.
    package var loops: Int?
    /// Least seconds between two starts: of all requests, and for one host.
    package var startSeconds = 0.0
    package var hostSeconds = 0.0
    /// Longest pause in seconds that a server may ask for; ``RetryPolicy/totalSeconds`` replaces
    /// it.
    package var pauseSecondsMax = 600.0
    package var retry = RetryPolicy()
    /// True if the first failure ends the run.
    package var failsEarly = false
    /// Seconds from the start of the run to the last start of a request; `nil` for no limit.
    package var deadlineSeconds: Double?
    /// True to deliver results in the order of the requests.
    package var keepsOrder = true
    /// Results that may be held back to keep the order, 1 or more.
    package var heldMax = 64

    package init() {}
}

/// Retries of a URL after failures that may pass.
package struct RetryPolicy: Sendable {
    package var retries = 0
    /// Seconds before each retry; `nil` for a back-off that begins with one and doubles, up to ten
    /// minutes.
    package var delaySeconds: Double?
    /// Seconds from the first attempt to the start of the last one; `nil` for no limit.
    package var totalSeconds: Double?
    /// True to send data again that the server may have taken.
    package var repeatsData = false

    package init() {}

    /// The next attempt; `nil` when there is none.
    ///
    /// - Parameters:
    ///   - attempts: Attempts made, the first of them at `start`.
    ///   - opening: Time from which the host may be asked again.
    package func retry(
        after attempts: Int, since start: Instant, opening: Instant, now: Instant = .now
    ) -> Retry? {
        guard attempts <= retries else { return nil }
        // Half of the back-off is random, so that many clients do not come back at once.
        let grown = min(600, Double(1 << min(attempts - 1, 20))) * .random(in: 0.5...1)
        let delay = delaySeconds ?? grown
        let next = max(now.advanced(seconds: delay), opening)
        if let totalSeconds, next.seconds(since: start) > totalSeconds { return nil }
        return Retry(
            attempts: attempts, attemptsMax: retries + 1, delaySeconds: delay,
            waitSeconds: next.seconds(since: now))
    }
}

package struct Retry: Sendable {
    /// Attempts made, and the most there may be.
    package let attempts: Int
    package let attemptsMax: Int
    let delaySeconds: Double
    /// Seconds until it may start: the host may have asked for more.
    package let waitSeconds: Double
}
