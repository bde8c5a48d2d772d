// SPDX-License-Identifier: MIT
package import SmallWebCore

/// The requests of a run. Lives on the loop of the run alone, and never blocks it.
package protocol Source: AnyObject {
    /// Returns the next request. Called when there is room for it.
    ///
    /// - Parameter isLast: True if the run has nothing else to do, and ``idle`` has returned: a
    ///   source that has nothing now has ended.
    func take(isLast: Bool) -> Taken

    /// Returns when a run that has nothing to do may end unless there is more by then; `nil` for a
    /// source that reports its end itself.
    var idle: (@Sendable () async -> Void)? { get }

    /// Requests still to come, as far as they are known, for a run that ends early. Each has a
    /// problem.
    func rest() -> [Job]
}

extension Source {
    package var idle: (@Sendable () async -> Void)? { nil }
    package func rest() -> [Job] { [] }
}

/// The next request of a ``Source``, or the reason that there is none.
package enum Taken {
    case job(Job)
    /// Ends the requests with this key.
    case cancel(String)
    /// A request that is done already.
    case done
    /// A request that belongs to another worker.
    case foreign
    /// Nothing now: ask again when the closure has returned, also because its task was cancelled.
    case later(@Sendable () async -> Void)
    /// No more, perhaps because reading failed.
    case end(FetchError?)
}
