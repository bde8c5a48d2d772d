// SPDX-License-Identifier: MIT
internal import SmallWeb

/// An opened page, or a file saved in its place.
//
// @unchecked: the fetch writes it on the loop of its run, and is finished before anything else
// reads it.
final class OpenedPage: @unchecked Sendable {
    /// True in an interactive session: the first line names the page's URL, and the page is kept.
    let isInSession: Bool
    /// The rendered page; `nil` if nothing was delivered.
    var text: Spool?
    /// Targets of the numbered links, beginning with 1.
    var targets: [PageView.Target] = []
    /// The text of its first heading, safe to show.
    var title = ""
    /// True if its type cannot be shown.
    var isRefused = false
    /// The file, if it was saved instead of shown.
    var path: String?
    /// True to keep the result for the caller, who judges and reports it.
    var isJudgedByCaller = false
    var attempt: Attempt?

    /// The requested URL, and the final one after redirects; `nil` before a reply has begun.
    fileprivate(set) var origin: URI?
    fileprivate(set) var uri: URI?
    fileprivate(set) var head: Head?
    /// `nil` if the reply is incomplete.
    fileprivate(set) var outcome: Outcome?
    /// The exact bytes of the body.
    fileprivate(set) var body = Spool(memoryMax: memoryMax)

    private static let memoryMax = 65_536

    init(isInSession: Bool) { self.isInSession = isInSession }

    /// True if there is something to show, such as a truncated page or the text of a refusal.
    var isReadable: Bool { outcome == .ok || outcome != nil && text?.count ?? 0 > 0 }

    /// Records a page's metadata and bytes for the session.
    struct Keeper: EventSink {
        private let page: OpenedPage
        private let log: FetchLog

        /// Drops the data of an earlier attempt.
        init(_ page: OpenedPage, _ log: FetchLog) {
            (self.page, self.log) = (page, log)
            page.body = Spool(memoryMax: OpenedPage.memoryMax)
            (page.title, page.isRefused, page.outcome, page.head) = ("", false, nil, nil)
        }

        func take(_ event: Event) throws(FetchError) {
            switch event {
            case .head(let head): (page.head, page.origin, page.uri) = (head, log.origin, log.uri)
            case .body(let bytes): try page.body.append(bytes)
            default: break
            }
        }

        func finish(_ ending: Ending) { (page.uri, page.outcome) = (ending.uri, ending.outcome) }
    }
}
