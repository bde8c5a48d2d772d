// SPDX-License-Identifier: MIT
package import SmallWeb

/// A line of a list: a URL, or a request as a JSON object. docs/json.md describes it.
package struct RequestLine: Sendable {
    package enum Payload: Sendable, Hashable {
        case bytes([UInt8])
        case file(String)
    }

    /// Settings of a request; numbers are kept as written.
    package enum Member: Sendable {
        case data(Payload), put(Payload)
        /// Lines of a header.
        case headers([String])
        case output(String), method(String), body(String), identity(String), trust(String)
        case pin(String)
        case maxTime(String), maxFilesize(String), maxRedirects(String)
        case mime(String), tokenFile(String), proxy(String)
    }

    package private(set) var subject: RecordSubject
    /// Identifies its id, however that is written in JSON; `nil` without one.
    package private(set) var key: String?
    /// The key of the requests to cancel, if the line is a `cancel`.
    package private(set) var cancels: String?
    package private(set) var members: [(name: String, value: Member)] = []
    /// The reason that nothing can be requested. The members that were read are kept.
    package private(set) var problem: FetchError?

    private static let notUTF8 = FetchError(
        .badURL, .input, "the URL is not UTF-8", hint: "write its bytes as %XX")

    /// A URL in bytes that may not be UTF-8.
    package init(url bytes: some Collection<UInt8>) {
        subject = RecordSubject(url: String(decoding: bytes, as: UTF8.self))
        guard String(validating: bytes, as: UTF8.self) == nil else { return }
        subject.rawURL = Array(bytes)
        problem = Self.notUTF8
    }

    package init(_ bytes: ArraySlice<UInt8>) {
        // A tab separates a title, in the output of links, history and bookmarks.
        self.init(url: bytes.prefix { $0 != ASCII.tab })
        guard bytes.first == UInt8(ascii: "{") else { return }
        (subject, problem) = (RecordSubject(), nil)
        do throws(FetchError) {
            try read(Self.parsed(bytes))
        } catch {
            problem = error
        }
    }

    private static let names = [
        "body", "data", "headers", "id", "identity", "max_filesize", "max_redirs", "max_time",
        "method", "mime", "output", "pin", "proxy", "put", "tag", "token_file", "trust", "type",
        "url",
    ]

    private mutating func read(_ request: JSONValue) throws(FetchError) {
        guard case .object(let members) = request else { return }
        // The answer to another kind of line must not look like one to a request.
        if let type = request["type"], type.string != "request" {
            guard type.string == "cancel" else {
                throw usageError(
                    "this is a record, not a request",
                    hint: "take the URLs out of it, for example with jq -r .url")
            }
            return try readCancel(members)
        }
        // First the members of every answer, so that even a refusal has them.
        subject.url = request["url"]?.string
        if let member = members.first(where: { $0.name == "id" }) {
            switch member.value {
            case .array, .object: throw usageError("\"id\" must be a string, a number or a boolean")
            default: (subject.id, key) = (member.text, Self.key(member.value))
            }
        }
        subject.tag = members.first { $0.name == "tag" }?.text
        for member in members {
            if let value = try Self.value(of: member) { self.members.append((member.name, value)) }
        }
        guard subject.url != nil else { throw usageError("a request needs a \"url\", a string") }
    }

    private mutating func readCancel(_ members: [JSONValue.Member]) throws(FetchError) {
        for member in members where !["id", "type"].contains(member.name) {
            guard member.name.hasPrefix("x-") else {
                throw usageError("a \"cancel\" has no \"\(member.name)\"")
            }
        }
        cancels = members.first { $0.name == "id" }.flatMap { Self.key($0.value) }
        guard cancels != nil else {
            throw usageError("a \"cancel\" needs the \"id\" of a request")
        }
    }

    private static func key(_ id: JSONValue) -> String? {
        switch id {
        case .string(let text): "\"" + text
        case .number(let text): text
        case .bool(let flag): String(flag)
        case .null, .array, .object: nil
        }
    }

    /// `nil` for members that are read elsewhere, and for other programs' members, `x-`.
    private static func value(of member: JSONValue.Member) throws(FetchError) -> Member? {
        switch member.name {
        case "id", "tag", "type", "url": return nil
        case "data": return .data(try payload(member))
        case "put": return .put(try payload(member))
        case "output":
            let path = try string(member)
            guard !path.isEmpty && path != "-" && !path.utf8.contains(0) else {
                throw usageError("\"output\" must name a file")
            }
            return .output(path)
        case "headers": return .headers(try fields(member.value))
        case "method": return .method(try string(member))
        case "mime": return .mime(try string(member))
        case "proxy": return .proxy(try string(member))
        case "token_file":
            let path = try string(member)
            guard !path.isEmpty && !path.utf8.contains(0) else {
                throw usageError("\"token_file\" must name a file")
            }
            return .tokenFile(path == "-" ? "./-" : path)
        case "body": return .body(try string(member))
        case "identity": return .identity(try string(member))
        case "trust": return .trust(try string(member))
        case "pin": return .pin(try string(member))
        case "max_time": return .maxTime(try number(member))
        case "max_filesize": return .maxFilesize(try number(member))
        case "max_redirs": return .maxRedirects(try number(member))
        case let name where name.hasPrefix("x-"): return nil
        case let name:
            let nearest = Nearest.name(to: name, among: names)
            throw usageError(
                "unknown member \"\(name)\"", hint: nearest.map { "did you mean \"\($0)\"?" })
        }
    }

    private static func parsed(_ line: ArraySlice<UInt8>) throws(FetchError) -> JSONValue {
        do throws(FetchError) {
            return try JSONValue.parse(line)
        } catch {
            let start = String(decoding: line.prefix(40), as: UTF8.self)
            throw FetchError(
                error.outcome, .input, "\(error.message), in \(start)\(line.count > 40 ? "…" : "")")
        }
    }

    private static func string(_ member: JSONValue.Member) throws(FetchError) -> String {
        guard let text = member.value.string else {
            throw usageError("\"\(member.name)\" must be a string")
        }
        return text
    }

    private static func number(_ member: JSONValue.Member) throws(FetchError) -> String {
        guard case .number(let text) = member.value else {
            throw usageError("\"\(member.name)\" must be a number")
        }
        return text
    }

    /// A string, or an object with one of `text`, `base64` and `path`.
    private static func payload(_ member: JSONValue.Member) throws(FetchError) -> Payload {
        if let text = member.value.string { return .bytes(Array(text.utf8)) }
        let problem = usageError(
            "\"\(member.name)\" must be a string, or have one of text, base64, path")
        guard case .object(let members) = member.value, members.count == 1,
            let member = members.first
        else { throw problem }
        let text = try string(member)
        switch member.name {
        case "text": return .bytes(Array(text.utf8))
        // Standard input has the list.
        case "path": return .file(text == "-" ? "./-" : text)
        case "base64":
            guard let bytes = Base64.decode(text) else { throw usageError("bad base64") }
            return .bytes(bytes)
        default: throw problem
        }
    }

    private static func fields(_ value: JSONValue) throws(FetchError) -> [String] {
        guard case .object(let members) = value else {
            throw usageError("\"headers\" must be an object")
        }
        var fields: [String] = []
        for member in members {
            let values =
                if case .array(let values) = member.value { values } else { [member.value] }
            for value in values {
                guard let text = value.string, !member.name.isEmpty else {
                    throw usageError("a header must be a string, or an array of strings")
                }
                fields.append("\(member.name): \(text)")
            }
        }
        return fields
    }
}
