// SPDX-License-Identifier: MIT
internal import SmallWeb
@testable internal import SmallWebCLI
internal import SmallWebFormats
internal import SmallWebTestSupport
internal import Testing

/// A scheme with its facts, as plugins have them.
private struct Facts {
    let scheme: Scheme
    var crawling: Crawling?

    static let all: [String: Facts] = {
        var menus = Crawling(robots: ["/0robots.txt", "/0/robots.txt"])
        menus.hasItemType = true
        (menus.menuTypes, menus.inputTypes, menus.foreignTypes) = ("1", "7", "28T")
        menus.indexName = "index.menu"
        var pages = Crawling(robots: ["/robots.txt"])
        pages.indexName = "index.gmi"
        let list: [(String, UInt16, Scheme.Transport, Crawling?)] = [
            ("gemini", 1965, .tls, pages), ("spartan", 300, .tcp, pages), ("http", 80, .own, pages),
            ("https", 443, .own, pages), ("gopher", 70, .tcp, menus), ("titan", 1965, .tls, nil),
            ("finger", 79, .tcp, nil),
        ]
        return Dictionary(
            uniqueKeysWithValues: list.map { name, port, transport, crawling in
                let scheme = Scheme(
                    name, plugin: name, port: port, transport: transport, summary: ""
                ) {
                    if ["gopher", "finger"].contains(name) { $0.pathForm = .opaque }
                    if name == "http" { $0.secureForm = "https" }
                    if name == "https" { $0.trust = .ca }
                    $0.hasPromptLines = name == "spartan"
                    guard name == "titan" else { return }
                    $0.uploads = .init(isOnlyUse: true, mediaType: "text/gemini", replySchemes: [])
                }
                return (name, Facts(scheme: scheme, crawling: crawling))
            })
    }()
}

private func facts(_ url: String) throws -> Facts {
    try #require(URI.scheme(of: url).flatMap { Facts.all[$0] })
}

private func key(_ url: String) throws -> CrawlKey {
    let kind = try facts(url)
    return CrawlKey(try URI(parsing: url), kind.scheme, kind.crawling)
}

private func mirror(_ url: String) throws -> [String] {
    try MirrorName.components(
        of: try key(url), index: try facts(url).crawling?.indexName ?? "index")
}

@Suite struct CrawlKeyTests {
    @Test(arguments: [
        ("GEMINI://H.test:1965", "gemini://h.test/"), ("gemini://h.test./a#f", "gemini://h.test/a"),
        ("gemini://h/a/../%2e%2e/%7Eb/./c?", "gemini://h/~b/c?"),
        ("gemini://h:1966", "gemini://h:1966/"),
        ("gemini://h/%e4%2f%61?%3d", "gemini://h/%E4%2Fa?%3D"),
        ("http://[::1]:80/", "http://[::1]/"),
        ("gopher://h", "gopher://h/"), ("gopher://h/1", "gopher://h/"),
        ("gopher://h/1/", "gopher://h//"),
        ("gopher://h:70/0/a/../b", "gopher://h//a/../b"),
        ("gopher://h/1/a/../b", "gopher://h//a/../b"),
        ("gopher://h/%3Ba", "gopher://h/a"), ("gopher://h/0a?b", "gopher://h/a?b"),
        ("gopher://h/%31a", "gopher://h/a"), ("http://h//a", "http://h//a"),
        ("gemini://u@h/", "gemini://u@h/"), ("gemini://h/A", "gemini://h/A"),
    ])
    func isTheSameForOnePage(_ url: String, _ text: String) throws {
        let key = try key(url)
        #expect(key.text == text)
        #expect(key.uri.description.utf8.count >= text.utf8.count - 1)
        // The normal form has the same key, and is itself normal.
        let again = try self.again(key)
        #expect(again.text == text && again.uri == key.uri)
    }

    private func again(_ key: CrawlKey) throws -> CrawlKey {
        let kind = try facts(key.uri.description)
        return CrawlKey(key.uri, kind.scheme, kind.crawling)
    }

    @Test func hasItsParts() throws {
        let page = try key("gemini://h:7/a/b?c/d")
        #expect(page.place == "gemini://h:7" && page.page == "gemini://h:7/a/b")
        #expect(page.directory == "gemini://h:7/a/" && page.path == "/a/b")
        let menu = try key("gopher://h/1/a/b")
        #expect(menu.itemType == "1" && menu.path == "/a/b" && menu.directory == "gopher://h//a/")
        #expect(menu.uri.path == "/1/a/b")
        #expect(try key("gopher://h").itemType == "1")
    }
}

@Suite struct CrawlScopeTests {
    private func scope(_ extent: CrawlScope.Extent, _ seeds: String...) throws -> CrawlScope {
        var scope = CrawlScope(extent)
        for seed in seeds {
            scope.add(try key(seed), try facts(seed).scheme, try facts(seed).crawling)
        }
        return scope
    }

    private func refusal(_ scope: CrawlScope, _ url: String, depth: Int = 1) throws -> String? {
        try scope.refusal(of: try key(url), depth: depth)?.rawValue
    }

    @Test(arguments: [
        ("gemini://h/~a/", "gemini://h/~a/b/c", true), ("gemini://h/~a/", "gemini://h/~ab", false),
        ("gemini://h/~a/i.gmi?q/", "gemini://h/~a/x", true),
        ("gemini://h/~a", "gemini://h/~b", true),
        ("gemini://h/~a/", "gemini://h:1965/%7Ea/b", true),
        ("gemini://h/~a/", "gemini://i/~a/", false),
        ("gemini://h/~a/", "gemini://h/~a/../b", false),
        ("gemini://h/~a/", "gemini://h/x?/~a/", false),
        ("gemini://h", "gemini://h/x", true), ("gemini://h", "gemini://h.test/x", false),
        ("gemini://h", "gemini://h:1966/", false), ("gemini://h/", "spartan://h/", false),
        ("http://h/a/", "https://h/a/b", true), ("https://h/a/", "http://h/a/b", false),
        ("http://h:8080/a/", "https://h:8080/a/b", false),
        ("gopher://h/1/a/b", "gopher://h/0/a/b/c", true),
        ("gopher://h/1/a/b", "gopher://h/0/a/c", false),
        ("gopher://h/0/a/b", "gopher://h/1/a/c", true),
        ("gopher://h/1/a/i.gph", "gopher://h/0/a/c", true),
        ("gopher://h/1/a/", "gopher://h/I/a/c", true), ("gopher://h/1a/b", "gopher://h/1c", false),
        ("gopher://h", "gopher://h/0x/y", true), ("gopher://h/1/", "gopher://h/0x/y", true),
        ("gopher://h", "gopher://h/0/x/y", true), ("gopher://h/0a", "gopher://h/1b", true),
    ])
    func aPrefixIsADirectory(_ seed: String, _ url: String, _ isIn: Bool) throws {
        #expect(try refusal(scope(.prefix, seed), url) == (isIn ? nil : "scope"))
    }

    @Test func otherExtents() throws {
        let host = try scope(.host, "gemini://h/a/b", "gopher://h/1/c")
        #expect(try refusal(host, "gemini://h/x") == nil)
        #expect(try refusal(host, "gopher://h/0y") == nil)
        #expect(try refusal(host, "gemini://h2/") == "scope")
        #expect(try refusal(host, "gemini://u@h/") == "scope")
        let any = try scope(.any, "gemini://h/a", "http://h/")
        #expect(try refusal(any, "gemini://other/") == nil)
        #expect(try refusal(any, "https://other/") == nil)
        #expect(try refusal(any, "gopher://h/") == "scope")
        #expect(try refusal(scope(.prefix), "gemini://h/") == "scope")
        let two = try scope(.prefix, "gemini://h/a/", "gemini://longer.test/b/c/")
        #expect(try refusal(two, "gemini://longer.test/b/c/d") == nil)
        #expect(try refusal(two, "gemini://longer.test/b/d") == "scope")
    }

    @Test func expressionsAndDepthNarrowIt() throws {
        var scope = try scope(.host, "gemini://h/", "gopher://h/")
        scope.depthMax = 3
        scope.excluded = [
            try ExtendedExpression("/cgi-bin/"), try ExtendedExpression("^gopher://h/9"),
        ]
        #expect(try refusal(scope, "gemini://h/a", depth: 3) == nil)
        #expect(try refusal(scope, "gemini://h/a", depth: 4) == "depth")
        #expect(try refusal(scope, "gemini://i/a", depth: 4) == "scope")
        #expect(try refusal(scope, "gemini://h/cgi%2Dbin/") == "excluded")
        #expect(try refusal(scope, "gopher://h/9/a") == "excluded")
        scope.included = [try ExtendedExpression("\\.gmi$"), try ExtendedExpression("/$")]
        #expect(try refusal(scope, "gemini://h/a/") == nil)
        #expect(try refusal(scope, "gemini://h/a.gmi") == nil)
        #expect(try refusal(scope, "gemini://h/cgi-bin/a.gmi") == "excluded")
        #expect(try refusal(scope, "gemini://h/a.png") == "not-included")
    }

    @Test(
        arguments: [
            ("gemini://h/", Item.Kind.link, nil), ("gemini://h/?q", .link, nil),
            ("gemini://u@h/", .link, "userinfo"), ("titan://h/a", .link, "upload"),
            ("finger://h/a", .link, "unsupported"), ("spartan://h/", .input, "input"),
            ("spartan://h/a?data", .link, "input"), ("spartan://h/a?", .link, nil),
            ("gopher://h/1/a", .search, "input"), ("gopher://h/7/a", .link, "input"),
            ("gopher://h/7/a%09b", .text, "input"), ("gopher://h/1/a%09b", .menu, "input"),
            ("gopher://h/8/a", .link, "unsupported"), ("gopher://h/Ta", .link, "unsupported"),
            ("gopher://h/1a", .telnet, "unsupported"), ("gopher://h/1/78T", .menu, nil),
            ("http://h/", .external, nil), ("gopher://h:25/1", .menu, "port"),
            ("http://h:6379/", .link, "port"), ("gemini://h:25/", .link, nil),
            ("https://h:25/", .link, nil), ("gopher://h:7070/", .menu, nil),
            ("gemini://h/a%09b", .link, nil),
        ] as [(String, Item.Kind, String?)])
    func someLinksAreNeverFollowed(_ url: String, _ kind: Item.Kind, _ word: String?) throws {
        let facts = try facts(url)
        let refusal = CrawlRefusal.judge(try key(url), kind, facts.scheme, facts.crawling)
        #expect(refusal?.rawValue == word)
    }

    /// All ports that browsers refuse (WHATWG Fetch §2.9, June 2026), and more that take lines.
    @Test func noPlainLinkLeadsToAnotherService() throws {
        let browsers = """
            0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110
            111 113 115 117 119 123 135 137 139 143 161 179 389 427 465 512 513 514 515 526 530 531
            532 540 548 554 556 563 587 601 636 989 990 993 995 1719 1720 1723 2049 3659 4045 4190
            5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080
            """.split(whereSeparator: \.isWhitespace).compactMap { UInt16($0) }
        #expect(browsers.count == 83)
        let usual: [UInt16] = [70, 80, 300, 443, 1900, 1961, 1965, 6775, 7070, 8080, 1024, 65_535]
        for (name, facts) in Facts.all where facts.crawling != nil {
            #expect(facts.scheme.isForeign(0) != facts.scheme.isSecure, "not in any URL")
            func refusal(_ port: UInt16) throws -> String? {
                let key = try key("\(name)://h:\(port)/")
                return CrawlRefusal.judge(key, .link, facts.scheme, facts.crawling)?.rawValue
            }
            for port in browsers.dropFirst() + [445, 3306, 5432, 6379, 9200, 11_211, 27_017] {
                let word = facts.scheme.isSecure ? nil : "port"
                #expect(try refusal(port) == word, "\(name), \(port)")
            }
            for port in usual { #expect(try refusal(port) == nil, "\(name), \(port)") }
        }
        // The port of the scheme itself.
        #expect(try !facts("finger://h").scheme.isForeign(79))
    }
}

@Suite struct CrawlTrapTests {
    private func path(_ count: Int, _ word: String = "a") -> String {
        (0..<count).map { "/\(word)\($0)" }.joined()
    }

    @Test func stopsAtLongAndRepetitivePaths() throws {
        let word = { (url: String) in CrawlTraps.refusal(ofShape: try key(url))?.rawValue }
        #expect(try word("gemini://h" + path(32)) == nil)
        #expect(try word("gemini://h" + path(32) + "/") == nil)
        #expect(try word("gemini://h" + path(33)) == "trap-depth")
        #expect(try word("gopher://h/1" + path(32)) == nil)
        #expect(try word("gopher://h/1" + path(33)) == "trap-depth")
        #expect(try word("gemini://h/2011/11/11/") == nil)
        #expect(try word("gemini://h/a/b/a/b/a") == "trap-segment")
        #expect(try word("gemini://h/a/A/b/a") == nil)
        #expect(try word("gemini://h/a//b//") == nil)
        #expect(try word("gemini://h/a////b") == "trap-segment")
        #expect(try word("gopher://h/1/a/b/a/a") == "trap-segment")
        let long = "gemini://h/" + String(repeating: "x", count: CrawlTraps.bytesMax - 11)
        #expect(try word(long) == nil)
        #expect(try word(long + "x") == "trap-length")
    }

    @Test func countsQueriesAndPages() throws {
        var traps = CrawlTraps()
        for query in 0..<200 {
            #expect(traps.refusal(of: try key("gemini://h/s?\(query)")) == nil)
        }
        #expect(traps.refusal(of: try key("gemini://h/s?x")) == .trapQueries)
        #expect(traps.refusal(of: try key("gemini://h/s")) == nil)
        #expect(traps.refusal(of: try key("gemini://h/t?x")) == nil)
        #expect(traps.refusal(of: try key("gemini://h/s/?x")) == nil)
        for page in 202..<10_000 {
            #expect(traps.refusal(of: try key("gemini://h/\(page)")) == nil)
        }
        #expect(traps.refusal(of: try key("gemini://h/x")) == .trapDirectory)
        for page in 0..<300 { #expect(traps.refusal(of: try key("gemini://h/y/\(page)")) == nil) }
        #expect(traps.refusal(of: try key("gemini://h/y/?x")) == nil)
        #expect(traps.refusal(of: try key("gemini://h/x/y")) == nil)
        #expect(traps.refusal(of: try key("gemini://i/x")) == nil)
        #expect(traps.refusal(of: try key("gemini://h/s?x")) == .trapQueries)
    }

    /// A trap is found among more directories than are counted.
    @Test func staysSmallAndFindsTheTrap() throws {
        var traps = CrawlTraps(countsMax: 100)
        var stopped: Int?
        for page in 0..<500 where stopped == nil {
            #expect(traps.refusal(of: try key("gemini://h/d\(page)/")) == nil)
            #expect(traps.counts.count <= 100)
            let trap = traps.refusal(of: try key("gemini://h/trap?\(page)"))
            #expect(trap == nil || trap == .trapQueries)
            if trap != nil { stopped = page }
        }
        // Each page makes three counts, so a count is too low by at most 3 * 230 / 100.
        #expect(200...207 ~= stopped ?? 0)
    }
}

@Suite struct MirrorNameTests {
    @Test(arguments: [
        ("gemini://h", "gemini/h/index.gmi"), ("gemini://h/about", "gemini/h/about@"),
        ("gemini://h/v1.0/", "gemini/h/v1.0@/index.gmi"),
        ("gemini://h/search?x=1", "gemini/h/search@x=1"),
        ("gemini://h/search?", "gemini/h/search@@"), ("gemini://h/a.gmi", "gemini/h/a.gmi"),
        ("gemini://h/a/b", "gemini/h/a/b@"), ("gemini://h/a", "gemini/h/a@"),
        ("gemini://h/a.b/c.d", "gemini/h/a.b@/c.d"), ("gemini://h/a.b?c/d", "gemini/h/a.b@c%2fd"),
        ("gemini://h/index.gmi", "gemini/h/@index.gmi"), ("gemini://h/?q", "gemini/h/index.gmi@q"),
        ("gemini://h//a", "gemini/h/@/a@"), ("gemini://h/@a", "gemini/h/%@a@"),
        ("gemini://h/%40a", "gemini/h/%40a@"), ("gemini://h/%2Frm", "gemini/h/%2Frm@"),
        ("gemini://h/.ssh/-rf", "gemini/h/%2essh/%2drf@"),
        ("gemini://h/%C3%A4%20b.txt", "gemini/h/\u{E4} b.txt"),
        ("gemini://h/%E4", "gemini/h/%e4@"), ("gemini://h/a%E2%80%AEb", "gemini/h/a%e2%80%aeb@"),
        ("gemini://h/a%00b%0A", "gemini/h/a%00b%0A@"), ("gemini://h/A", "gemini/h/A@"),
        ("gemini://h:1965/A", "gemini/h/A@"), ("gemini://h:70/A", "gemini/h:70/A@"),
        ("gopher://h/1/..", "gopher/h/%2e."), ("gopher://h/1", "gopher/h/index.menu"),
        ("gopher://h/1/", "gopher/h/@@/@/index.menu"), ("gopher://h/1/a/", "gopher/h/a/index.menu"),
        ("gopher://h/0/a/b.txt", "gopher/h/a/b.txt"),
        ("gopher://h/0a/b.txt", "gopher/h/@@/a/b.txt"),
        ("http://[::1]:8080/a", "http/[::1]:8080/a@"), ("finger://u:p@h/", "finger/u@h/index@"),
    ])
    func isReadable(_ url: String, _ path: String) throws {
        #expect(try mirror(url).joined(separator: "/") == path)
    }

    /// URLs that are close to each other; every name is safe, no two keys share one, and no file is
    /// where a directory is.
    @Test func differentPagesHaveDifferentFiles() throws {
        var generator = SeededGenerator(seed: 3)
        let pieces = [
            "/", "/", "a", "b", ".", "..", "@", "@@", "%40", "%2F", "%2E", "index", "index.gmi",
            "?",
            "-", "%00", "%C3%A4", "%E4", "%2C", ",", "%20", "a.b", "?x", "index.menu", "%E2%80%AE",
            "1",
            "x@@0123456789abcdef", "%2f", "+", "~", "%61%CC%88", "%25", "%2540",
        ]
        let starts = [
            "gemini://h", "gemini://h:70", "gopher://h", "gopher://h/1", "gopher://h/0/",
            "http://h",
            "spartan://h", "gemini://h.test/index.gmi",
        ]
        var (urls, files, directories) = ([[UInt8]: String](), Set<[UInt8]>(), Set<[UInt8]>())
        for round in 0..<16_000 {
            var url = starts[round % starts.count] + "/"
            for _ in 0..<Int.random(in: 0...6, using: &generator) {
                url += pieces.randomElement(using: &generator) ?? ""
            }
            if round % 50 == 0 { url += "/" + String(repeating: "a.", count: 100 + round % 7) }
            let text = try key(url).text
            let names = try mirror(url).map { Array($0.utf8) }
            let path = Array(names.joined(separator: [0x2F]))
            #expect(urls.updateValue(text, forKey: path) ?? text == text, "\(url)")
            for name in names {
                #expect(1...200 ~= name.count, "\(url)")
                #expect(![0x2E, 0x2D].contains(name[0]), "\(url)")
                #expect(!name.contains { $0 < 0x20 || $0 == 0x7F || $0 == 0x2F }, "\(url)")
                #expect(
                    String(validating: name, as: UTF8.self).map {
                        !$0.unicodeScalars.contains("\u{202E}")
                    } ?? false)
            }
            files.insert(path)
            for count in 1..<names.count {
                directories.insert(Array(names.prefix(count).joined(separator: [0x2F])))
            }
        }
        #expect(urls.count == Set(urls.values).count, "one page has two files")
        #expect(urls.count > 4000)
        #expect(files.isDisjoint(with: directories))
    }

    @Test func cutsLongNamesWithoutConfusion() throws {
        let long = String(repeating: "a", count: 300)
        let names = try ["", "/", "?q", ".", "/x", "b", "@"].map {
            try mirror("gemini://h/\(long)\($0)")
        }
        #expect(Set(names.map { $0.joined(separator: "/") }).count == names.count)
        for name in names.flatMap(\.self) { #expect(name.utf8.count <= 200) }
        // A cut within a character or an escape.
        for count in 154...170 {
            let start = "gemini://h/" + String(repeating: "a", count: count)
            for piece in ["%E4", "%C3%A4", "%F0%9F%90%88", "@", "%2C"] {
                let name = try mirror(start + String(repeating: piece, count: 30))[2]
                #expect(name.utf8.count <= 200 && !name.contains("\u{FFFD}"))
                let kept = name.prefix(name.utf8.count - 34)
                let isWhole = kept.dropLast().last != "%" || kept.last == "@"
                #expect(isWhole && kept.last != "%", "\(name)")
            }
        }
        #expect(try mirror("gemini://h/" + String(repeating: "b", count: 200))[2].utf8.count == 200)
        #expect(try mirror("gemini://h/" + String(repeating: "b", count: 199))[2].hasSuffix("b@"))
    }
}
