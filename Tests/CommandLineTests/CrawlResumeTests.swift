// SPDX-License-Identifier: MIT
import Foundation
import Glibc
import SmallWebTestSupport
import Testing

/// A run of a crawl leaves the rest to the next one, and finds missing files.
@Suite struct CrawlResumeTests {
    private let smallweb = Smallweb()

    private static func page(_ text: String) -> String { "2 text/gemini\r\n" + text }

    private func crawl(
        _ mode: String, _ words: String...
    ) throws -> Smallweb.Result {
        try smallweb.run(
            ["crawl", "--per-host-delay", "0", "--state", mode]
                + (CrawlTruthTests.modes[mode] ?? []) + words)
    }

    /// The end of redirects may fail for now, as any page.
    @Test(
        arguments: CrawlTruthTests.modes.keys.sorted(),
        CrawlTruthTests.Space.schemes.flatMap { [($0, "/"), ($0, "/moved")] })
    func theEndOfRedirectsWaits(_ mode: String, _ first: (scheme: String, seed: String)) throws {
        let seed = first.seed
        let space = try CrawlTruthTests.Space(scheme: first.scheme) { path, count in
            switch path {
            case "/": Self.page("=> /moved\n")
            case "/moved": "3 /further\r\n"
            case "/further": "3 /end\r\n"
            case "/end" where count <= 2: "5 later\r\n"
            default: Self.page("x\n")
            }
        }
        for (run, status) in [75, 75, 0].enumerated() {
            let result = try crawl(mode, space.place + seed)
            #expect(result.status == Int32(status), "run \(run): \(result.text)\(result.errors)")
            #expect(space.requests.filter { $0 == "/end" }.count == run + 1)
        }
    }

    /// A URL that a link was not followed to is asked for once it is given.
    @Test func aURLThatWasSkippedMayBeGiven() throws {
        let other = try CrawlTruthTests.Space { _, _ in Self.page("x\n") }
        let otherURL = other.place + "/"
        let space = try CrawlTruthTests.Space { path, _ in
            Self.page(path == "/" ? "=> \(otherURL)\n=> /x/1\n" : "x\n")
        }
        let words = ["--scope", "any", "--exclude", "/x/"]
        #expect(
            try crawl("a", "--scope", "any", "--max-pages", "1", space.place + "/").status == 130)
        for given in [space.place + "/", otherURL, space.place + "/x/1"] {
            for run in 1...2 {
                let result = try smallweb.run(
                    ["crawl", "--per-host-delay", "0", "--state", "a", "--add"] + words + [given])
                #expect(result.status == 0, "\(given), \(run): \(result.text)\(result.errors)")
            }
        }
        #expect(other.requests == ["/robots.txt", "/"], "\(other.requests)")
        #expect(space.requests.filter { $0 == "/x/1" }.count == 1)
        #expect(try crawl("a", "--scope", "any", "--exclude", "/x/", space.place + "/").status == 0)
        #expect(space.requests.filter { $0 == "/x/1" }.count == 1)
    }

    /// A check that begins again counts its pages again.
    @Test func limitsOfPagesAreThoseOfACheck() throws {
        let space = try CrawlTruthTests.Space { path, _ in
            path == "/" ? Self.page("=> /a\n=> /b\n") : path == "/b" ? "4 gone\r\n" : Self.page("")
        }
        for _ in 1...3 {
            let result = try crawl("check", "--per-host-pages", "3", space.place + "/")
            #expect(result.status == 22 && result.text.contains("/b\t"), "\(result.errors)")
        }
    }

    /// Pages of an archive or a cache that is gone wait, also after a stop.
    @Test(arguments: ["archive", "cache", "mirror"], CrawlTruthTests.Space.schemes)
    func whatIsGoneWaits(_ mode: String, _ scheme: String) throws {
        let pages = (1...9).map { "=> /\($0)\n" }.joined()
        let space = try CrawlTruthTests.Space(scheme: scheme) { path, _ in
            path == "/moved" ? "3 /9\r\n" : Self.page(path == "/" ? pages + "=> moved\n" : "x\n")
        }
        #expect(try crawl(mode, space.place + "/").status == 0)
        for name in ["a.warc", "m", ".cache"] {
            try? FileManager.default.removeItem(atPath: smallweb.home.file(name))
        }
        let asked = space.requests.count
        #expect(try crawl(mode, "--max-pages", "4", space.place + "/").status == 130)
        #expect(try crawl(mode, space.place + "/").status == 0)
        let again = Set(space.requests.dropFirst(asked))
        #expect(again.isSuperset(of: ["/"] + (1...9).map { "/\($0)" }), "\(again)")
        #expect(space.requests.dropFirst(asked).filter { $0 == "/1" }.count == 1)
        let count = space.requests.count
        #expect(try crawl(mode, space.place + "/").status == 0)
        #expect(space.requests.count == count)
    }

    /// A cache that cannot be written has nothing of a page that is done.
    @Test func aCacheThatCannotBeWrittenEndsTheRun() throws {
        let space = try CrawlTruthTests.Space { _, _ in Self.page("x\n") }
        _ = try smallweb.run(["--version"])
        let path = smallweb.home.file(".cache")
        try Data("in the way".utf8).write(to: URL(fileURLWithPath: path))
        let result = try crawl("cache", space.place + "/")
        #expect(result.status == 23, "\(result.text)\(result.errors)")
        try FileManager.default.removeItem(atPath: path)
        #expect(try crawl("cache", space.place + "/").status == 0)
        #expect(space.requests.filter { $0 == "/" }.count == 2)
    }

    /// The unfinished line of another file is no record that was cut.
    @Test(arguments: ["notes", "one\ntwo", "{\"a\":1}"])
    func otherFilesAreLeftAlone(_ text: String) throws {
        let space = try CrawlTruthTests.Space { _, _ in Self.page("x\n") }
        _ = try smallweb.run(["--version"])
        let path = smallweb.home.file("s")
        for words in [["crawl", "--state", "s"], ["get", "--ledger", "s"]] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            let result = try smallweb.run(words + [space.place + "/"])
            #expect(result.status == 2, "\(result.errors)")
            #expect(smallweb.home.content("s") == Array(text.utf8))
        }
        #expect(space.requests.isEmpty)
    }

    /// A `Crawl-delay` beyond ten minutes is waited for by no run.
    @Test(arguments: [601, 86_400, 1 << 40])
    func longDelaysLeaveTheServer(_ seconds: Int) throws {
        let space = try CrawlTruthTests.Space(
            robots: "2 text/plain\r\nUser-agent: *\nCrawl-delay: \(seconds)\n"
        ) { _, _ in Self.page("x\n") }
        for _ in 1...2 {
            let result = try crawl("s", space.place + "/")
            #expect(result.status == 75, "\(result.errors)")
            #expect(result.errors.contains("left for now"))
        }
        #expect(space.requests == ["/robots.txt"])
    }

    /// Links to a server that is not there are broken for now, each of them.
    @Test func linksToServersThatAreNotThereAreNamed() throws {
        let gone = try CrawlTruthTests.Space { _, _ in nil }
        let place = gone.place
        gone.server.stop()
        let space = try CrawlTruthTests.Space { _, _ in
            Self.page("=> \(place)/1\n=> \(place)/2\n")
        }
        let result = try crawl("check", space.place + "/", place + "/")
        #expect(result.status == 75, "\(result.text)\(result.errors)")
        for link in 1...2 {
            #expect(result.text.contains("connect\t\(place)/\(link)\t"), "\(result.text)")
        }
    }

    /// A page whose body cannot be decoded is not there: its links were not read.
    @Test(arguments: ["crawl", "check", "mirror"])
    func aBodyThatCannotBeDecodedIsNoPage(_ mode: String) throws {
        let server = try LoopbackServer { peer in
            let line = String(decoding: peer.readLine() ?? [], as: UTF8.self)
            while let field = peer.readLine(), field.count > 2 {}
            peer.write(
                line.contains("robots")
                    ? "HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n"
                    : "HTTP/1.1 200 X\r\nContent-Type: text/gemini\r\nContent-Encoding: gzip\r\n"
                        + "Content-Length: 4\r\n\r\nabcd")
        }
        for _ in 1...2 {
            let result = try crawl(mode, "http://127.0.0.1:\(server.port)/")
            #expect(result.status == 8, "\(result.text)\(result.errors)")
        }
    }

    /// A page that wants a certificate is there.
    @Test func aPageThatWantsACertificateIsNotBroken() throws {
        let capsule = try ChangingCapsule([
            "/": ChangingCapsule.gemtext("=> a\n=> b\n"), "/a": "60 a certificate\r\n",
            "/b": "10 a word\r\n",
        ])
        let result = try crawl("check", "-k", capsule.place + "/")
        #expect(result.status == 0 && result.text.isEmpty, "\(result.text)\(result.errors)")
    }
}
