// SPDX-License-Identifier: MIT
import Foundation
import Glibc
import SmallWebTestSupport
import Testing

/// `--if-changed`, over every scheme, and curl's conditions.
@Suite struct UnchangedTests {
    private let smallweb = Smallweb()

    /// Inode and time of each file below the home.
    private func facts(_ names: [String]) -> [String] {
        names.map { name in
            var status = stat()
            guard stat(smallweb.home.file(name), &status) == 0 else { return "none" }
            return "\(name) \(status.st_ino) \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)"
        }
    }

    @Test func aFileOfEverySchemeIsLeftAlone() throws {
        let sites = try WarcTests.Sites()
        defer { sites.stop() }
        let words = ["-s", "--tree", "--output-dir", "m", "--if-changed"] + sites.urls
        func fetched() throws -> [JSON] {
            try smallweb.records(words).records.terminal.filter { $0["ok"]?.bool == true }
        }
        let records = try fetched()
        let paths = records.compactMap { $0["body"]?["path"]?.string }
        #expect(paths.count >= 9 && !records.contains { $0["unchanged"] != nil })
        let names = smallweb.home.files(below: "m").sorted().map { "m/\($0)" }
        #expect(names.count == Set(paths).count)
        let before = facts(names)
        let again = try fetched()
        #expect(again.count == records.count && again.allSatisfy { $0["unchanged"]?.bool == true })
        #expect(again.compactMap { $0["body"]?["path"]?.string } == paths)
        #expect(facts(names) == before)
        // A file of another's making is replaced, also where the server was asked by a validator.
        for name in names {
            try "other\n".write(
                toFile: smallweb.home.file(name), atomically: false, encoding: .utf8)
        }
        #expect(try !fetched().contains { $0["unchanged"] != nil })
        #expect(names.allSatisfy { smallweb.home.content($0) != Array("other\n".utf8) })
        #expect(smallweb.home.files(below: "m").count == names.count)
    }

    /// A page with an entity tag and a day, which knows conditions, and a redirect to it.
    private func serve(noting asked: Recorder<WebRequest> = Recorder()) throws -> LoopbackServer {
        try LoopbackServer { peer in
            guard let request = WebRequest(from: peer) else { return }
            asked.add(request)
            let fields = "ETag: \"a\"\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
            if request.target == "/to" {
                peer.write("HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n")
            } else if request["if-none-match"] == ["\"a\""]
                || request["if-modified-since"] == ["Sun, 06 Nov 1994 08:49:37 GMT"]
            {
                peer.write("HTTP/1.1 304 Not Modified\r\n\(fields)\r\n")
            } else {
                peer.write("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\(fields)\r\nabc")
            }
        }
    }

    @Test func aServerIsAskedByWhatTheFileRemembers() throws {
        let asked = Recorder<WebRequest>()
        let server = try serve(noting: asked)
        let words = ["--if-changed", "-w", "%{status} %{unchanged} %{size}", "-o", "f"]
        let url = "http://127.0.0.1:\(server.port)/"
        #expect(try smallweb.run(words + [url]).text == "200  3")
        #expect(try smallweb.run(words + [url]).text == "304 true 0")
        #expect(asked.values.last?["if-none-match"] == ["\"a\""])
        // Neither for another URL, nor for a file with other bytes or another time.
        #expect(try smallweb.run(words + [url + "other"]).text == "200 true 3")
        #expect(try smallweb.run(words + [url]).text == "200 true 3")
        try "xyz".write(toFile: smallweb.home.file("f"), atomically: false, encoding: .utf8)
        #expect(try smallweb.run(words + [url]).text == "200  3")
        #expect(smallweb.home.content("f") == Array("abc".utf8))
        #expect(utimes(smallweb.home.file("f"), nil) == 0)
        #expect(try smallweb.run(words + [url]).text == "200 true 3")
    }

    @Test func conditionsAreThoseOfCurl() throws {
        let server = try serve()
        let url = "http://127.0.0.1:\(server.port)/to"
        let format = ["-L", "-w", "%{status} %{unchanged}", "-o", "f", url]
        let day = "Sun, 06 Nov 1994 08:49:37 GMT"
        #expect(try smallweb.run(["-z", day] + format).text == "304 true")
        #expect(smallweb.home.names.isEmpty)
        #expect(try smallweb.run(["-z", "1994-11-06T08:49:37Z"] + format).text == "304 true")
        #expect(try smallweb.run(["-z", "1994-11-06", "-R"] + format).text == "200 ")
        #expect(facts(["f"])[0].hasSuffix(" 784111777.0"))
        #expect(try smallweb.run(["-z", "f"] + format).text == "304 true")
        let tags = ["--etag-save", "t", "--etag-compare", "t"]
        #expect(try smallweb.run(tags + format).text == "200 ")
        #expect(smallweb.home.content("t") == Array("\"a\"\n".utf8))
        #expect(try smallweb.run(tags + format).text == "304 true")
        #expect(try smallweb.run(tags + ["-z", "2020-01-01"] + format).text == "304 true")
        for words in [["-z", "20 soon", url], ["-z", "f", "gopher://h.test/"]] {
            let result = try smallweb.run(words)
            #expect(result.status == 2 && result.errors.contains("hint: "), "\(result.errors)")
        }
        let several = try smallweb.run(["--etag-save", "t", url, url])
        #expect(several.status == 2 && several.errors.contains("--if-changed"))
    }

    /// The file whose time is the condition is replaced by a newer page, as curl replaces it; any
    /// other keeps its name.
    @Test func aNewerPageReplacesTheFileOfItsCondition() throws {
        let server = try LoopbackServer { peer in
            guard WebRequest(from: peer) != nil else { return }
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nnew")
        }
        for (words, isReplaced) in [
            (["-z", "f", "-O"], true), (["-z", "f", "-o", "f"], true), (["-z", "./f", "-O"], true),
            (["-z", "link", "-O"], true), (["-z", "f", "-O", "-R"], true),
            (["-z", "f", "-O", "--etag-compare", "none"], true),
            (["-z", "other", "-O"], false), (["-z", "2020-01-01", "-O"], false),
            (["-z", "missing", "-O"], false), (["-z", "f", "-O", "--no-clobber"], false),
            (["-z", "f", "-o", "f", "--no-clobber"], false), (["-O"], false),
        ] {
            let smallweb = Smallweb()
            for name in ["f", "other"] { try smallweb.home.write("old", to: name) }
            #expect(symlink("f", smallweb.home.file("link")) == 0)
            #expect(chmod(smallweb.home.file("f"), 0o640) == 0)
            let result = try smallweb.run(words + ["http://127.0.0.1:\(server.port)/f"])
            #expect(result.status == 0, "\(words): \(result.errors)")
            let new = Array("new".utf8)
            #expect((smallweb.home.content("f") == new) == isReplaced, "\(words)")
            #expect((smallweb.home.content("f.1") == new) == !isReplaced, "\(words)")
            #expect(smallweb.home.content("other") == Array("old".utf8), "\(words)")
            var status = stat()
            #expect(stat(smallweb.home.file("f"), &status) == 0 && status.st_mode & 0o777 == 0o640)
        }
    }

    /// A body that is cut off does not make its tag one of a file that is complete.
    @Test func aTagIsOfACompleteReply() throws {
        let server = try LoopbackServer { peer in
            guard WebRequest(from: peer) != nil else { return }
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\nETag: \"a\"\r\n\r\nabc")
        }
        let url = "http://127.0.0.1:\(server.port)/"
        #expect(
            try smallweb.run(["--etag-save", "t", "--if-changed", "-o", "f", url]).status == 18)
        #expect(!smallweb.home.names.contains("t"))
    }
}
