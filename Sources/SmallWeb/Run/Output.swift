// SPDX-License-Identifier: MIT
package import SmallWebCore

/// Takes the events and results of one request of a run, over all of its attempts.
///
/// ``begin(_:)`` to ``fail(_:)`` are called within an attempt, on the loop of its fetcher, the rest
/// before and after it on the loop of the run.
package protocol Output: AnyObject {
    /// Begins an attempt: nothing of an earlier one may be left.
    ///
    /// - Returns: The request to fetch, or the ending if nothing needs to be fetched.
    func begin(_ job: Job) throws(FetchError) -> Step

    /// Limits the body to a number of bytes a second; `nil` for no limit.
    var pace: Pace? { get }

    func take(_ event: Event) throws(FetchError)

    /// Called when there was a reply, and all of it has been taken.
    func finish(_ ending: Ending) throws(FetchError)

    /// The step after a reply: another request if it asks for input that there is.
    func step(after ending: Ending, _ fetcher: Fetcher) throws(FetchError) -> Step

    /// Called when there was no reply, or it could not be taken.
    func fail(_ error: FetchError)

    /// True if another attempt finds the destination as it was before this one.
    var canBeRepeated: Bool { get }

    /// Called when another attempt follows `result`.
    func repeats(_ result: Attempt, _ retry: Retry) throws(FetchError)

    /// Called when no attempt follows.
    ///
    /// - Returns: The outcome that the run counts for `result`.
    /// - Throws: `write` when the report of it cannot be written: that ends the run.
    func conclude(_ result: Attempt, _ job: Job) async throws(FetchError) -> Outcome

    /// Called in its turn, after ``conclude(_:_:)``, but not in a run that cannot go on.
    func deliver() async throws(FetchError)
}

extension Output {
    package var pace: Pace? { nil }
    package func step(after ending: Ending, _ fetcher: Fetcher) throws(FetchError) -> Step {
        .end(ending)
    }
    package func fail(_ error: FetchError) {}
    package func repeats(_ result: Attempt, _ retry: Retry) throws(FetchError) {}
}

/// A part of an ``Output``: one mode's way to fold the events of a fetch into its output, as they
/// come.
package protocol EventOutput {
    /// The ``FetchLog`` of the fetch has noted the event already.
    func take(_ event: Event) throws(FetchError)

    /// Called when there was a reply, and it has been taken. May add remarks to the log.
    func finish(_ ending: Ending) throws(FetchError)
}

extension EventOutput {
    package func finish(_ ending: Ending) throws(FetchError) {}
}
