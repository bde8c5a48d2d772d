// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

/// What one operand or one line of a list asks for.
struct Order: Sendable {
    var subject: RecordSubject
    var output: String?
    /// What is sent instead of asked for.
    private(set) var upload: InputSource.Origin?
    /// What else it says, as changes of the run's settings.
    private(set) var changes: [@Sendable (inout Settings) -> Void] = []
    /// Whether they are about connections and redirects.
    private(set) var changesFetcher = false
    /// Why nothing can be fetched.
    var problem: FetchError?
    /// Whether it stands for a list that cannot be read: what else was asked for is not known.
    var isUnreadList = false

    var url: String? { subject.url }

    init(url: String?) { subject = RecordSubject(url: url) }

    /// A URL of the command line.
    init(operand: String) {
        self.init(url: operand.withoutSystemEscapes)
        guard operand.hasSystemEscapes else { return }
        subject.rawURL = operand.systemBytes
        problem = Self.notUTF8
    }

    private static let notUTF8 = FetchError(
        .badURL, .input, "the URL is not UTF-8", hint: "write its bytes as %XX")
}

extension Order {
    /// A line of a list: a URL, or a request as a JSON object. Bad ones become orders with a
    /// ``problem``.
    init(line bytes: ArraySlice<UInt8>, number: Int) {
        self.init(url: nil)
        subject.line = number
        do throws(FetchError) {
            // What follows a tab is a title, in the output of links, history and bookmarks.
            let bytes =
                bytes.first == UInt8(ascii: "{") ? bytes : bytes.prefix { $0 != ASCII.tab }
            if bytes.first == UInt8(ascii: "{") {
                try read(Self.parsed(bytes))
            } else if let text = String(validating: bytes, as: UTF8.self) {
                subject.url = text
            } else {
                subject.url = String(decoding: bytes, as: UTF8.self)
                subject.rawURL = Array(bytes)
                throw Self.notUTF8
            }
        } catch {
            problem = FetchError(
                error.outcome, .input, "line \(number): \(error.message)", hint: error.advice)
        }
    }

    private static let names = [
        "body", "data", "headers", "id", "identity", "max_filesize", "max_redirs", "max_time",
        "method", "output", "pin", "put", "tag", "trust", "type", "url",
    ]
    private static let namesOfFetcher: Set<String> = ["identity", "max_redirs", "pin", "trust"]

    private mutating func read(_ request: JSONValue) throws(FetchError) {
        guard case .object(let members) = request else { return }
        // First what an answer must carry, so that even a refusal has it.
        subject.url = request["url"]?.string
        if let member = members.first(where: { $0.name == "id" }) {
            switch member.value {
            case .array, .object: throw usageError("\"id\" must be a string, a number or a boolean")
            default: subject.id = member.text
            }
        }
        subject.tag = members.first { $0.name == "tag" }?.text
        if let type = request["type"], type.string != "request" {
            throw usageError(
                "this is a record, not a request",
                hint: "take the URLs out of it, for example with jq -r .url")
        }
        for member in members {
            switch member.name {
            case "id", "tag", "type", "url": break
            case "put": upload = try Self.data(member)
            case "output": output = try Self.output(member)
            case let name where Self.names.contains(name): changes.append(try change(member))
            case let name where name.hasPrefix("x-"): break
            case let name:
                let nearest = Nearest.name(to: name, among: Self.names)
                throw usageError(
                    "unknown member \"\(name)\"", hint: nearest.map { "did you mean \"\($0)\"?" })
            }
        }
        guard url != nil else { throw usageError("a request needs a \"url\", a string") }
    }

    private mutating func change(
        _ member: JSONValue.Member
    ) throws(FetchError) -> @Sendable (inout Settings) -> Void {
        let name = "\"\(member.name)\""
        changesFetcher = changesFetcher || Self.namesOfFetcher.contains(member.name)
        switch member.name {
        case "data":
            let input = try Self.data(member)
            return { $0.fetch.input = input }
        case "headers":
            let fields = try Self.fields(member.value)
            return { settings in
                for line in fields { settings.fetch.options.append(line, to: "header") }
                if !fields.isEmpty { settings.invocation.given.append("header") }
            }
        case "method":
            let method = try Self.checked(try Self.string(member), as: "request")
            return { settings in
                settings.fetch.options["request"] = .text(method)
                settings.invocation.given.append("request")
            }
        case "max_time":
            let seconds = try OptionValue.seconds(try Self.number(member), name)
            return { $0.fetch.totalSeconds = seconds }
        case "max_filesize":
            let size = try OptionValue.size(try Self.number(member), name)
            return { $0.fetch.bodyBytesMax = size }
        case "max_redirs":
            let limit = try OptionValue.count(try Self.number(member), name)
            return { $0.fetch.redirects.limit = limit }
        case "body":
            let form: RecordOptions.BodyForm = try OptionValue.choice(
                try Self.string(member), name)
            return { $0.records.options.body = form }
        case "identity":
            let identity = try Self.string(member)
            return { settings in
                settings.connection.identityName = identity
                settings.connection.certificateFile = nil
            }
        case "trust":
            let policy = try OptionValue.trust(try Self.string(member), name)
            return { settings in
                settings.connection.trust = policy
                settings.connection.skipsTrust = false
            }
        default:
            let pin = try OptionValue.sha256(try Self.string(member), name)
            return { settings in
                settings.connection.pin = pin
                settings.invocation.given.append("pin")
                settings.connection.skipsTrust = false
            }
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

    /// A value of an option that a plugin declares.
    private static func checked(_ value: String, as key: String) throws(FetchError) -> String {
        for handler in Registry.builtIn.handlers {
            try handler.options.first { $0.key == key }?.check(value)
        }
        return value
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

    private static func output(_ member: JSONValue.Member) throws(FetchError) -> String {
        let path = try string(member)
        guard !path.isEmpty && path != "-" && !path.utf8.contains(0) else {
            throw usageError("\"output\" must name a file")
        }
        return path
    }

    /// A string, or an object with one of `text`, `base64` and `path`.
    private static func data(
        _ member: JSONValue.Member
    ) throws(FetchError) -> InputSource.Origin {
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
            guard let bytes = Base64.decode(text) else {
                throw usageError("bad base64")
            }
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
                fields.append(try checked("\(member.name): \(text)", as: "header"))
            }
        }
        return fields
    }
}
