// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebFormats

/// The reason why a crawl does not follow a link, by its word in records.
enum CrawlRefusal: String, CaseIterable {
    case unsupported, upload, userinfo, input, port, scope, depth, excluded, nofollow, embedded
    case notIncluded = "not-included"
    case trapLength = "trap-length", trapDepth = "trap-depth", trapSegment = "trap-segment"
    case trapQueries = "trap-queries", trapDirectory = "trap-directory"

    /// Judges a link by its nature; `nil` if it may be followed. A link whose scheme has no plugin
    /// is ``unsupported`` as well.
    static func judge(
        _ key: CrawlKey, _ kind: Item.Kind, _ scheme: Scheme, _ crawling: Crawling?
    ) -> CrawlRefusal? {
        let (uri, type) = (key.uri, key.itemType)
        func isOne(of types: String?) -> Bool { type.map { types?.contains($0) ?? false } ?? false }
        if scheme.uploads?.isOnlyUse ?? false { return .upload }
        if uri.userinfo != nil { return .userinfo }
        if [.search, .input].contains(kind) || isOne(of: crawling?.inputTypes) { return .input }
        // A tab begins search words; where lines of pages are prompts, a query is an upload.
        if type != nil && uri.path.contains(text: "%09") { return .input }
        if scheme.hasPromptLines && !(uri.query ?? "").isEmpty { return .input }
        if crawling == nil || kind == .telnet || isOne(of: crawling?.foreignTypes) {
            return .unsupported
        }
        return scheme.isForeign(uri.port) ? .port : nil
    }
}

/// A URL in its normal form, and the key that all URLs of one page share. Pure.
struct CrawlKey {
    /// Without fragment and default port; dot segments are resolved where the scheme has them.
    let uri: URI
    /// ``uri`` without its item type.
    let text: String
    /// The path without its item type.
    let path: String
    /// `nil` for schemes without item types.
    let itemType: Character?
    /// ``text`` up to the path, up to the last slash of the path, and up to the query.
    let place, directory, page: Substring

    /// - Parameter uri: With an ASCII host.
    init(_ uri: URI, _ scheme: Scheme, _ crawling: Crawling?) {
        var normal = uri.withoutFragment
        if uri.port == scheme.defaultPort { normal.port = nil }
        if let host = uri.host, host.utf8.last == ASCII.dot {
            normal.host = String(host.dropLast())
        }
        if uri.path.isEmpty, uri.host != nil { normal.path = "/" }
        // Nothing else in a URI has more than one form.
        if uri.path.utf8.contains(ASCII.percent) { normal.path = Self.normal(uri.path) }
        if let query = uri.query { normal.query = Self.normal(query) }
        if !scheme.keepsDotSegments, normal.path.contains(text: "/.") {
            normal = normal.removingDotSegments()
        }
        self.uri = normal
        if crawling?.hasItemType ?? false {
            let type = normal.path.dropFirst().prefix(normal.path.hasPrefix("/%") ? 3 : 1)
            itemType = type.isEmpty ? crawling?.menuTypes.first : type.first
            normal.path = "/" + normal.path.dropFirst(1 + type.count)
            path = String(normal.path.dropFirst())
        } else {
            (itemType, path) = (nil, normal.path)
        }
        text = normal.description
        let pageEnd = text.utf8.firstIndex(of: ASCII.questionMark) ?? text.endIndex
        let start = text.utf8.index(pageEnd, offsetBy: -normal.path.utf8.count)
        let slash = text.utf8[start..<pageEnd].lastIndex(of: ASCII.slash)
        (place, page) = (text[..<start], text[..<pageEnd])
        directory = text[..<(slash.map(text.utf8.index(after:)) ?? start)]
    }

    private static func normal(_ text: String) -> String {
        String(decoding: PercentEncoding.normalised(text.utf8), as: UTF8.self)
    }
}

/// The pages that a crawl may ask for, by their URLs alone. Pure.
struct CrawlScope {
    enum Extent: String, CaseIterable {
        /// Below the directory of a seed.
        case prefix
        /// At the place of a seed.
        case host
        /// By the scheme of a seed.
        case any
    }

    let extent: Extent
    /// Links from a seed; `nil` for any number.
    var depthMax: Int?
    /// Expressions for the URL; one of them must match it, if there are any.
    var included: [ExtendedExpression] = []
    /// These come first.
    var excluded: [ExtendedExpression] = []
    /// Beginnings of keys in scope, and their lengths in bytes.
    private var (starts, lengths): (Set<String>, Set<Int>) = ([], [])

    init(_ extent: Extent) { self.extent = extent }

    /// Adds the scope of a seed. The seed itself is not judged by ``refusal(of:depth:)``.
    mutating func add(_ seed: CrawlKey, _ scheme: Scheme, _ crawling: Crawling?) {
        var beginnings = [start(of: seed, menuTypes: crawling?.menuTypes ?? "")]
        // A place usually redirects to its secure form.
        if let secure = scheme.secureForm, seed.uri.port == nil {
            beginnings.append(secure + beginnings[0].dropFirst(scheme.name.utf8.count))
        }
        starts.formUnion(beginnings)
        lengths.formUnion(beginnings.map(\.utf8.count))
    }

    private func start(of seed: CrawlKey, menuTypes: String) -> String {
        if extent == .any { return seed.uri.scheme + ":" }
        if extent == .host || seed.path == "/" { return seed.place + "/" }
        let name = seed.page[seed.directory.endIndex...]
        // A menu is a directory, even if its selector does not end in a slash.
        let isMenu = seed.itemType.map(menuTypes.contains) ?? false
        let isDirectory = isMenu && !name.isEmpty && !name.contains(".")
        return isDirectory ? seed.page + "/" : String(seed.directory)
    }

    /// - Parameter embedding: The place of the page that embeds the URL, which then may be anywhere
    ///   at this place, and as deep as the page; `nil` for a link.
    /// - Throws: `interrupted`, `timeout`.
    func refusal(
        of key: CrawlKey, depth: Int, embedding: Substring? = nil
    ) throws(FetchError) -> CrawlRefusal? {
        let depth = embedding == nil ? depth : depth - 1
        guard contains(key) || key.place == embedding else { return .scope }
        if let depthMax, depth > depthMax { return .depth }
        let url = Array(key.uri.description.utf8)[...]
        for expression in excluded where try expression.matches(in: url) { return .excluded }
        for expression in included where try expression.matches(in: url) { return nil }
        return included.isEmpty ? nil : .notIncluded
    }

    private func contains(_ key: CrawlKey) -> Bool {
        let text = key.text.utf8
        return zip(1..., key.page.utf8.indices).contains { length, index in
            let isEnd = text[index] == ASCII.slash || text[index] == ASCII.colon
            return isEnd && lengths.contains(length) && starts.contains(String(key.text[...index]))
        }
    }
}
