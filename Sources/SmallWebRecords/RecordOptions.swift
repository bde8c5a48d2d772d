// SPDX-License-Identifier: MIT

/// What is in the records of requests.
public struct RecordOptions: Sendable {
    /// How a body goes into its record.
    public enum BodyForm: String, Sendable, CaseIterable {
        /// Text where it is text, and base64 where it is not.
        case auto
        /// Bytes that are not text, with replacement characters.
        case text
        case base64
        /// Not at all: for bodies that go to files.
        case file
        /// Not at all.
        case none
    }

    /// The members of terminal records, of those that docs/json.md has; `nil` for all.
    public var fields: Set<String>?
    /// How a body goes into its record.
    public var body = BodyForm.auto
    /// Longest body that goes into a record, in bytes; of others it says that they are too large.
    public var inlineBytesMax = 8 << 20
    /// Whether what happens before the end has records, too: requests, redirects, notices.
    public var includesEvents = false
    /// Whether a run of one request ends with a `summary` as longer ones do.
    public var wantsSummary = false
    /// Whether bodies go into records of their own, piece by piece.
    package var streamsBodies = false

    /// All members, and no events.
    public init() {}
}
