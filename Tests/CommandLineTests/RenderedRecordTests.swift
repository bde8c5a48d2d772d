// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

/// `--render` with `--json`: a record, or the file that it names, has the page as it is laid out.
@Suite struct RenderedRecordTests {
    private static let forms = ["plain", "text", "ansi", "html", "markdown", "md"]
    private static let names = ["plain": "text", "md": "markdown"]
    private let smallweb = Smallweb()

    /// Every scheme and form; other bodies and refusals are as without it.
    @Test func aRecordHasThePageAsStandardOutputGetsIt() throws {
        let sites = try WarcTests.Sites()
        let urls = sites.urls.filter { !$0.contains("/big/") }
        let plain = try smallweb.records(["-s"] + urls).records.terminal
        for form in Self.forms {
            let laidOut = try smallweb.records(["-s", "--render", form] + urls).records.terminal
            #expect(laidOut.count == urls.count)
            var count = 0
            for (before, record) in zip(plain, laidOut) {
                let url = record["url"]?.string ?? ""
                #expect(record["size"] == before["size"] && record["exit"] == before["exit"])
                #expect(record["body"]?["sha256"] == before["body"]?["sha256"], "\(url)")
                guard record["body"]?["text"] != nil else {
                    #expect(record["body"] == before["body"], "\(url)")
                    continue
                }
                count += 1
                let shown = try smallweb.run(["get", "-s", "-k", "--render", form, url]).output
                #expect(record["body"]?["text"]?.string == String(decoding: shown, as: UTF8.self))
                #expect(record["body"]?["rendered"]?.string == Self.names[form] ?? form)
                #expect(record["body"]?["total"]?.int == shown.count, "\(url)")
            }
            #expect(count >= 8)
        }
    }

    @Test(arguments: ["-o", "-O", "--body"])
    func aRecordNamesTheFormOfItsFileAndBothSizes(_ option: String) throws {
        let capsule = try Capsule()
        let value = ["-o": ["page"], "-O": [], "--body": ["file"]][option] ?? []
        for form in Self.forms {
            let words = ["--overwrite", "--render", form, option] + value
            let (records, result) = try smallweb.records(words + [capsule.place + "/about"])
            #expect(result.status == 0, "\(result.errors)")
            let body = try #require(records.all.first?["body"])
            #expect(body["rendered"]?.string == Self.names[form] ?? form)
            let path = try #require(body["path"]?.string)
            let file = try #require(FileManager.default.contents(atPath: path))
            #expect(body["total"]?.int == file.count && records.all[0]["size"]?.int == 24)
            let bytes = Array("# About\r\nNothing much.\r\n".utf8)
            #expect(body["sha256"]?.string == TestDigest.sha256(bytes))
            #expect(file != Data(bytes))
        }
    }

    /// A file that nothing was written to is not one of no bytes.
    @Test func anUnchangedFileHasNoSize() throws {
        let server = try LoopbackServer { peer in
            var isAgain = false
            while let line = peer.readLine(), line.count > 2 {
                let field = String(decoding: line, as: UTF8.self).lowercased()
                isAgain = isAgain || field.hasPrefix("if-none-match")
            }
            let body = isAgain ? "" : "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\na\n"
            peer.write("HTTP/1.1 \(isAgain ? 304 : 200) A\r\nETag: \"a\"\r\n\(body)\r\n")
        }
        let url = "http://127.0.0.1:\(server.port)/a"
        let words = ["--if-changed", "--render", "html", "-O", url]
        let first = try smallweb.records(words).records.all[0]
        let second = try smallweb.records(words).records.all[0]
        #expect(first["body"]?["total"]?.int ?? 0 > 2)
        #expect(second["unchanged"]?.bool == true, "\(second)")
        #expect(second["body"]?["path"] == first["body"]?["path"])
        #expect(second["body"]?["total"]?.int == nil)
    }

    @Test func aBodyThatIsNoTextStaysInItsBytes() throws {
        let bytes = Array("20 image/png\r\n".utf8) + [0x89, 0x50, 0, 0xFF]
        let capsule = try Capsule(page: bytes)
        for form in Self.forms {
            let record = try smallweb.records(["--render", form, capsule.place]).records.all[0]
            #expect(record["body"]?["base64"]?.string == "iVAA/w==" && record["ok"]?.bool == true)
            #expect(record["body"]?["rendered"] == nil && record["body"]?["total"] == nil)
        }
    }

    @Test func base64IsOfTheRendering() throws {
        let capsule = try Capsule()
        let words = ["--render", "html", "--body", "base64", capsule.place + "/about"]
        let body = try #require(try smallweb.records(words).records.all[0]["body"])
        let text = Data(base64Encoded: body["base64"]?.string ?? "") ?? Data()
        #expect(String(decoding: text, as: UTF8.self).hasPrefix("<h1>About"))
        #expect(body["rendered"]?.string == "html" && body["total"]?.int == text.count)
    }

    /// The part that came is laid out, and the status stays.
    @Test func aTruncatedPageSaysSo() throws {
        let server = try LoopbackServer(tls: .make()) { peer in
            _ = peer.readLine()
            peer.write("20 text/gemini\r\n# A\nhal")
            peer.fin()
        }
        let url = "gemini://127.0.0.1:\(server.port)/"
        let (records, result) = try smallweb.records(["--render", "markdown", url])
        #expect(result.status == 18 && records.all[0]["exit"]?.int == 18)
        #expect(records.all[0]["body"]?["text"]?.string?.hasPrefix("# A") == true)
        #expect(records.all[0]["body"]?["complete"]?.bool == false)
    }

    /// Records are for programs, and a setting of the user's is for a terminal.
    @Test func aConfigFileChangesNoRecord() throws {
        let capsule = try Capsule()
        let path = smallweb.home.file("config")
        var configured = smallweb
        configured.environment["SMALLWEB_CONFIG"] = path
        try Data("render = html\n".utf8).write(to: URL(fileURLWithPath: path))
        let body = try configured.records([capsule.place + "/about"]).records.all[0]["body"]
        #expect(body?["text"]?.string == "# About\r\nNothing much.\r\n" && body?["rendered"] == nil)
        let raw = ["--raw", "--render", "html", capsule.place + "/about"]
        #expect(try smallweb.records(raw).records.all[0]["body"] == body)
    }

    @Test func requestsOfAListAreLaidOut() throws {
        let capsule = try Capsule()
        let lines = (0..<3).map { "{\"url\":\"\(capsule.place)/about\",\"id\":\($0)}\n" }.joined()
        let (records, _) = try smallweb.records(["--render", "markdown", "-Z", "-"], stdin: lines)
        #expect(records.terminal.count == 3)
        for record in records.terminal {
            #expect(record["body"]?["rendered"]?.string == "markdown")
            #expect(record["body"]?["text"]?.string?.hasPrefix("# About") == true)
        }
    }
}
