// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

/// Results that can be misunderstood get one note on standard error, in a pipe as well, and none
/// with -q.
@Suite struct OneNoteTests {
    private let smallweb = Smallweb()

    /// - Parameter others: Lines that are there in any case.
    private func expect(
        _ note: String, _ words: [String], stdin: String? = nil, others: Int = 0,
        location: SourceLocation = #_sourceLocation
    ) throws {
        for quiet in [[], ["-q"]] {
            let result = try smallweb.run(words + quiet, stdin: stdin)
            let lines = result.errors.split(separator: "\n")
            let said = lines.count { $0.contains(note) }
            #expect(
                said == (quiet.isEmpty ? 1 : 0) && result.status == 0, "\(words) \(result.errors)",
                sourceLocation: location)
            #expect(
                lines.count - said == (quiet.isEmpty ? others : 0), "\(words) \(result.errors)",
                sourceLocation: location)
        }
    }

    @Test func aFileBesideAnother() throws {
        let hole = try Hole()
        for name in ["about.txt", "about.txt.1"] { try smallweb.home.write("old", to: name) }
        let url = hole.place + "/0/about.txt"
        try expect("about.txt exists: written to about.txt.", ["get", "-O", url])
        #expect(smallweb.home.names == ["about.txt", "about.txt.1", "about.txt.2", "about.txt.3"])
    }

    /// Every command that takes a list.
    @Test(arguments: ["get", "head", "links", "feed", "watch --news", "watch"])
    func aListWithoutURLs(_ command: String) throws {
        let words = command.split(separator: " ").map(String.init)
        for (name, text) in [("none", ""), ("comments", "# one\n\n  \n# two\n")] {
            try smallweb.home.write(text, to: name)
            if command == "watch" {
                let result = try smallweb.run(words + ["@\(name)"])
                #expect(result.status == 1 && result.errors.contains("\(name) has no URLs"))
                continue
            }
            try expect("\(name) has no URLs", words + ["@\(name)"])
            try expect("\(name) has no URLs", words + ["--input-file", name])
            try expect("standard input has no URLs", words + ["-"], stdin: text)
        }
        let opml =
            "<?xml version=\"1.0\"?><opml version=\"2.0\"><body>"
            + "<outline text=\"x\"/></body></opml>"
        try smallweb.home.write(opml, to: "none.opml")
        guard command != "watch" else { return }
        try expect("none.opml has no feeds", words + ["@none.opml"])
    }

    /// A list of another worker's URLs is not empty.
    @Test func aListOfOthersHasURLs() throws {
        let hole = try Hole()
        let url = hole.place + "/0/about.txt"
        for shard in ["0/2", "1/2"] {
            let result = try smallweb.run(["get", "--shard", shard, "-"], stdin: url + "\n")
            #expect(result.status == 0 && result.errors.isEmpty, "\(result.errors)")
        }
    }

    @Test func aCertificateThatHasExpired() throws {
        let now = UTCDate.now
        let certificate = TestCertificate.make(notBefore: now - 900_000, notAfter: now - 90_000)
        let capsule = try Capsule(certificate)
        let url = capsule.place + "/"
        // One for the server, and not one for each page of it.
        try expect("the certificate expired on ", ["get", "-k", url, url])
        let web = try LoopbackServer(tls: certificate, handler: DemoSites.web)
        let page = "https://127.0.0.1:\(web.port)/"
        let result = try smallweb.run(["get", "-k", page, page])
        let notes = result.errors.split(separator: "\n")
        #expect(result.status == 0 && notes.count { $0.contains(" expired on ") } == 1)
        let record = try smallweb.records(["-k", "-q", url]).records.terminal[0]
        #expect(record["warnings"]?.array.map { $0["code"]?.string } == ["cert-expired"])
    }

    /// A crawl that keeps nothing says so, and each way to keep something does not.
    @Test func aCrawlWithoutATarget() throws {
        let capsule = try ChangingCapsule(["/": ChangingCapsule.gemtext("=> mailto:a@x.test x\n")])
        let url = capsule.place + "/"
        let ways = [
            [], ["--mirror", "m"], ["--warc", "w.warc"], ["--json"], ["--cache"], ["--check"],
        ]
        for (number, way) in ways.enumerated() {
            let result = try smallweb.run(["crawl", "--state", "s\(number)", url] + way)
            let says = result.errors.contains("nothing is saved")
            #expect(says == way.isEmpty && result.status == 0, "\(way): \(result.errors)")
            let names = result.errors.contains("unchecked: 1, for example mailto:a@x.test")
            #expect(names == (way == ["--check"]), "\(way): \(result.errors)")
        }
        let quiet = try smallweb.run(["crawl", "-q", "--state", "q", url])
        #expect(quiet.errors.isEmpty)
    }

    /// As a `get` of several pages has.
    @Test(arguments: [[], ["--check"], ["--mirror", "m"]])
    func aCrawlShowsItsProgress(_ words: [String]) throws {
        let gate = DispatchSemaphore(value: 0)
        let capsule = try LoopbackServer(tls: .make()) { peer in
            let path = String(decoding: peer.readLine() ?? [], as: UTF8.self)
            if path.contains("/slow") { _ = gate.wait(timeout: .now() + .seconds(Overdue.seconds)) }
            peer.write("20 text/gemini\r\n=> /slow s\n")
        }
        let screen = try Screen(isTerminal: true)
        let url = "gemini://127.0.0.1:\(capsule.port)/"
        let all = ["crawl", "--per-host-delay", "0"] + words + [url]
        let status = try smallweb.run(all, on: screen) { screen, _ in
            screen.waitFor("1 of 2 done, ", "/s")
            gate.signal()
        }
        #expect(status == 0 && screen.shown.contains("1 of 2 done, "), "\(screen.shown)")
        gate.signal()
        let pipe = try smallweb.run(all + ["--state", "other"])
        #expect(pipe.status == 0 && !pipe.errors.contains(" done, "), "\(pipe.errors)")
    }
}
