// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb
internal import SmallWebArchive
internal import SmallWebRecords

/// A run of `feed` or `watch`: reads pages, and takes the visits in the order of the URLs.
///
/// Confined to the run's event loop, like its fetches.
protocol SubscriptionRun: AnyObject {
    associatedtype Reader: PageSink

    var subscription: Subscription { get }

    func reader(_ head: Head) throws(FetchError) -> Reader

    /// The page to read in place of the one that was read; `nil` to take that.
    func target(of reader: Reader) -> URI?

    /// Handles a finished visit, in the order of the URLs.
    func take(_ visit: Visit<Reader>) async throws(FetchError)
}

extension SubscriptionRun {
    func target(of reader: Reader) -> URI? { nil }
}

/// The state of a run of `feed` or `watch`, and its time.
final class Subscription {
    let context: RunContext
    let kind: SubscriptionState.Kind
    /// Unix seconds: the time of everything first seen in this run.
    let now = UTCDate.now
    private let file: StateFile?
    var state: SubscriptionState
    private var saved: SubscriptionState

    var settings: Settings { context.settings }
    var messages: Messages { context.messages }
    var hasState: Bool { file != nil }

    /// - Parameter file: `nil` to keep no state.
    /// - Throws: `read` for an invalid state.
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

    /// - Throws: `write`; the file is then unchanged.
    func save() throws(FetchError) {
        guard state != saved else { return }
        if let file, isKept {
            if file.isShared {
                try file.change { bytes throws(FetchError) in
                    var current = try SubscriptionState(kind, bytes, at: file.path)
                    current.merge(state, since: saved)
                    bytes = current.bytes
                }
            } else {
                try file.replace(by: state.bytes)
            }
        }
        saved = state
    }

    /// False for a replay without `--state`: an archive must not affect later requests to live
    /// servers.
    var isKept: Bool { settings.archive.replayed.isEmpty || settings.feeds.stateFile != nil }

    /// With `--news`: true if the failure of a page has lasted, or is one that stays.
    func lasts(_ outcome: Outcome, _ key: String?) -> Bool {
        let lasting: [Outcome] = [
            .usage, .badURL, .unsupportedScheme, .notBuiltIn, .identityUnusable, .read, .write,
            .untrusted, .trustChanged,
        ]
        return lasting.contains(outcome)
            || (key.flatMap { state[$0] }?.failures ?? 0) + 1 >= settings.feeds.failuresMax
    }

    /// True if a failure is to be said: with `--news` one that lasts, once for each status.
    func tells(_ outcome: Outcome, _ key: String?) -> Bool {
        guard settings.feeds.showsNews else { return true }
        return lasts(outcome, key) && !(key.flatMap { state[$0] }?.hasTold(outcome) ?? false)
    }

    /// Delivers results in the order of the URLs and never waits for a host in back-off.
    var policy: RunPolicy {
        var policy = context.policy
        (policy.keepsOrder, policy.loops, policy.heldMax) = (true, 1, 64)
        policy.pauseSecondsMax = 0
        return policy
    }
}

struct Visit<Reader> {
    enum Result {
        /// A body, consumed by the reader.
        case page(Reader)
        /// Not modified, according to the server.
        case unchanged
        /// Gone permanently; `isFirst` unless an earlier run had found so.
        case gone(isFirst: Bool)
        case failed
    }

    let asked: RequestLine
    /// The requested URL in normal form, the key of the page in the state; `nil` for an invalid
    /// URL.
    let key: String?
    let result: Result
    let outcome: Outcome
    let log: FetchLog?
    /// True if the host is in back-off.
    let isHeld: Bool
    /// True if its failure was said.
    let isTold: Bool
    /// Validator for the next conditional request.
    var validator: String? { log?.head?.validator }
}

extension FeedSettings {
    /// Path of a run's state, below the user's state directory.
    ///
    /// - Parameters:
    ///   - name: Used without `--name`; without both, a hash of the URLs and the words is.
    ///   - words: Say what else makes the state another one.
    /// - Throws: `usage` without a home directory, `not-built-in` without libcrypto.
    func statePath(
        _ folder: String, suffix: String = "", name: String? = nil, of urls: [String] = [],
        words: [String] = []
    ) throws(FetchError) -> String {
        if let stateFile { return stateFile }
        let lines = (Set(urls).sorted() + words).map { $0 + "\n" }.joined()
        var own = stateName ?? name
        if own == nil { own = String(try Digest.sha256(lines).prefix(16)) }
        let file = "\(folder)/\(own ?? "")\(suffix)"
        guard let path = UserFiles.path("XDG_STATE_HOME", ".local/state", file) else {
            throw usageError(
                "no home directory for the state", hint: Advice.noHomeForState)
        }
        return path
    }
}

final class SubscriptionSource<Run: SubscriptionRun>: Source {
    private let run: Run
    private var requests: ArraySlice<RequestLine>

    init(_ requests: [RequestLine], _ run: Run) { (self.requests, self.run) = (requests[...], run) }

    func take(isLast: Bool) -> Taken {
        requests.popFirst().map { .job(job($0)) } ?? .end(nil)
    }

    private func job(_ asked: RequestLine) -> Job {
        let context = run.subscription.context
        var settings = context.settings
        let job = context.job(asked) {
            settings = $0.settings
            return SubscriptionOutput(asked, $0, run)
        }
        guard let request = job.request,
            let moved = run.subscription.state[request.uri.pageKey]?.moved,
            !asked.hasSettings,
            Self.mayGo(request, settings, to: moved, job.fetcher)
        else { return job }
        let target = RequestLine(operand: moved)
        target.subject.n = asked.subject.n
        return context.job(target) {
            SubscriptionOutput(asked, $0, run, key: request.uri.pageKey)
        }
    }

    /// True if a request may go directly to the target of an earlier permanent redirect.
    private static func mayGo(
        _ request: Request, _ settings: Settings, to moved: String, _ fetcher: Fetcher
    ) -> Bool {
        // The redirect itself must be followed to check its target.
        guard !settings.fetch.redirects.refusesPrivate, let next = try? fetcher.request(moved)
        else { return false }
        if next.isSameOrigin(as: request) { return true }
        var request = request
        request.options = settings.fetch.options
        // A redirect gets no login of its target, and comes from a server with the key given.
        return !settings.fetch.usesNetrc && settings.connection.pin == nil
            && fetcher.isForAll(request)
    }

    func rest() -> [Job] {
        defer { requests = [] }
        return requests.map { asked in
            asked.problem = .cancelled
            return job(asked)
        }
    }
}

final class SubscriptionOutput<Run: SubscriptionRun>: Output, EventSink {
    private let run: Run
    private let asked: RequestLine
    private let plan: URLPlan
    /// Key of the page in the state; `nil` for an invalid URL.
    private var key: String?
    private var log: FetchLog?
    private var reader: Run.Reader?
    /// The fetcher of the page itself.
    private var fetcher: Fetcher?
    private var (job, request) = (Job?.none, Request?.none)
    /// True once the page is read that another has named.
    private var isOnward = false
    /// A result without a request.
    private var early: (Visit<Run.Reader>.Result, Outcome)?
    /// True if a redirect pointed at a host in back-off.
    private var isHeld = false
    private var visit: Visit<Run.Reader>?

    private var subscription: Subscription { run.subscription }
    private var messages: Messages { subscription.messages }

    /// - Parameter key: `nil` for that of the requested page.
    init(_ asked: RequestLine, _ plan: URLPlan, _ run: Run, key: String? = nil) {
        (self.asked, self.plan, self.run, self.key) = (asked, plan, run, key)
    }

    func begin(_ job: Job) throws(FetchError) -> Step {
        (log, reader, early, visit) = (nil, nil, nil, nil)
        (isHeld, isOnward) = (false, false)
        // The state identifies pages by URL alone, and every round would send the data again.
        guard asked.upload == nil, plan.settings.fetch.input == nil else {
            let command = subscription.kind.rawValue
            throw usageError("\(command) sends nothing: no \"data\" and no \"put\"")
        }
        guard let made = job.request else { throw job.problem ?? .cancelled }
        (fetcher, key) = (fetcher ?? job.fetcher, key ?? made.uri.pageKey)
        self.job = job
        if let fetcher { job.fetcher = fetcher }
        var request = try plan.complete(made, for: asked, job.fetcher.registry)
        let page = key.flatMap { subscription.state[$0] }
        if page?.isGone ?? false {
            early = (.gone(isFirst: false), .ok)
        } else if let hold = hold(job.place) {
            isHeld = true
            if !subscription.settings.feeds.showsNews {
                FetchReport(messages: messages, url: asked.url, log: nil).failure(hold)
            }
            early = (.failed, hold.outcome)
        }
        if let (_, outcome) = early {
            return .end(
                Ending(
                    outcome: outcome, completeness: .unverified, uri: request.uri, head: nil,
                    bodyBytes: 0))
        }
        if subscription.kind == .watch, let text = page?.validator,
            let uri = page?.at.flatMap({ try? URI(parsing: $0) })
        {
            request.validator = Request.Validator(text, of: uri)
        }
        return .fetch(reply(to: request, job.fetcher))
    }

    private func reply(to request: Request, _ fetcher: Fetcher) -> Reply {
        let log = FetchLog(request.uri)
        (self.log, self.request) = (log, request)
        var watchers: [any EventSink] = [self]
        let settings = subscription.settings.messages
        if settings.showsTrace {
            watchers.insert(
                Trace(
                    url: asked.url ?? "", messages: messages, isVerbose: settings.isVerbose),
                at: 0)
        }
        return Reply(to: request, log, fetcher.registry, watchers: watchers)
    }

    func step(after ending: Ending, _ fetcher: Fetcher) throws(FetchError) -> Step {
        guard !isOnward, ending.outcome == .ok, let reader, let uri = run.target(of: reader),
            let request, let job, let log
        else { return .end(ending) }
        isOnward = true
        noteMove()
        if let hold = hold(place(of: uri)) {
            isHeld = true
            throw hold
        }
        let next = try fetcher.onward(from: request, log.connection, to: uri)
        messages.note(
            asked.url ?? "", Note("feed-of-page", "reading the page's feed: \(uri.display)"))
        job.fetcher = next.fetcher
        self.reader = nil
        return .fetch(reply(to: next.request, next.fetcher))
    }

    /// The error for a host in back-off; `nil` if it may be contacted.
    private func hold(_ place: String?) -> FetchError? {
        subscription.state.opening(of: place, now: subscription.now).map {
            FetchError(
                .temporaryFailure, .connect,
                "not asked before \(UTCDate.second($0)): its host asked clients to wait, or has "
                    + "failed" + lastFailure)
        }
    }

    /// Describes the page's last failure, for messages; empty after a success.
    private var lastFailure: String {
        let exit = key.flatMap { subscription.state[$0] }?.exit ?? 0
        return exit == 0 ? "" : " (the last visit ended with exit status \(exit))"
    }

    func take(_ event: Event) throws(FetchError) {
        if case .redirect(let redirect) = event, let hold = hold(place(of: redirect.to)) {
            isHeld = true
            throw hold
        }
        if case .head(let head) = event, head.replyClass == .success, !head.isUnchanged {
            reader = try run.reader(head)
        }
        try reader?.take(event)
    }

    var pageSink: (any PageSink)? { reader }

    func finish(_ ending: Ending) throws(FetchError) {
        guard ending.outcome == .ok, ending.head?.isUnchanged != true else { return reader = nil }
        // A reply without a head is an empty page.
        if reader == nil { reader = try run.reader(Head(.success)) }
        try reader?.finish(ending)
    }

    var canBeRepeated: Bool { true }

    func conclude(_ result: Attempt, _ job: Job) async throws(FetchError) -> Outcome {
        // Stop before reporting a page that is missing from the archive.
        try subscription.settings.archive.writer?.check()
        key = key ?? job.request?.uri.pageKey
        var (came, outcome) = early ?? (.failed, result.outcome)
        let feeds = subscription.settings.feeds
        let isTold =
            outcome != .ok && subscription.tells(outcome, key) && !(isHeld && feeds.showsNews)
        let told = isTold ? FetchReport(messages: messages, url: asked.url, log: log) : nil
        if early == nil {
            noteHost(result, job)
            switch result {
            case .ended(let ending) where ending.outcome == .ok:
                if !isOnward { noteMove() }
                if ending.head?.isUnchanged ?? false {
                    came = .unchanged
                } else if let reader {
                    came = .page(reader)
                }
            case .ended(let ending):
                let isGone = ending.head?.isGone ?? false
                if isGone { came = .gone(isFirst: true) }
                if !isGone || !feeds.showsNews { told?.refusal(ending) }
            case .failed(let error):
                told?.failure(error)
                outcome = error.outcome
            }
        }
        visit = Visit(
            asked: asked, key: key, result: came, outcome: outcome, log: log, isHeld: isHeld,
            isTold: isTold)
        guard feeds.showsNews, outcome != .interrupted else { return outcome }
        // The line of a page that is gone says so.
        if case .gone = came { return .ok }
        return outcome == .ok || subscription.lasts(outcome, key) ? outcome : .temporaryFailure
    }

    func deliver() async throws(FetchError) {
        guard let visit, visit.outcome != .interrupted else { return }
        try await run.take(visit)
    }

    private func place(of uri: URI) -> String? {
        try? fetcher?.request(uri.description).endpoint.place
    }

    // MARK: Updating the state

    /// Updates the back-off of the host that answered last.
    private func noteHost(_ result: Attempt, _ job: Job) {
        guard result.outcome != .interrupted, !isHeld,
            let place = (log?.uri ?? job.request?.uri).flatMap(place)
        else { return }
        if let wait = log?.head?.retryAfter?.inSeconds {
            subscription.state.pause(place, seconds: Int(wait.rounded(.up)), now: subscription.now)
        }
        guard subscription.kind == .watch else { return }
        subscription.state.note(place, failed: result.outcome.isRetryable, now: subscription.now)
    }

    /// Stores the target of the leading permanent redirects.
    private func noteMove() {
        guard let log, let key else { return }
        var target: URI?
        for redirect in log.redirects {
            guard redirect.isPermanent else { break }
            target = redirect.to
        }
        guard let target else { return }
        let moved = target.pageKey
        guard subscription.state[key]?.moved != moved else { return }
        subscription.state.change(key) { $0.moved = moved }
        messages.warning("\(URI.display(key)) has moved for good to \(target.display)")
    }
}
