// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

/// The output of `--json`, record by record.
@Suite struct JSONTests {
    private let smallweb = Smallweb()

    @Test func aPageIsOneRecord() throws {
        let capsule = try Capsule()
        let (records, result) = try smallweb.records([capsule.place + "/about"])
        #expect(result.status == 0 && result.errors.isEmpty)
        #expect(records.all.count == 1)
        let record = records.all[0]
        #expect(record["ok"]?.bool == true && record["outcome"]?.string == "ok")
        #expect(record["status"]?.int == 20 && record["class"]?.string == "success")
        #expect(record["mime"]?.string == "text/gemini" && record["lang"]?.string == "en")
        #expect(record["body"]?["text"]?.string == "# About\r\nNothing much.\r\n")
        #expect(record["body"]?["complete"]?.bool == true)
        #expect(record["size"]?.int == 24)
        #expect(record["plugin"]?.string == "builtin:gemini")
        #expect(record["remote"]?["port"]?.int == Int(capsule.server.port))
        #expect((record["time"]?["total"]?.double ?? 0) > 0)
        #expect((record["bytes"]?["received"]?.int ?? 0) > 24)
    }

    @Test func theCertificateIsDescribed() throws {
        let certificate = TestCertificate.make(names: ["capsule.example"], key: .rsa2048)
        let capsule = try Capsule(certificate)
        let result = try smallweb.run(["get", "--json", capsule.place + "/about"])
        let record = try #require(try Records(result.output).all.first)
        let found = try #require(record["tls"]?["cert"])
        #expect(found["sha256"]?.string == certificate.sha256.hex)
        #expect(found["spki_sha256"]?.string == certificate.spkiSHA256.hex)
        #expect(found["dns_names"]?.array == [.string("capsule.example")])
        #expect(found["ip_names"]?.array == [.string("127.0.0.1")])
        #expect(found["key"]?.string == "rsa-2048")
        #expect(found["self_signed"]?.bool == true)
        #expect(record["tls"]?["verify"]?.string == "tofu-first")
        #expect(record["trust"]?["verdict"]?.string == "first-use")
    }

    @Test func httpsTellsItsCertificateToo() throws {
        let certificate = TestCertificate.make()
        let server = try LoopbackServer(tls: certificate, handler: DemoSites.web)
        let (records, result) = try smallweb.records(["https://127.0.0.1:\(server.port)/about"])
        #expect(result.status == 0, "\(result.errors)")
        let tls = try #require(records.all.first?["tls"])
        #expect(tls["cert"]?["spki_sha256"]?.string == certificate.spkiSHA256.hex)
        #expect(tls["cert"]?["key"]?.string == "ecdsa-p256")
        #expect(tls["verify"]?.string == "skipped")
        #expect(records.all[0]["http"]?["version"]?.string == "1.1")
    }

    @Test func aChangedKeyNamesBoth() throws {
        let (first, second) = (TestCertificate.make(), TestCertificate.make())
        let capsule = try Capsule(second)
        let line = "127.0.0.1:\(capsule.server.port) k sha256:\(first.spkiSHA256.hex) first=1\n"
        try Data(line.utf8).write(to: URL(fileURLWithPath: smallweb.home.file("known")))
        var smallweb = smallweb
        smallweb.environment["SMALLWEB_KNOWN_HOSTS"] = smallweb.home.file("known")
        let result = try smallweb.run(["get", "--json", capsule.place + "/about"])
        #expect(result.status == 90)
        let record = try #require(try Records(result.output).all.first)
        #expect(record["trust"]?["verdict"]?.string == "changed")
        #expect(record["error"]?["actual"]?.string == "spki-sha256:\(second.spkiSHA256.hex)")
        #expect(record["error"]?["phase"]?.string == "tls")
    }

    @Test func everyRefusalAndFailureIsARecord() throws {
        let capsule = try Capsule()
        let hole = try Hole()
        let paths = ["/about", "/status/51", "/truncated", "/malformed", "/input", "/redirect/9"]
        let urls =
            paths.map { capsule.place + $0 }
            + [hole.place + "/0/missing", "nosuch://x/", "gemini://a b/", "gopher://127.0.0.1:1/"]
        let (records, result) = try smallweb.records(urls)
        #expect(records.exits == [0, 22, 18, 8, 101, 47, 22, 1, 3, 7])
        #expect(records.terminal.map { $0["n"]?.int } == Array(0..<10))
        #expect(result.status == 22)
        #expect(records.summary?["by_exit"]?["22"]?.int == 2)
        #expect(records.summary?["failed"]?.int == 9)
        #expect(records.summary?["exit"]?.int == 22)
        #expect(records.all.last?["type"]?.string == "summary")
        // One line on standard error for each failure, beside hints, unless that is not wanted.
        let lines = result.errors.split(separator: "\n")
        #expect(lines.count { !$0.hasPrefix("hint: ") } == 9)
        #expect(try smallweb.records(["-s"] + urls).result.errors.isEmpty)
    }

    @Test func whatCameOfAReplyIsInTheError() throws {
        let capsule = try Capsule()
        let (records, _) = try smallweb.records(["--max-filesize", "100", capsule.place + "/1k"])
        let record = records.all[0]
        #expect(record["type"]?.string == "error" && record["exit"]?.int == 63)
        #expect(record["partial"]?["status"]?.int == 20)
        #expect(record["partial"]?["body"]?["complete"]?.bool == false)
        #expect(record["error"]?["expected"]?.string == "100")
    }

    @Test func redirectsAreListedAndEventsComeBefore() throws {
        let capsule = try Capsule()
        let (records, _) = try smallweb.records(["--events", capsule.place + "/redirect/2"])
        #expect(
            records.all.map { $0["type"]?.string } == [
                "request", "redirect", "request", "redirect", "request", "response",
            ])
        #expect(records.terminal[0]["redirects"]?.array.count == 2)
        #expect(records.terminal[0]["final_url"]?.string == capsule.place + "/about")
        #expect(records["request"][2]["raw"]?.string == capsule.place + "/about\r\n")
    }

    @Test func secretsOfARequestAreMasked() throws {
        let server = try LoopbackServer(handler: DemoSites.web)
        let url = "http://127.0.0.1:\(server.port)/headers"
        let (records, _) = try smallweb.records(["--events", "-H", "Cookie: secret=1", url])
        let raw = try #require(records["request"].first?["raw"]?.string)
        #expect(raw.contains("Cookie: ***") && !raw.contains("secret"))
        #expect((records.terminal[0]["headers"]?["set-cookie"]?.array.count ?? 0) > 1)
        #expect(records.terminal[0]["http"]?["method"]?.string == "GET")
    }

    @Test func fieldsAreChosen() throws {
        let capsule = try Capsule()
        let arguments = ["--fields", "url,status", capsule.place + "/about"]
        let result = try smallweb.records(arguments, areWhole: false).result
        let url = capsule.place + "/about"
        #expect(
            result.text
                == #"{"type":"response","v":1,"n":0,"id":null,"url":"\#(url)","status":20}"# + "\n"
        )
        let wrong = try smallweb.run(["get", "--json", "--fields", "url,mimme", url])
        #expect(wrong.status == 2 && wrong.errors.contains("mimme"))
    }

    @Test func schemesAreRecordsToo() throws {
        let records = try Records(try smallweb.run(["schemes", "--json"]).output)
        #expect(records["scheme"].contains { $0["name"]?.string == "gemini" })
    }

    @Test func recordsAloneGoToStandardOutput() throws {
        let capsule = try Capsule()
        let url = capsule.place + "/about"
        #expect(try smallweb.run(["--json", "-o", "-", url]).status == 2)
        #expect(try smallweb.run(["--json", "-D", "-", url]).status == 2)
        #expect(try smallweb.run(["--json", "-i", url]).status == 2)
    }

    // MARK: Bodies

    /// Serves `bodies[N]` at `/9/N`.
    static func server(_ bodies: [[UInt8]]) throws -> LoopbackServer {
        try LoopbackServer { peer in
            guard let line = peer.readLine() else { return }
            let text = String(decoding: line, as: UTF8.self).filter(\.isNumber)
            if let number = Int(text), number < bodies.count { peer.write(bodies[number]) }
        }
    }

    /// The bytes that a record, or the chunks before it, say the body had.
    static func bytes(_ body: JSON?) -> [UInt8]? {
        if let text = body?["text"]?.string { return Array(text.utf8) }
        return body?["base64"]?.string.flatMap { Data(base64Encoded: $0) }.map { Array($0) }
    }

    @Test(arguments: [["--stream"], ["--ordered", "-Z"]])
    func anyBytesSurvive(_ options: [String]) throws {
        var random = SeededGenerator(seed: 7)
        var bodies: [[UInt8]] = [
            [], Array("plain\r\n".utf8), [0], Array("a\u{0}b".utf8), [0xFF, 0xFE], [0xC3],
            [0xE2, 0x80],
            Array("\u{1B}[31m\u{85}\u{202E}\u{2028}\"\\/é😀\u{7F}".utf8),
            Array(String(repeating: "😀é", count: 12_000).utf8), [0xED, 0xA0, 0x80],
            [0xF4, 0x90, 0x80, 0x80],
        ]
        for _ in 0..<20 {
            let count = Int.random(in: 1...20_000, using: &random)
            bodies.append((0..<count).map { _ in UInt8.random(in: 0...255, using: &random) })
        }
        let server = try Self.server(bodies)
        let urls = bodies.indices.map { "gopher://127.0.0.1:\(server.port)/9/\($0)" }
        let (records, result) = try smallweb.records(options + urls)
        #expect(result.status == 0, "\(result.errors)")
        #expect(records.terminal.count == bodies.count)
        for (body, record) in zip(bodies, records.terminal) {
            #expect(record["size"]?.int == body.count)
            #expect(record["body"]?["sha256"]?.string == TestDigest.sha256(body))
            if options.contains("--stream") {
                let chunks = records["chunk"].filter { $0["n"] == record["n"] }
                #expect(record["body"]?["chunks"]?.int == chunks.count)
                #expect(chunks.flatMap { Self.bytes($0) ?? [] } == body)
                #expect(chunks.enumerated().allSatisfy { $1["seq"]?.int == $0 })
            } else {
                #expect(Self.bytes(record["body"]) == body)
            }
        }
    }

    @Test func aKnownCharsetBecomesText() throws {
        let capsule = try Capsule()
        let (records, _) = try smallweb.records([capsule.place + "/latin1"])
        let body = try #require(records.all[0]["body"])
        #expect(body["text"]?.string == "naïve" && body["transcoded"]?.string == "iso-8859-1")
        let original = body["text"]?.string?.data(using: .isoLatin1).map { Array($0) } ?? []
        #expect(body["sha256"]?.string == TestDigest.sha256(original))
    }

    @Test func bodiesAreLeftOutOnRequestAndBeyondTheLimit() throws {
        let capsule = try Capsule()
        let url = capsule.place + "/1k"
        let omitted = { (options: [String]) throws in
            try smallweb.records(options + [url]).records.all[0]["body"]?["omitted"]?.string
        }
        #expect(try omitted(["--body", "none"]) == "none-requested")
        #expect(try omitted(["--inline-max", "0"]) == "inline-limit")
        #expect(try omitted(["--inline-max", "1024"]) == nil)
        let place = smallweb.home.path
        let (records, _) = try smallweb.records(["--inline-max", "10", "--output-dir", place, url])
        let path = try #require(records.all[0]["body"]?["path"]?.string)
        #expect(FileManager.default.contents(atPath: path)?.count == 1024)
    }

    @Test func aFileIsNamedInTheRecord() throws {
        let hole = try Hole()
        let url = hole.place + "/0/about.txt"
        for options in [["-o", "page"], ["-O"], ["--body", "file"], ["--tree"]] {
            let (records, result) = try smallweb.records(options + [url])
            #expect(result.status == 0, "\(result.errors)")
            let path = try #require(records.all[0]["body"]?["path"]?.string)
            #expect(path.hasPrefix("/"))
            #expect(FileManager.default.contents(atPath: path)?.count == 45)
        }
        #expect(smallweb.home.names.contains("127.0.0.1:\(hole.server.port)"))
    }

    @Test func aTreeHasRoomForAFileAndADirectoryOfOneName() throws {
        let server = try LoopbackServer { peer in
            guard let line = peer.readLine() else { return }
            peer.write(line)
        }
        let place = "gopher://127.0.0.1:\(server.port)/9"
        let paths = ["/a", "/a/b", "/a/b/c", "/a", "/..%2F..%2Fx/../y"]
        let (records, result) = try smallweb.records(["--tree"] + paths.map { place + $0 })
        #expect(result.status == 0, "\(result.errors)")
        let files = records.terminal.compactMap { $0["body"]?["path"]?.string }
        #expect(Set(files).count == paths.count)
        for (path, file) in zip(paths, files) {
            #expect(file.hasPrefix(smallweb.home.path) || file.hasPrefix("/private"))
            let content = String(
                decoding: FileManager.default.contents(atPath: file) ?? Data(), as: UTF8.self)
            #expect(content == path.removingPercentEncoding! + "\r\n")
        }
    }

    @Test func serverTextCannotDriveTheTerminal() throws {
        let server = try LoopbackServer(tls: .make()) { peer in
            _ = peer.readLine()
            peer.write(
                Array("51 \u{1B}]0;x\u{7}\u{85}\u{202E}".utf8) + [0xFF, 0x41] + Array("\r\n".utf8))
        }
        let (records, _) = try smallweb.records(["gemini://127.0.0.1:\(server.port)/"])
        let record = records.all[0]
        if record["type"]?.string == "response" {
            let raw = record["meta_base64"]?.string.flatMap { Data(base64Encoded: $0) }
            #expect(raw?.suffix(2) == Data([0xFF, 0x41]))
        }
    }
}
