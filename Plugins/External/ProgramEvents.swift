// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// A line that a program writes to descriptor 3, a JSON object.
enum ProgramEvent: Sendable {
    /// With the offset of the body, if the program gives one.
    case head(Head, offset: Int?)
    case item(Item)
    case note(Note)
    /// Complete, truncated, or unknown.
    case end(Completeness)
    case fail(Outcome, message: String)
    /// The URL is unchanged.
    case open(Int, url: String)
    case startTLS(Int)
}

/// Parses lines into events. Pure: bytes in, events out.
struct ProgramEventReader {
    /// Longest line, without its end.
    static let lineBytesMax = 65_536
    /// Longest wait that a head may ask for, the same as for servers.
    static let retrySecondsMax = 86_400
    static let validatorBytesMax = 1024
    /// Kinds that items of a program may have.
    static let kinds: [Item.Kind] = [
        .link, .menu, .text, .binary, .image, .search, .info, .error, .input,
    ]
    /// Outcomes that only the host can report, as some decide the result of a whole run.
    static let outcomesOfHost: Set<String> = [
        "ok", "usage", "write", "interrupted", "internal", "not-recorded", "robots",
    ]

    private let base: URI
    /// True if paths of the scheme have no dot segments: they are opaque.
    private let isOpaque: Bool
    /// The member of records with the plugin's facts.
    private let name: String
    private let mask: SecretMask
    private var rest: ArraySlice<UInt8> = []
    private var line: [UInt8] = []
    private var number = 1
    private var hasHead = false

    /// - Parameters:
    ///   - base: Base of relative URLs in events.
    ///   - name: The plugin's name.
    ///   - mask: Masks secrets in the program's messages.
    init(base: URI, name: String, mask: SecretMask = SecretMask(), isOpaque: Bool = false) {
        var base = base
        // Otherwise URLs of items would contain the password.
        if let user = base.userinfo { base.userinfo = String(user.prefix { $0 != ":" }) }
        self.base = base
        self.name = name
        self.mask = mask
        self.isOpaque = isOpaque
    }

    /// Adds bytes. ``next()`` parses them.
    mutating func add(_ bytes: ArraySlice<UInt8>) { rest += bytes }

    /// - Returns: The next whole event; `nil` when there is none yet.
    /// - Throws: `plugin`, naming the line.
    mutating func next() throws(FetchError) -> ProgramEvent? {
        let end = rest.firstIndex(of: ASCII.lineFeed)
        line += rest[..<(end ?? rest.endIndex)]
        rest = end.map { rest[($0 + 1)...] } ?? []
        guard line.count <= Self.lineBytesMax else { throw problem("is too long") }
        guard end != nil else { return nil }
        let event = try event()
        line = []
        number += 1
        return event
    }

    /// Called at the end.
    ///
    /// - Throws: `plugin` for an incomplete line.
    func finish() throws(FetchError) {
        guard line.isEmpty else { throw problem("has no end") }
    }

    private func problem(_ what: String) -> FetchError {
        .plugin("line \(number) of the program's events \(mask.masked(what))")
    }

    private mutating func event() throws(FetchError) -> ProgramEvent {
        let value: JSONValue
        do throws(FetchError) {
            value = try JSONValue.parse(line[...])
        } catch {
            throw problem("is \(error.message)")
        }
        guard case .object = value, let type = value["type"]?.string else {
            throw problem("has no \"type\" member")
        }
        switch type {
        case "head":
            guard !hasHead else { throw problem("is a second head") }
            hasHead = true
            return .head(try head(value), offset: try number(value, "offset"))
        case "item":
            // Body bytes cannot imply the head here: the order of body and events is unknown.
            guard hasHead else { throw problem("is an item before the head") }
            return .item(try item(value))
        case "note":
            guard let code = value["code"]?.string, let message = value["message"]?.string else {
                throw problem("is a note without code and message")
            }
            return .note(Note(mask.masked(code), mask.masked(message)))
        case "end":
            switch value["complete"] {
            case .bool(let isComplete)?: return .end(isComplete ? .complete : .truncated)
            case nil, .null?: return .end(.unverified)
            default: throw problem("has a \"complete\" that is not true, false or null")
            }
        case "fail":
            let word = value["outcome"]?.string ?? ""
            guard !Self.outcomesOfHost.contains(word) else {
                throw problem("has the outcome \"\(word)\", which only smallweb itself can know")
            }
            guard let outcome = Outcome(rawValue: word) else {
                throw problem("has an unknown outcome")
            }
            let message = try text(value, "message") ?? ""
            return .fail(outcome, message: message.isEmpty ? outcome.summary : message)
        case "open":
            guard let url = value["url"]?.string else { throw problem("opens no \"url\"") }
            return .open(try connection(value, from: 1), url: url)
        case "starttls": return .startTLS(try connection(value))
        default: throw problem("has the unknown type \"\(type)\"")
        }
    }

    private func connection(
        _ value: JSONValue, from first: Int = 0
    ) throws(FetchError) -> Int {
        guard let number = try number(value, "connection"), first...3 ~= number else {
            throw problem("has no \"connection\" from \(first) to 3")
        }
        return number
    }

    private func head(_ value: JSONValue) throws(FetchError) -> Head {
        guard let word = value["class"]?.string, let replyClass = Head.Class(rawValue: word) else {
            throw problem("has an unknown class")
        }
        var head = Head(replyClass)
        head.status = try number(value, "status")
        head.meta = try text(value, "meta")
        if let mime = try text(value, "mime") {
            guard let type = MediaType(parsing: mime) else {
                throw problem("has a \"mime\" that is not a media type")
            }
            head.mediaType = type
        }
        head.bodyBytes = try number(value, "size")
        head.suggestedName = try text(value, "name")
        head.redirectTarget = try text(value, "redirect")
        head.isPermanentRedirect = try flag(value, "permanent")
        head.wantsSensitiveInput = try flag(value, "sensitive")
        // With other classes these flags have no meaning.
        head.isGone = try flag(value, "gone") && replyClass == .permanentFailure
        head.isUnchanged = try flag(value, "unchanged") && replyClass == .success
        head.validator = try text(value, "validator")
        let validator = head.validator ?? ""
        guard validator.utf8.count <= Self.validatorBytesMax,
            !validator.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else {
            throw problem("has a \"validator\" that is too long or holds control characters")
        }
        head.retryAfter = try number(value, "retry_after").map {
            .seconds(min($0, Self.retrySecondsMax))
        }
        guard replyClass == .redirect || head.redirectTarget == nil else {
            throw problem("has a redirect, but is of another class")
        }
        guard replyClass != .redirect || head.redirectTarget?.isEmpty == false else {
            throw problem("is a redirect without a target")
        }
        head.facts = try facts(value)
        return head
    }

    private func item(_ value: JSONValue) throws(FetchError) -> Item {
        guard let kind = value["kind"]?.string.flatMap(Item.Kind.init), Self.kinds.contains(kind)
        else { throw problem("has an unknown kind") }
        var item = Item(kind: kind, text: try text(value, "text") ?? "")
        if let reference = try text(value, "url") {
            // Without a host there is no base: an absolute URL is kept as written.
            let isVerbatim = base.host == nil && URI.scheme(of: reference) == base.scheme
            let target = try? base.resolving(reference) { isOpaque && $0 == base.scheme }
            item.url = isVerbatim ? reference : target?.description ?? reference
        }
        item.version = try text(value, "version")
        item.time = try number(value, "time")
        item.facts = try facts(value)
        return item
    }

    private func facts(_ value: JSONValue) throws(FetchError) -> Facts {
        switch value["facts"] {
        case nil, .null?: return Facts()
        case .object(let members)?: return [name: .object(Facts(members, mask))]
        default: throw problem("has \"facts\" that are not an object")
        }
    }

    private func text(_ value: JSONValue, _ name: String) throws(FetchError) -> String? {
        switch value[name] {
        case nil, .null?: return nil
        case .string(let text)?: return mask.masked(text)
        default: throw problem("has a \"\(name)\" that is not a string")
        }
    }

    private func flag(_ value: JSONValue, _ name: String) throws(FetchError) -> Bool {
        switch value[name] {
        case nil, .null?: return false
        case .bool(let flag)?: return flag
        default: throw problem("has a \"\(name)\" that is not true or false")
        }
    }

    /// Not negative.
    private func number(_ value: JSONValue, _ name: String) throws(FetchError) -> Int? {
        switch value[name] {
        case nil, .null?: return nil
        case .number(let text)?:
            if let number = Int(text), number >= 0 { return number }
            throw problem("has a \"\(name)\" that is not a whole number")
        default: throw problem("has a \"\(name)\" that is not a number")
        }
    }
}

extension Facts {
    /// - Parameter members: Members of a parsed object, without duplicates.
    fileprivate init(_ members: [JSONValue.Member], _ mask: SecretMask) {
        self.init(members.map { (mask.masked($0.name), Facts.Value($0.value, mask)) })
    }
}

extension Facts.Value {
    /// A number that is not whole stays text, so that it loses no digit.
    fileprivate init(_ value: JSONValue, _ mask: SecretMask) {
        switch value {
        case .null: self = .none
        case .bool(let flag): self = .flag(flag)
        case .number(let text) where mask.masked(text) == text:
            self = Int(text).map { .number($0) } ?? .text(text)
        case .number(let text), .string(let text): self = .text(mask.masked(text))
        case .array(let values): self = .list(values.map { Facts.Value($0, mask) })
        case .object(let members): self = .object(Facts(members, mask))
        }
    }
}
