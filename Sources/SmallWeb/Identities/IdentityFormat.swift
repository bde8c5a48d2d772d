// SPDX-License-Identifier: MIT

/// An identity of another client: its files and URLs.
package struct ForeignIdentity: Sendable, Hashable {
    /// Its name in that client; not yet safe to use.
    package let name: String
    package let certificate: String
    /// `nil` when it is in the same file.
    package let key: String?
    /// URLs, or `//host/path` where the client knows one scheme only.
    package let scopes: [String]

    package init(name: String, certificate: String, key: String?, scopes: [String]) {
        self.name = name
        self.certificate = certificate
        self.key = key
        self.scopes = scopes
    }
}

/// Formats of other clients' client certificates. Pure: their text is parsed for names of files.
package enum IdentityFormat: String, Sendable, CaseIterable {
    case amfora, astro, lagrange, offpunk, telescope
    case av98 = "av-98"

    /// The identities in the client's own text; none for clients that have only directories.
    ///
    /// - Parameter directory: The directory of its files.
    package func identities(inText text: String, directory: String) -> [ForeignIdentity] {
        switch self {
        case .telescope: Self.telescope(text, directory)
        case .amfora: Self.amfora(text)
        case .av98: Self.av98(text, directory)
        case .astro, .lagrange, .offpunk: []
        }
    }

    /// Lines of `URL NAME`.
    private static func telescope(_ text: String, _ directory: String) -> [ForeignIdentity] {
        var scopes: [(name: String, urls: [String])] = []
        for line in text.unicodeScalars.split(separator: "\n") {
            let words = line.split { $0 == " " || $0 == "\t" || $0 == "\r" }.map { String($0) }
            guard words.count == 2, !words[0].hasPrefix("#"), !words[1].contains("/") else {
                continue
            }
            if let index = scopes.firstIndex(where: { $0.name == words[1] }) {
                scopes[index].urls.append(words[0])
            } else {
                scopes.append((words[1], [words[0]]))
            }
        }
        return scopes.map {
            ForeignIdentity(
                name: $0.name, certificate: "\(directory)/\($0.name)", key: nil, scopes: $0.urls)
        }
    }

    /// The sections `[auth.certs]` and `[auth.keys]` of config.toml: `"HOST" = "FILE"`.
    private static func amfora(_ text: String) -> [ForeignIdentity] {
        var section = ""
        var files: [String: [(host: String, file: String)]] = [:]
        for line in text.unicodeScalars.split(separator: "\n") {
            let line = String(line.drop { $0 == " " || $0 == "\t" })
            if line.hasPrefix("[") {
                section = String(line.prefix { $0 != "]" }.dropFirst())
            } else if let equals = line.firstIndex(of: "="), !line.hasPrefix("#") {
                let words = [line[..<equals], line[line.index(after: equals)...]].map { text in
                    String(text.filter { !"\"' \t\r".contains($0) })
                }
                files[section, default: []].append((words[0], words[1]))
            }
        }
        let keys = files["auth.keys"] ?? []
        return (files["auth.certs"] ?? []).map { host, file in
            ForeignIdentity(
                name: host, certificate: file,
                key: keys.first { $0.host == host }?.file,
                scopes: ["//\(host)/"])
        }
    }

    /// Lines of `hostname|port|root|filename`.
    private static func av98(_ text: String, _ directory: String) -> [ForeignIdentity] {
        text.unicodeScalars.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: "|", omittingEmptySubsequences: false)
                .map { String($0) }
            guard fields.count >= 4, !fields[3].isEmpty, !fields[3].contains("/") else {
                return nil
            }
            let port = fields[1].isEmpty ? "" : ":" + fields[1]
            let root = fields[2].hasPrefix("/") ? fields[2] : "/" + fields[2]
            let base = fields[3].hasSuffix(".crt") ? String(fields[3].dropLast(4)) : fields[3]
            return ForeignIdentity(
                name: base, certificate: "\(directory)/\(base).crt",
                key: "\(directory)/\(base).key", scopes: ["//\(fields[0])\(port)\(root)"])
        }
    }
}
