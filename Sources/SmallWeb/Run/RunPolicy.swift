// SPDX-License-Identifier: MIT

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
