// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

@testable import SmallWebCLI

/// `-OJ`: the name in Content-Disposition (RFC 6266), which a server may choose as it likes.
@Suite struct RemoteHeaderNameTests {
    private let smallweb = Smallweb()

    private func server(_ field: String, status: String = "200 OK") throws -> LoopbackServer {
        try LoopbackServer { peer in
            guard WebRequest(from: peer) != nil else { return }
            peer.write(
                "HTTP/1.1 \(status)\r\nContent-Disposition: \(field)\r\nContent-Length: 2\r\n\r\nhi"
            )
        }
    }

    @Test(arguments: [
        ("attachment; filename=a.txt", "a.txt"), ("Attachment;FileName=\"a b.txt\"", "a b.txt"),
        ("attachment; filename=\"a\\\"b\"", "a\"b"), ("inline; filename=a; filename=b", "a"),
        ("attachment; filename=old; filename*=UTF-8''n%C3%A9w", "néw"),
        ("attachment; filename*=utf-8'de'n%C3%A9w; filename=old", "néw"),
        ("attachment; filename*=iso-8859-1''%e9", "é"),
        // Bytes that are not of their charset, or of one that is not known.
        ("attachment; filename*=UTF-8''%ff; filename=old", "old"),
        ("attachment; filename*=koi8-r''a; filename=old", "old"),
        ("attachment; filename*=a; filename=old", "old"),
        // Paths, names that hide, and options of other commands.
        ("attachment; filename=\"../../etc/passwd\"", "passwd"),
        ("attachment; filename=\"C:\\\\x\\\\y.exe\"", "y.exe"),
        ("attachment; filename*=UTF-8''..%2F..%2Fx", "x"),
        ("attachment; filename=.bashrc", "bashrc"), ("attachment; filename=-rf", "rf"),
        ("attachment; filename=\"a\u{1B}[2J\u{202E}b\"", "a[2Jb"),
    ])
    func theNameIsTakenIfItIsOne(_ field: String, _ name: String) {
        #expect(FileName.name(inDisposition: field) == name)
    }

    @Test(arguments: [
        "", "attachment", "inline; filename=", "attachment; filename=\"..\"", "; filename=a",
        "attachment; filename=\"/\"", "attachment; filename*=''", "filename=a", "attachment; a=b",
    ])
    func withoutOneTheURLNamesTheFile(_ field: String) throws {
        #expect(FileName.name(inDisposition: field) == nil)
        let url = "http://127.0.0.1:\(try server(field).port)/u.txt"
        // The server is over.
        #expect(try smallweb.run(["get", "-OJ", url]).status == 7 && smallweb.home.names == [])
        let web = try server(field)
        #expect(try smallweb.run(["get", "-OJ", "http://127.0.0.1:\(web.port)/u.txt"]).status == 0)
        #expect(smallweb.home.names == ["u.txt"])
    }

    /// Any piece of a field makes a plain name in this directory, or none.
    @Test func anyFieldIsHarmless() {
        let pieces = [
            "attachment", "filename", "filename*", "=", ";", "\"", "\\", "/", "..", ".", "-", "'",
            "UTF-8", "''", "%2F", "%00", "%C3%A9", "%ff", "a", " ", "\u{0}", "\n", "\u{1B}", "é",
        ]
        var generator = SeededGenerator(seed: 92)
        var count = 0
        for _ in 0..<40_000 {
            let rest = (0..<Int.random(in: 0...8, using: &generator)).map { _ in
                pieces.randomElement(using: &generator) ?? ""
            }
            for start in ["", "attachment; filename=", "attachment; filename*=UTF-8''"] {
                guard let name = FileName.name(inDisposition: start + rest.joined()) else {
                    continue
                }
                count += 1
                let isPlain =
                    !name.contains("/") && !".-".contains(name.first ?? ".")
                    && name.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
                #expect(isPlain && name.utf8.count <= 200, "\(start)\(rest)")
            }
        }
        #expect(count > 1000)
    }

    /// Names of a server never replace a file, and failures leave none.
    @Test func aFileThatIsThereIsKept() throws {
        let web = try server("attachment; filename=\"../a.txt\"")
        let url = "http://127.0.0.1:\(web.port)/u"
        try smallweb.home.write("old", to: "a.txt")
        for name in ["a.txt.1", "a.txt.2"] {
            let record = try smallweb.records(["-OJ", url]).records.terminal[0]
            #expect(record["body"]?["path"]?.string?.hasSuffix("/" + name) == true)
        }
        #expect(smallweb.home.content("a.txt") == Array("old".utf8))
        #expect(try smallweb.run(["get", "-OJ", "--overwrite", url]).status == 0)
        #expect(smallweb.home.content("a.txt") == Array("hi".utf8))
        #expect(try smallweb.run(["get", "-O", url]).status == 0)
        #expect(smallweb.home.names.sorted() == ["a.txt", "a.txt.1", "a.txt.2", "u"])
        let refused = try server("attachment; filename=b.txt", status: "404 Not Found")
        let missing = "http://127.0.0.1:\(refused.port)/u"
        #expect(try smallweb.run(["get", "-OJ", missing]).status == 22)
        #expect(smallweb.home.names.count == 4)
    }

    /// A body that was cut begins again under the same name, and nothing is left of the first.
    @Test func aRetryBeginsAgain() throws {
        let turns = Locked(0)
        let web = try LoopbackServer { peer in
            guard let request = WebRequest(from: peer) else { return }
            let turn = turns.withLock { turns in
                turns += 1
                return turns
            }
            #expect(request["range"] == [])
            peer.write("HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 4\r\n")
            peer.write("Content-Disposition: attachment; filename=\(turn).txt\r\n\r\n")
            peer.write(turn == 1 ? "12" : "1234")
        }
        let url = "http://127.0.0.1:\(web.port)/u"
        let words = ["get", "-OJ", "--retry", "3", "--retry-delay", "0", url]
        #expect(try smallweb.run(words).status == 0)
        #expect(smallweb.home.names == ["2.txt"])
        #expect(smallweb.home.content("2.txt") == Array("1234".utf8))
    }

    @Test func whatNeedsTheNameBeforeTheReplyIsRefused() throws {
        let url = "http://127.0.0.1:1/u"
        for words in [["-C", "-"], ["-c"], ["--skip-existing"], ["--if-changed"]] {
            #expect(try smallweb.run(["get", "-OJ"] + words + [url]).status == 2, "\(words)")
        }
        let alone = try smallweb.run(["get", "-J", url])
        #expect(alone.status == 2 && alone.errors.contains("--remote-name"), "\(alone.errors)")
        #expect(try smallweb.run(["get", "--content-disposition", "-O", url]).status == 7)
        #expect(smallweb.home.names == [])
    }
}
