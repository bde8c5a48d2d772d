// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

/// From page to page: links that can be copied, those that `open` is told to follow, redirects in
/// the trace.
@Suite(.timeLimit(.minutes(30)))
struct BrowsingTests {
    private let smallweb: Smallweb = {
        var smallweb = Smallweb()
        smallweb.environment = ["NO_COLOR": "1", "PAGER": ""]
        return smallweb
    }()

    /// A capsule of three pages, where each path is a page's name.
    private func capsule() throws -> Capsule {
        let server = try LoopbackServer(tls: .make()) { peer in
            let line = peer.readLine().map { String(decoding: $0, as: UTF8.self) } ?? ""
            let path = line.split(separator: "/").last?.prefix { !$0.isWhitespace } ?? ""
            let body =
                [
                    "one": "# One\n=> /two To two\n=> mailto:a@b.test Mail\n",
                    "two": "# Two\n=> /three\n",
                ][
                    String(path)] ?? "# Three\n"
            peer.write("20 text/gemini\r\n" + body)
        }
        return Capsule(server: server, place: "gemini://127.0.0.1:\(server.port)")
    }

    @Test func aURLIsNeverCut() throws {
        let long = "gemini://example.org/" + String(repeating: "path/", count: 16)
        let capsule = try Capsule(
            page: Array("20 text/gemini\r\n=> \(long) Far\n=> gemini://a.test/ Near\n".utf8))
        let screen = try Screen(isTerminal: true, columns: 60)
        let url = capsule.place + "/"
        #expect(try smallweb.run(["links", url], on: screen, output: true) { _ in } == 0)
        let space = String(repeating: " ", count: 38)
        let lines = screen.shown.split(whereSeparator: \.isNewline)
            .drop { $0.contains("first visit") }
        #expect(
            lines.dropFirst() == [
                Substring(long), "\(space)Far", "gemini://a.test/" + space.dropFirst(16) + "Near",
            ], "\(screen.shown)")
    }

    @Test func aLinkIsOpenedByItsNumber() throws {
        let capsule = try capsule()
        let page = try smallweb.run(["open", capsule.place + "/one", "1"])
        #expect(page.status == 0 && page.text.hasPrefix("# Two\n"), "\(page.text)")
        let none = try smallweb.run(["open", capsule.place + "/one", "7"])
        #expect(none.status == 2 && none.errors.contains("/one has 2 links"), "\(none.errors)")
        for number in ["0", "-", "x", "1 2"] {
            #expect(try smallweb.run(["open", capsule.place + "/one", number]).status == 2)
        }
    }

    @Test func listingsOfNexArePages() throws {
        let server = try LoopbackServer { peer in
            _ = peer.readLine()
            peer.write(
                "A garden of words that is long\n=> a/\n\n=> two.txt The \u{1B}[1msecond\n=>\n")
            peer.write("no end")
        }
        var smallweb = smallweb
        smallweb.environment["SMALLWEB_FORCE_TTY"] = "20"
        let place = "nex://127.0.0.1:\(server.port)"
        let page = try smallweb.run(["open", place + "/dir/"])
        #expect(
            page.text == """
                A garden of words
                that is long
                [1] a/

                [2] The second
                =>
                no end

                [1] \(place)/dir/a/
                [2] \(place)/dir/two.txt

                """, "\(page.text)")
    }

    @Test func theTraceHasTheHeadersOfRedirects() throws {
        let capsule = try Capsule()
        let trace = try smallweb.run(["get", "-v", capsule.place + "/redirect/0"]).errors
        #expect(trace.contains("\n< 30 /about\n* 30 redirect to "), "\(trace)")
        let server = try LoopbackServer { peer in
            let path = peer.readLine().map { String(decoding: $0, as: UTF8.self) } ?? ""
            while let line = peer.readLine(), line != Array("\r\n".utf8) {}
            peer.write(
                path.contains("/old")
                    ? "HTTP/1.1 301 Moved\r\nLocation: /new\r\nSet-Cookie: hush=1\r\n"
                        + "Content-Length: 0\r\n\r\n"
                    : "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        let web = try smallweb.run(["get", "-v", "http://127.0.0.1:\(server.port)/old"]).errors
        #expect(web.contains("< Location: /new\n"), "\(web)")
        #expect(web.contains("< HTTP/1.1 200 OK\n") && !web.contains("hush"), "\(web)")
    }

    @Test func theLimitOfABodyIsSaidInItsUnit() throws {
        #expect(try smallweb.run(["help", "get"]).text.contains("(stdout: 256M)"))
        let capsule = try Capsule(
            page: Array("20 text/plain\r\n".utf8) + [UInt8](repeating: 97, count: 5000))
        for (option, words) in [("4k", "4 KiB"), ("100", "100 bytes"), ("1023", "1023 bytes")] {
            let result = try smallweb.run(
                ["get", "-q", "--max-filesize", option, capsule.place + "/"])
            #expect(result.status == 63)
            #expect(
                result.errors.hasSuffix("the body is larger than \(words)\n"), "\(result.errors)")
        }
    }
}
