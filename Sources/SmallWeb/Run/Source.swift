// SPDX-License-Identifier: MIT
package import SmallWebCore

/// Where the requests of a run come from. Lives on the loop of the run alone, and never blocks it.
package protocol Source: AnyObject {
    /// The next request, when there is room for it.
    ///
    /// - Parameter isLast: Whether the run has nothing else to do, and ``idle`` has returned: a
    ///   source that has nothing now has ended.
    func take(isLast: Bool) -> Taken

    /// Returns when a run that has nothing to do may end unless there is more by then; `nil` for a
    /// source that says itself when it has ended.
    var idle: (@Sendable () async -> Void)? { get }

    /// What is still to come, as far as it is known, for a run that ends before it. Each has a
    /// problem.
    func rest() -> [Job]
}

extension Source {
    package var idle: (@Sendable () async -> Void)? { nil }
    package func rest() -> [Job] { [] }
}

/// What a ``Source`` has.
package enum Taken {
    case job(Job)
    /// The requests under way with this key shall end.
    case cancel(String)
    /// A request that is done already.
    case done
    /// One that belongs to another worker.
    case foreign
    /// Nothing now: ask again when this has returned, which it also does when its task is
    /// cancelled.
    case later(@Sendable () async -> Void)
    /// No more, perhaps because reading them failed.
    case end(FetchError?)
}
