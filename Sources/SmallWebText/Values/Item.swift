// SPDX-License-Identifier: MIT

/// One line of a menu or listing.
public struct Item: Sendable, Hashable, Codable {
    /// The kind of a line's target.
    @nonexhaustive
    public enum Kind: String, Sendable, Hashable, Codable {
        /// A page of any kind.
        case link
        /// Another menu or listing.
        case menu
        /// Text.
        case text
        /// A file to be saved, such as an archive.
        case binary
        /// An image.
        case image
        /// A search, which takes words as input.
        case search
        /// A session at a terminal.
        case telnet
        /// A URL of a scheme that has no plugin.
        case external
        /// No target: text alone.
        case info
        /// No target: an error, as text.
        case error
        /// A page that asks for input.
        case input
        /// A name of a version, such as a branch: no line of a page, and no link.
        case reference
        /// Facts that are a record by themselves (``Item/recordType``): no line of a page, and no
        /// link.
        case record

        package var isLine: Bool { self != .reference && self != .record }
    }

    /// The kind of the target.
    public var kind: Kind
    /// For people, decoded; may hold control characters.
    public var text: String
    /// Absolute; `nil` when the line leads nowhere.
    public var url: String?
    /// The protocol's own type.
    public var type: String?
    /// The target in the protocol's own words; `nil` when it is ``text``, or there is none.
    public var target: [UInt8]?
    /// Identifies the present content, where it changes under one URL: an object's id. `nil`
    /// elsewhere.
    public var version: String?
    /// Creation time in Unix seconds, where the protocol has it.
    public var time: Int?
    /// Facts of this protocol alone.
    public var facts = Facts()
    /// The type of the record that ``facts`` are; `nil` for a line without a record of its own.
    public var recordType: String?

    /// A line with the properties that every protocol has; set the others afterwards.
    public init(kind: Kind, text: String, url: String? = nil, type: String? = nil) {
        self.kind = kind
        self.text = text
        self.url = url
        self.type = type
    }
}
