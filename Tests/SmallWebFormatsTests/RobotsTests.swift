// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import SmallWebFormats
internal import Testing

let roles = ["archiver", "indexer", "researcher"]

let original = Crawling(robots: ["/robots.txt"])

let standard: Crawling = {
    var crawling = Crawling(robots: ["/robots.txt"])
    crawling.dialect = .standard
    return crawling
}()

let typed: Crawling = {
    var crawling = Crawling(robots: ["/0robots.txt", "/0/robots.txt"])
    crawling.hasItemType = true
    return crawling
}()

func robots(
    _ file: String, _ crawling: Crawling = standard, product: String = "smallweb",
    roles: [String] = roles, isCut: Bool = false
) -> Robots {
    Robots(Array(file.utf8)[...], crawling, product: product, roles: roles, isCut: isCut)
}

/// The text and the number of the line that decides.
private func line(_ robots: Robots, _ path: String) -> String {
    robots.decision(on: path).rule.map { "\($0.number) \($0.text)" } ?? ""
}

/// RFC 9309, with its own examples.
@Suite struct StandardRobotsTests {
    /// §5.1, the simple example.
    @Test func readsTheExampleOfTheSpecification() {
        let file = """
            User-Agent: *
            Disallow: *.gif$
            Disallow: /example/
            Allow: /publications/

            User-Agent: foobot
            Disallow:/
            Allow:/example/page.html
            Allow:/example/allowed.gif

            User-Agent: barbot
            User-Agent: bazbot
            Disallow: /example/page.html

            User-Agent: quxbot
            """
        let paths = [
            "/", "/a.gif", "/a.gif?x", "/example/x", "/publications/", "/example/page.html",
            "/example/allowed.gif", "/publications/a.gif",
        ]
        let allowed = { (product: String) in
            paths.map { robots(file, product: product).allows($0) ? "1" : "0" }.joined()
        }
        #expect(allowed("smallweb") == "10101001")
        #expect(allowed("FooBot/2.1") == "00000110")
        #expect(allowed("barbot") == "11111011")
        #expect(allowed("BAZBOT") == "11111011")
        #expect(allowed("quxbot") == "11111111")
    }

    /// §5.2, the longest match.
    @Test func theLongestPatternDecides() {
        let file = """
            User-Agent: foobot
            Allow: /example/page/
            Disallow: /example/page/disallowed.gif
            """
        let rules = robots(file, product: "foobot")
        #expect(rules.allows("/example/page/"))
        #expect(line(rules, "/example/page/disallowed.gif?x").hasPrefix("3 Disallow: /example"))
        #expect(line(robots("User-agent: *\nDisallow: /a\nAllow: /a"), "/a") == "3 Allow: /a")
        #expect(line(robots("User-agent: *\nAllow: /a\nDisallow: /a"), "/a") == "2 Allow: /a")
        #expect(line(robots("User-agent: *\nAllow: /a\nDisallow: /*\n"), "/ab") == "2 Allow: /a")
        #expect(!robots("User-agent: *\nAllow: /page\nDisallow: /*.htm").allows("/page.htm"))
    }

    /// §2.2.1: equal groups are merged, and `*` is for those without a group.
    @Test func mergesGroups() {
        let file = """
            user-agent: ExampleBot
            disallow: /foo
            disallow: /bar

            user-agent: *
            disallow: /star

            user-agent: examplebot
            disallow: /baz
            crawl-delay: 2
            """
        let own = robots(file, product: "ExampleBot")
        #expect(["/foo", "/bar", "/baz", "/star"].map(own.allows) == [false, false, false, true])
        #expect(own.lines.last == "Crawl-delay: 2")
        #expect(robots(file).lines == ["Disallow: /star"])
        #expect(robots(file, product: "examplebot-news").lines == ["Disallow: /star"])
    }

    /// §2.2.2, figure 4, in both directions; and reserved bytes, which stay different.
    @Test(arguments: [
        ("/foo/bar?baz=quz", "/foo/bar?baz=quz", false),
        ("/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar", false),
        ("/foo/bar?baz=https%3a%2f%2ffoo.bar", "/foo/bar?baz=https://foo.bar", false),
        ("/foo/bar/\u{30C4}", "/foo/bar/%E3%83%84", false),
        ("/foo/bar/%E3%83%84", "/foo/bar/%e3%83%84", false),
        ("/foo/bar/%62%61%7A", "/foo/bar/baz", false),
        ("/foo/bar/baz", "/foo/bar/%62%61%7A", false),
        ("/a%2fb", "/a%2Fb", false), ("/a%2Fb", "/a/b", true), ("/a/b", "/a%2Fb", true),
        ("/a b", "/a%20b", false), ("/a{b", "/a%7Bb", false), ("/100%", "/100%25", false),
        ("*/admin", "/a?to=/admin", false), ("/Fish", "/fish", true),
    ])
    func comparesNormalForms(_ rule: String, _ path: String, _ isAllowed: Bool) {
        #expect(robots("User-agent: *\nDisallow: \(rule)").allows(path) == isAllowed)
    }

    /// §2.2.3, figures 5 and 6; then Google's table of its documentation.
    @Test(arguments: [
        ("/this/*/exactly", "/this/path/exactly/x", false), ("/this/*/exactly", "/this/a", true),
        ("/this/*/exactly", "/this//exactly", false), ("/this/*/exactly", "/this/exactly", true),
        ("/this/path/exactly$", "/this/path/exactly", false),
        ("/this/path/exactly$", "/this/path/exactly/", true),
        ("/path/file-with-a-%2A.html", "/path/file-with-a-*.html", false),
        ("/path/file-with-a-%2A.html", "/path/file-with-a-b.html", true),
        ("/path/foo-%24", "/path/foo-$", false), ("/path/foo-%24", "/path/foo-", true),
        ("/fish*", "/fish/x", false), ("/fish/", "/fish", true), ("/*.php", "/a/b.php?x", false),
        ("/*.php$", "/a.php?x", true), ("/*.php$", "/a.php.php", false),
        ("/fish*.php", "/fishheads/catfish.php?x", false), ("/fish*.php", "/Fish.PHP", true),
        ("/a$b", "/a$b", false), ("/a$b", "/a", true), ("*", "/", false), ("$", "/", true),
        ("/*$", "/a", false), ("/a**b$", "/axbxb", false), ("fish", "/fish", true),
        ("/$", "/", false), ("/$", "/a", true), ("/", "", false),
    ])
    func matchesPatterns(_ rule: String, _ path: String, _ isAllowed: Bool) {
        #expect(robots("User-agent: *\nDisallow: \(rule)").allows(path) == isAllowed)
    }

    @Test func readsLinesAsTheyAreWritten() {
        let file =
            "\u{FEFF}# c\rUSER-agent \t: * # all\r\n\r\ndisALLOW : \t/a # b\nSitemap: /s\n:\n/b"
        #expect(line(robots(file), "/a") == "4 Disallow: /a")
        #expect(robots(file + "\n\tDisallow:/c").lines == ["Disallow: /a", "Disallow: /c"])
        #expect(robots("User-agent: smallweb/1 (x)\nDisallow: /\n").lines == ["Disallow: /"])
        #expect(robots("User-agent: x smallweb\nDisallow: /\n").lines.isEmpty)
        #expect(robots("Disallow: /\nUser-agent: *\nDisallow: /a").lines == ["Disallow: /a"])
        #expect(robots("User-agent: *\nDisallow:\nAllow:\n").lines.isEmpty)
        #expect(robots("User-agent: *\nDisallow: /\n").allows("/robots.txt"))
    }

    /// A Sitemap does not end a list of agents; a delay does, as authors mean it.
    @Test func endsListsOfAgents() {
        func list(_ line: String) -> Bool {
            robots("User-agent: *\n\(line)\nUser-agent: x\nDisallow: /\n").allows("/a")
        }
        #expect(!list("Sitemap: /s"))
        #expect(!list(""))
        #expect(list("Crawl-delay: 5"))
        #expect(list("Disallow:"))
    }

    @Test(
        arguments: [
            ("5", 5.0), ("0.5", 0.5), ("0", 0), ("1e3", nil), ("-1", nil), ("", nil), ("inf", nil),
            ("1.2.3", nil), ("99999999999999999999999999", 86_400), ("7 # s", 7), ("nan", nil),
        ] as [(String, Double?)])
    func readsDelays(_ text: String, _ seconds: Double?) {
        for crawling in [original, standard] {
            let rules = robots("User-agent: *\nCrawl-delay: \(text)\nDisallow: /a", crawling)
            #expect(rules.delaySeconds == seconds)
            #expect(Robots(lines: rules.lines, crawling).delaySeconds == seconds)
        }
        #expect(robots("User-agent: *\nCrawl-delay: 9\nCrawl-delay: 3").delaySeconds == 9)
    }
}

/// The grammar of 1994 with the small web's agents.
@Suite struct OriginalRobotsTests {
    /// The examples of the specification of 1994.
    @Test func readsTheExamplesOfTheSpecification() {
        let first = """
            # robots.txt for http://www.example.com/

            User-agent: *
            Disallow: /cyberworld/map/ # This is an infinite virtual URL space
            Disallow: /tmp/ # these will soon disappear
            Disallow: /foo.html
            """
        let rules = robots(first, original)
        #expect(line(rules, "/cyberworld/map/a") == "4 Disallow: /cyberworld/map/")
        #expect(["/tmp/", "/foo.html", "/foo.html5"].map(rules.allows) == [false, false, false])
        #expect(["/tmp", "/foo", "/", ""].map(rules.allows) == [true, true, true, true])
        let second =
            first + "\n\n# Cybermapper knows where to go.\nUser-agent: cybermapper\nDisallow:\n"
        #expect(robots(second, original, product: "cybermapper").lines.isEmpty)
        #expect(robots(second, original).lines.count == 3)
        #expect(!robots("# go away\nUser-agent: *\nDisallow: /\n", original).allows("/a"))
        let help = robots("User-agent: *\nDisallow: /help\n", original)
        #expect(["/help.html", "/help/index.html"].map(help.allows) == [false, false])
        let folder = robots("User-agent: *\nDisallow: /help/\n", original)
        #expect(["/help.html", "/help/index.html"].map(folder.allows) == [true, false])
    }

    @Test func rulesOfAllRolesAddUp() {
        let file = """
            Disallow: /before
            User-agent: *
            Disallow: /all
            Crawl-delay: 3
            User-agent: archiver
            User-agent: webproxy
            Disallow: /archive
            Crawl-delay: 10
            User-agent: smallweb
            Disallow: /small
            User-agent: webproxy, Indexer/2.0
            Disallow: /index
            """
        let all = robots(file, original)
        #expect(
            all.lines == [
                "Disallow: /before", "Disallow: /all", "Disallow: /archive", "Disallow: /small",
                "Disallow: /index", "Crawl-delay: 10",
            ])
        let shared = "User-agent: archiver\nUser-agent: indexer\nUser-agent: *\nDisallow: /a\n"
        #expect(robots(shared, original).lines == ["Disallow: /a"])
        let researcher = robots(file, original, roles: ["researcher"])
        #expect(researcher.rules.map(\.number) == [1, 3, 10])
        #expect(researcher.delaySeconds == 3)
        #expect(
            robots(file, original, roles: ["webproxy"]).rules.map(\.number) == [1, 3, 7, 10, 12])
    }

    /// An author lets one in by an empty Disallow, for each of its roles or by its name.
    @Test func emptyRulesLetIn() {
        let file = "User-agent: *\nDisallow: /\nUser-agent: indexer\nDisallow:\n"
        #expect(robots(file, original, roles: ["indexer"]).allows("/a"))
        #expect(!robots(file, original, roles: ["indexer", "archiver"]).allows("/a"))
        #expect(!robots(file, original, roles: []).allows("/a"))
        let paced = file + "Crawl-delay: 4\n"
        #expect(robots(paced, original, roles: ["indexer"]).lines == ["Crawl-delay: 4"])
        let own = file + "User-agent: smallweb\nDisallow:\n"
        #expect(robots(own, original).allows("/a"))
        let partly = own + "User-agent: archiver\nDisallow: /x\n"
        #expect(robots(partly, original).lines == ["Disallow: /x"])
        let more = file + "Disallow: /b\n"
        #expect(!robots(more, original, roles: ["indexer"]).allows("/a"))
        let nothing = "User-agent: *\nDisallow: /\nUser-agent: indexer\n"
        #expect(!robots(nothing, original, roles: ["indexer"]).allows("/a"))
    }

    @Test(arguments: [
        ("/a*c", "/a*c", false), ("/a*c", "/abc", false), ("/a$", "/a", false),
        ("/a$", "/a$b", false), ("/a$", "/ab", true), ("/*.gif$", "/x.gif", false),
        ("/a*b$", "/axb", false), ("/a*b$", "/axb$c", false), ("/a*b$", "/axbc", true),
        ("cgi-bin/", "/cgi-bin/x", false), ("cgi-bin/", "/a/cgi-bin/x", true),
        ("/~a", "/%7Ea", false), ("/a", "/b?/a", true), ("/b?q", "/b?q=1", false),
    ])
    func readsPatternsInTheStricterWay(_ rule: String, _ path: String, _ isAllowed: Bool) {
        #expect(robots("User-agent: *\nDisallow: \(rule)", original).allows(path) == isAllowed)
    }

    @Test func hasNoAllowButItEndsAListOfAgents() {
        let file = "User-agent: *\nDisallow: /a\nAllow: /a/b\n"
        #expect(!robots(file, original).allows("/a/b"))
        // The first line that matches is as good as a longer one.
        #expect(line(robots("\(file)Disallow: /a/", original), "/a/b") == "2 Disallow: /a")
        let listed = "User-agent: *\nAllow: /\n\nUser-agent: GPTBot\nDisallow: /\n"
        #expect(robots(listed, original).allows("/a"))
    }

    /// Selectors, as rules are written for them.
    @Test(arguments: [
        ("/private", "/0/private/x", false), ("private", "/0/private/x", false),
        ("/private", "/0private/x", false), ("1/Archives/", "/1/Archives/x", false),
        ("1/Archives/", "/0/Archives/x", true), ("/1/Archives/", "/1/Archives", false),
        ("/path/", "/1/path", false), ("/path/", "/1path", false), ("/path/", "/1/path2", true),
        ("/", "/", false), ("/", "", false), ("/", "/1", false), ("/", "/0x", false),
        ("/a b", "/0/a%20b", false), ("/x", "/%3B/x", false), ("/x?y", "/0/x?y", false),
        ("/private", "/0/public/private", true),
    ])
    func judgesSelectors(_ rule: String, _ path: String, _ isAllowed: Bool) {
        let rules = robots("User-agent: *\r\nDisallow: \(rule)\r\n.\r\n", typed)
        #expect(rules.allows(path) == isAllowed)
    }

    @Test func tellsRobotsFromOtherReplies() {
        #expect(robots("User-agent: x\n", typed).namesAgents)
        let menu = robots("3'/robots.txt' not found\terror.host\t1\r\n.\r\n", typed)
        #expect(!menu.namesAgents && menu.allows("/1/a"))
        let page = robots("<html>\n<p>Disallow: /\n", standard)
        #expect(!page.namesAgents && page.lines.isEmpty)
        let all = robots("User-agent: *\nDisallow: /\n", typed)
        #expect(all.allows("/0robots.txt") && all.allows("/0/robots.txt") && !all.allows("/0/x"))
    }
}
