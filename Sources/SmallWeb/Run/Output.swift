// SPDX-License-Identifier: MIT
package import SmallWebCore

/// What becomes of one request of a run, over all of its attempts.
///
/// ``begin(_:)`` to ``fail(_:)`` are called within an attempt, on the loop of its fetcher, the rest
/// before and after it on the loop of the run.
package protocol Output: AnyObject {
    /// An attempt begins: nothing of an earlier one may be left.
    ///
    /// - Returns: What is asked for, or how it ends when nothing needs to be fetched.
    func begin(_ job: Job) throws(FetchError) -> Step

    /// What holds the body to a number of bytes a second, if anything does.
    var pace: Pace? { get }

    func take(_ event: Event) throws(FetchError)

    /// There was a reply, and all of it has been taken.
    func finish(_ ending: Ending) throws(FetchError)

    /// What follows a reply: another request where it asks for input that there is.
    func step(after ending: Ending, _ fetcher: Fetcher) throws(FetchError) -> Step

    /// There was no reply, or it could not be taken.
    func fail(_ error: FetchError)

    /// Whether another attempt finds the place as it was before this one.
    var canBeRepeated: Bool { get }

    /// There will be another attempt after `result`.
    func repeats(_ result: Attempt, _ retry: Retry) throws(FetchError)

    /// No attempt follows.
    ///
    /// - Returns: What the run makes of `result`.
    /// - Throws: `write` when what there is to say of it cannot be written: that ends the run.
    func conclude(_ result: Attempt, _ job: Job) async throws(FetchError) -> Outcome

    /// Its turn has come, after ``conclude(_:_:)``; not called in a run that cannot go on.
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

/// What an ``Output`` is made of: one mode's way to fold the events of a fetch into what it puts
/// out, as they come.
package protocol EventOutput {
    /// The ``FetchLog`` of the fetch knows of the event already.
    func take(_ event: Event) throws(FetchError)

    /// There was a reply, and what came of it has been taken. May add remarks to the log.
    func finish(_ ending: Ending) throws(FetchError)
}

extension EventOutput {
    package func finish(_ ending: Ending) throws(FetchError) {}
}
