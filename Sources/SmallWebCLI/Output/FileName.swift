// SPDX-License-Identifier: MIT
internal import SmallWeb

/// Safe file names derived from any URL.
enum FileName {
    /// Leaves room for `.part`, a number and a process id within the usual 255.
    private static let bytesMax = 200

    /// The protocol's suggestion, or the last part of the path; `index` if that is empty.
    static func name(for uri: URI, head: Head?) -> String {
        let safe = head?.suggestedName.map(sanitise) ?? lastPart(of: uri)
        return safe.isEmpty ? index(head?.mediaType) : safe
    }

    /// The name from the URL alone; `nil` if it depends on the reply.
    static func name(for uri: URI) -> String? {
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
