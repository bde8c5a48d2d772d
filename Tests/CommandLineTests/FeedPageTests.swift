// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

@testable import SmallWeb

/// Documents that are feeds, over every scheme and in every charset, alone and merged.
@Suite struct FeedPageTests {
    private let smallweb = Smallweb()
    private static let day = "2024-04-06T12:00:00Z"

    private static func atom(_ entries: String, head: String = "") -> String {
        "<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>T</title>\(head)\(entries)</feed>\n"
    }

    private static func rss(_ items: String, head: String = "") -> String {
        "<rss version=\"2.0\"><channel><title>T</title>\(head)\(items)</channel></rss>\n"
    }

    private static func json(_ items: String, head: String = "") -> String {
        "{\"version\":\"https://jsonfeed.org/version/1.1\",\"title\":\"T\",\(head)\"items\":["
            + items + "]}\n"
    }

    /// A server of one page; `type` is that of its replies.
    private func serve(_ page: [UInt8], _ type: String) throws -> (LoopbackServer, String) {
        let server = try LoopbackServer { peer in
            guard WebRequest(from: peer) != nil else { return }
            peer.write(
                "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nContent-Length: \(page.count)\r\n\r\n")
            peer.write(page)
        }
        return (server, "http://127.0.0.1:\(server.port)/d/f")
    }

    /// The charset of the media type is that of the document, whatever it says itself; the feed
    /// that is passed on says so.
    @Test(
        arguments: ["UTF-8", "utf8", "windows-1251", nil], ["utf-8", "Shift_JIS", "koi8-r", nil])
    func theMediaTypeNamesTheCharset(_ type: String?, _ declared: String?) throws {
        let title = "\u{43F}\u{440}\u{438}"
        let codes: [String: [UInt8]] = [
            "windows-1251": [0xEF, 0xF0, 0xE8], "koi8-r": [0xD0, 0xD2, 0xC9],
            "Shift_JIS": [0x84, 0x81, 0x84, 0x82, 0x84, 0x79],
        ]
        let bytes = codes[type ?? declared ?? ""] ?? Array(title.utf8)
        let declaration =
            "<?xml version=\"1.0\"" + (declared.map { " encoding=\"\($0)\"" } ?? "") + "?>"
        let parts = (declaration + Self.rss("<item><title>@</title><link>http://h/1</link></item>"))
            .split(separator: "@").map { Array($0.utf8) }
        let page = parts[0] + bytes + parts[1]
        let (server, url) = try serve(page, "text/xml" + (type.map { "; charset=\"\($0)\"" } ?? ""))
        defer { server.stop() }
        let merged = try smallweb.run(["feed", "--new", "--format", "gemtext", url])
        #expect(merged.text.contains(" \(title)\n"), "\(merged.text) \(merged.errors)")
        #expect(try smallweb.run(["links", url]).text == "http://h/1\t\(title)\n")
        // Alone it tells a reader without a media type.
        let passed = try smallweb.run(["feed", url])
        let isAsItIs =
            type == nil || type?.hasPrefix("u") == true && [nil, "utf-8"].contains(declared)
        if isAsItIs {
            #expect(passed.output == page)
        } else {
            let utf8 = parts[0] + Array(title.utf8) + parts[1]
            let start =
                declared == nil || declared == "utf-8"
                ? declaration
                : "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
            #expect(passed.output == Array(start.utf8) + utf8.dropFirst(declaration.utf8.count))
        }
    }

    /// One feed that passes through has absolute addresses, and is otherwise as it was.
    @Test(arguments: [
        ("application/atom+xml", Self.atom("<entry><link href=\"@/1?a=1&amp;b='2'\"/></entry>")),
        ("application/atom+xml", Self.atom("<entry><link href='@/1'/><!-- /2 --></entry>")),
        ("application/rss+xml", Self.rss("<item><link>@/1</link><guid>/1</guid></item>")),
        ("application/rss+xml", Self.rss("<item><link> @/1 </link><enclosure url='@/e'/></item>")),
        ("text/plain", Self.rss("<item><title>/1</title><link>@/1</link></item>")),
        (
            "application/feed+json",
            Self.json("{\"id\":\"/1\",\"url\":\"@/1?a&b\",\"title\":\"/1\"}")
        ),
        ("application/feed+json", Self.json("{\"attachments\":[{\"url\":\"@/a\"}]}")),
    ])
    func addressesOfAFeedAreAbsolute(_ type: String, _ document: String) throws {
        let relative = document.replacing("@", with: "")
        let (server, url) = try serve(Array(relative.utf8), type)
        defer { server.stop() }
        let place = url.dropLast("/d/f".utf8.count)
        let result = try smallweb.run(["feed", url])
        var wanted = document.replacing("@", with: place).replacing("'2'", with: "%272%27")
        wanted = wanted.replacing("> http", with: ">http").replacing("/1 <", with: "/1<")
        #expect(result.status == 0 && result.text == wanted)
        #expect(try smallweb.run(["get", url]).text == relative)
        // Absolute addresses stay as they are.
        let (other, same) = try serve(Array(wanted.utf8), type)
        defer { other.stop() }
        #expect(try smallweb.run(["feed", same]).text == wanted)
    }

    @Test func basesCountForAddresses() throws {
        let page = Self.atom(
            "<entry xml:base=\"x/\"><link xml:base='http://h/y/' href='1'/></entry>")
        let (server, url) = try serve(Array(page.utf8), "text/xml")
        defer { server.stop() }
        #expect(try smallweb.run(["feed", url]).text.contains("href='http://h/y/1'"))
        #expect(try smallweb.run(["links", url]).text == "http://h/y/1\twithout a title\n")
    }

    /// Entries of one page have ids of their own, in every format and in every merge.
    @Test(arguments: [
        Self.rss(
            ["1", "2"].map {
                "<item><title>\($0)</title><link>http://h/r</link>"
                    + "<guid isPermaLink=\"false\">r\($0)</guid>"
                    + "<pubDate>Sat, 06 Apr 2024 12:00:00 GMT</pubDate></item>"
            }.joined()),
        Self.atom(
            ["1", "2"].map {
                "<entry><title>\($0)</title><link href=\"http://h/r\"/><id>tag:h,2024:\($0)</id>"
                    + "<updated>\(Self.day)</updated></entry>"
            }.joined()),
        Self.json(
            ["1", "2"].map {
                "{\"id\":\"\($0)\",\"url\":\"http://h/r\",\"title\":\"\($0)\","
                    + "\"date_published\":\"\(Self.day)\"}"
            }.joined(separator: ",")),
    ])
    func idsTellEntriesApart(_ page: String) throws {
        let (server, url) = try serve(Array(page.utf8), "application/octet-stream+xml")
        defer { server.stop() }
        for words in [["--format", "jsonfeed", url], ["--format", "jsonfeed", url, url + "?2"]] {
            let items =
                try JSON.parse(try smallweb.run(["feed"] + words).text)["items"]?.array ?? []
            #expect(items.map { $0["title"]?.string } == ["1", "2"])
            #expect(items.allSatisfy { $0["url"]?.string == "http://h/r" })
            #expect(Set(items.map { $0["id"]?.string }).count == 2)
        }
        // Likewise without dates.
        let undated = page.replacing("2024", with: "x")
        let (other, same) = try serve(Array(undated.utf8), "text/xml")
        defer { other.stop() }
        let text = try smallweb.run(["feed", "--new", "--format", "atom", same]).text
        #expect(text.components(separatedBy: "<entry>").count == 3, "\(text)")
    }

    /// A part of a list is not the list.
    @Test(arguments: [["get"], ["links"], ["head"], ["feed"], ["watch"], ["crawl"], ["bookmarks"]])
    func aListThatIsCutOffIsAFailure(_ command: [String]) throws {
        let whole =
            "<opml version=\"2.0\"><body><outline text=\"A\" xmlUrl=\"nex://127.0.0.1:1/\"/>"
        for (name, end) in [("cut", "<outline text=\"a\" xm"), ("open", ""), ("body", "</body>")] {
            try Data((whole + end).utf8).write(
                to: URL(fileURLWithPath: smallweb.home.file(name + ".opml")))
            let words = command == ["bookmarks"] ? ["import", name + ".opml"] : ["@\(name).opml"]
            let result = try smallweb.run(command + words)
            #expect(result.status == Outcome.read.exitStatus, "\(result.errors)")
            #expect(result.errors.contains("\(name).opml is cut off"), "\(result.errors)")
            #expect(result.text == (command == ["watch"] ? "failed\t\n" : ""))
        }
    }

    @Test func aListOfFeedsHasNoLimit() throws {
        let outlines = (0..<10_003).map { "<outline xmlUrl=\"file:\($0)\"/>" }.joined()
        try Data("<opml><body>\(outlines)</body></opml>".utf8).write(
            to: URL(fileURLWithPath: smallweb.home.file("l.opml")))
        let result = try smallweb.run(["get", "-s", "--json", "@l.opml"])
        #expect(
            result.text.split(separator: "\n").count == 10_004, "a record each, and the summary")
    }

    /// A feed is one whatever the scheme calls it.
    @Test(arguments: [
        Self.rss(
            "<item><title>E</title><link>http://h/1</link><pubDate>\(Self.day)</pubDate></item>"),
        Self.atom(
            "<entry><title>E</title><link href=\"http://h/1\"/><updated>\(Self.day)</updated>"
                + "</entry>"
        ),
        Self.json("{\"title\":\"E\",\"url\":\"http://h/1\",\"date_published\":\"\(Self.day)\"}"),
        "\u{FEFF}\n<?xml version=\"1.0\"?>\n"
            + Self.rss(
                "<item><title>E</title><link>http://h/1</link><pubDate>\(Self.day)</pubDate></item>"
            ),
    ])
    func aFeedIsAPageOverEveryScheme(_ page: String) throws {
        let plain = try LoopbackServer { peer in
            _ = peer.readLine()
            peer.write(page)
        }
        let capsule = try Capsule(page: Array("20 text/plain\r\n\(page)".utf8))
        let place = "127.0.0.1:\(plain.port)"
        for url in [
            "gopher://\(place)/0/f", "gopher://\(place)/0/feed.xml", "finger://\(place)/f",
            "nex://\(place)/f.xml", capsule.place + "/f",
        ] {
            let links = try smallweb.run(["links", "-k", url])
            #expect(links.text == "http://h/1\t2024-04-06 E\n", "\(url): \(links.errors)")
            let opened = try smallweb.run(["open", "-k", url]).text
            #expect(opened.hasPrefix("# T\n\n[1] 2024-04-06 E\n"), "\(url): \(opened)")
            let feed = try smallweb.run(["feed", "-k", "--format", "gemtext", url])
            #expect(feed.text == "# T\n\n=> http://h/1 2024-04-06 E\n", "\(url): \(feed.errors)")
            #expect(try smallweb.run(["get", "-k", url]).text.hasSuffix(page))
        }
    }

    /// Text that begins like a feed is text.
    @Test(arguments: ["<p>\nx\n", "{\n", "<", "\n\n", "", "<!-- c -->\n<svg/>\n"])
    func otherTextIsNotAFeed(_ page: String) throws {
        let capsule = try Capsule(page: Array("20 text/plain\r\n\(page)".utf8))
        #expect(try smallweb.run(["open", "-k", capsule.place]).text.hasPrefix(page))
        #expect(try smallweb.run(["links", "-k", capsule.place]).text.isEmpty)
        #expect(try smallweb.run(["get", "-k", capsule.place]).text == page)
    }

    /// The time of the feed itself is not news, and all else is.
    @Test(arguments: [
        (
            "application/rss+xml",
            Self.rss("<item><title>Q</title></item>", head: "<lastBuildDate>@</lastBuildDate>")
        ),
        ("text/plain", Self.rss("<item><title>Q</title></item>", head: "<pubDate>@</pubDate>")),
        ("text/xml", Self.atom("<entry><title>Q</title></entry>", head: "<updated>@</updated>")),
        ("text/x-opml", "<opml><head><dateModified>@</dateModified></head><body>Q</body></opml>\n"),
    ])
    func aFeedIsWatchedWithoutItsTime(_ type: String, _ page: String) throws {
        for words in [[], ["--diff"], ["--links"], ["--ignore", "x"]] {
            let capsule = try ChangingCapsule(["/": ""])
            func watch(_ time: String, _ text: String) throws -> Smallweb.Result {
                let now = page.replacing("@", with: time).replacing("Q", with: text)
                capsule.set("/", "20 \(type)\r\n" + now)
                return try smallweb.run(["watch", "-k"] + words + [capsule.place + "/"])
            }
            #expect(try watch("1", "A").text.hasPrefix("new"))
            let same = try watch("2", "A")
            #expect(same.status == 1 && same.text.hasPrefix("unchanged"), "\(words): \(same)")
            #expect(!same.errors.contains("--diff"))
            guard words.isEmpty else { continue }
            #expect(try watch("2", "B").text.hasPrefix("changed"))
            #expect(try watch("3", "B").text.hasPrefix("unchanged"))
        }
    }

    /// Where the difference is not in the lines, that is said.
    @Test func aDifferenceOfAFeedHasAReason() throws {
        let capsule = try ChangingCapsule(["/": ""])
        for (text, word) in [("one", "new"), ("two", "changed")] {
            let item = "<item><title>A</title><description>\(text)</description></item>"
            capsule.set("/", "20 text/xml\r\n" + Self.rss(item))
            let result = try smallweb.run(["watch", "-k", "--diff", capsule.place + "/"])
            #expect(result.text.hasPrefix(word) && result.status == 0)
            let isSaid = result.errors.contains("titles, days and addresses are the same")
            #expect(isSaid == (word == "changed"), "\(result.errors)")
        }
    }

    /// Dates on lines of their own are those of the items below.
    @Test(arguments: [
        "2024-04-06", "--- 2024-04-06 ---", "[2024-04-06]", "Sat, 06 Apr 2024",
        "= 2024-04-06 12:00 =",
    ])
    func itemsHaveTheDateAboveThem(_ line: String) throws {
        let server = try LoopbackServer { peer in
            _ = peer.readLine()
            let lines = [
                "0Before\t/0", "iUpdated: 2024-04-01\t", "0Not this\t/1", "i\(line)\t", "i\t",
                "0First\t/2", "iabout it\t", "0[2024-04-05] Own\t/3", "i\t", "0Behind\t/4",
            ]
            peer.write(lines.map { "\($0)\t127.0.0.1\t70\r\n" }.joined() + ".\r\n")
        }
        let url = "gopher://127.0.0.1:\(server.port)/1/"
        let result = try smallweb.run(["feed", "--format", "gemtext", url])
        #expect(
            result.text.hasSuffix(
                "\n\n=> gopher://127.0.0.1/0/2 2024-04-06 First\n"
                    + "=> gopher://127.0.0.1/0/3 2024-04-05 Own\n"), "\(result.text)")
    }

    /// A limit of the size of files ends no run by a signal; pages are news until they are kept.
    @Test(arguments: [
        ["watch", "--state", "s"], ["watch", "--name", "s"], ["watch"], ["watch", "--links"],
        ["watch", "--state", "s", "--json"], ["feed", "--new", "--state", "s"], ["feed", "--new"],
    ])
    func aStateAtTheLimitOfFilesIsAFailure(_ words: [String]) throws {
        let links = (0..<40).map { "=> /\(String(repeating: "x", count: 50))\($0) A\n" }.joined()
        let pages = (0..<40).map { ("/\(String(repeating: "y", count: 50))\($0)", links) }
        let capsule = try ChangingCapsule(
            Dictionary(uniqueKeysWithValues: pages.map { ($0.0, ChangingCapsule.gemtext($0.1)) }))
        let all = words + ["-k"] + pages.map { capsule.place + $0.0 }
        let full = try smallweb.run(
            all, shell: "(ulimit -f 2; \"$@\" 2>&1; echo status $?) | cat")
        #expect(full.text.hasSuffix("status 23\n"), "\(full.text.suffix(200))")
        #expect(full.text.contains("cannot write the state"))
        let result = try smallweb.run(all)
        #expect(result.status == 0, "\(result.errors)")
        if words.first == "watch" {
            #expect(result.text.components(separatedBy: "new").count == 41, "\(result.text)")
        }
    }
}
