// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebRecords
import SmallWebTestSupport
import Testing

@testable import SmallWebCLI

/// `--write-out`, and options that are about records alone.
@Suite struct WriteOutTests {
    private let smallweb = Smallweb()

    @Test func aFormatSaysWhatTheRecordSays() throws {
        let hole = try Hole()
        let url = hole.place + "/0/about.txt"
        let format = "%{exitcode} %{url} %{size_download} %{gopher.type}|%{http_code}\\t100%%\\n"
        let result = try smallweb.run(["-s", "-O", "-w", format, url, hole.place + "/0/nosuch"])
        let size = try #require(smallweb.home.content("about.txt")).count
        let lines = result.text.split(separator: "\n")
        #expect(lines.first == "0 \(url) \(size) 0|000\t100%")
        #expect(lines.last?.hasPrefix("22 ") == true && lines.count == 2, "\(result.text)")
    }

    @Test func theTypeOfAPageHasAnotherName() throws {
        let result = try smallweb.run(["-w", "%{type}", "gopher://127.0.0.1:1/"])
        #expect(result.status == 2, "\(result.errors)")
        #expect(result.errors.contains("hint: %{mime} is the media type"), "\(result.errors)")
        let hole = try Hole()
        let url = hole.place + "/0/about.txt"
        let good = try smallweb.run(["-s", "-o", "f", "-w", "%{mime} %{outcome}", url])
        #expect(good.text == "text/plain ok", "\(good.text) \(good.errors)")
    }

    /// The type of every kind of header as it was sent; mime is the bare type.
    @Test(arguments: [
        ("gemini", "20 Text/Gemini;lang=en\r\n", "Text/Gemini;lang=en"),
        ("gemini", "20 \r\n", "text/gemini"), ("gemini", "51 text/gemini; lang=en\r\n", ""),
        ("gemini", "51 Nothing here\r\n", ""),
        ("spartan", "2 text/gemini; charset=utf-8\r\n", "text/gemini; charset=utf-8"),
        (
            "http", "HTTP/1.1 200 OK\r\nContent-Type: text/HTML;  charset=utf-8\r\n\r\n",
            "text/HTML;  charset=utf-8"
        ),
        ("http", "HTTP/1.1 200 text/plain\r\nContent-Type: odd\r\n\r\n", "odd"),
        ("http", "HTTP/1.1 200 OK\r\n\r\n", ""),
        ("gopher", "text\r\n", "text/plain"), ("finger", "text\r\n", "text/plain"),
        ("nex", "text\r\n", "text/plain"),
    ]) func theTypeOfAPageIsThatOfItsServer(
        _ scheme: String, _ reply: String, _ type: String
    ) throws {
        let server = try LoopbackServer(tls: scheme == "gemini" ? .make() : nil) { peer in
            if scheme == "http" { _ = WebRequest(from: peer) } else { _ = peer.readLine() }
            peer.write(reply)
        }
        let path = scheme == "gopher" ? "/0/f.txt" : scheme == "finger" ? "/ada" : "/f.txt"
        let url = "\(scheme)://127.0.0.1:\(server.port)\(path)"
        let result = try smallweb.run(
            ["-sk", "--body", "none", "-w", "%{content_type}|%{mime}", url])
        let bare = type.prefix { $0 != ";" }.lowercased()
        #expect(result.text == "\(type)|\(bare == "odd" ? "" : bare)", "\(result.errors)")
    }

    @Test func aBodyComesBeforeItsWords() throws {
        let (hole, capsule) = (try Hole(), try Capsule())
        let urls = [capsule.place + "/big/70000", hole.place + "/0/about.txt"]
        let body = try urls.map { try smallweb.run(["-k", $0]).text }
        let both = try smallweb.run(["-k", "-Z", "-w", "<%{urlnum}>"] + urls)
        #expect(both.text == body[0] + "<0>" + body[1] + "<1>")
    }

    @Test func theWholeRecordAndOtherStreams() throws {
        let hole = try Hole()
        hole.server.stop()
        let result = try smallweb.run([
            "-s", "-w", "%{json}\\n%{stderr}%{errormsg}", hole.place,
        ])
        #expect(try Records(result.output).terminal[0]["outcome"]?.string == "connect")
        #expect(result.errors.hasPrefix("cannot connect"), "\(result.errors)")
        try Data("%{num_redirects}!".utf8).write(
            to: URL(fileURLWithPath: smallweb.home.file("format")))
        #expect(try smallweb.run(["-s", "-w", "@format", hole.place]).text == "0!")
    }

    /// A refusal is a reply, and its record has no error.
    @Test func aRefusalHasItsMessage() throws {
        let (capsule, web) = (try Capsule(), try LoopbackServer(handler: DemoSites.web))
        let missing = "http://127.0.0.1:\(web.port)/nosuch"
        let urls = [capsule.place + "/status/51", capsule.place + "/input", missing]
        let words = ["-sk", "-w", "%{exitcode} %{errormsg}\n", capsule.place + "/about"] + urls
        let text = try smallweb.run(words).text
        #expect(
            text.split(whereSeparator: \.isNewline).suffix(4) == [
                "0 ", "22 the server refused: 51 This is status 51",
                "101 the server asks for input: 10 What would you like to say?",
                "22 the server refused: 404 Not Found",
            ], "\(text)")
        let accepted = try smallweb.run(["--no-fail", "-w", "<%{errormsg}>", missing])
        #expect(accepted.text.hasSuffix("<>"))
    }

    @Test func innerMembersAreThereWhateverTheyAre() throws {
        let (capsule, web) = (try Capsule(), try LoopbackServer(handler: DemoSites.web))
        let words = ["-sk", "--body", "none", "-w"]
        let names = ["tls.cert", "tls.cert.dns_names", "tls.cert.sha256", "partial.body"]
        let format = names.map { "%{\($0)}" }.joined(separator: "|")
        let said = try smallweb.run(words + [format, capsule.place + "/about"]).text
            .split(separator: "|", omittingEmptySubsequences: false)
        try #require(said.count == 4 && said[3].isEmpty, "\(said)")
        let certificate = try JSON.parse(said[0])
        #expect(certificate["dns_names"] == (try JSON.parse(said[1])))
        #expect(certificate["sha256"]?.string == String(said[2]))
        let fields = "%{headers.X-Between}|%{headers.set-cookie}|%{headers.no}|%{http.method}"
        let header = try smallweb.run(words + [fields, "http://127.0.0.1:\(web.port)/headers"])
        #expect(header.text == #"yes|["a=1","b=2","a=3"]||GET"#)
    }

    @Test func innerNamesAreThoseOfTheSchema() {
        let places = [
            "body": "body", "bytes": "response.bytes", "error": "error.error",
            "partial": "error.partial", "partial.body": "body", "program": "response.program",
            "remote": "response.remote", "time": "time", "tls": "tls", "tls.cert": "cert",
            "trust": "trust",
        ]
        #expect(Set(places.keys) == Set(WriteOut.inner.keys))
        for (name, place) in places {
            let members = SchemaTests.members.filter { $0.path == "\(place).\($0.name)" }
            #expect(Set(members.map(\.name)) == Set(WriteOut.inner[name] ?? []), "\(name)")
        }
    }

    @Test(arguments: [
        ("%{http_cod}", "unknown name in the format: %{http_cod}"), ("%{url", "has no }"),
        ("%{time.totl}", "unknown name in the format: %{time.totl}"),
        ("%{tls.cert.nosuch}", "unknown name in the format: %{tls.cert.nosuch}"),
        ("%{json.status}", "unknown name in the format: %{json.status}"),
    ])
    func aBadFormatIsAMistake(_ format: String, _ message: String) throws {
        let result = try smallweb.run(["-w", format, "gopher://127.0.0.1:1/"])
        #expect(result.status == 2 && result.errors.contains(message), "\(result.errors)")
    }

    @Test(arguments: [
        ["--fields", "url"], ["--events"], ["--stream"], ["--inline-max", "1"], ["--ordered"],
        ["--summary"], ["--body", "base64"],
    ])
    func withoutRecordsWhatIsAboutThemIsRefused(_ words: [String]) throws {
        let result = try smallweb.run(words + ["gopher://127.0.0.1:1/"])
        #expect(result.status == 2 && result.errors.contains("\(words[0]) is about JSON records"))
    }

    @Test func noBodyIsNoBody() throws {
        let hole = try Hole()
        let result = try smallweb.run(["--body", "none", hole.place + "/0/about.txt"])
        #expect(result.status == 0 && result.output.isEmpty)
        #expect(try smallweb.run(["--body", "none", hole.place + "/0/nosuch"]).status == 22)
    }

    /// A ledger without outcomes would have everything fetched again.
    @Test func fieldsLeaveTheLedgerWhatItNeeds() throws {
        let hole = try Hole()
        let words = [
            "--json", "--summary", "--fields", "status", "--ledger", "done",
            hole.place + "/0/about.txt",
        ]
        #expect(try smallweb.run(words).status == 0)
        hole.server.stop()
        let again = try smallweb.run(words)
        #expect(again.status == 0 && again.text.contains("\"skipped\":1"), "\(again.text)")
    }

    /// Each by a fetch that has it: over TLS into a file, through a proxy with a redirect, failed.
    @Test func everyNameOfCurlSaysSomething() throws {
        let (capsule, hole, proxy) = (try Capsule(), try Hole(), try DemoProxy())
        let web = try LoopbackServer(handler: DemoSites.web)
        let names = WriteOut.curlNames.keys.sorted()
        let format = names.map { "\($0)=%{\($0)}" }.joined(separator: "\n") + "\n"
        var said: Set<Substring> = []
        for words in [
            ["-k", "-o", "file", capsule.place + "/about"],
            ["-x", proxy.url("http"), "http://127.0.0.1:\(web.port)/moved"],
            ["-x", proxy.url("http"), hole.place + "/0/about.txt"], ["gopher://127.0.0.1:1/"],
        ] {
            for line in try smallweb.run(["-s", "--body", "none", "-w", format] + words).text
                .split(separator: "\n")
            {
                let parts = line.split(separator: "=", maxSplits: 1)
                if parts.count == 2, parts[1] != "0", parts[1] != "000" { said.insert(parts[0]) }
            }
        }
        // The URL's index: 0 for the first.
        #expect(names.filter { !said.contains($0[...]) } == ["urlnum"])
        let url = "http://127.0.0.1:\(web.port)/about"
        let direct = try smallweb.run(["-s", "--body", "none", "-w", "%{remote_ip}", url])
        #expect(direct.text == "127.0.0.1")
    }
}
