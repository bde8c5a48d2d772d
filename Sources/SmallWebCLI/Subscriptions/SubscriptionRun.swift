// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb
internal import SmallWebArchive
internal import SmallWebRecords

/// What the pages of one `feed` or `watch` share: the state, the time, and what becomes of each.
///
/// Lives on the loop of the run alone, as its fetches do.
class SubscriptionRun {
    let context: RunContext
    let kind: SubscriptionState.Kind
    /// Unix seconds: one moment for all that is first seen now.
    let now = UTCDate.now
    private(set) var file: StateFile?
    var state: SubscriptionState
    private var saved: SubscriptionState

    var settings: Settings { context.settings }
    var messages: Messages { context.messages }
    /// Whether anything is remembered.
    var hasState: Bool { file != nil }

    /// - Parameter file: `nil` to remember nothing.
    /// - Throws: `read` for a state that cannot be used.
    init(
        _ kind: SubscriptionState.Kind, _ context: RunContext, _ file: StateFile?
    ) throws(FetchError) {
        (self.kind, self.context, self.file) = (kind, context, file)
        state = try SubscriptionState(kind, file?.read() ?? [], at: file?.path ?? "")
        saved = state
        if state.damaged > 0, let path = file?.path {
            messages.warning("\(path): left out \(state.damaged) lines that cannot be read")
        }
    }

    /// What takes the body of a page.
    func reader(
        _ head: Head, _ log: FetchLog, _ registry: Registry
    ) throws(FetchError) -> any PageReader {
        preconditionFailure("each kind of run has its own")
    }

    /// A visit is over, and its turn has come.
    func take(_ visit: Visit) async throws(FetchError) {
        preconditionFailure("each kind of run has its own")
    }

    /// - Throws: `write`; the file is then as it was.
    func save() throws(FetchError) {
        guard state != saved else { return }
        if isKept { try file?.replace(by: state.bytes) }
        saved = state
    }

    /// Whether what is seen is remembered: an archive from elsewhere must not change what is asked
    /// for later.
    var isKept: Bool { settings.archive.replayed.isEmpty || settings.feeds.stateFile != nil }

    /// How the engine goes about it: results in the order of the URLs, and no wait for a host that
    /// wants to be left alone.
    var policy: RunPolicy {
        var policy = context.policy
        (policy.keepsOrder, policy.loops, policy.heldMax) = (true, 1, 64)
        policy.pauseSecondsMax = 0
        return policy
    }
}

/// Takes the body of one page.
protocol PageReader: AnyObject {
    func take(_ event: Event) throws(FetchError)
    func finish(_ ending: Ending) throws(FetchError)
}

/// What one visit of a page has come to.
struct Visit {
    enum Result {
        /// There is a body, and the reader has it.
        case page(any PageReader)
        /// The server says that it is as it was.
        case unchanged
        /// Gone for good; first now, or in an earlier run.
        case gone(isFirst: Bool)
        case failed
    }

    let order: Order
    /// The URL that was asked for, in normal form, by which the state knows the page; `nil` for
    /// what is not a URL.
    let key: String?
    let result: Result
    let outcome: Outcome
    let log: FetchLog?
    /// Whether its host is not asked now.
    let isHeld: Bool
    /// What tells this state of the page from others.
    var validator: String? { log?.head?.validator }
}

extension SubscriptionState {
    /// The file of a run, below the user's state; by its name, or by its URLs.
    ///
    /// - Throws: `usage` when there is no home directory, `not-built-in` without libcrypto.
    static func path(
        _ kind: Kind, _ settings: FeedSettings, _ orders: [Order]
    ) throws(FetchError) -> String {
        if let path = settings.stateFile { return path }
        var name = settings.stateName
        if name == nil {
            let digest = try Digest(.sha256)
            for url in Set(orders.compactMap(\.url)).sorted() {
                digest.update(Array("\(url)\n".utf8)[...])
            }
            name = String(digest.finish().hex.prefix(16))
        }
        guard
            let path = UserFiles.path(
                "XDG_STATE_HOME", ".local/state", "\(kind.rawValue)/\(name ?? "")")
        else {
            throw usageError(
                "no home directory for the state", hint: "set HOME, or name a file with --state")
        }
        return path
    }
}

/// The pages of one round, in their order.
final class SubscriptionSource: Source {
    private let run: SubscriptionRun
    private var orders: ArraySlice<Order>

    init(_ orders: [Order], _ run: SubscriptionRun) {
        (self.orders, self.run) = (orders[...], run)
    }

    func take(isLast: Bool) -> Taken {
        orders.popFirst().map { .job(job($0)) } ?? .end(nil)
    }

    private func job(_ order: Order) -> Job {
        let output = SubscriptionOutput(order, run)
        return Job(
            n: order.subject.n, place: output.plan.place, problem: output.plan.problem,
            isUnreadList: order.isUnreadList, output.plan.fetcher, output)
    }

    func rest() -> [Job] {
        defer { orders = [] }
        return orders.map { order in
            order.problem = .cancelled
            return job(order)
        }
    }
}

/// One visit of one page.
final class SubscriptionOutput: Output {
    private let run: SubscriptionRun
    private let order: Order
    private let key: String?
    private(set) var plan: RequestPlan
    private var log: FetchLog?
    private var reader: (any PageReader)?
    private var trace: Trace?
    /// What came of it without a request.
    private var early: (Visit.Result, Outcome)?
    /// Whether a redirect led to a host that is not asked now.
    private var isHeld = false
    private var visit: Visit?

    init(_ order: Order, _ run: SubscriptionRun) {
        (self.order, self.run) = (order, run)
        plan = RequestPlan(order, run.context)
        key = plan.request?.uri.withoutFragment.withoutPassword.description
        guard let page = key.flatMap({ run.state[$0] }), let moved = page.moved,
            Self.mayFollow(plan, to: moved)
        else { return }
        plan = RequestPlan(Order(operand: moved), run.context)
    }

    /// Whether a request may begin where an earlier one was redirected to for good: what was given
    /// for one server is not sent to another.
    private static func mayFollow(_ plan: RequestPlan, to moved: String) -> Bool {
        // Where that leads is judged by the redirect.
        guard let target = try? URI(parsing: moved), let uri = plan.request?.uri,
            !plan.settings.fetch.redirects.refusesPrivate
        else { return false }
        if target.scheme == uri.scheme && target.host == uri.host && target.port == uri.port {
            return plan.order.changes.isEmpty
        }
        let (fetch, connection) = (plan.settings.fetch, plan.settings.connection)
        return plan.order.changes.isEmpty && fetch.options.isEmpty && fetch.input == nil
            && !fetch.usesNetrc
            && connection.identityName == nil && connection.certificateFile == nil
            && connection.pin == nil && uri.userinfo == nil
    }

    func begin(_ job: Job) throws(FetchError) -> Step {
        (log, reader, trace, early, visit) = (nil, nil, nil, nil, nil)
        isHeld = false
        // The state knows a page by its URL, and each round would send it again.
        guard order.upload == nil, plan.settings.fetch.input == nil else {
            throw usageError("\(run.kind.rawValue) sends nothing: no \"data\" and no \"put\"")
        }
        var request = try plan.makeRequest()
        let page = key.flatMap { run.state[$0] }
        if page?.isGone ?? false {
            early = (.gone(isFirst: false), .ok)
        } else if let hold = hold(plan.place) {
            isHeld = true
            FetchReport(messages: run.messages, url: order.url, log: nil).failure(hold)
            early = (.failed, hold.outcome)
        }
        if let (_, outcome) = early {
            return .end(
                Ending(
                    outcome: outcome, completeness: .unverified, uri: request.uri, head: nil,
                    bodyBytes: 0))
        }
        if run.kind == .watch, let text = page?.validator,
            let uri = page?.at.flatMap({ try? URI(parsing: $0) })
        {
            request.validator = Request.Validator(text, of: uri)
        }
        let log = FetchLog(request.uri)
        self.log = log
        if run.settings.messages.showsTrace {
            trace = Trace(
                url: order.url ?? "", messages: run.messages,
                isVerbose: run.settings.messages.isVerbose, hidesInput: false)
        }
        registry = job.fetcher.registry
        return .fetch(request, log)
    }

    private var registry: Registry?

    /// Why a host is not asked now; `nil` when it may be.
    private func hold(_ place: String?) -> FetchError? {
        run.state.opening(of: place, now: run.now).map {
            FetchError(
                .temporaryFailure, .connect,
                "not asked before \(UTCDate.second($0)): its host asked clients to wait, or has "
                    + "failed" + lastFailure)
        }
    }

    /// How the last visit of the page ended, for messages; empty for a success.
    private var lastFailure: String {
        let exit = key.flatMap { run.state[$0] }?.exit ?? 0
        return exit == 0 ? "" : " (the last visit ended with exit status \(exit))"
    }

    func take(_ event: Event) throws(FetchError) {
        trace?.take(event)
        if case .redirect(let redirect) = event, let hold = hold(place(of: redirect.to)) {
            isHeld = true
            throw hold
        }
        if case .head(let head) = event, head.replyClass == .success, !head.isUnchanged,
            let log, let registry
        {
            reader = try run.reader(head, log, registry)
        }
        try reader?.take(event)
    }

    func finish(_ ending: Ending) throws(FetchError) {
        guard ending.outcome == .ok, let log, let registry, ending.head?.isUnchanged != true else {
            return reader = nil
        }
        // Not even a head: an empty page.
        if reader == nil { reader = try run.reader(Head(.success), log, registry) }
        try reader?.finish(ending)
    }

    var canBeRepeated: Bool { true }

    func conclude(_ result: Attempt, _ job: Job) async throws(FetchError) -> Outcome {
        // What comes after would speak of what is not there.
        try run.settings.archive.writer?.check()
        var (came, outcome) = early ?? (.failed, result.outcome)
        if early == nil {
            noteHost(result)
            switch result {
            case .ended(let ending) where ending.outcome == .ok:
                noteMove()
                if ending.head?.isUnchanged ?? false {
                    came = .unchanged
                } else if let reader {
                    came = .page(reader)
                }
            case .ended(let ending):
                if ending.head?.isGone ?? false { came = .gone(isFirst: true) }
                FetchReport(messages: run.messages, url: order.url, log: log).refusal(ending)
            case .failed(let error):
                FetchReport(messages: run.messages, url: order.url, log: log).failure(error)
                outcome = error.outcome
            }
        }
        visit = Visit(
            order: order, key: key, result: came, outcome: outcome, log: log, isHeld: isHeld)
        return outcome
    }

    func deliver() async throws(FetchError) {
        guard let visit, visit.outcome != .interrupted else { return }
        try await run.take(visit)
    }

    private func place(of uri: URI) -> String? {
        try? plan.fetcher.request(uri.description).endpoint.place
    }

    // MARK: What is remembered

    /// Of the host that answered last.
    private func noteHost(_ result: Attempt) {
        guard result.outcome != .interrupted, !isHeld,
            let place = (log?.uri ?? plan.request?.uri).flatMap(place)
        else { return }
        if let wait = log?.head?.retryAfter?.inSeconds {
            run.state.pause(place, seconds: Int(wait.rounded(.up)), now: run.now)
        }
        guard run.kind == .watch else { return }
        run.state.note(place, failed: result.outcome.isRetryable, now: run.now)
    }

    /// That the page has moved for good, as far as all redirects up to there say so.
    private func noteMove() {
        guard let log, let key else { return }
        var target: URI?
        for redirect in log.redirects {
            guard redirect.isPermanent else { break }
            target = redirect.to
        }
        guard let target else { return }
        let moved = target.withoutFragment.withoutPassword.description
        guard run.state[key]?.moved != moved else { return }
        run.state.change(key) { $0.moved = moved }
        run.messages.warning("\(URI.display(key)) has moved for good to \(target.display)")
    }
}
