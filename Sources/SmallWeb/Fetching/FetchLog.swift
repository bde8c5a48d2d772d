// SPDX-License-Identifier: MIT
package import SmallWebCore

/// The state of a fetch, folded once from its events: redirects, timings and counts, also after a
/// failure.
///
/// Facts belong to their hop: a redirect clears the facts of the connection.
package final class FetchLog {
    /// The requested URI.
    package let origin: URI
    /// URI of the present hop.
    package private(set) var uri: URI
    package private(set) var redirects: [Ending.Redirect] = []
    /// The present hop's connection to the first place; `nil` before there is one.
    package private(set) var connection: Connection?
    /// Unix time of the recording that has answered, and true if the server was asked in vain.
    package internal(set) var recalled: (date: Int, isStale: Bool)?
    /// By the request, and by ``head`` once that is there.
    package internal(set) var wanted = Request.Wanted.body
    /// Includes the facts that came after it.
    package private(set) var head: Head?
    /// Remarks of all hops, in order: at most 1,000 or 256 KiB of them, and one that says that
    /// there were more.
    package private(set) var notes: [Note] = []
    private var noteBytes = 0
    private var hasDroppedNotes = false
    private static let notesMax = 1000
    private static let noteBytesMax = 256 << 10
    package private(set) var bodyBytes = 0
    package internal(set) var timings = Ending.Timings()
    /// Connections and opened URLs of the present hop's program; `nil` without one.
    package internal(set) var programConnections: Int?
    /// Bytes of all hops; `nil` before the fetch has begun.
    package internal(set) var traffic: Ending.Traffic?

    package init(_ uri: URI) {
        origin = uri
        self.uri = uri
    }

    /// A fetch begins, not always the first one: an answer to a prompt leads to another.
    func begin(_ uri: URI) {
        self.uri = uri
        (connection, head, bodyBytes, recalled) = (nil, nil, 0, nil)
        (timings, traffic) = (Ending.Timings(), Ending.Traffic())
        programConnections = nil
    }

    /// The same URL is asked again within a fetch.
    func beginHop() {
        (connection, head) = (nil, nil)
        timings.beginHop()
    }

    /// Notes a note that comes now.
    ///
    /// - Returns: The note to pass on; `nil` beyond the limits: some plugins send notes without
    ///   end.
    func admit(_ note: Note) -> Note? {
        guard !hasDroppedNotes else { return nil }
        noteBytes += note.code.utf8.count + note.message.utf8.count
        hasDroppedNotes = notes.count >= Self.notesMax || noteBytes > Self.noteBytesMax
        let admitted =
            hasDroppedNotes
            ? Note("notes-dropped", "there were more notes than are kept") : note
        self.note(.note(admitted))
        return admitted
    }

    /// The ending for a refusal that a plugin has found in the server's answer, such as a list
    /// without the wanted name; `nil` for another error, also for the rest of a body that cannot be
    /// had, as the page itself is not refused.
    func refusal(_ error: FetchError) -> Ending? {
        guard [.permanentFailure, .temporaryFailure].contains(error.outcome),
            let refusal = Head.Class(rawValue: error.outcome.rawValue), let connection,
            head == nil, error.remedy != .startOver
        else { return nil }
        timings.end()
        var head = Head(refusal, meta: error.fullMessage)
        (head.explanation, head.retryAfter) = (error.hint, error.retryAfter)
        let ending = Ending(uri, head, .complete, bodyBytes: 0, timings)
        (ending.connection, ending.traffic) = (connection, traffic ?? Ending.Traffic())
        (ending.remedy, ending.hasSentData) = (error.remedy, error.hasSentData)
        return ending
    }

    /// Notes an event that happens now, before it is passed on.
    package func note(_ event: Event) {
        timings.note(event)
        switch event {
        case .connected(let connection):
            // The server that was asked; its reply may lead a plugin to others as well. A second
            // event for the same place means that it has TLS by now.
            let isSame = self.connection?.endpoint.isSameServer(as: connection.endpoint)
            if isSame ?? true { self.connection = connection }
        case .redirect(let redirect):
            redirects.append(redirect)
            uri = redirect.to
            connection = nil
        case .head(let head): self.head = head
        case .facts(let facts): head?.facts.merge(facts)
        case .body(let bytes): bodyBytes += bytes.count
        case .note(let note): notes.append(note)
        case .connecting, .sent, .item, .diagnostics, .end: break
        }
    }
}
