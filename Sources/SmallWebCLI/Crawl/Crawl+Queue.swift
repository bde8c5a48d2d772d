// SPDX-License-Identifier: MIT
internal import SmallWeb

extension Crawl {
    /// A server, and the URLs of it that wait.
    final class Queue {
        let name: String
        /// Where the lines of waiting URLs are in the file; ``next`` is the first of them.
        private var offsets: [Int] = []
        private var next = 0
        /// Depths of those of ``offsets``, in ascending order; empty without a limit of the depth.
        private var depths: [UInt16] = []
        /// Those to be asked again, first.
        var again: [CrawlFile.Entry] = []
        /// Those that failed for now: the next run asks again.
        var failed = 0
        var isQueued = false
        /// URLs of it that were found, also in earlier runs.
        var pages = 0
        /// Least depth of a page that is under way.
        var depth = Int.max
        /// False until a reply has had a sign of its end.
        var endsReplies = false
        /// Replies without one that may be whole.
        var unended = 0
        var underWay = 0
        /// True once this run has asked it for a page.
        var isAsked = false
        /// Requests in a row that got no connection.
        var refusals = 0
        /// Replies in a row that asked for a pause.
        var pauses = 0
        /// True once it has asked to be left alone: its pace is half.
        var isSlow = false
        /// The outcome of its robots file, or of the last request that got no connection.
        var failure: Outcome?
        /// The reason why it is left for this run.
        var reason: String?

        init(_ name: String) { self.name = name }

        var unasked: Int { offsets.count - next + again.count }

        /// - Parameter depth: `nil` without a limit of the depth.
        func add(_ offset: Int, depth: UInt16?) {
            guard let depth else { return offsets.append(offset) }
            let index = depths[next...].lastIndex { $0 <= depth }.map { $0 + 1 } ?? next
            depths.insert(depth, at: index)
            offsets.insert(offset, at: index)
        }

        /// The least depth of ``offsets``.
        var nextDepth: Int { next < depths.count ? Int(depths[next]) : .max }

        /// Where the line of the next URL is; `nil` if there is none.
        func pop() -> Int? {
            guard next < offsets.count else { return nil }
            defer {
                next += 1
                if next >= 1024, 2 * next >= offsets.count {
                    offsets.removeFirst(next)
                    if !depths.isEmpty { depths.removeFirst(next) }
                    next = 0
                }
            }
            return offsets[next]
        }
    }
}
