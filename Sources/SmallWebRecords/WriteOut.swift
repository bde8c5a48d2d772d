// SPDX-License-Identifier: MIT
package import SmallWeb

/// The format of `--write-out`: text with `%{NAME}` for the member NAME of the URL's record, or for
/// the one that has this name in curl.
package struct WriteOut: Sendable {
    private enum Part: Sendable {
        case text(String)
        /// A member, by its path from the outermost name.
        case value([String], name: String)
        /// Directs the text that follows.
        case standardOutput, standardError
    }

    private var parts: [Part] = []

    /// curl's names, and the members of records with the same values.
    package static let curlNames: [String: String] = [
        "content_type": "mime", "errormsg": "error.message", "exitcode": "exit",
        "filename_effective": "body.path", "header_json": "headers", "http_code": "status",
        "num_redirects": "redirects", "remote_ip": "remote.ip", "remote_port": "remote.port",
        "response_code": "status", "size_download": "size", "size_request": "bytes.sent",
        "time_appconnect": "time.appconnect", "time_connect": "time.connect",
        "time_proxy": "time.proxy",
        "time_namelookup": "time.namelookup", "time_pretransfer": "time.pretransfer",
        "time_redirect": "time.redirect", "time_starttransfer": "time.starttransfer",
        "time_total": "time.total", "url_effective": "final_url", "urlnum": "n",
    ]

    package static var names: [String] {
        curlNames.keys + RecordFields.all(.builtIn) + [
            "id", "json", "n", "stderr", "stdout", "tag",
        ]
    }

    /// Inner names of members that are objects, by their path. Members that are not here have none,
    /// except the ``free`` ones.
    package static let inner: [String: [String]] = [
        "body": body, "partial.body": body, "bytes": ["sent", "received"],
        "error": [
            "code", "message", "phase", "retryable", "errno", "hint", "expected", "actual", "line",
        ],
        "partial": ["status", "meta", "meta_base64", "mime", "size", "body"],
        "program": ["connections"], "remote": ["ip", "port", "proxy"],
        "time": [
            "start", "queue", "namelookup", "connect", "proxy", "appconnect", "pretransfer",
            "starttransfer", "redirect", "total",
        ],
        "tls": [
            "version", "cipher", "alpn", "sni", "resumed", "close_notify", "verify", "cert",
            "chain_length", "client_cert",
        ],
        "tls.cert": [
            "sha256", "spki_sha256", "subject", "issuer", "serial", "not_before", "not_after",
            "dns_names", "ip_names", "self_signed", "key",
        ],
        "trust": ["policy", "verdict", "first_seen", "previous"],
    ]
    private static let body = [
        "text", "base64", "path", "path_base64", "chunks", "omitted", "sha256", "complete",
        "transcoded", "rendered", "offset", "next", "total",
    ]

    /// Members whose inner names servers, plugins and users choose.
    package static var free: Set<String> {
        Set(["headers", "tag"] + Registry.builtIn.schemes.flatMap(\.factNames))
    }

    /// - Throws: `usage` for a name that does not exist.
    package init(_ format: String) throws(FetchError) {
        var text = ""
        var rest = format[...]
        while let character = rest.popFirst() {
            switch (character, rest.first) {
            case ("\\", "n"?): text += "\n"
            case ("\\", "t"?): text += "\t"
            case ("\\", "r"?): text += "\r"
            case ("\\", "\\"?), ("%", "%"?): text.append(character)
            case ("%", "{"?):
                guard let end = rest.firstIndex(of: "}") else {
                    throw usageError("\"%\(rest)\" has no }")
                }
                parts.append(.text(text))
                text = ""
                parts.append(try Self.part(String(rest[..<end].dropFirst())))
                rest = rest[end...]
            default:
                text.append(character)
                continue
            }
            rest = rest.dropFirst()
        }
        parts.append(.text(text))
    }

    private static func part(_ name: String) throws(FetchError) -> Part {
        switch name {
        case "stdout": return .standardOutput
        case "stderr": return .standardError
        case "json": return .value([], name: name)
        case "type":
            throw usageError(
                "unknown name in the format: %{type}",
                hint: "%{mime} is the media type, and %{outcome} the word for what came of it")
        default:
            var path = (curlNames[name] ?? name).split(separator: ".").map(String.init)
            guard let first = path.first, curlNames[name] != nil || names.contains(first) else {
                throw usageError(
                    "unknown name in the format: %{\(name)}",
                    hint: Nearest.name(to: name, among: names).map { "did you mean %{\($0)}?" }
                        ?? "the fields of smallweb-json(5) are names")
            }
            if path.count > 1 && first == "headers" {
                // As records have them; a dot may be a part of the name.
                path = [first, path.dropFirst().joined(separator: ".").lowercased()]
            } else if !free.contains(first) {
                try check(path, name)
            }
            return .value(path, name: name)
        }
    }

    /// - Throws: `usage` for an inner name that no record has.
    private static func check(_ path: [String], _ name: String) throws(FetchError) {
        for depth in path.indices.dropFirst() {
            let outer = path[..<depth].joined(separator: ".")
            let known = inner[outer] ?? []
            guard !known.contains(path[depth]) else { continue }
            let nearest = Nearest.name(to: path[depth], among: known)
            throw usageError(
                "unknown name in the format: %{\(name)}",
                hint: nearest.map { "did you mean %{\(outer).\($0)}?" }
                    ?? (known.isEmpty
                        ? "\(outer) has no names below it"
                        : "the names below \(outer) are \(known.joined(separator: ", "))"))
        }
    }

    /// Formats a terminal record as texts, with a flag for standard error.
    ///
    /// - Parameter head: Has the type with the parameters that its server sent.
    package func pieces(
        of record: [UInt8], _ head: Head? = nil
    ) throws(FetchError) -> [(text: String, toError: Bool)] {
        let value = try JSONValue.parse(record[...])
        var toError = false
        var pieces: [(String, Bool)] = []
        for part in parts {
            switch part {
            case .text(let words): pieces.append((words, toError))
            case .standardOutput: toError = false
            case .standardError: toError = true
            case .value(let path, let name):
                let type = name == "content_type" ? head?.sentType : nil
                let text = if let type { type } else { try Self.text(value, path, name, record) }
                pieces.append((TerminalText.escapeLine(text), toError))
            }
        }
        return pieces
    }

    private static func text(
        _ record: JSONValue, _ path: [String], _ name: String, _ line: [UInt8]
    ) throws(FetchError) -> String {
        if path.isEmpty { return String(decoding: line.dropLast(), as: UTF8.self) }
        switch path.reduce(record, { $0?[$1] }) {
        case .string(let text), .number(let text): return text
        case .bool(let flag): return flag ? "true" : "false"
        case .array(let values) where name == "num_redirects": return "\(values.count)"
        // Most fields of a header come once.
        case .array(let values) where path.count == 2 && path[0] == "headers" && values.count == 1:
            return values[0].string ?? ""
        case .array, .object: return String(decoding: try json(record, path[...]), as: UTF8.self)
        // As in curl when there was no reply.
        case .null, nil: return path == ["status"] && name != "status" ? "000" : ""
        }
    }

    private static func json(
        _ value: JSONValue, _ path: ArraySlice<String>
    ) throws(FetchError) -> [UInt8] {
        guard let name = path.first, case .object(let members) = value,
            let text = members.first(where: { $0.name == name })?.text
        else { return [] }
        let rest = path.dropFirst()
        // Members of the outermost object alone have their text.
        return rest.isEmpty ? text : try json(JSONValue.parse(text[...]), rest)
    }
}

extension Head {
    /// The media type as its server sent it, with its parameters.
    fileprivate var sentType: String? {
        if let field = self.fields?["content-type"] { return field }
        guard let type = self.mediaType, let meta = self.meta else {
            return self.mediaType?.description
        }
        return MediaType(parsing: meta) == type ? meta : type.description
    }
}
