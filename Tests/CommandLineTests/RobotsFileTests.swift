// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

/// Robots files as servers give them, and the request for one.
@Suite(.timeLimit(.minutes(30)))
struct RobotsFileTests {
    private let smallweb: Smallweb

    init() {
        var smallweb = Smallweb()
        smallweb.environment["SMALLWEB_IDENTITIES"] = smallweb.home.file("ids")
        self.smallweb = smallweb
    }

    /// A server of one scheme, whose robots file has the replies given, in their order; the last
    /// one stays.
    private final class Site: Sendable {
        let server: LoopbackServer
        let scheme: String
        private let asked: Monitor<[(path: String, header: String, identity: Bool)]>

        init(_ scheme: String, robots: [String], page: String? = nil) throws {
            let asked = Monitor([(path: String, header: String, identity: Bool)]())
            (self.scheme, self.asked) = (scheme, asked)
            let replies = Monitor(robots)
            let page = page ?? Self.reply(scheme, "page\n")
            server = try LoopbackServer(
                tls: scheme == "gemini" ? .make(names: ["a.test", "b.test"]) : nil,
                identity: .requested
            ) { peer in
                var header = String(decoding: peer.readLine() ?? [], as: UTF8.self)
                let path = Self.path(header, scheme)
                if scheme == "http" {
                    while let line = peer.readLine(), line.count > 2 {
                        header += String(decoding: line, as: UTF8.self)
                    }
                }
                asked.update { $0.append((path, header, peer.identity != nil)) }
                let robots = { replies.update { $0.count > 1 ? $0.removeFirst() : $0.first ?? "" } }
                peer.write(path.hasSuffix("robots.txt") ? robots() : page)
            }
        }

        private static func path(_ line: String, _ scheme: String) -> String {
            let words = line.split(whereSeparator: \.isWhitespace).map(String.init)
            return switch scheme {
            case "gemini":
                "/" + (words.first ?? "").split(separator: "/").dropFirst(2).joined(separator: "/")
            case "spartan", "http": words.count > 1 ? words[1] : ""
            default: words.first ?? ""
            }
        }

        /// A success of the scheme.
        static func reply(_ scheme: String, _ body: String, _ type: String = "text/plain") -> String
        {
            switch scheme {
            case "gemini": "20 \(type)\r\n\(body)"
            case "spartan": "2 \(type)\r\n\(body)"
            case "http":
                "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nContent-Length: \(body.utf8.count)\r\n"
                    + "Connection: close\r\n\r\n\(body)"
            default: body
            }
        }

        static func redirect(_ scheme: String, _ target: String) -> String {
            scheme == "http"
                ? "HTTP/1.1 302 Found\r\nLocation: \(target)\r\nContent-Length: 0\r\n"
                    + "Connection: close\r\n\r\n"
                : "30 \(target)\r\n"
        }

        var place: String { "\(scheme)://127.0.0.1:\(server.port)" }
        /// The paths that were asked for.
        var requests: [String] { asked.update { $0.map(\.path) } }
        /// The request and its header, in lower case, for each.
        var headers: [String] { asked.update { $0.map { $0.header.lowercased() } } }
        /// True for each request that came with a client certificate.
        var identities: [Bool] { asked.update { $0.map(\.identity) } }
    }

    private static let all = "User-agent: *\nDisallow: /\n"

    private func get(_ words: String...) throws -> Smallweb.Result {
        try smallweb.run(["get", "-k", "--robots"] + words)
    }

    /// Over HTTP a redirect leads to another server, whose rules hold; elsewhere it forbids all.
    @Test func redirectsToOtherServersNeverAllow() throws {
        for scheme in ["http", "gemini"] {
            for (rules, isAllowed) in [(Self.all, false), ("User-agent: *\nDisallow: /y\n", true)] {
                let there = try Site(scheme, robots: [Site.reply(scheme, rules)])
                let target = there.place + "/robots.txt"
                let here = try Site(scheme, robots: [Site.redirect(scheme, target)])
                let result = try get(here.place + "/x")
                let isFollowed = scheme == "http"
                #expect(there.requests == (isFollowed ? ["/robots.txt"] : []))
                #expect(result.status == (isFollowed && isAllowed ? 0 : 104), "\(result.errors)")
                #expect(here.requests.contains("/x") == (isFollowed && isAllowed))
            }
        }
        // Another scheme, a ring, and a port of another service.
        let other = try Site("gemini", robots: [Site.reply("gemini", "")])
        for target in [other.place + "/robots.txt", "http://127.0.0.1:6379/robots.txt"] {
            let site = try Site("http", robots: [Site.redirect("http", target)])
            let result = try get(site.place + "/x")
            #expect(result.status == 104 && result.errors.contains(target), "\(result.errors)")
            #expect(site.requests == ["/robots.txt"] && other.requests.isEmpty)
        }
        for scheme in ["http", "gemini"] {
            let ring = try Site(scheme, robots: [Site.redirect(scheme, "/robots.txt")])
            #expect([75, 104].contains(try get(ring.place + "/x").status))
            #expect(!ring.requests.contains("/x"))
        }
    }

    /// Within a server a redirect is followed by every scheme that has redirects.
    @Test func redirectsWithinTheServerAreFollowed() throws {
        for scheme in ["http", "gemini"] {
            let site = try Site(
                scheme,
                robots: [
                    Site.redirect(scheme, "/real/robots.txt"), Site.reply(scheme, Self.all),
                ])
            #expect(try get(site.place + "/x").status == 104)
            #expect(site.requests == ["/robots.txt", "/real/robots.txt"])
        }
    }

    /// Pages of HTML and menus are no rules; a file that only says that it is HTML is one.
    @Test func pagesAndMenusAreNoRules() throws {
        let menu = "iUser-agent: *\t\tfake\t1\r\n"
        for (scheme, type, body, isAllowed) in [
            ("gemini", "text/html", "<p>\n" + Self.all, true),
            ("spartan", "text/html; charset=utf-8", "\n <!DOCTYPE html>\n" + Self.all, true),
            ("http", "text/html", "<html>\n" + Self.all, true),
            ("http", "application/xhtml+xml", "<html>\n" + Self.all, false),
            ("http", "text/html", Self.all, false), ("gemini", "text/plain", Self.all, false),
            ("spartan", "application/gopher-menu", menu + Self.all, true),
            ("gopher", "", menu + "3not found\t\terror.host\t1\r\n.\r\n", true),
            ("gopher", "", Self.all, false), ("nex", "", Self.all, false),
        ] {
            let site = try Site(scheme, robots: [Site.reply(scheme, body, type)])
            let path = scheme == "gopher" ? "/0/x" : "/x"
            let result = try get(site.place + path)
            #expect(result.status == (isAllowed ? 0 : 104), "\(scheme) \(type): \(result.errors)")
        }
    }

    /// A server that wants a pause gets it before its robots file is asked for again, by a crawl,
    /// and by `get` if it may try again.
    @Test func pausesForTheFileAreKept() throws {
        let slow = "HTTP/1.1 429 Slow\r\nContent-Length: 0\r\nConnection: close\r\n"
        for (scheme, refusal) in [
            ("gemini", "44 1\r\n"), ("gemini", "44 not so fast\r\n"), ("gemini", "44 0\r\n"),
            ("http", slow + "Retry-After: 1\r\n\r\n"), ("http", slow + "\r\n"),
            ("http", slow.replacingOccurrences(of: "429", with: "503") + "Retry-After: 1\r\n\r\n"),
        ] {
            let rules = Site.reply(scheme, "User-agent: *\nDisallow: /no\n")
            for words in [
                ["crawl"], ["get", "--robots", "--retry", "3"],
            ] {
                let site = try Site(scheme, robots: [refusal, rules])
                let began = Date.now
                let result = try smallweb.run(
                    words + ["-k", "--per-host-delay", "0", site.place + "/x"])
                #expect(result.status == 0, "\(words): \(result.errors)")
                #expect(site.requests == ["/robots.txt", "/robots.txt", "/x"])
                #expect(Date.now.timeIntervalSince(began) >= 0.9)
            }
            let site = try Site(scheme, robots: [refusal])
            #expect(try get(site.place + "/x").status == 75)
            #expect(site.requests == ["/robots.txt"])
        }
    }

    /// A file without its last bytes is not one with fewer rules.
    @Test func aFileThatIsCutOffIsAskedForLater() throws {
        let whole = Site.reply("http", "User-agent: *\nDisallow: /a\nDisallow: /x\n")
        let site = try Site("http", robots: [String(whole.dropLast(13))])
        let result = try get(site.place + "/x")
        #expect(result.status == 75 && site.requests == ["/robots.txt"], "\(result.errors)")
    }

    /// Requests that wait for one robots file, and go on when it has come.
    @Test func oneRequestAsksForAll() throws {
        let site = try Site("spartan", robots: [Site.reply("spartan", "")])
        let urls = (0..<20).map { "\(site.place)/\($0)" }
        let result = try smallweb.run(
            ["get", "--robots", "-j", "20", "--per-host", "20"] + urls)
        #expect(result.status == 0, "\(result.errors)")
        #expect(site.requests.first == "/robots.txt" && site.requests.count == 21)
    }

    /// A menu, whose links are to services that take lines.
    @Test func noLinkLeadsToTheRobotsFileOfAnotherService() throws {
        let ports = [53, 111, 139, 445, 2049, 5060, 6000, 6667]
        let menu = ports.map { "0x\t/x\t127.0.0.1\t\($0)\r\n" }.joined() + ".\r\n"
        let site = try Site("gopher", robots: [""], page: menu)
        let result = try smallweb.run([
            "crawl", "-v", "--state", "s", "--scope", "any", "--per-host-delay", "0",
            site.place + "/",
        ])
        #expect(result.status == 0 && result.errors.contains("port 8"), "\(result.errors)")
        for port in ports { #expect(!result.errors.contains("127.0.0.1:\(port)/"), "\(port)") }
    }

    // MARK: Secrets

    /// Fields, cookies and passwords are for the page.
    @Test func theRequestCarriesNothingOfThePage() throws {
        let there = try Site("http", robots: [Site.reply("http", "")])
        for robots in [Site.reply("http", ""), Site.redirect("http", there.place + "/robots.txt")] {
            let here = try Site("http", robots: [robots])
            let url = here.place.replacingOccurrences(of: "//", with: "//me:s3cret@") + "/x"
            let result = try get(
                "-H", "Authorization: Bearer s3cret", "-H", "Cookie: a=s3cret", "-H",
                "X-Api-Key: s3cret", "-d", "s3cret", url)
            #expect(result.status == 0, "\(result.errors)")
            #expect(here.requests == ["/robots.txt", "/x"])
            #expect(here.headers[1].contains("s3cret"))
            for header in [here.headers[0]] + there.headers {
                for word in ["s3cret", "authorization", "cookie", "x-api-key", "post", "me:"] {
                    #expect(!header.contains(word), "\(word): \(header)")
                }
            }
        }
        #expect(there.requests == ["/robots.txt"])
    }

    /// The identity that was chosen is for the server of the URL that was asked for: not for that
    /// of a redirect, nor for its robots file.
    @Test func anotherServerIsShownNoIdentity() throws {
        let there = try Site("gemini", robots: ["51 no\r\n"])
        let here = try Site(
            "gemini", robots: ["51 no\r\n"], page: Site.redirect("gemini", there.place + "/y"))
        #expect(try smallweb.run(["identity", "new", "alice"]).status == 0)
        let result = try get("--identity", "alice", here.place + "/x")
        #expect(result.status == 0 && result.text == "page\n", "\(result.errors)")
        #expect(here.requests == ["/robots.txt", "/x"] && here.identities == [true, true])
        #expect(there.requests == ["/robots.txt", "/y"] && there.identities == [false, false])
    }
}
