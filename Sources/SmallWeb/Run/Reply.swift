// SPDX-License-Identifier: MIT
package import SmallWebCore
package import SmallWebTransport

/// Takes the events of a fetch as they come.
package protocol EventSink {
    /// The ``FetchLog`` of the fetch has noted the event already.
    func take(_ event: Event) throws(FetchError)

    /// The sink for the lines of the reply whose head has just been taken; `nil` for none.
    var pageSink: (any PageSink)? { get }

    /// Called when there was a reply, before its last lines. May correct how it has ended.
    func judge(_ ending: Ending)

    /// Called when there was a reply, and it has been taken. May add remarks to the log.
    func finish(_ ending: Ending) throws(FetchError)
}

extension EventSink {
    package var pageSink: (any PageSink)? { nil }
    package func judge(_ ending: Ending) {}
    package func finish(_ ending: Ending) throws(FetchError) {}
}

/// Takes a reply line by line, besides its events.
package protocol PageSink: EventSink {
    /// Called after the head. Must say by ``PageReader/require(_:under:)`` what is to be read; the
    /// reader is the same for all sinks of the reply.
    func begin(_ page: PageReader) throws(FetchError)

    /// - Parameter links: Resolves the links of the line (``PageReader/links(_:)``), once for all.
    func take(_ line: PageLine, _ links: () -> [Link]) throws(FetchError)

    /// Called after the lines of each piece of the body.
    func flush() throws(FetchError)
}

extension PageSink {
    package var pageSink: (any PageSink)? { self }
    package func take(_ event: Event) throws(FetchError) {}
    package func flush() throws(FetchError) {}
}

/// The reply to one request: passes each event to its sinks, and its lines to those of pages.
package final class Reply {
    package let request: Request
    /// Gets each event before the sinks.
    package let log: FetchLog
    private let watchers: [any EventSink]
    private let sinks: [any EventSink]
    private let pace: Pace?
    private let registry: Registry
    /// Bytes of a page that are read at once.
    private static let pieceBytesMax = 8_192
    /// `nil` without a sink for lines.
    private var page: PageReader?
    private var pageSinks: [any PageSink] = []
    /// True from the head of a wanted reply on.
    private var isWanted = false

    /// - Parameters:
    ///   - watchers: Receive every event.
    ///   - sinks: Receive the reply, from its head on, if it is wanted.
    ///   - registry: Has the schemes of links.
    ///   - pace: Limits the rate of the body; `nil` for no limit.
    package init(
        to request: Request, _ log: FetchLog, _ registry: Registry, watchers: [any EventSink],
        sinks: [any EventSink] = [], pace: Pace? = nil
    ) {
        self.registry = registry
        (self.request, self.log, self.watchers, self.sinks) = (request, log, watchers, sinks)
        self.pace = pace
    }

    /// The same for another request, with a first watcher.
    package func watched(by watcher: any EventSink, to request: Request) -> Reply {
        Reply(
            to: request, log, registry, watchers: [watcher] + watchers, sinks: sinks, pace: pace)
    }

    func take(_ event: Event) async throws(FetchError) {
        guard let pace, case .body(var bytes) = event else { return try pass(event) }
        while !bytes.isEmpty {
            let piece = bytes.prefix(pace.pieceBytes)
            try pass(.body(piece))
            bytes = bytes.dropFirst(piece.count)
            try await pace.pass(piece.count)
        }
    }

    private func pass(_ event: Event) throws(FetchError) {
        if case .head = event {
            (page, pageSinks) = (nil, [])
            isWanted = log.wanted == .body
        }
        for watcher in watchers { try pass(event, to: watcher) }
        if isWanted { for sink in sinks { try pass(event, to: sink) } }
        guard let page else { return }
        guard case .body(let bytes) = event else { return try pass(page.read(event), of: page) }
        // A page may have a block for each five bytes, which takes fifty times as many.
        for start in stride(from: bytes.startIndex, to: bytes.endIndex, by: Self.pieceBytesMax) {
            let piece = bytes[start...].prefix(Self.pieceBytesMax)
            try pass(page.read(.body(piece)), of: page)
        }
        for sink in pageSinks { try sink.flush() }
    }

    private func pass(_ event: Event, to sink: any EventSink) throws(FetchError) {
        try sink.take(event)
        guard case .head(let head) = event, let pageSink = sink.pageSink else { return }
        let page = page ?? PageReader(head, base: request.base ?? log.uri, registry: registry)
        self.page = page
        pageSinks.append(pageSink)
        try pageSink.begin(page)
    }

    private func pass(_ lines: [PageLine], of page: PageReader) throws(FetchError) {
        for line in lines {
            var resolved: [Link]?
            func links() -> [Link] {
                let links = resolved ?? page.links(line)
                resolved = links
                return links
            }
            for sink in pageSinks { try sink.take(line, links) }
        }
    }

    func finish(_ ending: Ending) throws(FetchError) {
        for watcher in watchers { watcher.judge(ending) }
        if let page {
            try pass(page.end(isWhole: ending.completeness != .truncated), of: page)
            while let lines = page.next() {
                try pass(lines, of: page)
                for sink in pageSinks { try sink.flush() }
            }
        }
        for watcher in watchers { try watcher.finish(ending) }
        for sink in sinks {
            let known = log.notes.count
            try sink.finish(ending)
            for note in log.notes.dropFirst(known) { try pass(.note(note)) }
        }
    }
}

package enum Step {
    case fetch(Reply)
    case end(Ending)
}

/// Owner of one request of a run, over all of its attempts: begins them, and delivers the result.
///
/// ``begin(_:)`` to ``end(_:)`` are called within an attempt, on the loop of its fetcher, the rest
/// before and after it on the loop of the run.
package protocol Output: AnyObject {
    /// Begins an attempt, without anything of an earlier one; it may end without a fetch.
    func begin(_ job: Job) throws(FetchError) -> Step

    /// The step after a reply: another request if it asks for input that there is.
    func step(after ending: Ending, _ fetcher: Fetcher) throws(FetchError) -> Step

    /// Called when a fetch is over: there was a reply and its sinks have finished, or it failed.
    func end(_ result: Attempt)

    /// True if the attempt asks once more, and at once: the reply to its request for the rest of a
    /// body says nothing about the whole.
    func beginsAgain(after result: Attempt) -> Bool

    /// True if another attempt finds the destination as it was before this one.
    var canBeRepeated: Bool { get }

    /// Seconds that the host is left alone for after an attempt; 0 for no more than usual.
    func restSeconds(after result: Attempt, _ job: Job) -> Double

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
    package func step(after ending: Ending, _ fetcher: Fetcher) throws(FetchError) -> Step {
        .end(ending)
    }
    package func end(_ result: Attempt) {}
    package func beginsAgain(after result: Attempt) -> Bool { false }
    package func restSeconds(after result: Attempt, _ job: Job) -> Double {
        guard let request = job.request,
            let delay = job.fetcher.options.robots?.delaySeconds(for: request)
        else { return 0 }
        return delay
    }
    package func repeats(_ result: Attempt, _ retry: Retry) throws(FetchError) {}
}

/// Limits a body to a number of bytes a second: while its consumer waits, nothing more is read.
//
// @unchecked: lives on the event loop of the run alone; tasks that share it are pinned there.
package final class Pace: @unchecked Sendable {
    private let bytesPerSecond: Int
    private let loop: EventLoop
    /// Deadline of the fetch.
    private let end: Instant
    private let start = Instant.now
    private var bytes = 0
    /// Bytes passed on at a time: an eighth of a second's.
    package let pieceBytes: Int

    /// - Parameters:
    ///   - bytesPerSecond: At least 1.
    ///   - totalSeconds: Time limit of the fetch; 0 for none.
    package init(bytesPerSecond: Int, totalSeconds: Double, _ loop: EventLoop) {
        self.bytesPerSecond = bytesPerSecond
        pieceBytes = max(1, bytesPerSecond / 8)
        self.loop = loop
        end = .after(seconds: totalSeconds)
    }

    /// Returns when `count` bytes more are due.
    ///
    /// - Throws: `timeout` when the time of the fetch is over before.
    package func pass(_ count: Int) async throws(FetchError) {
        bytes += count
        let due = start.advanced(seconds: Double(bytes) / Double(bytesPerSecond))
        guard due > .now else { return }
        await loop.sleep(until: min(due, end))
        // A sleep ends early when its task is cancelled.
        if Task.isCancelled { throw .cancelled }
        guard end > .now else {
            throw FetchError(
                .timeout, .body, "the fetch took too long", remedy: .raise(.totalTime))
        }
    }
}
