// SPDX-License-Identifier: MIT
package import SmallWebCore

/// What one mode makes of a fetch: it folds the events into what it puts out, as they come.
package protocol EventOutput {
    /// The ``FetchLog`` of the fetch knows of the event already.
    func take(_ event: Event) throws(FetchError)

    /// There was a reply, and what came of it has been taken. May add remarks to the log.
    func finish(_ ending: Ending) throws(FetchError)
}

extension EventOutput {
    package func finish(_ ending: Ending) throws(FetchError) {}
}
