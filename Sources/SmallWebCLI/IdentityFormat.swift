// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb

/// An identity of another client: where its files are, and which URLs it is for.
struct ForeignIdentity: Equatable {
    /// As that client calls it; not yet safe to use.
    let name: String
    let certificate: String
    /// `nil` when it is in the same file.
    let key: String?
    let scopes: [String]

    /// A name that nobody has yet.
    func freeName(_ taken: [String]) -> String {
        let bytes = name.utf8.map { byte in
            IdentityStore.isName("a" + String(UnicodeScalar(byte))) ? byte : UInt8(ascii: "-")
        }
        var base = String(decoding: bytes, as: UTF8.self)
        while base.first == "." || base.first == "-" { base.removeFirst() }
        if base.isEmpty { base = "identity" }
        guard taken.contains(base) else { return base }
        return (2...).lazy.map { "\(base)-\($0)" }.first { !taken.contains($0) } ?? base
    }
}

/// How other clients keep client certificates.
enum IdentityFormat: String, CaseIterable {
    case amfora, astro, lagrange, offpunk, telescope
    case av98 = "av-98"

    static let names = allCases.map(\.rawValue).joined(separator: ", ")

    /// - Parameters:
    ///   - path: A file or directory, as the client keeps it; for av-98 a dump of its table.
    ///   - files: Where the certificates are, when that is somewhere else.
    /// - Throws: `read`.
    func identities(in path: String, files: String?) throws(FetchError) -> [ForeignIdentity] {
        switch self {
        case .astro: return try pairs(in: path, "crt") { ["gemini://\($0)/"] }
        case .lagrange: return try pairs(in: path, "crt") { _ in [] }
        case .offpunk:
            var found: [ForeignIdentity] = []
            for host in try Self.names(in: path) {
                let directory = "\(path)/\(host)"
                var status = stat()
                guard stat(directory, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
                    continue
                }
                found += try pairs(in: directory, "cert") { _ in ["gemini://\(host)/"] }
            }
            return found
        case .telescope:
            let text = try Self.text(of: path + "/certs.conf")
            return Self.telescope(text, files ?? path + "/certs")
        case .amfora: return Self.amfora(try Self.text(of: path))
        case .av98:
            guard let files else {
                throw usageError(
                    "av-98 keeps its certificates in a directory of their own",
                    hint: "sqlite3 -separator '|' DATABASE 'select hostname, port, root, filename "
                        + "from client_certs' > dump; smallweb identity import --from av-98 dump "
                        + "DIR")
            }
            return Self.av98(try Self.text(of: path), files)
        }
    }

    /// `NAME.EXTENSION` with `NAME.key` beside it.
    private func pairs(
        in directory: String, _ suffix: String, _ scopes: (String) -> [String]
    ) throws(FetchError) -> [ForeignIdentity] {
        try Self.names(in: directory).filter { $0.hasSuffix("." + suffix) }.map { file in
            let name = String(file.dropLast(suffix.count + 1))
            return ForeignIdentity(
                name: name, certificate: "\(directory)/\(file)", key: "\(directory)/\(name).key",
                scopes: scopes(name))
        }
    }

    /// Lines of `URL NAME`.
    static func telescope(_ text: String, _ directory: String) -> [ForeignIdentity] {
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
    static func amfora(_ text: String) -> [ForeignIdentity] {
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
                name: host, certificate: home(file),
                key: keys.first { $0.host == host }.map { home($0.file) },
                scopes: ["gemini://\(host)/"])
        }
    }

    /// Lines of `hostname|port|root|filename`.
    static func av98(_ text: String, _ directory: String) -> [ForeignIdentity] {
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
                key: "\(directory)/\(base).key", scopes: ["gemini://\(fields[0])\(port)\(root)"])
        }
    }

    private static func home(_ path: String) -> String {
        guard path.hasPrefix("~/"), let home = Environment.variable("HOME") else { return path }
        return home + path.dropFirst()
    }

    private static func text(of path: String) throws(FetchError) -> String {
        String(decoding: try InputSource.read("@" + path), as: UTF8.self)
    }

    private static func names(in path: String) throws(FetchError) -> [String] {
        guard let directory = opendir(path) else {
            let error = SystemError(number: errno)
            throw FetchError(
                .read, .input, "cannot read \(path): \(error.sentence)", errnoName: error.name)
        }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            names.append(
                withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                    pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                })
        }
        return names.filter { !$0.hasPrefix(".") }.sorted()
    }
}
