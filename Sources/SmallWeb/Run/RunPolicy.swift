// SPDX-License-Identifier: MIT

/// How many requests of a run are fetched together, when each starts, and what follows a failure.
package struct RunPolicy: Sendable {
    /// Requests at the same time, and of them at the same host; 1 or more.
    package var jobs = 1
    package var jobsPerHost = 2
    /// Event loops that fetch; `nil` for as many as there are processors, of which the run's own is
    /// one.
    package var loops: Int?
    /// Least seconds between the starts of two requests: of all, and of those to one host.
    package var startSeconds = 0.0
    package var hostSeconds = 0.0
    /// Longest pause that a server may ask for, unless retries say otherwise.
    package var pauseSecondsMax = 600.0
    package var retry = RetryPolicy()
    /// Whether the first failure ends the run.
    package var failsEarly = false
    /// From the start to the last start of a request; `nil` for no end.
    package var deadlineSeconds: Double?
    /// Whether results are delivered in the order of the requests.
    package var keepsOrder = true
    /// Results that may be held back for that, 1 or more.
    package var heldMax = 64

    package init() {}
}
