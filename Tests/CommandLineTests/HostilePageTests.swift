// SPDX-License-Identifier: MIT
import SmallWebFormats
import SmallWebTestSupport
import Testing

@testable import SmallWeb
@testable import SmallWebCLI

/// Small pages that would like to be large, and names that would like to be more than names.
@Suite struct HostilePageTests {
    private let smallweb = Smallweb()

    private func style(_ columns: Int = 80) -> PageStyle {
        var style = PageStyle(OutputSettings())
        style.usesColor = false
        style.usesHyperlinks = true
        style.isForReading = true
        style.columns = columns
        return style
    }

    private func laidOut(_ page: String, at base: URI, _ view: inout PageView) -> String {
        let head = Head(.success, mediaType: MediaType("text/gemini"))
        let reader = PageReader(head, base: base, registry: .builtIn)
        reader.require(.text)
        let lines = reader.read(.body(Array(page.utf8)[...]))
        return lines.map { view.lines(of: $0, reader.links($0)) }.joined() + view.references()
    }

    @Test func aLongURLIsNotRepeatedInEveryLineOfItsLabel() throws {
        let base = try URI(parsing: "gemini://example.org/")
        let url = "/" + String(repeating: "x", count: 30_000)
        let label = String(repeating: "words ", count: 5_000)
        var view = PageView(style: style(), isMenu: false)
        let text = laidOut("=> \(url) \(label)\n=> /a short\n", at: base, &view)
        #expect(text.utf8.count < 80_000)
        #expect(text.contains("]8;;gemini://example.org/a\u{1B}\\short"))
    }

    @Test func whatAllLinksTakeIsBounded() throws {
        let base = try URI(
            parsing: "gemini://example.org/" + String(repeating: "x", count: 900) + "/")
        var view = PageView(style: style(20), isMenu: false, urlBytesMax: 10_000)
        let page = String(repeating: "=> a\n", count: 1_000)
        let text = laidOut(page + "=> b last\n", at: base, &view)
        #expect(text.hasPrefix("[1] \u{1B}]8;;gemini://example.org/xxx"))
        #expect(text.contains("\n=> a\n=> b last\n\n[1] "), "as written")
        #expect(text.utf8.count < 40_000)
        // Nor does one long label get the URL with each of its lines.
        view = PageView(style: style(20), isMenu: false, urlBytesMax: 10_000)
        let label = String(repeating: "words ", count: 5_000)
        #expect(laidOut("=> a \(label)\n", at: base, &view).utf8.count < 80_000)
    }

    @Test func menusAreBoundedTheSameWay() throws {
        let base = try URI(parsing: "gopher://example.org/")
        var view = PageView(style: style(), isMenu: true, urlBytesMax: 1_000)
        let item = Item(kind: .text, text: "t", url: "gopher://example.org/0/" + "long/place")
        let reader = PageReader(Head(.success), base: base, registry: .builtIn)
        let lines = (0..<100).flatMap { _ in reader.read(.item(item)) }
            .map { view.lines(of: $0, reader.links($0)) }
        #expect(lines[0].contains("[1]") && !lines[99].contains("["))
        #expect(view.references().split(separator: "\n").count <= 20)
    }

    @Test func aLineWithoutEndIsShownBeforeItsEnd() async throws {
        let spool = Spool(memoryMax: 1 << 20)
        var head = Head(.success)
        head.mediaType = MediaType("text/plain")
        let uri = try URI(parsing: "gemini://example.org/")
        let body = TerminalBody(
            to: .held(spool), log: FetchLog(uri), style: style(), isLaidOut: true)
        let scheme = try #require(Registry.builtIn["gemini"]?.scheme)
        let request = Request(uri: uri, scheme: scheme)
        let reply = Reply(to: request, FetchLog(uri), .builtIn, watchers: [], sinks: [body])
        try await reply.take(.head(head))
        let text = String(repeating: "é", count: 100_000)
        try await reply.take(.body(Array(text.utf8)[...]))
        #expect(spool.count > 190_000, "held no more than a piece of it")
        try reply.finish(
            Ending(outcome: .ok, completeness: .complete, uri: uri, head: head, bodyBytes: 0))
        #expect(spool.count == 200_000 + (32_768 / 80 + 1) * 3 + (100_000 - 3 * 32_768) / 80 + 1)
    }

    @Test func aHeaderBesideAFileIsHarmlessToATerminal() throws {
        let server = try LoopbackServer { peer in
            _ = peer.readLine()
            peer.write("HTTP/1.1 200 OK\r\nX-Title: \u{1B}]0;a\u{07}\r\nContent-Length: 1\r\n\r\nb")
        }
        var smallweb = smallweb
        smallweb.environment["SMALLWEB_FORCE_TTY"] = "80"
        let url = "http://127.0.0.1:\(server.port)/"
        let result = try smallweb.run(["get", "-i", "-o", smallweb.home.file("f"), url])
        #expect(result.status == 0 && result.text.contains("X-Title"), "\(result.errors)")
        #expect(!result.text.contains("\u{1B}"))
    }

    @Test func aTerminalDoesNotKeepAnImageOutOfAFile() throws {
        let server = try LoopbackServer { peer in
            _ = peer.readLine()
            peer.write("HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 1\r\n\r\nb")
        }
        var smallweb = smallweb
        let url = "http://127.0.0.1:\(server.port)/"
        for width in [nil, "80"] {
            smallweb.environment["SMALLWEB_FORCE_TTY"] = width
            let name = width ?? "pipe"
            let result = try smallweb.run(["get", "--render", "text", "-o", name, url])
            #expect(result.status == 0, "\(name): \(result.errors)")
            #expect(smallweb.home.content(name) == [0x62])
        }
    }

    @Test func aPagerOfBlanksIsNone() throws {
        let capsule = try Capsule()
        var smallweb = smallweb
        smallweb.environment = ["SMALLWEB_FORCE_TTY": "80", "PAGER": ""]
        let text = try smallweb.run(["open", capsule.place + "/links/"]).text
        smallweb.environment["PAGER"] = " "
        #expect(try smallweb.run(["open", capsule.place + "/links/"]).text == text)
        #expect(!text.isEmpty)
    }

    @Test func completionOffersNoNameThatDrivesATerminal() throws {
        let server = try LoopbackServer { peer in
            for name in ["ma\u{202E}in", "plain", "z\u{9B}31m"] {
                let isFirst = name.hasPrefix("ma")
                let id = String(repeating: "ab", count: 20)
                let line = "\(id) refs/heads/\(name)" + (isFirst ? "\0agent=demo\n" : "\n")
                let digits = String(line.utf8.count + 4, radix: 16)
                peer.write(String(repeating: "0", count: 4 - digits.count) + digits + line)
            }
            peer.write("0000")
            peer.hang()
        }
        let url = "git://127.0.0.1:\(server.port)/demo.git"
        let listed = try smallweb.run(["refs", "--history", url])
        #expect(listed.status == 0, "\(listed.errors)")
        let offered = try smallweb.run(["__complete", "get", url + "?ref="]).text
        #expect(offered == "\(url)?ref=plain\n:\n")
    }
}
