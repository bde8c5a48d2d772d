// SPDX-License-Identifier: MIT

/// What a fetch tells its consumer, in order.
///
/// `connecting`, `connected` and `sent` come from the host side, once per hop; `redirect` for each
/// redirect that is followed; then at most one `head`, and `facts`, `item` and `body` in wire
/// order. How it ended is what the fetch returns (an ``Ending``) or throws (a ``FetchError``).
//
// An event passes many hands. The rare and large ones are indirect, so that all are cheap to copy.
public enum Event: Sendable {
    /// A connection attempt begins; `address` is numeric, with its port.
    case connecting(Endpoint, address: String)
    indirect case connected(Connection)
    /// Request bytes as they went out, in one piece; the method where the protocol has methods.
    case sent([UInt8], method: String? = nil)
    indirect case redirect(Ending.Redirect)
    indirect case head(Head)
    /// Facts of the reply that were not known when its head came.
    case facts(Facts)
    case item(Item)
    /// Body bytes. The slice shares the transfer's buffer: keeping it costs a copy later.
    case body(ArraySlice<UInt8>)
    /// What a program that speaks the protocol says for people, byte by byte as it came.
    case diagnostics([UInt8])
    /// Something the user may want to know and that does not fail the fetch.
    case note(Note)
    /// The last element of a sequence of events; the fetcher's alone.
    case end(Ending)
}

/// What the server said before the body.
public struct Head: Sendable, Hashable {
    private struct Parts: Sendable, Hashable {
        var status: Int?
        var replyClass: Head.Class
        var meta: String?
        var mediaType: MediaType?
        var mediaTypeSource: Head.TypeSource?
        var header: [UInt8] = []
        var fields: Head.Fields?
        var rawMeta: [UInt8]?
        var redirectTarget: String?
        var isPermanentRedirect = false
        var explanation: String?
        var wantsSensitiveInput = false
        var hasNoBody = false
        var bodyBytes: Int?
        var suggestedName: String?
        var retryAfter: Duration?
        var hasNoUsualSize = false
        var isGone = false
        var isUnchanged = false
        var validator: String?
        var bodyState: String?
        var contentOption: String?
        var facts = Facts()
    }

    private var parts: Shared<Parts>

    /// The protocol's own number, such as Gemini's 20; `nil` where it has none.
    public var status: Int? {
        get { parts.value.status }
        set { parts.value.status = newValue }
    }
    /// What the reply means, in the words of every protocol.
    public var replyClass: Head.Class {
        get { parts.value.replyClass }
        set { parts.value.replyClass = newValue }
    }
    /// The protocol's own text: Gemini META. May hold anything a server can send.
    public var meta: String? {
        get { parts.value.meta }
        set { parts.value.meta = newValue }
    }
    /// What the body is, as far as the protocol says.
    public var mediaType: MediaType? {
        get { parts.value.mediaType }
        set { parts.value.mediaType = newValue }
    }
    /// `nil` where the protocol implies the type, or the header has it.
    public var mediaTypeSource: Head.TypeSource? {
        get { parts.value.mediaTypeSource }
        set { parts.value.mediaTypeSource = newValue }
    }
    /// The reply header as received, line ends included; empty where the protocol has none.
    public var header: [UInt8] {
        get { parts.value.header }
        set { parts.value.header = newValue }
    }
    /// The fields of ``header``, where the protocol has such; `nil` where it has not.
    public var fields: Head.Fields? {
        get { parts.value.fields }
        set { parts.value.fields = newValue }
    }
    /// ``meta`` as it came, when that is not UTF-8.
    public var rawMeta: [UInt8]? {
        get { parts.value.rawMeta }
        set { parts.value.rawMeta = newValue }
    }
    /// For ``Head/Class/redirect``: the reference as the server wrote it.
    public var redirectTarget: String? {
        get { parts.value.redirectTarget }
        set { parts.value.redirectTarget = newValue }
    }
    /// For ``Head/Class/redirect``: the old URL shall not be used again.
    public var isPermanentRedirect: Bool {
        get { parts.value.isPermanentRedirect }
        set { parts.value.isPermanentRedirect = newValue }
    }
    /// For a refusal: what else is known of its reason, for people, on one line. May hold anything
    /// a server can send.
    public var explanation: String? {
        get { parts.value.explanation }
        set { parts.value.explanation = newValue }
    }
    /// For ``Head/Class/input``: the answer must not be shown or remembered.
    public var wantsSensitiveInput: Bool {
        get { parts.value.wantsSensitiveInput }
        set { parts.value.wantsSensitiveInput = newValue }
    }
    /// Whether the request asked for no body, so that none follows whatever the header says.
    public var hasNoBody: Bool {
        get { parts.value.hasNoBody }
        set { parts.value.hasNoBody = newValue }
    }
    /// How long the body will be, if the protocol says so before.
    public var bodyBytes: Int? {
        get { parts.value.bodyBytes }
        set { parts.value.bodyBytes = newValue }
    }
    /// A file name that the protocol knows better than the URL's path says; not yet safe to use.
    public var suggestedName: String? {
        get { parts.value.suggestedName }
        set { parts.value.suggestedName = newValue }
    }
    /// How long the server asks to wait before the next request; `nil` when it does not.
    public var retryAfter: Duration? {
        get { parts.value.retryAfter }
        set { parts.value.retryAfter = newValue }
    }
    /// Whether the body may be of any size, so that a limit that the user has not set says nothing
    /// of it: an archive, made as it is sent.
    public var hasNoUsualSize: Bool {
        get { parts.value.hasNoUsualSize }
        set { parts.value.hasNoUsualSize = newValue }
    }
    /// For ``Head/Class/permanentFailure``: what was there is gone for good, and need not be asked
    /// for again.
    public var isGone: Bool {
        get { parts.value.isGone }
        set { parts.value.isGone = newValue }
    }
    /// For ``Head/Class/success``: what is there is what ``Request/validator`` says, and no body
    /// follows.
    public var isUnchanged: Bool {
        get { parts.value.isUnchanged }
        set { parts.value.isUnchanged = newValue }
    }
    /// What tells this state of the resource from others, in words that only the plugin
    /// understands: it gets them back with a later request. `nil` where the protocol knows nothing
    /// of the kind.
    public var validator: String? {
        get { parts.value.validator }
        set { parts.value.validator = newValue }
    }
    /// What tells the body from those of other states of the resource: a request for its rest gives
    /// it back to the plugin, which refuses the rest of another. `nil` where nothing is known.
    public var bodyState: String? {
        get { parts.value.bodyState }
        set { parts.value.bodyState = newValue }
    }
    /// For a body that is a list of names: the key of the option (``Request/Option/key``) with
    /// which it would be what they name. `nil` where there is no such option.
    public var contentOption: String? {
        get { parts.value.contentOption }
        set { parts.value.contentOption = newValue }
    }
    /// What this protocol alone knows.
    public var facts: Facts {
        get { parts.value.facts }
        set { parts.value.facts = newValue }
    }

    /// A head with what most protocols know; the rest is set afterwards.
    public init(
        status: Int? = nil, _ replyClass: Head.Class, meta: String? = nil,
        mediaType: MediaType? = nil
    ) {
        parts = Shared(
            Parts(status: status, replyClass: replyClass, meta: meta, mediaType: mediaType))
    }
}

extension Head {
    /// The reply's class, the same words for every protocol.
    public enum Class: String, CaseIterable, Sendable, Hashable {
        case success, input, redirect
        case temporaryFailure = "temporary-failure"
        case permanentFailure = "permanent-failure"
        case needsIdentity = "needs-identity"

        /// The outcome of a reply of this class; `nil` for a success, which can still be cut off.
        package var refusal: Outcome? {
            switch self {
            case .success: nil
            case .input: .needsInput
            case .redirect: .redirectRefused
            case .temporaryFailure: .temporaryFailure
            case .permanentFailure: .permanentFailure
            case .needsIdentity: .needsIdentity
            }
        }
    }

    /// Who says what type a body is of, when no header does.
    public enum TypeSource: String, Sendable, Hashable {
        /// The type of the menu item that leads there.
        case itemType = "item-type"
        /// The end of its name.
        case name
        /// Its first bytes.
        case sniffed
    }
}

/// One line of a menu or listing.
public struct Item: Sendable, Hashable {
    /// What a line leads to.
    public enum Kind: String, Sendable, Hashable {
        case link, menu, text, binary, image, search, telnet, external, info, error, input
        /// A name of a version, such as a branch: no line of a page, and no link.
        case reference
        /// Facts that are a record by themselves (``Item/recordType``): no line of a page, and no
        /// link.
        case record

        /// Whether it is a line of a page.
        package var isLine: Bool { self != .reference && self != .record }
    }

    /// What it leads to.
    public var kind: Kind
    /// For people, decoded; may hold control characters.
    public var text: String
    /// Absolute; `nil` when the line leads nowhere.
    public var url: String?
    /// The protocol's own type.
    public var type: String?
    /// Where it leads, in the protocol's own words; `nil` when that is ``text`` or nowhere.
    public var target: [UInt8]?
    /// What is there now, where that changes under one URL: an object's id. `nil` elsewhere.
    public var version: String?
    /// When it was made, in Unix seconds, where the protocol knows it.
    public var time: Int?
    /// What this protocol alone knows.
    public var facts = Facts()
    /// The type of the record that ``facts`` are; `nil` for a line without a record of its own.
    public var recordType: String?

    /// A line with what every protocol knows; the rest is set afterwards.
    public init(kind: Kind, text: String, url: String? = nil, type: String? = nil) {
        self.kind = kind
        self.text = text
        self.url = url
        self.type = type
    }
}

extension Ending {
    /// A redirect that is being followed.
    public struct Redirect: Sendable, Hashable {
        /// The protocol's own number; `nil` where it has none.
        public let status: Int?
        /// The URI that redirects.
        public let from: URI
        /// The URI that is fetched instead.
        public let to: URI
        /// Whether the old URI shall not be used again.
        public let isPermanent: Bool
        /// The header of the reply, as received.
        public var header: [UInt8] = []

        /// A redirect from one URI to another.
        public init(status: Int?, from: URI, to: URI, isPermanent: Bool) {
            self.status = status
            self.from = from
            self.to = to
            self.isPermanent = isPermanent
        }
    }
}

/// A remark: `code` is for programs and stable.
public struct Note: Sendable, Hashable {
    /// A word for programs, which never changes.
    public let code: String
    /// One line for people, without a full stop.
    public let message: String
    /// The server that it is about, as `HOST:PORT`; `nil` for what is about one reply. A person
    /// need not be told twice of a server.
    public var place: String?
    /// Whether the log of a script needs it, too: without it the result would be misunderstood.
    package var isWarning = false

    /// A remark about one reply.
    public init(_ code: String, _ message: String) {
        self.code = code
        self.message = message
    }
}

/// What is known about the end of the body.
public enum Completeness: String, Sendable, Hashable {
    /// The protocol proved that nothing is missing.
    case complete
    /// The protocol cannot tell an end from a cut.
    case unverified
    case truncated
}

/// How a fetch that got a reply ended. A class, because it is large and passes many hands.
//
// @unchecked: changed by the fetch alone, which then hands it out.
public final class Ending: @unchecked Sendable {
    /// `ok`, or why the server refused.
    public package(set) var outcome: Outcome
    /// Whether the protocol proved that nothing is missing.
    public let completeness: Completeness
    /// After redirects.
    public let uri: URI
    /// The reply's head; `nil` where the protocol has none.
    public let head: Head?
    /// Body bytes delivered.
    public let bodyBytes: Int
    /// For people: why the outcome is not `ok`, without the URL.
    public package(set) var message: String?
    /// What would help.
    public package(set) var remedy: FetchError.Remedy?
    /// The last hop's; `nil` when none was needed.
    public package(set) var connection: Connection?
    /// When each step of the fetch was done.
    public let timings: Ending.Timings
    /// Bytes that went over the wire, of all hops.
    public package(set) var traffic = Ending.Traffic()
    /// Whether data was sent that the server may have taken, though it did not say so.
    public package(set) var hasSentData = false

    /// What a message says of such data.
    package static let afterData = "; the data had been sent already"

    /// An ending with what every fetch knows; the rest is set afterwards.
    public init(
        outcome: Outcome, completeness: Completeness, uri: URI, head: Head?, bodyBytes: Int,
        message: String? = nil, timings: Ending.Timings = Ending.Timings()
    ) {
        self.outcome = outcome
        self.completeness = completeness
        self.uri = uri
        self.head = head
        self.bodyBytes = bodyBytes
        self.message = message
        self.timings = timings
    }
}
