// SPDX-License-Identifier: MIT
internal import SmallWebCore
package import SmallWebText
internal import SmallWebTransport

/// A run over any number of requests: takes them from its source while there is room, starts them
/// when their hosts allow it, retries failures that may pass, and delivers the results, in the
/// order of the requests if the policy says so.
//
// @unchecked: lives on the event loop of the run alone; its tasks are pinned there, or to the loops
// of their fetchers.
package final class Engine: @unchecked Sendable {
    /// Seconds to wait for input after the deadline: for each silence, and in total.
    private static let silenceSecondsMax = 1.0
    private static let lateSecondsMax = 10.0
    /// Limit of requests taken but not started.
    private static let waitingMax = 1024

    private let source: any Source
    private let policy: RunPolicy
    private let loop: EventLoop
    private let loops: FetchLoops
    private let isInterrupted: () -> Bool
    private var isAtEnd = false
    private var isAwaitingInput = false
    private var isAwaitingIdle = false
    /// True if the source has ended, should it have nothing at the next call.
    private var isLast = false
    /// True once the run ends early: it was cancelled, or has failed.
    package private(set) var isStopping = false
    /// No request starts after this time.
    private let deadline: Instant
    /// Set after the deadline: input that is silent until then counts as ended.
    private var inputEnd: Instant?
    private let waiting: StartQueue<Job>
    /// Jobs with a key that are not done.
    private var keyed: [String: [Job]] = [:]
    private let reports: Reports
    private var active = 0
    private var idle: [Worker] = []
    /// The soonest moment that a task sleeps until.
    private var alarm = Instant.never
    private var taken = 0
    /// From ``next`` on: finished requests wait for those before them.
    private var finished: ArraySlice<Finished> = []
    private enum Finished {
        case no
        /// `nil` for a request that was done already.
        case yes(Job?)
    }
    /// Index of the first request not delivered.
    private var next = 0
    package private(set) var tally = Tally()
    /// The error that ended the run, or failed its source.
    package private(set) var failure: FetchError?
    /// False after a failed delivery: later ones would fail, too.
    private var canDeliver = true
    private var sourceFailure: FetchError?

    /// - Parameters:
    ///   - fetcher: For requests without settings of their own; the run is on its loop.
    ///   - isInterrupted: Asked before each start.
    package init(
        _ source: any Source, _ policy: RunPolicy, _ fetcher: Fetcher,
        isInterrupted: @escaping () -> Bool = { false }
    ) {
        self.source = source
        self.policy = policy
        loop = fetcher.loop
        loops = FetchLoops(fetcher, policy)
        self.isInterrupted = isInterrupted
        reports = Reports(loop)
        deadline = policy.deadlineSeconds.map { .now.advanced(seconds: $0) } ?? .never
        waiting = StartQueue(
            .init(
                perHost: policy.jobsPerHost, hostSeconds: policy.hostSeconds,
                startSeconds: policy.startSeconds,
                pauseSecondsMax: policy.retry.totalSeconds ?? policy.pauseSecondsMax))
    }

    /// Requests that are done, the failed ones among them, and the total, once that is known.
    package var progress: (done: Int, failed: Int, total: Int?) {
        (tally.requests + tally.skipped, tally.requests - tally.ok, isAtEnd ? taken : nil)
    }

    /// Returns when every request of the source has been delivered; ``tally`` and ``failure`` have
    /// the result. On the loop of the run. Cancelling its task ends the fetches, and the requests
    /// left are concluded as cancelled.
    package func run() async {
        precondition(loop.isCurrent)
        await withDiscardingTaskGroup { group in
            while true {
                await advance(&group)
                if isStopping || isAtEnd && isIdle, active == 0 { break }
                switch await reports.next() {
                case .attempted(let worker, let entry, let result):
                    active -= 1
                    idle.append(worker)
                    waiting.end(entry, now: .now)
                    entry.item.isUnderWay = false
                    await settle(entry, result)
                case .readable: isAwaitingInput = false
                case .idle:
                    isAwaitingIdle = false
                    isLast = isIdle
                case .due: alarm = .never
                }
                if !isStopping && (Task.isCancelled || failure != nil) { stop() }
                if isStopping { group.cancelAll() }
            }
            group.cancelAll()
            for worker in idle { worker.end() }
        }
        loops.end()
        if isStopping { await abandon() }
        failure = failure ?? sourceFailure
    }

    // MARK: Taking and starting

    private var isIdle: Bool { waiting.isEmpty && active == 0 }

    /// Takes requests while there is room and starts those that are due.
    private func advance(_ group: inout DiscardingTaskGroup) async {
        var count = 0
        while !isStopping {
            // The interrupt may have come before anything watched for it.
            if isInterrupted() { return stop() }
            if isLate { await postpone() } else { await startDue(&group) }
            guard hasRoom, !isAtEnd else { break }
            if isAwaitingInput && !isLast { return awaitMore(&group) }
            switch source.take(isLast: isLast) {
            case .job(let job):
                inputEnd = nil
                number(job)
                if let key = job.key { keyed[key, default: []].append(job) }
                if let place = job.place { job.fetcher = loops.spread(job.fetcher, place) }
                // A request without a server waits for no other: each is a host of its own.
                let isAlone = job.place == nil && job.problem == nil
                waiting.add(job, host: isAlone ? "#\(job.turn)" : job.place, now: .now)
            case .cancel(let key):
                inputEnd = nil
                await cancel(key)
            case .done:
                inputEnd = nil
                taken += 1
                tally.skipped += 1
                await deliver(taken - 1, nil)
            case .foreign: inputEnd = nil
            case .later(let wait):
                isAwaitingInput = true
                report(.readable, after: wait, &group)
            case .end(let error): (isAtEnd, sourceFailure) = (true, error)
            }
            isLast = false
            count += 1
            // Bad lines need no waiting, so nothing else would let the loop poll its sockets.
            if count % 256 == 0 { await loop.sleep(until: .now) }
            if Task.isCancelled || failure != nil { stop() }
        }
    }

    /// Bounds the results that are held back, and the jobs that wait.
    private var hasRoom: Bool {
        waiting.count < Self.waitingMax && (!policy.keepsOrder || taken < next + policy.heldMax)
    }

    private func number(_ job: Job) {
        job.turn = taken
        taken += 1
    }

    /// Called when there is nothing to take: ends the run after the deadline, or if its source
    /// needs no more.
    private func awaitMore(_ group: inout DiscardingTaskGroup) {
        let now = Instant.now
        if isLate {
            if inputEnd ?? .never <= now { isAtEnd = true }
            // Ending at once would kill a program that is still writing by SIGPIPE.
            inputEnd =
                inputEnd
                ?? min(
                    now.advanced(seconds: Self.silenceSecondsMax),
                    deadline.advanced(seconds: Self.lateSecondsMax))
        }
        wake(at: inputEnd ?? deadline, &group)
        guard isIdle, !isAwaitingIdle, let idle = source.idle else { return }
        isAwaitingIdle = true
        report(.idle, after: idle, &group)
    }

    private func wake(at moment: Instant, _ group: inout DiscardingTaskGroup) {
        guard moment < alarm else { return }
        alarm = moment
        let loop = loop
        report(.due, after: { await loop.sleep(until: moment) }, &group)
    }

    private func report(
        _ report: Reports.Report, after wait: @escaping @Sendable () async -> Void,
        _ group: inout DiscardingTaskGroup
    ) {
        let reports = reports
        group.addTask {
            await wait()
            reports.add(report)
        }
    }

    private var isLate: Bool { deadline < .never && deadline <= .now }

    /// Concludes the requests that have not been started when the deadline passes.
    private func postpone() async {
        guard !waiting.isEmpty else { return }
        for job in waiting.removeAll() { await complete(job, .failed(job.problem ?? .postponed)) }
    }

    private func startDue(_ group: inout DiscardingTaskGroup) async {
        while active < policy.jobs && !isStopping {
            switch waiting.next(.now) {
            case .start(let entry):
                active += 1
                entry.item.isUnderWay = true
                let loop = entry.item.fetcher.loop
                if let index = idle.lastIndex(where: { $0.loop === loop }) {
                    idle.remove(at: index).make(entry)
                } else {
                    let worker = Worker(loop, reports)
                    group.addTask(executorPreference: loop) { await worker.run(entry) }
                }
            case .refuse(let job, let pauseSeconds):
                await complete(job, .failed(job.problem ?? .pause(pauseSeconds ?? 0)))
            case .wait(let opening): return wake(at: min(opening, deadline), &group)
            }
        }
    }

    // MARK: After an attempt

    private func settle(_ entry: StartQueue<Job>.Entry, _ result: Attempt) async {
        let job = entry.item
        if let pause = result.pause {
            waiting.pause(entry, seconds: pause.inSeconds, now: .now)
        }
        let rest = job.output.restSeconds(after: result, job)
        if rest > 0 { waiting.pause(entry, seconds: rest, now: .now) }
        if !isStopping, !isLate, failure == nil, let retry = retry(entry, result) {
            do throws(FetchError) {
                try job.output.repeats(result, retry)
            } catch {
                failure = error
            }
            // It has waited longer than those that have not been started.
            let now = Instant.now
            waiting.putBack(entry, notBefore: now.advanced(seconds: retry.delaySeconds), now: now)
        } else {
            await complete(job, result)
        }
    }

    private func retry(_ entry: StartQueue<Job>.Entry, _ result: Attempt) -> Retry? {
        let job = entry.item
        let mayHelp = policy.retry.repeatsData ? result.outcome.isRetryable : result.isRetryable
        guard mayHelp, !job.isCancelled, job.output.canBeRepeated, let started = job.started,
            let opening = waiting.opening(for: entry, now: .now)
        else { return nil }
        return policy.retry.retry(after: job.attempts, since: started, opening: opening)
    }

    /// Ends the jobs with this key: those under way are reported, the others are done now.
    private func cancel(_ key: String) async {
        for job in keyed[key] ?? [] {
            job.cancel()
            guard !job.isUnderWay, waiting.remove(where: { $0 === job }, now: .now) else {
                continue
            }
            await complete(job, .failed(job.problem ?? .cancelled))
        }
    }

    private func complete(_ job: Job, _ result: Attempt) async {
        if let key = job.key {
            keyed[key]?.removeAll { $0 === job }
            if keyed[key]?.isEmpty ?? false { keyed[key] = nil }
        }
        do throws(FetchError) {
            let outcome = try await job.output.conclude(result, job)
            tally.count(
                outcome, n: job.n, bytes: result.ending?.bodyBytes ?? 0,
                isPostponed: result.error?.isPostponed ?? false, isUnreadList: job.isUnreadList)
            if policy.failsEarly && outcome != .ok && !job.isCancelled { stop() }
        } catch {
            failure = failure ?? error
        }
        await deliver(job.turn, job)
    }

    /// Delivers finished requests whose turn has come.
    private func deliver(_ turn: Int, _ job: Job?) async {
        guard policy.keepsOrder else {
            next += 1
            return await hand(out: job)
        }
        let missing = turn - next - finished.count + 1
        if missing > 0 { finished += repeatElement(.no, count: missing) }
        finished[finished.startIndex + turn - next] = .yes(job)
        while case .yes(let job)? = finished.first {
            // The slice's memory would keep the job.
            finished[finished.startIndex] = .no
            finished.removeFirst()
            next += 1
            await hand(out: job)
        }
    }

    private func hand(out job: Job?) async {
        guard canDeliver, let job else { return }
        do throws(FetchError) {
            try await job.output.deliver()
        } catch {
            canDeliver = false
            failure = failure ?? error
        }
    }

    // MARK: Stopping

    private func stop() {
        isStopping = true
        loops.interrupt()
    }

    /// Concludes the requests that were not tried as cancelled.
    private func abandon() async {
        let rest = source.rest()
        for job in rest { number(job) }
        for job in waiting.removeAll() + rest { await complete(job, .failed(.cancelled)) }
    }
}

extension FetchError {
    /// The host asked clients to wait for longer than a run waits.
    fileprivate static func pause(_ seconds: Double) -> FetchError {
        FetchError(
            .temporaryFailure, .connect,
            "the host asked clients to wait \(Int(min(seconds, 1e9))) seconds",
            remedy: .raise(.pause))
    }
}

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
