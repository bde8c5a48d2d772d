// SPDX-License-Identifier: MIT
internal import SmallWeb

/// Safe file names derived from any URL.
enum FileName {
    /// Leaves room for `.part`, a number and a process id within the usual 255.
    private static let bytesMax = 200

    /// The protocol's suggestion, or the last part of the path; `index` if that is empty.
    static func name(for uri: URI, head: Head?, _ output: OutputSettings? = nil) -> String {
        let field = output?.takesServersName ?? false ? head?.fields?["content-disposition"] : nil
        if let name = field.flatMap(name(inDisposition:)) { return name }
        let safe = head?.suggestedName.map(sanitise) ?? lastPart(of: uri)
        return safe.isEmpty ? index(head?.mediaType) : safe
    }

    /// The safe name in a Content-Disposition (RFC 6266 §4.3), without its directories; `nil`
    /// without one.
    static func name(inDisposition field: String) -> String? {
        // The grammar is that of a media type with its parameters, but for the slash.
        let parameters = MediaType(parsing: "disposition/" + field)?.parameters ?? [:]
        var names = [parameters["filename"]]
        // RFC 8187: charset'language'bytes.
        let parts = (parameters["filename*"] ?? "").split(
            separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        if parts.count == 3 {
            let bytes = PercentEncoding.decode(parts[2])
            let text =
                switch parts[0].lowercased() {
                case "utf-8": String(validating: bytes, as: UTF8.self)
                case "iso-8859-1": String(String.UnicodeScalarView(bytes.map(Unicode.Scalar.init)))
                default: String?.none
                }
            names.insert(text, at: 0)
        }
        return names.lazy.compactMap(\.self).map { name in
            sanitise(String(name.split { "/\\".contains($0) }.last ?? ""))
        }.first { !$0.isEmpty }
    }

    /// The name from the URL alone; `nil` if it depends on the reply.
    static func name(for uri: URI, _ output: OutputSettings) -> String? {
        guard !output.takesServersName else { return nil }
        let safe = lastPart(of: uri)
        return safe.isEmpty ? nil : safe
    }

    private static func lastPart(of uri: URI) -> String {
        let segment = uri.path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        return sanitise(String(decoding: PercentEncoding.decode(segment), as: UTF8.self))
    }

    /// The components of `host/path` without the last part, as safe names.
    static func tree(for uri: URI) -> [String] {
        let place = (uri.host ?? "") + (uri.port.map { ":\($0)" } ?? "")
        let segments = uri.path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        let names = segments.map { String(decoding: PercentEncoding.decode($0), as: UTF8.self) }
        return ([place] + names).map(sanitise).filter { !$0.isEmpty }
    }

    /// Removes slashes, control characters and leading dots or dashes, and truncates to `bytesMax`.
    static func sanitise(_ name: String) -> String {
        var safe = String.UnicodeScalarView()
        for scalar in name.unicodeScalars {
            let isControl = scalar.properties.generalCategory == .control
            let isFormat = scalar.properties.generalCategory == .format
            // Such a scalar would become a byte that is not UTF-8.
            if scalar == "/" || isControl || isFormat || scalar.isSystemEscape { continue }
            // Neither a hidden file nor an option of another command.
            if safe.isEmpty && (scalar == "." || scalar == "-") { continue }
            safe.append(scalar)
        }
        var text = String(safe)
        while text.utf8.count > bytesMax { text.removeLast() }
        return text
    }

    private static func index(_ type: MediaType?) -> String {
        switch type?.essence {
        case "text/gemini": "index.gmi"
        case "text/html": "index.html"
        case let essence? where essence.hasPrefix("text/"): "index.txt"
        default: "index"
        }
    }
}
