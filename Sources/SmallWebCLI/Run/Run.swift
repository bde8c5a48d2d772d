// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import SmallWeb
internal import SmallWebRecords
internal import SmallWebTransport

/// A run over any number of URLs: reads them as there is room, starts them when their hosts allow
/// it, tries again what may pass, and delivers.
///
/// What goes to standard output and must keep the order of the URLs is held back until those
/// before it are done.
//
// @unchecked: lives on the event loop of the run alone; its tasks are pinned there.
final class Run: @unchecked Sendable {
    /// What one URL may hold in memory; more goes to a temporary file.
    static let heldBytesMax = 65_536
    /// Longest pause that a server may impose, unless `--retry-max-time` says otherwise.
    private static let pauseSecondsMax = 600.0
    /// How long more input may be silent, and all in all, once nothing of it is fetched any more.
    private static let silenceSecondsMax = 1.0
    private static let lateSecondsMax = 10.0
    /// Most orders that have been read and not been started.
    private static let waitingMax = 1024

    private let context: RunContext
    private let settings: RunSettings
    private let writesRecords: Bool
    private let source: OrderSource
    private var isAtEnd = false
    private var isAwaitingInput = false
    private var isStopping = false
    /// When no request starts any more.
    private let deadline: Instant
    /// When input that has nothing to read, after the deadline, counts as ended.
    private var inputEnd: Instant?
    private let waiting: StartQueue<OneURL>
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
        /// `nil` for what the ledger had.
        case yes(OneURL?)
    }
    /// The first that has not been delivered.
    private var next = 0
    /// Whether standard output has got all that it shall get.
    private var isClosed = false
    private var tally = Tally()
    /// Why the run itself cannot go on.
    private var failure: FetchError?

    init(_ source: OrderSource, _ context: RunContext) {
        self.source = source
        self.context = context
        settings = context.settings.run
        writesRecords = context.settings.records.areWanted
        reports = Reports(context.loop)
        deadline = settings.deadlineSeconds.map { .now.advanced(seconds: $0) } ?? .never
        waiting = StartQueue(
            .init(
                perHost: settings.jobsPerHost, hostSeconds: settings.hostSeconds,
                startSeconds: settings.startSeconds,
                pauseSecondsMax: settings.retry.totalSeconds ?? Self.pauseSecondsMax))
    }

    /// - Returns: The exit status: the first failing URL's, in the order given.
    /// - Throws: `write` when standard output or the ledger fails; `interrupted`.
    func run() async throws(FetchError) -> Int32 {
        context.meter?.start(on: context.loop) { [unowned self] in
            let done = tally.requests + tally.skipped
            return (done, tally.requests - tally.ok, isAtEnd ? taken : nil)
        }
        defer { context.meter?.stop() }
        await withDiscardingTaskGroup { group in
            while true {
                await advance(&group)
                if isStopping || isAtEnd && waiting.isEmpty, active == 0 { break }
                switch await reports.next() {
                case .attempted(let worker, let entry, let result):
                    active -= 1
                    idle.append(worker)
                    waiting.end(entry, now: .now)
                    await settle(entry, result)
                case .readable: isAwaitingInput = false
                case .due: alarm = .never
                }
                if !isStopping && (Task.isCancelled || failure != nil) { stop() }
                if isStopping { group.cancelAll() }
            }
            group.cancelAll()
            for worker in idle { worker.end() }
        }
        context.end()
        if isStopping { await abandon() }
        if tally.postponed > 0 {
            context.messages.warning(
                "\(tally.postponed) URL\(tally.postponed == 1 ? "" : "s") not fetched: "
                    + "the run's deadline passed")
        }
        if writesRecords
            && (context.settings.records.wantsSummary || tally.requests + tally.skipped > 1)
        {
            do throws(FetchError) {
                try StandardStream.output.write(
                    JSONWriter.line { $0.members(of: tally, exit: exitStatus) }[...], isWhole: true)
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return exitStatus
    }

    private var exitStatus: Int32 {
        let signal = swposix_pending_signal()
        if signal != 0 { return 128 + signal }
        // What --fail-early leaves undone has no records.
        let rule = isStopping ? .first : settings.status
        return failure?.outcome.exitStatus ?? tally.exitStatus(rule)
    }

    // MARK: Reading and starting

    /// Reads what there is room for and starts what may start.
    private func advance(_ group: inout DiscardingTaskGroup) async {
        var count = 0
        while !isStopping {
            // It may have come before anything watched for it.
            if swposix_pending_signal() != 0 { return stop() }
            if isLate { await postpone() } else { await startDue(&group) }
            guard hasRoom, !isAtEnd, !isAwaitingInput else { break }
            switch source.take() {
            case .order(let order): await accept(order)
            case .foreign: inputEnd = nil
            case .nothing(let descriptor): awaitInput(descriptor, &group)
            case .end: isAtEnd = true
            }
            count += 1
            // Bad lines need no waiting, so nothing else would let the loop look at its sockets.
            if count % 256 == 0 { await context.loop.sleep(until: .now) }
            if Task.isCancelled || failure != nil { stop() }
        }
    }

    /// What is held back is bounded, and so is what waits. Without a place to hold output, one URL
    /// after the other has standard output.
    private var hasRoom: Bool {
        if !context.keepsOrder { return waiting.count < Self.waitingMax }
        return taken < next + (context.holdsOutput ? max(4 * settings.jobs, 64) : 1)
    }

    private func awaitInput(_ descriptor: Int32, _ group: inout DiscardingTaskGroup) {
        let now = Instant.now
        isAtEnd = inputEnd.map { $0 <= now } ?? false
        if isAtEnd { return }
        if isLate && inputEnd == nil {
            // A program that is still writing would be ended by SIGPIPE.
            inputEnd = min(
                now.advanced(seconds: Self.silenceSecondsMax),
                deadline.advanced(seconds: Self.lateSecondsMax))
        }
        isAwaitingInput = true
        let (loop, reports, end) = (context.loop, reports, inputEnd ?? deadline)
        group.addTask {
            await loop.untilReadable(descriptor, by: end)
            reports.add(.readable)
        }
    }

    private var isLate: Bool { deadline < .never && deadline <= .now }

    /// Answers what has not been started when the deadline passes.
    private func postpone() async {
        guard !waiting.isEmpty else { return }
        for one in waiting.removeAll() { await complete(one, .failed(one.problem ?? .postponed)) }
    }

    private func accept(_ order: Order) async {
        inputEnd = nil
        taken += 1
        let one = OneURL(order, context)
        if let ledger = context.ledger, isDone(one, in: ledger) {
            tally.skipped += 1
            await deliver(order.turn, nil)
            return
        }
        waiting.add(one, host: one.place, now: .now)
    }

    private func isDone(_ one: OneURL, in ledger: Ledger) -> Bool {
        guard let url = one.request?.uri.display ?? one.order.url.map(URI.display)
        else { return false }
        let last = ledger.outcome(url)
        if let wanted = settings.ledgerOutcomes { return !(last.map(wanted.contains) ?? false) }
        return last == .ok
    }

    private func startDue(_ group: inout DiscardingTaskGroup) async {
        while active < settings.jobs && !isStopping {
            switch waiting.next(.now) {
            case .start(let entry):
                active += 1
                let loop = entry.item.fetcher.loop
                if let index = idle.lastIndex(where: { $0.loop === loop }) {
                    idle.remove(at: index).make(entry)
                } else {
                    let worker = Worker(loop, reports)
                    group.addTask(executorPreference: loop) { await worker.run(entry) }
                }
            case .refuse(let one, let pauseSeconds):
                await complete(one, .failed(one.problem ?? Self.refusal(pauseSeconds)))
            case .wait(let opening):
                let soonest = min(opening, deadline)
                if soonest < alarm {
                    alarm = soonest
                    let (loop, reports) = (context.loop, reports)
                    group.addTask {
                        await loop.sleep(until: soonest)
                        reports.add(.due)
                    }
                }
                return
            }
        }
    }

    private static func refusal(_ pauseSeconds: Double?) -> FetchError {
        FetchError(
            .temporaryFailure, .connect,
            "the host asked to be left alone for \(Int(min(pauseSeconds ?? 0, 1e9))) seconds",
            hint: "fetch it again later, or allow longer waits with --retry-max-time")
    }

    // MARK: After an attempt

    private func settle(
        _ entry: StartQueue<OneURL>.Entry, _ result: Attempt
    ) async {
        let one = entry.item
        if let pause = result.ending?.head?.retryAfter, pause > .zero {
            waiting.pause(entry, seconds: pause.inSeconds, now: .now)
        }
        if !isStopping, !isLate, failure == nil, let delay = retryDelay(entry, result) {
            do throws(FetchError) {
                try one.note(Note("retry", "attempt \(one.attempts) failed, trying again"))
            } catch {
                failure = error
            }
            // It has waited longer than those that have not been started.
            let now = Instant.now
            waiting.putBack(entry, notBefore: now.advanced(seconds: delay), now: now)
        } else {
            await complete(one, result)
        }
    }

    /// Seconds until the next attempt; `nil` when there is none.
    private func retryDelay(
        _ entry: StartQueue<OneURL>.Entry, _ result: Attempt
    ) -> Double? {
        let one = entry.item
        guard result.outcome.isRetryable, one.canBeRepeated, let started = one.started,
            let opening = waiting.opening(for: entry, now: .now)
        else { return nil }
        return settings.retry.delay(after: one.attempts, since: started, opening: opening)
    }

    private func complete(_ one: OneURL, _ result: Attempt) async {
        do throws(FetchError) {
            let outcome = try await one.finish(result)
            tally.count(
                .init(
                    outcome, n: one.order.subject.n, bytes: result.ending?.bodyBytes ?? 0,
                    isPostponed: one.isPostponed, isUnreadList: one.order.isUnreadList))
            if settings.failsEarly && outcome != .ok { stop() }
            if outcome == .interrupted && !one.isPostponed && !isStopping { stop() }
        } catch {
            failure = failure ?? error
        }
        await deliver(one.order.turn, one)
    }

    /// Hands out what was held back, if its turn has come, and then notes it in the ledger: what
    /// the ledger has is delivered.
    private func deliver(_ turn: Int, _ one: OneURL?) async {
        do throws(FetchError) {
            guard context.keepsOrder else {
                next += 1
                if let one { try await hand(out: one) }
                return
            }
            let missing = turn - next - finished.count + 1
            if missing > 0 { finished += repeatElement(.no, count: missing) }
            finished[finished.startIndex + turn - next] = .yes(one)
            while case .yes(let one)? = finished.first {
                // The slice's memory would keep it.
                finished[finished.startIndex] = .no
                finished.removeFirst()
                next += 1
                if let one { try await hand(out: one) }
            }
        } catch {
            failure = failure ?? error
        }
    }

    private func hand(out one: OneURL) async throws(FetchError) {
        // Where a serial run would have stopped, this one stops too.
        if !writesRecords && one.outcome == .interrupted && !one.isPostponed { isClosed = true }
        // What standard output did not get is not done.
        let isDelivered = !isClosed
        if failure == nil, !isClosed, case .held(let spool) = one.target {
            if context.settings.output.isReading {
                if context.settings.output.page?.isShown ?? true { try await Pager.show(spool) }
            } else {
                // Records come in whole lines; half of one must not stay behind at a signal.
                let isWhole = writesRecords
                try await spool.drain { bytes throws(FetchError) in
                    try StandardStream.output.write(bytes, isWhole: isWhole, one.patience)
                }
            }
        }
        if !writesRecords && settings.failsEarly && one.outcome != .ok { isClosed = true }
        guard failure == nil, isDelivered, let record = one.record, let ledger = context.ledger
        else { return }
        try ledger.append(try await record.takeAll())
    }

    // MARK: Stopping

    private func stop() {
        isStopping = true
        context.interrupt()
    }

    /// Answers what has been asked and not been tried.
    private func abandon() async {
        let rest = source.rest().map { order in
            taken += 1
            var order = order
            order.problem = .cancelled
            return OneURL(order, context)
        }
        for one in waiting.removeAll() + rest {
            await complete(one, .failed(.cancelled))
        }
    }
}
