// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb
internal import SmallWebArchive
internal import SmallWebRecords

/// Common part of `feed` and `watch` runs: the state, the time and the handling of visits.
///
/// Confined to the run's event loop, like its fetches.
class SubscriptionRun {
    let context: RunContext
    let kind: SubscriptionState.Kind
    /// Unix seconds: the time of everything first seen in this run.
    let now = UTCDate.now
    private(set) var file: StateFile?
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

    func reader(
        _ head: Head, _ log: FetchLog, _ registry: Registry
    ) throws(FetchError) -> any VisitReader {
        preconditionFailure("each kind of run has its own")
    }

    /// Handles a finished visit, in the order of the URLs.
    func take(_ visit: Visit) async throws(FetchError) {
        preconditionFailure("each kind of run has its own")
    }

    /// - Throws: `write`; the file is then unchanged.
    func save() throws(FetchError) {
        guard state != saved else { return }
        if isKept { try file?.replace(by: state.bytes) }
        saved = state
    }

    /// False for a replay without `--state`: an archive must not affect later requests to live
    /// servers.
    var isKept: Bool { settings.archive.replayed.isEmpty || settings.feeds.stateFile != nil }

    /// Delivers results in the order of the URLs and never waits for a host in back-off.
    var policy: RunPolicy {
        var policy = context.policy
        (policy.keepsOrder, policy.loops, policy.heldMax) = (true, 1, 64)
        policy.pauseSecondsMax = 0
        return policy
    }
}

protocol VisitReader: AnyObject {
    func take(_ event: Event) throws(FetchError)
    func finish(_ ending: Ending) throws(FetchError)
}

struct Visit {
    enum Result {
        /// A body, consumed by the reader.
        case page(any VisitReader)
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
    /// Validator for the next conditional request.
    var validator: String? { log?.head?.validator }
}

extension SubscriptionState {
    /// Path of a run's state file, below the user's state directory. Named by `stateName`, or by a
    /// hash of the URLs.
    ///
    /// - Throws: `usage` without a home directory, `not-built-in` without libcrypto.
    static func path(
        _ kind: Kind, _ settings: FeedSettings, _ requests: [RequestLine]
    ) throws(FetchError) -> String {
        if let path = settings.stateFile { return path }
        var name = settings.stateName
        if name == nil {
            let digest = try Digest(.sha256)
            for url in Set(requests.compactMap(\.url)).sorted() {
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

final class SubscriptionSource: Source {
    private let run: SubscriptionRun
    private var requests: ArraySlice<RequestLine>

    init(_ requests: [RequestLine], _ run: SubscriptionRun) {
        (self.requests, self.run) = (requests[...], run)
    }

    func take(isLast: Bool) -> Taken {
        requests.popFirst().map { .job(job($0)) } ?? .end(nil)
    }

    private func job(_ asked: RequestLine) -> Job {
        let output = SubscriptionOutput(asked, run)
        return Job(
            n: asked.subject.n, place: output.plan.place, problem: output.plan.problem,
            isUnreadList: asked.isUnreadList, output.plan.fetcher, output)
    }

    func rest() -> [Job] {
        defer { requests = [] }
        return requests.map { asked in
            asked.problem = .cancelled
            return job(asked)
        }
    }
}

final class SubscriptionOutput: Output {
    private let run: SubscriptionRun
    private let asked: RequestLine
    private let key: String?
    private(set) var plan: RequestPlan
    private var log: FetchLog?
    private var reader: (any VisitReader)?
    private var trace: Trace?
    /// A result without a request.
    private var early: (Visit.Result, Outcome)?
    /// True if a redirect pointed at a host in back-off.
    private var isHeld = false
    private var visit: Visit?

    init(_ asked: RequestLine, _ run: SubscriptionRun) {
        (self.asked, self.run) = (asked, run)
        plan = RequestPlan(asked, run.context)
        key = plan.request?.uri.withoutFragment.withoutPassword.description
        guard let page = key.flatMap({ run.state[$0] }), let moved = page.moved,
            Self.mayFollow(plan, to: moved)
        else { return }
        plan = RequestPlan(RequestLine(operand: moved), run.context)
    }

    /// True if a request may go directly to the target of an earlier permanent redirect: data meant
    /// for one server must not be sent to another.
    private static func mayFollow(_ plan: RequestPlan, to moved: String) -> Bool {
        // The redirect itself must be followed to check its target.
        guard let target = try? URI(parsing: moved), let uri = plan.request?.uri,
            !plan.settings.fetch.redirects.refusesPrivate
        else { return false }
        if target.scheme == uri.scheme && target.host == uri.host && target.port == uri.port {
            return !plan.asked.hasSettings
        }
        let (fetch, connection) = (plan.settings.fetch, plan.settings.connection)
        return !plan.asked.hasSettings && fetch.options.isEmpty && fetch.input == nil
            && !fetch.usesNetrc
            && connection.identityName == nil && connection.certificateFile == nil
            && connection.pin == nil && uri.userinfo == nil
    }

    func begin(_ job: Job) throws(FetchError) -> Step {
        (log, reader, trace, early, visit) = (nil, nil, nil, nil, nil)
        isHeld = false
        // The state identifies pages by URL alone, and every round would send the data again.
        guard asked.upload == nil, plan.settings.fetch.input == nil else {
            throw usageError("\(run.kind.rawValue) sends nothing: no \"data\" and no \"put\"")
        }
        var request = try plan.makeRequest()
        let page = key.flatMap { run.state[$0] }
        if page?.isGone ?? false {
            early = (.gone(isFirst: false), .ok)
        } else if let hold = hold(plan.place) {
            isHeld = true
            FetchReport(messages: run.messages, url: asked.url, log: nil).failure(hold)
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
                url: asked.url ?? "", messages: run.messages,
                isVerbose: run.settings.messages.isVerbose, hidesInput: false)
        }
        registry = job.fetcher.registry
        return .fetch(request, log)
    }

    private var registry: Registry?

    /// The error for a host in back-off; `nil` if it may be contacted.
    private func hold(_ place: String?) -> FetchError? {
        run.state.opening(of: place, now: run.now).map {
            FetchError(
                .temporaryFailure, .connect,
                "not asked before \(UTCDate.second($0)): its host asked clients to wait, or has "
                    + "failed" + lastFailure)
        }
    }

    /// Describes the page's last failure, for messages; empty after a success.
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
        // A reply without a head is an empty page.
        if reader == nil { reader = try run.reader(Head(.success), log, registry) }
        try reader?.finish(ending)
    }

    var canBeRepeated: Bool { true }

    func conclude(_ result: Attempt, _ job: Job) async throws(FetchError) -> Outcome {
        // Stop before reporting a page that is missing from the archive.
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
                FetchReport(messages: run.messages, url: asked.url, log: log).refusal(ending)
            case .failed(let error):
                FetchReport(messages: run.messages, url: asked.url, log: log).failure(error)
                outcome = error.outcome
            }
        }
        visit = Visit(
            asked: asked, key: key, result: came, outcome: outcome, log: log, isHeld: isHeld)
        return outcome
    }

    func deliver() async throws(FetchError) {
        guard let visit, visit.outcome != .interrupted else { return }
        try await run.take(visit)
    }

    private func place(of uri: URI) -> String? {
        try? plan.fetcher.request(uri.description).endpoint.place
    }

    // MARK: Updating the state

    /// Updates the back-off of the host that answered last.
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

    /// Stores the target of the leading permanent redirects.
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
