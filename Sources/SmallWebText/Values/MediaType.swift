// SPDX-License-Identifier: MIT

/// A media type with its parameters (RFC 2045 §5.1), tolerant of white space around `;` and `=`.
public struct MediaType: Sendable, Hashable, CustomStringConvertible {
    /// `type/subtype` in lower case.
    public let essence: String
    /// Names in lower case, values unquoted; the first of a repeated name counts.
    public let parameters: [String: String]

    /// A type from well-formed parts.
    public init(_ essence: String, _ parameters: [String: String] = [:]) {
        self.essence = essence.lowercased()
        self.parameters = parameters
    }

    /// `nil` without a leading `type/subtype`.
    public init?(parsing text: String) {
        var parts = Self.split(text, at: UInt8(ascii: ";"))[...]
        guard let first = parts.popFirst() else { return nil }
        let essence = first.trimmed
        let halves = essence.split(separator: ASCII.slash, omittingEmptySubsequences: false)
        guard halves.count == 2, halves.allSatisfy({ !$0.isEmpty && $0.allSatisfy(Self.isToken) })
        else { return nil }

        var parameters: [String: String] = [:]
        for part in parts {
            guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let name = String(decoding: part[..<equals].trimmed, as: UTF8.self).lowercased()
            var value = Self.unquote(part[(equals + 1)...].trimmed)
            guard !name.isEmpty && name.utf8.allSatisfy(Self.isToken) else { continue }
            // No charset's name has quotes, but servers write the single quotes of HTML.
            if name == "charset" { value = value.filter { $0 != "'" } }
            if parameters[name] == nil { parameters[name] = value }
        }
        self.init(String(decoding: essence, as: UTF8.self), parameters)
    }

    /// In lower case; UTF-8 for text without a charset (Gemini, and this project elsewhere). A page
    /// of HTML may name another one in itself: `Page.charset` knows.
    public var charset: String? {
        parameters["charset"]?.lowercased() ?? (isText ? "utf-8" : nil)
    }

    /// True if a pattern is for it, such as `text/*`, `*/*` or `text/plain; charset=utf-8`.
    package func matches(_ pattern: String) -> Bool {
        guard let wanted = MediaType(parsing: pattern) else { return false }
        for (name, value) in wanted.parameters {
            let own = name == "charset" ? charset : parameters[name]
            guard own?.lowercased() == value.lowercased() else { return false }
        }
        let isOpen = wanted.essence.hasSuffix("/*") && essence.hasPrefix(wanted.essence.dropLast())
        return isOpen || [essence, "*/*"].contains(wanted.essence)
    }

    /// True for lines for people. XML and JSON count: they are read like text, too.
    public var isText: Bool {
        essence.hasPrefix("text/") || essence == "application/gopher-menu"
            || essence == "application/json" || essence == "application/xml"
            || essence.hasSuffix("+json") || essence.hasSuffix("+xml")
    }

    public var description: String {
        parameters.sorted { $0.key < $1.key }.reduce(essence) {
            "\($0); \($1.key)=\(Self.quote($1.value))"
        }
    }

    /// Splits outside quoted strings.
    private static func split(_ text: String, at separator: UInt8) -> [ArraySlice<UInt8>] {
        let bytes = Array(text.utf8)
        var parts: [ArraySlice<UInt8>] = []
        var start = 0
        var isQuoted = false
        var isEscaped = false
        for (index, byte) in bytes.enumerated() {
            if isEscaped {
                isEscaped = false
            } else if isQuoted && byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isQuoted.toggle()
            } else if byte == separator && !isQuoted {
                parts.append(bytes[start..<index])
                start = index + 1
            }
        }
        parts.append(bytes[start...])
        return parts
    }

    private static func unquote(_ bytes: ArraySlice<UInt8>) -> String {
        guard bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == bytes.first else {
            return String(decoding: bytes, as: UTF8.self)
        }
        var value: [UInt8] = []
        var isEscaped = false
        for byte in bytes.dropFirst().dropLast() {
            if !isEscaped && byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else {
                value.append(byte)
                isEscaped = false
            }
        }
        return String(decoding: value, as: UTF8.self)
    }

    /// A token as it is, anything else as a quoted string.
    private static func quote(_ value: String) -> String {
        guard value.isEmpty || !value.utf8.allSatisfy(isToken) else { return value }
        let escaped = value.unicodeScalars.reduce(into: "") { escaped, scalar in
            if scalar == "\"" || scalar == "\\" { escaped += "\\" }
            escaped.unicodeScalars.append(scalar)
        }
        return "\"\(escaped)\""
    }

    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        // All visible characters but ()<>@,;:\"/[]?=
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x30...0x39, 0x41...0x5A, 0x5E...0x7E: true
        default: false
        }
    }
}

extension MediaType {
    /// The type implied by the extension of a file's name; `nil` for none or an unknown one.
    ///
    /// - Parameter path: A name, or a path with the name as its last part.
    public init?(ofFile path: some StringProtocol) {
        let bytes = Array(path.utf8)
        let name = bytes[((bytes.lastIndex(of: ASCII.slash) ?? -1) + 1)...]
        guard let dot = name.lastIndex(of: ASCII.dot) else { return nil }
        let ending = String(decoding: name[(dot + 1)...], as: UTF8.self).lowercased()
        guard let type = Self.byEnding[ending] else { return nil }
        self = type
    }

    /// The usual extension of a file of this type; `nil` for an unknown one.
    package var fileEnding: String? {
        Self.endings[essence].map { String($0.prefix { $0 != " " }) }
    }

    private static let endings = [
        "text/gemini": "gmi gemini", "text/plain": "txt", "text/markdown": "md markdown",
        "text/html": "html htm", "application/atom+xml": "atom", "application/rss+xml": "rss",
        "text/x-opml": "opml", "text/css": "css", "text/csv": "csv", "application/json": "json",
        "application/xml": "xml", "application/pdf": "pdf", "application/zip": "zip",
        "application/gzip": "gz", "audio/flac": "flac", "audio/mpeg": "mp3",
        "audio/ogg": "ogg", "audio/wav": "wav", "image/gif": "gif", "image/jpeg": "jpg jpeg",
        "image/png": "png", "image/svg+xml": "svg", "image/webp": "webp", "video/mp4": "mp4",
        "video/webm": "webm",
    ]

    private static let byEnding: [String: MediaType] = {
        var types: [String: MediaType] = [:]
        for (essence, words) in endings {
            for word in words.split(separator: " ") { types[String(word)] = MediaType(essence) }
        }
        return types
    }()
}
