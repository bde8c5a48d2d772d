// SPDX-License-Identifier: MIT
package import SmallWeb

/// A request as it is given: an operand, or a line of a list, which is a URL or a JSON object
/// (docs/json.md).
package final class RequestLine {
    package enum Payload: Sendable, Hashable {
        case bytes([UInt8])
        case file(String)
    }

    package var subject: RecordSubject
    /// Identifies its id, however that is written in JSON; `nil` without one.
    package private(set) var key: String?
    /// The key of the requests to cancel, if the line is a `cancel`.
    package private(set) var cancels: String?
    /// Members that set an option, with its value; numbers are kept as written.
    package private(set) var settings: [(member: String, value: String)] = []
    /// `data` and `put`.
    package private(set) var (input, upload): (Payload?, Payload?)
    package private(set) var output: String?
    /// The reason that nothing can be requested. The members that were read are kept.
    package var problem: FetchError?
    /// True for a URL of the command line itself, not for one that a list, a page or a state has.
    package var isNamed = false
    /// True for a request of a program, whose URL is taken as it is.
    package private(set) var isJSON = false
    /// True for a list that cannot be read: its remaining requests are unknown.
    package var isUnreadList = false

    package var url: String? { subject.url }

    /// Names the file for the body.
    package func writes(to path: String) { output = path }
    /// True if it changes settings of the run.
    package var hasSettings: Bool { !settings.isEmpty || input != nil }

    private static let notUTF8 = FetchError(
        .badURL, .input, "the URL is not UTF-8", hint: "write its bytes as %XX")

    /// A failed request.
    ///
    /// - Parameter number: Line number in a list.
    package init(problem: FetchError, line number: Int? = nil) {
        subject = RecordSubject()
        subject.line = number
        self.problem = problem
    }

    /// - Parameter operand: Blanks around it are left out, as in lists.
    package init(operand: String) {
        let isBlank = { (byte: UInt8) in ASCII.isSpace(byte) }
        var operand = operand
        if operand.utf8.first.map(isBlank) ?? false || operand.utf8.last.map(isBlank) ?? false {
            let bytes = operand.utf8.drop(while: isBlank)
            let end = bytes.lastIndex { !isBlank($0) }.map(bytes.index(after:)) ?? bytes.endIndex
            operand = String(bytes[..<end]) ?? operand
        }
        subject = RecordSubject(url: operand)
        if operand.hasSystemEscapes {
            readURL(operand.systemBytes)
            subject.url = operand.withoutSystemEscapes
        }
    }

    /// A line of a list; its ``problem`` has the number of the line.
    package init(_ bytes: ArraySlice<UInt8>, line number: Int? = nil) {
        subject = RecordSubject()
        do throws(FetchError) {
            if bytes.first == UInt8(ascii: "{") {
                isJSON = true
                try read(Self.parsed(bytes))
            } else {
                // A tab separates a title, in the output of links, history and bookmarks.
                readURL(bytes.prefix { $0 != ASCII.tab })
            }
        } catch {
            problem = error
        }
        subject.line = number
        problem = problem.map(located)
    }

    /// The error with the number of the line.
    package func located(_ error: FetchError) -> FetchError {
        guard let line = subject.line else { return error }
        return FetchError(
            error.outcome, .input, "line \(line): \(error.message)", hint: error.hint)
    }

    /// Reads a URL in bytes that may not be UTF-8.
    private func readURL(_ bytes: some Collection<UInt8>) {
        subject.url = String(decoding: bytes, as: UTF8.self)
        guard String(validating: bytes, as: UTF8.self) == nil else { return }
        subject.rawURL = Array(bytes)
        problem = Self.notUTF8
    }

    private static let names = [
        "body", "data", "headers", "id", "identity", "max_filesize", "max_redirs", "max_time",
        "method", "mime", "output", "pin", "proxy", "public_only", "put", "slice", "tag",
        "token_file", "trust", "type", "url",
    ]

    private func read(_ request: JSONValue) throws(FetchError) {
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
        for member in members { try take(member) }
        guard subject.url != nil else { throw usageError("a request needs a \"url\", a string") }
    }

    private func readCancel(_ members: [JSONValue.Member]) throws(FetchError) {
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

    private func take(_ member: JSONValue.Member) throws(FetchError) {
        switch member.name {
        case "id", "tag", "type", "url": break
        case "data": input = try Self.payload(member)
        case "put": upload = try Self.payload(member)
        case "output":
            let path = try Self.string(member)
            guard !path.isEmpty && path != "-" && !path.utf8.contains(0) else {
                throw usageError("\"output\" must name a file")
            }
            output = path
        case "headers": settings += try Self.fields(member.value).map { ("headers", $0) }
        case "token_file":
            let path = try Self.string(member)
            guard !path.isEmpty && !path.utf8.contains(0) else {
                throw usageError("\"token_file\" must name a file")
            }
            settings.append((member.name, path == "-" ? "./-" : path))
        case "method", "mime", "proxy", "body", "identity", "trust", "pin", "slice":
            settings.append((member.name, try Self.string(member)))
        case "public_only":
            guard case .bool(true) = member.value else {
                throw usageError("\"public_only\" can only be true")
            }
            settings.append((member.name, "true"))
        case "max_time", "max_filesize", "max_redirs":
            settings.append((member.name, try Self.number(member)))
        case let name where name.hasPrefix("x-"): break
        case let name:
            let nearest = Nearest.name(to: name, among: Self.names)
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
                // As an option, that would be the name of a file.
                guard !member.name.hasPrefix("@") else {
                    throw usageError("\"\(member.name)\" cannot be the name of a header")
                }
                fields.append("\(member.name): \(text)")
            }
        }
        return fields
    }
}
