// SPDX-License-Identifier: MIT
internal import SmallWeb

/// What is known of a page that is opened, or of a file that is saved in its place.
//
// @unchecked: what fetches it writes it on the loop of its run, and is done before anything else
// reads it.
final class OpenedPage: @unchecked Sendable {
    /// Whether a person is asked afterwards: its first line says where it is from, and it is kept.
    let isInSession: Bool
    /// As it is shown; `nil` when nothing was delivered.
    var text: Spool?
    /// What its numbers lead to, from 1.
    var targets: [PageView.Target] = []
    /// The text of its first heading, safe to show.
    var title = ""
    /// Whether its type cannot be shown.
    var isRefused = false
    /// The file that holds it, where it was saved instead of shown.
    var path: String?

    /// As it was asked for, and where redirects have led to; `nil` before a reply has begun.
    fileprivate(set) var origin: URI?
    fileprivate(set) var uri: URI?
    fileprivate(set) var head: Head?
    /// `nil` when the reply did not come to an end.
    fileprivate(set) var outcome: Outcome?
    /// The exact bytes.
    fileprivate(set) var body = Spool(memoryMax: memoryMax)

    private static let memoryMax = 65_536

    init(isInSession: Bool) { self.isInSession = isInSession }

    /// Whether there is something to show for it, be it cut off or the text of a refusal.
    var isReadable: Bool { outcome == .ok || outcome != nil && text?.count ?? 0 > 0 }

    /// Takes what a session wants to know of a page, and its bytes.
    struct Keeper: EventOutput {
        private let page: OpenedPage
        private let log: FetchLog

        /// Forgets what an earlier attempt has left.
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
