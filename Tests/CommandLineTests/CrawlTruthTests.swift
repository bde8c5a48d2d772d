// SPDX-License-Identifier: MIT
import Foundation
import Glibc
import SmallWebTestSupport
import Testing

/// The claim of a crawl's exit status, in each of its modes: 0 if and only if nothing is missing.
@Suite struct CrawlTruthTests {
    private let smallweb = Smallweb()

    /// A server whose replies are functions of the path and of the number of its requests, from 1,
    /// as they are written in spartan; over HTTP pages of gemtext are HTML. `nil` is a reset before
    /// a reply.
    final class Space: Sendable {
        static let schemes = ["spartan", "http"]

        let server: LoopbackServer
        let scheme: String
        private let asked = Monitor([String]())

        init(
            robots: String = "4 no\r\n", scheme: String = "spartan",
            _ reply: @escaping @Sendable (_ path: String, _ count: Int) -> String?
        ) throws {
            let asked = asked
            self.scheme = scheme
            server = try LoopbackServer { peer in
                let line = String(decoding: peer.readLine() ?? [], as: UTF8.self)
                while scheme == "http", let field = peer.readLine(), field.count > 2 {}
                let path = String(line.split(separator: " ").dropFirst().first ?? "")
                let count = asked.update { all in
                    all.append(path)
                    return all.filter { $0 == path }.count
                }
                guard let reply = path == "/robots.txt" ? robots : reply(path, count) else {
                    return peer.reset()
                }
                peer.write(scheme == "http" ? Self.http(reply) : reply)
            }
        }

        private static func http(_ reply: String) -> String {
            let parts = reply.split(
                separator: "\r\n", maxSplits: 1, omittingEmptySubsequences: false)
            let (meta, text) = (parts[0].dropFirst(2), parts.count > 1 ? String(parts[1]) : "")
            let (status, field, body) =
                switch reply.first {
                case "2" where meta == "text/gemini":
                    (
                        200, "Content-Type: text/html",
                        text.replacing(/=> (\S*)/) { "<a href='\($0.output.1)'>a</a>" }
                    )
                case "2": (200, "Content-Type: \(meta)", text)
                case "3": (302, "Location: \(meta)", "")
                case "4": (404, "X: x", "")
                case "5": (503, "X: x", "")
                default: (0, "", "")
                }
            guard status > 0 else { return reply }
            return "HTTP/1.1 \(status) X\r\n\(field)\r\nContent-Length: \(body.utf8.count)\r\n"
                + "Connection: close\r\n\r\n" + body
        }

        var place: String { "\(scheme)://127.0.0.1:\(server.port)" }
        var requests: [String] { asked.update { $0 } }
    }

    private static func page(_ text: String) -> String { "2 text/gemini\r\n" + text }

    /// The words of each mode.
    static let modes: [String: [String]] = [
        "crawl": [], "mirror": ["--mirror", "m"], "archive": ["--warc", "a.warc"],
        "check": ["--check"], "records": ["--json"], "cache": ["--cache"],
    ]

    private func crawl(
        _ mode: String, _ space: Space, _ words: String..., path: String = "/"
    ) throws -> Smallweb.Result {
        let state = space.scheme == "spartan" ? mode : mode + space.scheme
        return try smallweb.run(
            ["crawl", "--per-host-delay", "0", "--state", state] + (Self.modes[mode] ?? []) + words
                + [space.place + path])
    }

    private func state(_ name: String) throws -> [JSON] {
        let text = String(decoding: smallweb.home.content(name) ?? [], as: UTF8.self)
        return try text.split(separator: "\n").map { try JSON.parse(String($0)) }
    }

    /// How a page may fail, the first request of it or the first three, and whether it waits then.
    private static let failures: [(reply: String?, requests: Int, waits: Bool)] = [
        ("4 gone\r\n", 1, false), ("3 spartan:bad\r\n", 1, false), ("9 odd\r\n", 1, false),
        ("5 later\r\n", 1, true), ("", 1, true), (nil, 3, true),
    ]

    @Test(arguments: modes.keys.sorted(), failures.indices)
    func whatFailedForNowWaits(_ mode: String, _ index: Int) throws {
        for scheme in Space.schemes { try waits(mode, index, scheme) }
    }

    private func waits(_ mode: String, _ index: Int, _ scheme: String) throws {
        let (reply, requests, waits) = Self.failures[index]
        let space = try Space(scheme: scheme) { path, count in
            switch path {
            case "/": Self.page("=> /a\n=> /b\n=> /c\n")
            case "/b" where count <= requests: reply
            default: Self.page(path + "\n")
            }
        }
        let first = try crawl(mode, space, "--retry", "0")
        let broken: Int32 = mode == "check" ? 22 : 0
        #expect(first.status == (waits ? 75 : broken), "\(first.text)\(first.errors)")
        #expect(space.requests.filter { $0 == "/b" }.count == requests)
        let again = try crawl(mode, space, "--retry", "0")
        // A check that is over begins again, and finds the page.
        #expect(again.status == 0, "\(again.text)\(again.errors)")
        let asksAgain = waits || mode == "check"
        #expect(space.requests.filter { $0 == "/b" }.count == requests + (asksAgain ? 1 : 0))
        #expect(space.requests.filter { $0 == "/a" }.count == (mode == "check" && !waits ? 2 : 1))
        if mode == "mirror", waits {
            let files = smallweb.home.files(below: "m/" + scheme).filter { $0.hasSuffix("@") }
            #expect(files.count == 3, "\(files)")
        }
    }

    /// The run fails as the URL given does, each time.
    @Test(arguments: modes.keys.sorted())
    func theURLGivenMustBeThere(_ mode: String) throws {
        let replies: [(String, Int32)] = [
            ("4 gone\r\n", 22), ("9 odd\r\n", 8), ("3 /x\r\n", 47), ("3 /gone\r\n", 22),
            ("3 titan://h/\r\n", 102), ("5 later\r\n", 75), ("", 75),
        ]
        for scheme in Space.schemes {
            for (index, (reply, status)) in replies.enumerated() {
                let space = try Space(scheme: scheme) { path, _ in
                    path == "/x" ? reply : "4 gone\r\n"
                }
                try fails(
                    ["--state", "\(mode)\(index)\(scheme)"] + (Self.modes[mode] ?? [])
                        + [space.place + "/x"], status, "\(scheme): \(reply)",
                    isCheck: mode == "check")
            }
        }
    }

    /// The same run, twice, ends with a status and names the URL.
    private func fails(
        _ words: [String], _ status: Int32, _ comment: String, isCheck: Bool
    ) throws {
        for run in 1...2 {
            let result = try smallweb.run(["crawl", "--per-host-delay", "0"] + words)
            #expect(
                result.status == status, "\(comment), run \(run): \(result.text)\(result.errors)")
            let isNamed = result.text.contains("/x") || result.errors.contains("/x")
            #expect(!isCheck || isNamed, "\(comment): \(result.text)")
        }
    }

    @Test func aURLThatCannotBeCrawledIsRefused() throws {
        let space = try Space { _, _ in Self.page("") }
        let long = try crawl("crawl", space, path: "/" + String(repeating: "q", count: 3000))
        #expect(long.status == 2 && long.errors.contains("too long for a crawl"))
        // Links that are not read are missing in each mode, unless none are wanted.
        for type in ["image/png", "application/pdf", "audio/ogg", "text/plain"] {
            let other = try Space { _, _ in "2 \(type)\r\n<a href='/x'>" }
            for words in [[], ["--check"], ["--mirror", "m"], ["--json"], ["--depth", "0"]] {
                for run in 1...2 {
                    let state = (words + [type.replacing("/", with: "-")]).joined()
                    let result = try smallweb.run(
                        ["crawl", "--state", state] + words + [other.place + "/"])
                    let isMissing =
                        words == ["--check"] || type != "text/plain" && words.first != "--depth"
                    #expect(result.status == (isMissing ? 8 : 0), "\(type) \(words), run \(run)")
                    #expect(result.errors.contains("links are not read") == isMissing, "\(words)")
                }
            }
        }
    }

    /// A file that cannot be written ends the run; the page waits.
    @Test func aLocalFailureIsNoPages() throws {
        let space = try Space { path, _ in Self.page(path == "/" ? "=> /a\n=> /b/c\n" : "x") }
        let place = "m/spartan/127.0.0.1:\(space.server.port)"
        _ = try smallweb.run(["--version"])
        for obstacle in ["m", "\(place)/b"] {
            let path = smallweb.home.file(obstacle)
            let above = URL(fileURLWithPath: path).deletingLastPathComponent()
            try FileManager.default.createDirectory(at: above, withIntermediateDirectories: true)
            try Data("in the way".utf8).write(to: URL(fileURLWithPath: path))
            let result = try crawl("mirror", space)
            #expect(result.status == 23 && result.errors.contains(obstacle), "\(result.errors)")
            try FileManager.default.removeItem(atPath: path)
        }
        #expect(try crawl("mirror", space).status == 0)
        #expect(smallweb.home.files(below: "m").count == 3)
        // Files that went are fetched again, and others are not.
        let asked = space.requests.count
        try FileManager.default.removeItem(atPath: smallweb.home.file("\(place)/b"))
        let again = try crawl("mirror", space)
        #expect(again.status == 0 && again.errors.contains("not in m, so asked again: 1"))
        #expect(space.requests.dropFirst(asked) == ["/b/c"])
        #expect(smallweb.home.files(below: "m").count == 3)
        // A directory is no page.
        try FileManager.default.removeItem(atPath: smallweb.home.file("\(place)/a@"))
        let inTheWay = smallweb.home.file("\(place)/a@")
        try FileManager.default.createDirectory(
            atPath: inTheWay, withIntermediateDirectories: false)
        #expect(try crawl("mirror", space).status == 23)
        // The same for an archive.
        for _ in 1...2 {
            #expect(try crawl("archive", space).status == 0)
            let listed = try smallweb.run(["warc", "list", "a.warc"]).text
            #expect(listed.contains("/b/c"), "\(listed)")
            try FileManager.default.removeItem(atPath: smallweb.home.file("a.warc"))
        }
    }

    /// Pages named like the unfinished files of others.
    @Test func noPageIsThePartOfAnother() throws {
        let names = ["doc.txt.part", "doc.txt", "x.part", "x", "y?z.part", "y?z", "d.part/a"]
        let space = try Space { path, _ in
            path == "/"
                ? Self.page(names.map { "=> /\($0)\n" }.joined()) : "2 text/plain\r\n\(path)"
        }
        // A query is data to a server of spartan, so these are not followed.
        let followed = names.filter { !$0.contains("?") }
        #expect(try crawl("mirror", space).status == 0)
        let files = smallweb.home.files(below: "m")
        #expect(files.count == followed.count + 1, "\(files)")
        let bodies = files.compactMap { smallweb.home.content("m/" + $0) }
        for name in followed { #expect(bodies.contains(Array("/\(name)".utf8)), "\(name)") }
    }

    /// A server whose replies have no sign of their end: the third that looks whole counts.
    @Test func pagesWithoutAnEndAreKeptInTheEnd() throws {
        let asked = Monitor([String]())
        let server = try LoopbackServer(tls: .make()) { peer in
            let line = String(decoding: peer.readLine() ?? [], as: UTF8.self)
            asked.update { $0.append(line) }
            let isHome = line.hasSuffix("/\r\n")
            peer.write(
                line.contains("robots")
                    ? "51 no\r\n" : "20 text/gemini\r\n" + (isHome ? "=> a\n=> b\n" : "x\n"))
            peer.fin()
        }
        for mode in ["mirror", "check"] {
            let result = try smallweb.run(
                ["crawl", "-k", "--per-host-delay", "0", "--state", mode]
                    + (Self.modes[mode] ?? []) + ["gemini://127.0.0.1:\(server.port)/"])
            #expect(result.status == 0, "\(result.text)\(result.errors)")
            #expect(result.errors.contains("does not end its replies"))
        }
        #expect(smallweb.home.files(below: "m").count == 3)
        #expect(asked.update { $0 }.count == 2 * (1 + 3 + 2))
    }

    /// One page in three ways: deep, at the end of a chain, and outside of the scope.
    @Test func theBestWayCounts() throws {
        let pages = [
            "/d/": "=> r1\n=> a\n=> /out\n", "/d/a": "=> b\n", "/d/b": "=> c\n=> r7\n",
            "/d/c": "=> e\n", "/d/e": "end\n", "/d/t": "=> c\n", "/d/deep": "=> gone\n",
            "/d/last": "=> gone2\n",
        ]
        let redirects = [
            "/d/r1": "/d/r2", "/d/r2": "/d/r3", "/d/r3": "/d/t", "/out": "/d/deep",
            "/d/r7": "/d/last",
        ]
        let space = try Space { path, _ in
            redirects[path].map { "3 \($0)\r\n" } ?? pages[path].map(Self.page) ?? "4 gone\r\n"
        }
        let deep = try crawl("crawl", space, "--depth", "3", path: "/d/")
        #expect(deep.status == 0 && space.requests.contains("/d/e"), "\(space.requests)")
        #expect(Set(space.requests).count == space.requests.count, "\(space.requests)")
        let check = try crawl("check", space, path: "/d/")
        #expect(check.status == 22)
        for name in ["gone", "gone2"] {
            #expect(check.text.contains("/d/\(name)\t"), "\(check.text)")
        }
        let linked = try Space { path, _ in
            path == "/d/b"
                ? Self.page("=> deep\n")
                : redirects[path].map { "3 \($0)\r\n" } ?? pages[path].map(Self.page)
                    ?? "4 gone\r\n"
        }
        let found = try smallweb.run([
            "crawl", "--check", "--per-host-delay", "0", "--state", "t", linked.place + "/d/",
        ])
        #expect(found.text.contains("/d/gone\t"), "\(found.text)")
    }

    /// Waiting pages obey the options of this run, and no run asks for more than the state has.
    @Test func aRunThatGoesOnMayBeNarrower() throws {
        let space = try Space { path, _ in
            path == "/" ? Self.page("=> /x/1\n=> /x/2\n=> /y\n") : "2 text/plain\r\nx"
        }
        #expect(try crawl("crawl", space, "--max-pages", "1").status == 130)
        #expect(try crawl("crawl", space, "--exclude", "/x/").status == 0)
        #expect(space.requests.filter { $0.hasPrefix("/x/") }.isEmpty)
        let wider = try crawl("crawl", space)
        #expect(wider.status == 2 && wider.errors.contains("another --exclude"), "\(wider.errors)")
        #expect(try crawl("crawl", space, "--exclude", "/x/", "--depth", "1").status == 0)
        for words in [["--depth", "2"], []] {
            let result = try smallweb.run(
                ["crawl", "--state", "crawl", "--exclude", "/x/"] + words + [space.place + "/"])
            #expect(result.status == 2 && result.errors.contains("another --depth"))
        }
        #expect(try state("crawl").filter { $0["type"]?.string == "crawl" }.count == 3)
        #expect(try crawl("records", space, "--per-host-pages", "2").status == 0)
        let all = try crawl("records", space)
        #expect(all.status == 2 && all.errors.contains("another --per-host-pages"))
    }

    /// The next run keeps a pause beyond ten minutes, too.
    @Test(arguments: ["44 3600", "44 700", "44 86400"])
    func longPausesAreKept(_ reply: String) throws {
        let capsule = try ChangingCapsule([
            "/": ChangingCapsule.gemtext("=> a\n=> b\n=> c\n"), "/a": reply + "\r\n",
            "/b": ChangingCapsule.gemtext("b"), "/c": ChangingCapsule.gemtext("c"),
        ])
        let words = [
            "crawl", "-k", "--per-host-delay", "0", "--state", "s", capsule.place + "/",
        ]
        for _ in 1...2 {
            let result = try smallweb.run(words)
            #expect(result.status == 75, "\(result.text)\(result.errors)")
            #expect(result.errors.contains("left for now"), "\(result.errors)")
        }
        #expect(capsule.requests.filter { $0 == "/a" }.count == 1)
        // The pause is over.
        capsule.set("/a", ChangingCapsule.gemtext("a"))
        let past = timeval(tv_sec: time(nil) - 100_000, tv_usec: 0)
        #expect(utimes(smallweb.home.file("s"), [past, past]) == 0)
        let result = try smallweb.run(words)
        #expect(result.status == 0 && Set(capsule.requests).isSuperset(of: ["/a", "/b", "/c"]))
    }

    /// Secrets are for the URLs given in this run alone.
    @Test func secretsStayWhereTheyBelong() throws {
        let seen = Monitor([String: [String]]())
        func web(_ name: String, _ reply: @escaping @Sendable (String) -> String) throws
            -> LoopbackServer
        {
            try LoopbackServer { peer in
                let line = String(decoding: peer.readLine() ?? [], as: UTF8.self)
                var fields: [String] = []
                while let field = peer.readLine().map({ String(decoding: $0, as: UTF8.self) }),
                    field.count > 1
                {
                    fields.append(field)
                }
                let secrets = fields.filter { field in
                    ["SECRET", "HUSH", "U0VDUkVU"].contains { field.contains($0) }
                }
                seen.update { $0[name, default: []] += secrets }
                let path = String(line.split(separator: " ").dropFirst().first ?? "")
                peer.write(path == "/robots.txt" ? Self.answer(404, "") : reply(path))
            }
        }
        let other = try web("other") { _ in Self.answer(200, "fine") }
        let otherURL = "http://127.0.0.1:\(other.port)"
        let own = try web("own") { path in
            path == "/"
                ? Self.answer(302, "", "Location: \(otherURL)/moved\r\n")
                : Self.answer(200, "fine")
        }
        let links = try Space { _, _ in Self.page("=> \(otherURL)/linked\n") }
        let ownURL = "http://127.0.0.1:\(own.port)"
        let words = ["crawl", "--per-host-delay", "0", "--scope", "any", "--state", "s"]
        // The other server is a URL given in an earlier run.
        #expect(try smallweb.run(words + [otherURL + "/"]).status == 0)
        let login = ownURL.replacingOccurrences(of: "//", with: "//me:SECRET@")
        let result = try smallweb.run(
            words + [
                "--add", "-v", "--json", "-H", "Cookie: SECRET", "-H", "X-Api-Key: HUSH",
                login + "/",
                links.place + "/",
            ])
        let all = seen.update { $0 }
        #expect(all["other"] == [], "\(all)")
        #expect(all["own"]?.count == 3, "\(all)")
        let shown = result.text + result.errors
        #expect(!shown.contains("SECRET") && !shown.contains("U0VDUkVU"), "\(shown)")
        #expect(!(try state("s").description.contains("SECRET")))
        for url in ["gemini://me:SECRET@127.0.0.1/"] {
            let refused = try smallweb.run(["crawl", "--state", "t", url])
            #expect(refused.status == 2 && !refused.errors.contains("SECRET"))
        }
    }

    private static func answer(_ status: Int, _ body: String, _ fields: String = "") -> String {
        "HTTP/1.1 \(status) X\r\nContent-Type: text/plain\r\nContent-Length: \(body.utf8.count)\r\n"
            + fields + "\r\n" + body
    }

    /// An option of another scheme is left out for a page, and one that demands a key is not.
    @Test func optionsOfOtherSchemesFailNoPage() throws {
        let space = try Space { path, _ in Self.page(path == "/" ? "=> /a\n" : "x") }
        let result = try crawl("records", space, "-H", "From: me@example.org")
        #expect(result.status == 0, "\(result.errors)")
        let records = try Records(result.output)
        #expect(records["response"].count == 2 && records["error"].isEmpty)
        #expect(result.text.contains("--header is ignored for spartan"))
        let demanding = try smallweb.run([
            "crawl", "--per-host-delay", "0", "--state", "t", "--trust", "ca", space.place + "/",
        ])
        #expect(demanding.status == 2, "\(demanding.errors)")
    }
}
