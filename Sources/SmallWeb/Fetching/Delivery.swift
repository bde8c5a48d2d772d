// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// The way of a reply from the plugin to the log and the consumer. Holds a redirect back while it
/// may be followed, and ends the exchange once nothing else is wanted.
final class Delivery {
    /// Largest body of a redirect that is followed; it is discarded.
    private static let redirectBytesMax = 1 << 20

    private let request: Request
    private let hop: Hop
    private let log: FetchLog
    private let emit: Emit
    private let (holdsRedirects, holdsFailures, wantsRefusals): (Bool, Bool, Bool)
    private let holdsPrompts: Bool
    /// The reason to play a recording though the server was asked, empty for none; `nil` for an
    /// exchange with the server.
    private let why: String?
    /// Bytes of body; `nil` for no limit.
    private var limit: Int?
    private(set) var head: Head?
    /// True while the reply is a redirect that may be followed, or another that is held back: a
    /// prompt, say, that may be answered.
    private var isHeld = false
    private(set) var held: [UInt8] = []
    /// True once nothing else is wanted of the reply.
    private(set) var isEnough = false
    private var menu: MenuItems?

    /// - Parameter holdsFailures: True to hold back refusals for now, and "not changed".
    init(for fetch: Fetch, over hop: Hop, holdsFailures: Bool, recalled why: String?) {
        (request, log, emit) = (fetch.request, fetch.log, fetch.emit)
        (self.hop, self.holdsFailures, self.why) = (hop, holdsFailures, why)
        holdsRedirects = fetch.fetcher.options.redirects.follows
        holdsPrompts = fetch.fetcher.options.answer != nil
        wantsRefusals = fetch.wantsRefusals
        limit = request.limits.bodyBytesMax
    }

    /// Passes an event of the plugin on.
    ///
    /// - Throws: `interrupted`, too, which tells the plugin to stop, when it ``isEnough``.
    func take(_ event: Event) async throws(FetchError) {
        var event = event
        switch event {
        case .head(let sent):
            log.timings.note(event)
            let head = request.contentType.map(sent.read) ?? sent
            try await begin(head)
            if isHeld { return }
            event = .head(head)
        case .body(let bytes) where isHeld: return try hold(bytes)
        case .body(let bytes):
            if let limit, log.bodyBytes + bytes.count > limit { throw .tooLarge(limit) }
        case .item: menu = nil
        default: break
        }
        try await emit(event)
        if menu != nil, case .body(let bytes) = event {
            for item in menu?.add(bytes) ?? [] { try await emit(.item(item)) }
        }
        // While a fast server sends, nothing else checks the deadline.
        try LongWork.check(hop.deadline)
        if case .head(let head) = event, !head.hasNoBody,
            log.wanted.isHeadEnough || !wantsRefusals && log.wanted == .refusal
        {
            isEnough = true
            throw .cancelled
        }
    }

    private func begin(_ head: Head) async throws(FetchError) {
        self.head = head
        if head.hasNoUsualSize && request.limits.isUsualForBodies { limit = nil }
        isHeld =
            holdsRedirects && head.redirectTarget != nil
            || holdsFailures && (head.isUnchanged || head.replyClass == .temporaryFailure)
            || holdsPrompts && head.replyClass == .input
        if isHeld { return }
        if let why, let time = hop.recorded {
            let date = time / 1_000_000
            log.recalled = (date, !why.isEmpty)
            let day = UTCDate.second(date).prefix(10)
            if !why.isEmpty { try await emit(.note(Note("stale", "as of \(day): \(why)"))) }
        }
        menu = MenuItems(head, of: request, isHeld: hop.isOfProgram)
    }

    /// Keeps a page about the redirect, not the one that was asked for.
    private func hold(_ bytes: ArraySlice<UInt8>) throws(FetchError) {
        held += bytes
        guard held.count <= Self.redirectBytesMax else {
            throw FetchError(
                .tooLarge, .body, "the body of the redirect itself is too large",
                expected: String(Self.redirectBytesMax))
        }
    }

    /// Passes on the rest of a menu, when the plugin has returned.
    func finish() async throws(FetchError) {
        guard var menu else { return }
        for item in menu.finish() { try await emit(.item(item)) }
        guard menu.isCut else { return }
        let dropped = "the menu has more than \(MenuItems.heldMax) lines, others are dropped"
        try await emit(.note(Note("items-dropped", dropped)))
    }
}
