// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

/// Pages, redirects and uploads as other clients understand them, over each scheme that has them.
@Suite struct ForeignPageTests {
    private let smallweb = Smallweb()

    /// A server of one reply to everything, whose header has `type`, and the URL of a page there.
    private func page(
        _ scheme: String, _ type: String, _ body: String
    ) throws -> (server: LoopbackServer, url: String) {
        let server = try LoopbackServer(tls: scheme == "gemini" ? .make() : nil) { peer in
            if scheme == "http" {
                guard WebRequest(from: peer) != nil else { return }
                peer.write("HTTP/1.0 200 OK\r\nContent-Type: \(type)\r\n\r\n\(body)")
            } else {
                _ = peer.readLine()
                peer.write("\(scheme == "gemini" ? "20" : "2") \(type)\r\n\(body)")
            }
        }
        return (server, "\(scheme)://127.0.0.1:\(server.port)/")
    }

    // MARK: Menus

    private static let menu =
        "iHello there\t\tx\t1\r\n0Paper 2026-10-27\t/y\tx.example\t70\r\n"
        + "1Here\t/z\t127.0.0.1\t70\r\n.\r\n0Behind\t/no\tx.example\t70\r\n"

    @Test(arguments: ["gemini", "spartan", "http"], ["", "; charset=utf-8"])
    func aMenuOfAnotherSchemeIsShown(_ scheme: String, parameters: String) throws {
        let type = "application/gopher-menu" + parameters
        let (server, url) = try page(scheme, type, Self.menu)
        defer { server.stop() }
        for form in ["plain", "ansi", "html", "markdown"] {
            let shown = try smallweb.run(["get", "--render", form, url]).text
            #expect(shown.contains("Hello there") && shown.contains("Paper"), "\(form): \(shown)")
            #expect(shown.contains("gopher://x.example/0/y"), "\(form): \(shown)")
            #expect(shown.contains("gopher://127.0.0.1/1/z"), "\(form): \(shown)")
            #expect(!shown.contains("Behind"), "\(form): \(shown)")
        }
        var terminal = smallweb
        terminal.environment = ["SMALLWEB_FORCE_TTY": "80", "PAGER": "", "NO_COLOR": "1"]
        for command in ["get", "open"] {
            #expect(try terminal.run([command, url]).text.contains("[1] Paper"))
        }
        let links = try smallweb.run(["links", url])
        #expect(
            links.text == "gopher://x.example/0/y\tPaper 2026-10-27\ngopher://127.0.0.1/1/z\tHere\n"
        )
        let records = try Records(try smallweb.run(["links", "--json", url]).output)["link"]
        #expect(
            records.map { $0["url"]?.string } == [
                "gopher://x.example/0/y", "gopher://127.0.0.1/1/z",
            ])
        let feed = try smallweb.run(["feed", "--format", "gemtext", url]).text
        #expect(feed.contains("=> gopher://x.example/0/y 2026-10-27 Paper"), "\(feed)")
        // The bytes are as they were.
        #expect(try smallweb.run(["get", url]).text == Self.menu)
    }

    /// A line that no menu can have does not end the download of the bytes.
    @Test func aMenuWithALongLineIsDelivered() throws {
        let body = "0A\t/a\tx.example\t70\r\n" + String(repeating: "x", count: 3 << 20)
        let (server, url) = try page("gemini", "application/gopher-menu", body)
        defer { server.stop() }
        let result = try smallweb.run(["get", url])
        #expect(result.status == 0 && result.output.count == body.utf8.count)
        #expect(try smallweb.run(["links", url]).text == "gopher://x.example/0/a\tA\n")
    }

    // MARK: Redirects

    @Test(arguments: ["gemini", "spartan", "http"])
    func blanksAroundARedirectAreNotAPartOfIt(_ scheme: String) throws {
        let requests = Recorder<String>()
        let server = try LoopbackServer(tls: scheme == "gemini" ? .make() : nil) { peer in
            let line: String
            if scheme == "http" {
                guard let request = WebRequest(from: peer) else { return }
                line = request.target
            } else {
                line = String(decoding: peer.readLine() ?? [], as: UTF8.self)
            }
            requests.add(line)
            let target = ["/a": "/g ", "/b": "  /g", "/c": "/g  "].first { line.contains($0.key) }?
                .value
            let head =
                switch (scheme, target) {
                case ("http", let target?): "HTTP/1.0 302 Found\r\nLocation: \(target)\r\n\r\n"
                case ("http", nil): "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n"
                case ("gemini", let target?): "30 \(target)\r\n"
                case ("gemini", nil): "20 text/plain\r\n"
                case (_, let target?): "3 \(target)\r\n"
                default: "2 text/plain\r\n"
                }
            peer.write(head + (target == nil ? "ok\n" : ""))
        }
        for path in ["/a", "/b", "/c"] {
            let result = try smallweb.run(
                ["get", "-L", "\(scheme)://127.0.0.1:\(server.port)\(path)"])
            #expect(result.status == 0 && result.text == "ok\n", "\(path): \(result.errors)")
        }
        #expect(!requests.values.contains { $0.contains("%20") }, "\(requests.values)")
    }

    // MARK: Uploads

    @Test func theServerDecidesAboutTheRootOfACapsule() throws {
        let lines = Recorder<String>()
        let server = try LoopbackServer(tls: .make()) { peer in
            lines.add(String(decoding: peer.readLine() ?? [], as: UTF8.self))
            _ = peer.read(5)
            peer.write("20 text/plain\r\nstored\n")
        }
        try Data("# hi\n".utf8).write(to: URL(fileURLWithPath: smallweb.home.file("a.gmi")))
        for path in ["/", ""] {
            let place = "titan://127.0.0.1:\(server.port)"
            let result = try smallweb.run(["put", place + path, "a.gmi"])
            #expect(result.status == 0 && result.text == "stored\n", "\(result.errors)")
            #expect(lines.values.last?.hasPrefix("\(place)/;size=5;mime=text/gemini") == true)
        }
    }

    @Test func aSemicolonInAPathIsNotCalledAParameterOfOurs() throws {
        for (path, words) in [("/a;b/c", "%3B"), ("/a;size=3", "leave ;size")] {
            let result = try smallweb.run(["put", "titan://127.0.0.1:1\(path)", "-"], stdin: "x")
            #expect(result.status == 3 && result.errors.contains(words), "\(result.errors)")
        }
    }

    /// A reference beside an upload is the page to read; one that names Titan might store it again.
    @Test func aRelativeRedirectAfterAnUploadIsRead() throws {
        let server = try LoopbackServer(tls: .make()) { peer in
            let line = String(decoding: peer.readLine() ?? [], as: UTF8.self)
            guard line.hasPrefix("titan") else {
                return _ = peer.write("20 text/gemini\r\n# stored at \(line.dropLast(1))\n")
            }
            _ = peer.read(1)
            peer.write(line.contains("/abs") ? "30 titan://127.0.0.1/r\r\n" : "30 r\r\n")
        }
        let place = "127.0.0.1:\(server.port)"
        let result = try smallweb.run(["put", "titan://\(place)/x/y", "-"], stdin: "x")
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.text == "# stored at gemini://\(place)/x/r\n")
        let other = try smallweb.run(["put", "titan://\(place)/abs", "-"], stdin: "x")
        #expect(other.status == 102 && other.errors.contains("not sending the upload again"))
    }

    // MARK: Links

    @Test func aLinkWithoutItsHostLeadsNowhere() throws {
        let body =
            "=> gemini:/x a\n=> gemini:x b\n=> gopher:/x c\n=> gopher:///x d\n=> spartan:x e\n"
            + "=> http:x f\n=> git:x g\n=> mailto:a@b.example h\n=> nosuch:x i\n"
        let (server, url) = try page("gemini", "text/gemini", body)
        defer { server.stop() }
        let links = try Records(try smallweb.run(["links", "--json", url]).output)["link"]
        #expect(links.prefix(7).allSatisfy { $0["url"] == .null })
        #expect(links.dropFirst(7).map { $0["url"]?.string } == ["mailto:a@b.example", "nosuch:x"])
        #expect(try smallweb.run(["links", url]).text == "mailto:a@b.example\th\nnosuch:x\ti\n")
        let menu = "0a\tURL:gemini:x\tx.example\t70\r\nhb\tURL:http:x\tx.example\t70\r\n"
        let (other, place) = try page("gemini", "application/gopher-menu", menu)
        defer { other.stop() }
        let found = try Records(try smallweb.run(["links", "--json", place]).output)["link"]
        #expect(found.count == 2 && found.allSatisfy { $0["url"] == .null })
    }

    // MARK: Control sequences

    private static let sequences = [
        "\u{1B}[38;5;81m", "\u{1B}[0m", "\u{1B}]0;title\u{7}", "\u{1B}]8;;x\u{1B}\\", "\u{1B}(B",
        "\u{9B}31m", "\u{9D}0;t\u{9C}", "\u{1B}Pq#0\u{1B}\\", "\u{1B}c", "\u{1B}[?25l",
        "\u{1B}_a\u{7}",
    ]

    /// A page that is laid out has nothing of a sequence, and all that is around it.
    @Test func aWholeControlSequenceIsLeftOut() throws {
        let all = Self.sequences.map { "<\($0)>" }.joined()
        let body =
            "a\(all)\n# h\(all)\n=> /a 2026-01-02 l\(all)\n* i\(all)\n> q\(all)\n"
            + "```\np\(all)\n```\n"
        let (server, url) = try page("gemini", "text/gemini", body)
        defer { server.stop() }
        let (other, menu) = try page(
            "gemini", "application/gopher-menu", "ia\(all)\t\t\t\r\n0b\(all)\t/\tx.example\t70\r\n")
        defer { other.stop() }
        let left = String(repeating: "<>", count: Self.sequences.count)
        var terminal = smallweb
        terminal.environment = ["SMALLWEB_FORCE_TTY": "200", "PAGER": "", "NO_COLOR": "1"]
        for (place, lines) in [(url, 6), (menu, 2)] {
            for form in ["html", "markdown", "plain"] {
                let shown = try smallweb.run(["get", "--render", form, place]).text
                    .replacing("&lt;", with: "<").replacing("&gt;", with: ">")
                    .replacing("\\", with: "")
                #expect(shown.components(separatedBy: left).count == lines + 1, "\(form): \(shown)")
            }
            let shown = try terminal.run(["get", place]).text
            #expect(shown.components(separatedBy: left).count == lines + 1, "\(shown)")
            let links = try smallweb.run(["links", place]).text
            #expect(links.components(separatedBy: left).count == 2, "\(links)")
            let feed = try smallweb.run(["feed", "--new", "--format", "gemtext", place]).text
            #expect(feed.contains(left), "\(feed)")
        }
    }

    /// An incomplete escape sequence removes none of the text after it.
    @Test func anUnfinishedSequenceHidesNoText() throws {
        let (server, url) = try page(
            "gemini", "text/gemini", "a\u{1B}]0;visible\nb\u{1B}[12\nc\u{1B}\nd\u{1B}P text\n")
        defer { server.stop() }
        let shown = try smallweb.run(["get", "--render", "markdown", url]).text
        #expect(shown.contains("a0;visible") && shown.contains("b12") && shown.contains("d text"))
    }
}
