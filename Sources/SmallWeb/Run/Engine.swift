// SPDX-License-Identifier: MIT
package import SmallWebCore
internal import SmallWebTransport

/// A run over any number of requests: takes them from its source as there is room, starts them when
/// their hosts allow it, tries again what may pass, and has them delivered, in their order if that
/// is wanted.
//
// @unchecked: lives on the event loop of the run alone; its tasks are pinned there, or to the loops
// of their fetchers.
package final class Engine: @unchecked Sendable {
    /// How long more input may be silent, and all in all, once nothing of it is fetched any more.
    private static let silenceSecondsMax = 1.0
    private static let lateSecondsMax = 10.0
    /// Most requests that have been taken and not been started.
    private static let waitingMax = 1024

    private let source: any Source
    private let policy: RunPolicy
    private let loop: EventLoop
    private let loops: FetchLoops
    /// Whether the process is to end.
    private let isInterrupted: () -> Bool
    private var isAtEnd = false
    private var isAwaitingInput = false
    private var isAwaitingIdle = false
    /// Whether the source is asked once more, and then has ended if it has nothing.
    private var isLast = false
    /// Whether the run ends before its requests: it was cancelled, or has failed.
    package private(set) var isStopping = false
    /// When no request starts any more.
    private let deadline: Instant
    /// When input that has nothing to read, after the deadline, counts as ended.
    private var inputEnd: Instant?
    private let waiting: StartQueue<Job>
    /// Those with a key that are not done.
    private var keyed: [String: [Job]] = [:]
    private let reports: Reports
    private var active = 0
    /// Workers without an attempt.
    private var idle: [Worker] = []
    /// The soonest moment that a task waits for.
    private var alarm = Instant.never
    /// Read so far.
    private var taken = 0
    /// From ``next`` on, what is done and waits for those before it.
    private var finished: ArraySlice<Finished> = []
    private enum Finished {
        case no
        /// `nil` for what was done already.
        case yes(Job?)
    }
    /// The first that has not been delivered.
    private var next = 0
    package private(set) var tally = Tally()
    /// Why the run cannot go on, or why its source has failed.
    package private(set) var failure: FetchError?
    /// Until an output could not be delivered: those behind it would fail, too.
    private var canDeliver = true
    private var sourceFailure: FetchError?

    /// - Parameters:
    ///   - fetcher: Of requests of which nothing in particular is said; the run is on its loop.
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

    /// Requests that are done, those of them that have failed, and how many there are, once that is
    /// known.
    package var progress: (done: Int, failed: Int, total: Int?) {
        (tally.requests + tally.skipped, tally.requests - tally.ok, isAtEnd ? taken : nil)
    }

    /// Returns when every request of the source has been delivered; ``tally`` and ``failure`` say
    /// what came of it. On the loop of the run. Cancelling its task ends the fetches, and what was
    /// asked for is concluded as cancelled.
    package func run() async {
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

    /// Takes what there is room for and starts what may start.
    private func advance(_ group: inout DiscardingTaskGroup) async {
        var count = 0
        while !isStopping {
            // It may have come before anything watched for it.
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
                // What needs no server waits for none: each is a host of its own.
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
            // Bad lines need no waiting, so nothing else would let the loop look at its sockets.
            if count % 256 == 0 { await loop.sleep(until: .now) }
            if Task.isCancelled || failure != nil { stop() }
        }
    }

    /// Results that are held back are bounded, and so are jobs that wait.
    private var hasRoom: Bool {
        waiting.count < Self.waitingMax && (!policy.keepsOrder || taken < next + policy.heldMax)
    }

    private func number(_ job: Job) {
        job.turn = taken
        taken += 1
    }

    /// There is nothing to take now: the run ends where it is too late for more, or where its
    /// source needs no more.
    private func awaitMore(_ group: inout DiscardingTaskGroup) {
        let now = Instant.now
        if isLate {
            if inputEnd ?? .never <= now { isAtEnd = true }
            // A program that is still writing would be ended by SIGPIPE.
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

    /// Answers what has not been started when the deadline passes.
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
        if let pause = result.ending?.head?.retryAfter, pause > .zero {
            waiting.pause(entry, seconds: pause.inSeconds, now: .now)
        }
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

    /// The next attempt; `nil` when there is none.
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

    /// Delivers what is done, if its turn has come.
    private func deliver(_ turn: Int, _ job: Job?) async {
        guard policy.keepsOrder else {
            next += 1
            return await hand(out: job)
        }
        let missing = turn - next - finished.count + 1
        if missing > 0 { finished += repeatElement(.no, count: missing) }
        finished[finished.startIndex + turn - next] = .yes(job)
        while case .yes(let job)? = finished.first {
            // The slice's memory would keep it.
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

    /// Answers what has been asked and not been tried.
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
