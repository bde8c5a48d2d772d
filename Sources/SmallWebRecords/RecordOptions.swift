// SPDX-License-Identifier: MIT

/// Options for the records of requests.
public struct RecordOptions: Sendable {
    /// The form of a body in its record.
    public enum BodyForm: String, Sendable, CaseIterable {
        /// Text if the body is text, otherwise base64.
        case auto
        /// Text, with replacement characters for other bytes.
        case text
        case base64
        /// Not at all: for bodies that go to files.
        case file
        /// Not at all.
        case none
    }

    /// The members of terminal records, by their names in docs/json.md; `nil` for all.
    public var fields: Set<String>?
    /// The form of a body in its record.
    public var body = BodyForm.auto
    /// Longest body that goes into a record, in bytes; a longer one is marked as omitted.
    public var inlineBytesMax = 8 << 20
    /// True to write records of events before the end, too: requests, redirects, notices.
    public var includesEvents = false
    /// True to end a run of one request with a `summary`, like longer ones.
    public var wantsSummary = false
    /// True to write bodies as records of their own, piece by piece.
    package var streamsBodies = false

    /// All members, and no events.
    public init() {}
}
