// SPDX-License-Identifier: MIT
package import SmallWeb

/// The format of `--write-out`: text with `%{NAME}` for what the URL's record says under that name,
/// or under the name that curl has for it.
package struct WriteOut: Sendable {
    private enum Part: Sendable {
        case text(String)
        /// Members from the outermost on.
        case value([String], name: String)
        /// What follows goes there.
        case standardOutput, standardError
    }

    private var parts: [Part] = []

    /// curl's names, and where records have the same.
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

    private static let reason = ["error", "message"]

    /// Of curl, and those of records.
    package static var names: [String] {
        curlNames.keys + RecordFields.all(.builtIn) + [
            "id", "json", "n", "stderr", "stdout", "tag", "type",
        ]
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
        default:
            let path = (curlNames[name] ?? name).split(separator: ".").map(String.init)
            guard let first = path.first, curlNames[name] != nil || names.contains(first) else {
                throw usageError(
                    "unknown name in the format: %{\(name)}",
                    hint: Nearest.name(to: name, among: names).map { "did you mean %{\($0)}?" }
                        ?? "the fields of smallweb-json(5) are names")
            }
            return .value(path, name: name)
        }
    }

    /// What the format makes of a terminal record: texts, and which of them go to standard error.
    ///
    /// - Parameter error: Why it is a failure, which the record of a refusal does not say.
    package func pieces(
        of record: [UInt8], error: String? = nil
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
                let isReason = path == Self.reason && error != nil
                let text = isReason ? error ?? "" : Self.text(value, path, name, record)
                pieces.append((TerminalText.escapeLine(text), toError))
            }
        }
        return pieces
    }

    private static func text(
        _ record: JSONValue, _ path: [String], _ name: String, _ line: [UInt8]
    ) -> String {
        if path.isEmpty { return String(decoding: line.dropLast(), as: UTF8.self) }
        switch path.reduce(record, { $0?[$1] }) {
        case .string(let text), .number(let text): return text
        case .bool(let flag): return flag ? "true" : "false"
        case .array(let values) where name == "num_redirects": return "\(values.count)"
        case .array, .object:
            guard case .object(let members) = record, path.count == 1 else { return "" }
            return String(
                decoding: members.first { $0.name == path[0] }?.text ?? [], as: UTF8.self)
        // As curl has it where there was no reply.
        case .null, nil: return path == ["status"] && name != "status" ? "000" : ""
        }
    }
}
