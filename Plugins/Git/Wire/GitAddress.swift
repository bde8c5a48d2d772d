// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// The parts of a Git URL: a repository, a path in it after `//`, its version in `?ref=`, and
/// another query in place of these. Pure.
struct GitAddress: Hashable, Sendable {
    /// Without path in the repository, query and fragment; `http` or `https` for smart HTTP.
    let repository: URI
    /// Components of the path to a file or directory; `nil` asks for the references.
    let path: [[UInt8]]?
    let question: GitQuestion
    /// A branch, tag, full reference or object id; `nil` is `HEAD`.
    var version: String? { question.version }
    private let query: String?
    /// The URL up to the path in the repository.
    private let base: String

    /// - Throws: `bad-url` for a URL that cannot be sent, and for an unknown query; its hint is the
    ///   URL that it was meant to be, if there is one.
    init(_ uri: URI) throws(FetchError) {
        do throws(FetchError) { try self.init(exactly: uri) } catch {
            var error = error
            if let meant = Self.meant(uri), (try? GitAddress(exactly: meant)) != nil {
                error.hint = meant.display
            }
            throw error
        }
    }

    /// The URL with a version that stands alone, or behind a flag, in a key of its own, and with
    /// two slashes before a path.
    private static func meant(_ uri: URI) -> URI? {
        guard let query = uri.query else { return nil }
        var (meant, hasVersion) = (uri, false)
        meant.query = query.split(separator: "&").map { field in
            let name = field.prefix { $0 != "=" }
            let isAlone = name == field && !GitQuestion.isKey(name)
            hasVersion = hasVersion || isAlone || name == GitQuestion.Key.version.name
            let isFlag = name == GitQuestion.Key.tar.name && name != field
            let value = field.dropFirst(name.count + 1)
            return isFlag ? "ref=\(value)&tar=1" : isAlone ? "ref=\(name)" : String(field)
        }.joined(separator: "&")
        guard !uri.path.contains(text: "//") else { return meant }
        if uri.path.contains(text: ".git/") {
            meant.path = uri.path.replacing(text: ".git/", with: ".git//")
        } else if hasVersion, (try? GitQuestion(meant.query))?.kind == .content {
            meant.path += "//"
        }
        return meant
    }

    private init(exactly uri: URI) throws(FetchError) {
        guard uri.userinfo == nil else {
            throw .badURL("no user name can be given", hint: "leave it out of the URL")
        }
        let text = Array(uri.path.utf8)
        let marks = text.indices.dropFirst(2)
        let mark = marks.first { text[$0] == ASCII.slash && text[$0 - 1] == ASCII.slash }
        var repository = uri.withoutFragment
        repository.query = nil
        repository.path = String(
            decoding: text[..<(mark.map { $0 - 1 } ?? text.count)], as: UTF8.self)
        base = repository.description
        if uri.scheme.hasPrefix("git+") { repository.scheme = String(uri.scheme.dropFirst(4)) }
        while repository.path.utf8.count > 1 && repository.path.hasSuffix("/") {
            repository.path.removeLast()
        }
        self.repository = repository
        guard repository.path.utf8.count > 1 else {
            throw .badURL("no repository in the URL", hint: "write git://host/path/to/repository")
        }
        _ = try Self.decoded(repository.path)
        let inside = try mark.map { mark throws(FetchError) in
            try text[mark...].split(separator: ASCII.slash).map { name throws(FetchError) in
                try Self.name(name)
            }
        }
        query = uri.query
        var question = try GitQuestion(uri.query)
        switch question.kind {
        case .tar: path = inside
        case .content:
            guard question.version == nil || inside != nil else {
                throw .badURL(
                    "?ref= without a path", hint: "write …/repository//path?ref=version")
            }
            path = inside
        case .log, .difference:
            if let inside, !inside.isEmpty { question.limit(to: inside) }
            path = nil
        case .describe, .references, .object:
            guard inside == nil else {
                throw .badURL(
                    "a path in the repository before \"?\(uri.query ?? "")\"",
                    hint: "name the repository alone")
            }
            path = nil
        }
        self.question = question
    }

    /// True for everything but the list of references.
    var isOfContents: Bool {
        question.kind == .content ? path != nil : question.kind != .references
    }

    /// The versions to look up; `nil` for `HEAD`.
    var versions: [String?] { question.range.map { [$0.from, $0.to] } ?? [version] }

    /// The first packet of a git:// connection (gitprotocol-pack(5)). Parameters other than the
    /// host follow a second NUL, where servers from before protocol version 1 stop reading.
    func daemonRequest(_ version: Int) throws(FetchError) -> [UInt8] {
        var path = try Self.decoded(repository.path)
        if path.starts(with: "/~".utf8) { path.removeFirst() }
        let host = repository.hostAndPort ?? ""
        return try PktLine.encode(
            Array("git-upload-pack ".utf8) + path + Array("\0host=\(host)\0".utf8)
                + Array((version > 0 ? "\0version=\(version)\0" : "").utf8))
    }

    /// The URL of another path in the same version of the repository.
    func url(of path: [[UInt8]]) -> String { Self.url(base, path, version) }

    /// The URL that shows one commit in full.
    func url(ofCommit id: ObjectID) -> String { "\(base)?log=\(id)&n=1&format=full" }

    /// The URL of a version's root directory.
    func url(ofVersion name: String) -> String { Self.url(base, [], name) }

    /// This URL in a repository that has moved to an http(s) URL.
    func url(at repository: URI) -> String {
        Self.url("git+\(repository)", path, nil) + (query.map { "?\($0)" } ?? "")
    }

    private static func url(_ base: String, _ path: [[UInt8]]?, _ version: String?) -> String {
        guard let path else { return base }
        let names = path.map { PercentEncoding.encode($0, also: "!$&'()*+,;=:@") }
        let query = version.map { "?ref=" + PercentEncoding.encode($0.utf8, also: "/") } ?? ""
        return base + "//" + names.joined(separator: "/") + query
    }

    private static func name(_ encoded: ArraySlice<UInt8>) throws(FetchError) -> [UInt8] {
        let name = PercentEncoding.decode(String(decoding: encoded, as: UTF8.self))
        let isDots = name.count <= 2 && name.allSatisfy { $0 == ASCII.dot }
        guard !isDots && !name.contains(ASCII.slash) && !name.contains(ASCII.nul) else {
            throw .badURL("no tree has the name \"\(String(decoding: name, as: UTF8.self))\"")
        }
        return name
    }

    /// Decodes text, and refuses control characters: they could end a field on the wire.
    private static func decoded(_ text: String) throws(FetchError) -> [UInt8] {
        let bytes = PercentEncoding.decode(text)
        guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw .badURL("a control character in the URL")
        }
        return bytes
    }
}
