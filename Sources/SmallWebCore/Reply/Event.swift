// SPDX-License-Identifier: MIT

/// An event of a fetch, for its consumer.
///
/// `connecting`, `connected` and `sent` come from the host side, once per hop; `redirect` for each
/// redirect that is followed; then at most one `head`, and `facts`, `item` and `body` in wire
/// order. The fetch itself returns its result (an ``Ending``) or throws (a `FetchError`).
//
// An event passes many hands. The rare and large one is indirect, so that all are cheap to copy; a
// head and a connection are one reference anyway.
@nonexhaustive
public enum Event: Sendable {
    /// A connection attempt begins; `address` is numeric, with its port.
    case connecting(Endpoint, address: String)
    /// A connection is there; also one whose key was refused.
    case connected(Connection)
    /// Request bytes as they went out, in one piece, with `***` for secrets, or for all of them if
    /// the input is one; the method where the protocol has methods.
    case sent([UInt8], method: String? = nil)
    /// A redirect is followed.
    indirect case redirect(Ending.Redirect)
    /// The reply before its body.
    case head(Head)
    /// Facts of the reply that were not known when its head came.
    case facts(Facts)
    /// A line of a menu or listing.
    case item(Item)
    /// Body bytes. The slice shares the transfer's buffer: keeping it costs a copy later.
    case body(ArraySlice<UInt8>)
    /// Messages for people from a program that speaks the protocol; bytes as received.
    case diagnostics([UInt8])
    /// Something the user may want to know and that does not fail the fetch.
    case note(Note)
    /// The last element of a sequence of events; the fetcher's alone.
    case end(Ending)
}

/// The server's reply before the body.
@dynamicMemberLookup
public struct Head: Sendable, Hashable {
    /// The properties of a head.
    public struct Properties: Sendable, Hashable {
        /// The protocol's own number, such as Gemini's 20; `nil` where it has none.
        public var status: Int?
        /// The class of the reply, common to all protocols.
        public var replyClass: Head.Class
        /// The protocol's own text: Gemini META. May hold anything a server can send.
        public var meta: String?
        /// The type of the body, as far as the protocol gives one.
        public var mediaType: MediaType?
        /// `nil` where the protocol implies the type, or the header has it.
        public var mediaTypeSource: Head.TypeSource?
        /// The reply header as received, line ends included; empty where the protocol has none.
        public var header: [UInt8] = []
        /// The parsed fields of ``header``; `nil` where the protocol has none.
        public var fields: Head.Fields?
        /// ``meta`` as received, if it is not UTF-8.
        public var rawMeta: [UInt8]?
        /// For ``Head/Class/redirect``: the reference as the server wrote it.
        public var redirectTarget: String?
        /// For ``Head/Class/redirect``: true if the old URL shall not be used again.
        public var isPermanentRedirect = false
        /// For a refusal: a further reason for people, on one line. May hold anything a server can
        /// send.
        public var explanation: String?
        /// For ``Head/Class/input``: true if the answer must not be shown or remembered.
        public var wantsSensitiveInput = false
        /// True if the request asked for no body, so that none follows even if the header announces
        /// one.
        public var hasNoBody = false
        /// The length of the body, if the protocol announces it.
        public var bodyBytes: Int?
        /// A file name from the protocol, better than the URL's path; not yet safe to use.
        public var suggestedName: String?
        /// Time to wait before the next request, if the server asks for it.
        public var retryAfter: Duration?
        /// For ``Head/Class/temporaryFailure``: true if the server asks for fewer requests, with or
        /// without ``retryAfter``.
        public var isRateLimited = false
        /// For a refusal: true if it is of the method of a request for the head alone.
        public var refusesMethod = false
        /// True if the body may be of any size, such as an archive made while it is sent: the
        /// default size limit does not apply to it.
        public var hasNoUsualSize = false
        /// For ``Head/Class/permanentFailure``: true if the resource is gone for good and need not
        /// be requested again.
        public var isGone = false
        /// For ``Head/Class/permanentFailure``: true if there is nothing at the URL, be it for good
        /// or not.
        public var isMissing: Bool {
            get { isMissingForNow || isGone }
            set { isMissingForNow = newValue }
        }
        private(set) var isMissingForNow = false
        /// For ``Head/Class/success``: true if the resource still matches
        /// ``Request/Properties/validator``, and no body follows.
        public var isUnchanged = false
        /// Identifies this state of the resource, in a form that only the plugin understands: it
        /// gets it back with a later request. `nil` where the protocol has nothing of the kind.
        public var validator: String?
        /// Identifies the state of the resource that the body is from. A request for the rest
        /// passes it back to the plugin, which refuses the rest of another state. `nil` if unknown.
        public var bodyState: String?
        /// True if a request for the rest that has ``bodyState`` gets bytes of that state or a
        /// refusal: a retry may ask for it without the user's word.
        package var isStateExact = false
        /// For a body that is a list of names: the key of the option (``Request/Option/key``) that
        /// requests the named contents instead. `nil` where there is no such option.
        public var contentOption: String?
        /// Facts of this protocol alone.
        public var facts = Facts()
    }

    @usableFromInline var parts: Shared<Properties>

    /// A property, or its change.
    @inlinable
    public subscript<Value>(
        dynamicMember path: WritableKeyPath<Properties, Value>
    ) -> Value {
        @inline(__always) _read { yield parts.value[keyPath: path] }
        @inline(__always) _modify { yield &parts.value[keyPath: path] }
    }

    /// A head with the properties that most protocols have; set the others afterwards.
    public init(
        status: Int? = nil, _ replyClass: Head.Class, meta: String? = nil,
        mediaType: MediaType? = nil
    ) {
        parts = Shared(
            Properties(status: status, replyClass: replyClass, meta: meta, mediaType: mediaType))
    }
}

extension Head {
    /// The head of a page that is read as one of a type.
    package func read(as type: MediaType) -> Head {
        guard self.replyClass == .success else { return self }
        var head = self
        (head.mediaType, head.mediaTypeSource) = (type, .given)
        return head
    }

    /// True unless the reply has a body of none of these types; patterns such as `text/*` stand for
    /// many, and an empty list for all.
    package func isOne(of mediaTypes: [String]) -> Bool {
        mediaTypes.isEmpty || self.replyClass != .success
            || mediaTypes.contains { self.mediaType?.matches($0) ?? ($0 == "*/*") }
    }

    /// The reply's class, the same words for every protocol.
    @nonexhaustive
    public enum Class: String, CaseIterable, Sendable, Hashable, Codable {
        /// The body is the page.
        case success
        /// The server asks for input; its prompt is the meta.
        case input
        /// The page is at ``Head/Properties/redirectTarget``.
        case redirect
        /// A refusal for now.
        case temporaryFailure = "temporary-failure"
        /// A refusal for good.
        case permanentFailure = "permanent-failure"
        /// A refusal until a client certificate is shown.
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

    /// The source of a body's type when no header gives it.
    @nonexhaustive
    public enum TypeSource: String, Sendable, Hashable, Codable {
        /// The type of the menu item that leads there.
        case itemType = "item-type"
        /// The end of its name.
        case name
        /// Its first bytes.
        case sniffed
        /// The user.
        case given = "option"
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
        /// True if the old URI shall not be used again.
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
public struct Note: Sendable, Hashable, Codable {
    /// A stable word for programs.
    public let code: String
    /// One line for people, without a full stop.
    public let message: String
    /// The server concerned, as `HOST:PORT`, to report the note once per server; `nil` for a note
    /// about one reply.
    public var place: String?
    /// True if the log of a script needs it, too: without it the result would be misunderstood.
    package var isWarning = false

    /// A remark about one reply.
    public init(_ code: String, _ message: String) {
        self.code = code
        self.message = message
    }
}

/// The proof, or lack of it, that the body is complete.
@nonexhaustive
public enum Completeness: String, Sendable, Hashable, Codable {
    /// The protocol proved that nothing is missing.
    case complete
    /// The protocol cannot tell an end from a cut.
    case unverified
    /// Something is missing.
    case truncated
}

/// The result of a fetch that got a reply. A class, because it is large and passes many hands.
//
// @unchecked: only the fetch changes it, before handing it out.
public final class Ending: @unchecked Sendable {
    /// `ok`, or the kind of the refusal.
    public package(set) var outcome: Outcome
    /// The proof, or lack of it, that nothing is missing.
    public package(set) var completeness: Completeness
    /// The URI of the reply, after redirects.
    public let uri: URI
    /// The target of a redirect that could be followed, and was not.
    package var redirectTarget: URI?
    /// The reply's head; `nil` where the protocol has none.
    public let head: Head?
    /// Body bytes delivered.
    public let bodyBytes: Int
    /// The reason of an outcome other than `ok`, for people, without the URL.
    public package(set) var message: String?
    /// A remedy for the outcome.
    package var remedy: FetchError.Remedy?
    /// The last hop's connection; `nil` when none was needed.
    public package(set) var connection: Connection?
    /// Completion times of the steps of the fetch.
    public let timings: Ending.Timings
    /// Bytes sent and received in all hops.
    public package(set) var traffic = Ending.Traffic()
    /// True if data was sent that the server may have accepted without confirming it.
    public package(set) var hasSentData = false

    /// An ending with the properties that every fetch has; set the others afterwards.
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
