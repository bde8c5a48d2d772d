// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebPlugins

/// Completes URLs from bookmarks, history and the trust store: first the scheme, then the host,
/// then one path segment at a time, like a shell's directories.
struct URLCompletion {
    private(set) var candidates: [Completion.Candidate] = []
    private(set) var flags: Set<Completion.Flag> = []

    /// Number of visits offered for an empty word.
    private static let latestMax = 20

    private let registry: Registry
    private let schemes: [Scheme]
    private let canUse: (Scheme) -> Bool

    /// - Parameter canUse: Selects the schemes that the command accepts.
    init(_ word: String, _ registry: Registry, canUse: @escaping (Scheme) -> Bool) {
        self.registry = registry
        self.canUse = canUse
        schemes = registry.schemes.filter(canUse)
        if word.isEmpty {
            offerLatest()
        } else if let place = word.range(ofText: "://") {
            let rest = word[place.upperBound...]
            if let query = word.range(ofText: "?ref=") {
                offerReferences(word, query)
            } else if let slash = rest.firstIndex(of: "/") {
                offerSegments(word, lead: String(word[...slash]))
            } else {
                offerHosts(word, scheme: String(word[..<place.lowerBound]).lowercased())
            }
        } else if word.allSatisfy({ $0.isASCII && !$0.isWhitespace }) {
            offerSchemes(word)
        }
    }

    private mutating func offerLatest() {
        var seen: Set<String> = []
        for bookmark in Self.bookmarks
        where isOfUse(bookmark.url) && seen.insert(bookmark.url).inserted {
            candidates.append(.init(text: bookmark.url, description: bookmark.title))
        }
        for url in Self.visits(Self.latestMax)
        where isOfUse(url) && seen.insert(url).inserted {
            candidates.append(.init(text: url, description: ""))
        }
        flags = [.keepOrder]
    }

    private func isOfUse(_ url: String) -> Bool {
        URI.scheme(of: url).map { name in schemes.contains { $0.name == name } } ?? false
    }

    /// Offers schemes. If none has the typed prefix, offers known hosts with that prefix or with
    /// the text after a dot, each with the scheme of its last visit.
    private mutating func offerSchemes(_ word: String) {
        let text = word.lowercased()
        let programs = PluginFolders.schemes().filter { program in
            canUse(program) && !schemes.contains { $0.name == program.name }
        }
        for scheme in schemes + programs where (scheme.name + "://").hasPrefix(text) {
            candidates.append(.init(text: scheme.name + "://", description: scheme.summary))
        }
        if !candidates.isEmpty { return flags = [.nospace] }
        let home = schemes.first { $0.isDefaultForHosts } ?? schemes.first { $0.trust == .tofu }
        let trusted = home.map { home in
            Self.trustedHosts(defaultPort: home.defaultPort).map { "\(home.name)://\($0)/" }
        }
        var found: [(url: String, begins: Bool)] = []
        var seen: Set<Substring> = []
        for url in known + (trusted ?? []) {
            guard let (scheme, host, _) = Self.parts(url), !seen.contains(host) else { continue }
            let begins = host.hasPrefix(text)
            guard begins || host.contains(word: "." + text) else { continue }
            seen.insert(host)
            found.append(("\(scheme)://\(host)/", begins))
        }
        // Prefer matches of the beginning.
        if found.contains(where: \.begins) { found.removeAll { !$0.begins } }
        candidates = found.map { .init(text: $0.url, description: "") }
        if !candidates.isEmpty { flags = [.nospace, .replace] }
    }

    private mutating func offerReferences(
        _ word: String, _ query: Range<String.Index>
    ) {
        let url = String(word[..<query.lowerBound])
        for name in RefCache.names(of: url, beginningWith: word[query.upperBound...]) {
            candidates.append(.init(text: word[..<query.upperBound] + name, description: ""))
        }
    }

    private mutating func offerHosts(_ word: String, scheme: String) {
        var hosts: [String: Bool] = [:]
        for url in known {
            guard let (name, host, path) = Self.parts(url), name == scheme else { continue }
            let text = "\(name)://\(host)"
            guard text.hasPrefix(word) else { continue }
            hosts[text] = hosts[text] ?? false || path.count > 1
        }
        if let entry = registry[scheme], entry.scheme.trust == .tofu {
            for host in Self.trustedHosts(defaultPort: entry.scheme.defaultPort) {
                let text = "\(scheme)://\(host)"
                if text.hasPrefix(word) { hosts[text] = hosts[text] ?? false }
            }
        }
        for host in hosts.keys.sorted() {
            // An address such as user@host often ends with its host.
            let isWhole =
                registry[scheme]?.scheme.isUserPartOfAddress ?? false
                && hosts[host] == false
            candidates.append(.init(text: isWhole ? host : host + "/", description: ""))
        }
        if candidates.count != 1 || candidates[0].text.hasSuffix("/") { flags = [.nospace] }
    }

    /// Offers visited URLs below the last typed slash, up to the next slash.
    private mutating func offerSegments(_ word: String, lead: String) {
        let start = String(word[...(word.lastIndex(of: "/") ?? word.startIndex)])
        var titles: [String: String] = [:]
        for bookmark in Self.bookmarks { titles[bookmark.url] = bookmark.title }
        var seen: Set<String> = []
        for url in known where url.hasPrefix(word) {
            let rest = url.dropFirst(start.count)
            let segment = rest.prefix { $0 != "/" }
            let isDirectory = rest.count > segment.count
            let text = start + segment + (isDirectory ? "/" : "")
            guard text != start, seen.insert(text).inserted else { continue }
            candidates.append(.init(text: text, description: titles[text] ?? ""))
        }
        candidates.sort { $0.text < $1.text }
        if candidates.contains(where: { $0.text.hasSuffix("/") }) { flags = [.nospace] }
        // A page with others below it: the line may continue with either.
        if candidates.count == 2, candidates[1].text == candidates[0].text + "/" {
            flags = [.nospace]
        }
    }

    /// Bookmarks, then visits from the latest to the first.
    private var known: [String] {
        (Self.bookmarks.map(\.url) + Self.visits(History.entriesMax)).filter(isOfUse)
    }

    /// Completion ignores unreadable files.
    static var bookmarks: [Bookmarks.Bookmark] { (try? Bookmarks.all()) ?? [] }

    private static func visits(_ count: Int) -> [String] { (try? History.latest(count)) ?? [] }

    private static func parts(
        _ url: String
    ) -> (scheme: Substring, host: Substring, path: Substring)? {
        guard let place = url.range(ofText: "://") else { return nil }
        let host = url[place.upperBound...].prefix { $0 != "/" }
        return host.isEmpty ? nil : (url[..<place.lowerBound], host, url[host.endIndex...])
    }

    /// The hosts of the trust store, with ports other than the default.
    static func trustedHosts(defaultPort: UInt16) -> [String] {
        guard let path = try? ConnectionSettings().knownHosts(),
            let bytes = try? FileBytes.end(of: path, limit: 4 << 20)
        else { return [] }
        let suffix = ":\(defaultPort)"
        return String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).compactMap
        {
            let place = $0.prefix { $0 != " " }
            guard let first = place.first, first != "#", first != "\0" else { return nil }
            return String(place.hasSuffix(suffix) ? place.dropLast(suffix.count) : place)
        }
    }
}

extension Substring {
    /// Substring search without Foundation.
    fileprivate func contains(word: String) -> Bool {
        indices.contains { self[$0...].hasPrefix(word) }
    }
}
