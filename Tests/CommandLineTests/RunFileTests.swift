// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

@testable import SmallWeb

/// Files of a run with several URLs, and of URLs without names.
@Suite struct RunFileTests {
    /// A file that another URL of this run has made does not count as present.
    @Test(arguments: [["-j", "1"], ["-j", "2"]])
    func pagesOfOneNameAreAllFetched(_ jobs: [String]) throws {
        let (hole, other, smallweb) = (try Hole(), try Hole(), Smallweb())
        let urls = [hole, other, hole].map { $0.place + "/0/about.txt" }
        let words = jobs + ["-O", "--skip-existing"] + urls.prefix(jobs[1] == "1" ? 3 : 2)
        #expect(try smallweb.run(words).status == 0)
        #expect(smallweb.home.names == ["about.txt", "about.txt.1"])
        hole.server.stop()
        other.server.stop()
        #expect(try smallweb.run(words).status == 0)
        #expect(smallweb.home.names == ["about.txt", "about.txt.1"])
    }

    @Test func oneOutputForSeveralURLsIsNoted() throws {
        let (hole, smallweb) = (try Hole(), Smallweb())
        let url = hole.place + "/0/about.txt"
        let note = "smallweb: further URLs go to standard output: each --output is for one\n"
        try Data(url.utf8).write(to: URL(fileURLWithPath: smallweb.home.file("urls")))
        #expect(try smallweb.run(["get", "-o", "a", url, url]).errors == note)
        #expect(try smallweb.run(["get", "-o", "b", "@urls"]).errors == note)
        for words in [["-s", "-o", "c"], ["-o", "d", "-o", "e"]] {
            #expect(try smallweb.run(["get"] + words + [url, url]).errors.isEmpty)
        }
    }

    /// The URL of a site contains no file name, so the hint gives the name from the reply.
    @Test(arguments: [
        ("", "index.part has the part that came: -C - -o index continues it", "index.part"),
        ("file", "file.part has the part that came: -C - continues it", "file.part"),
    ])
    func thePartThatCameCanBeContinued(_ path: String, _ hint: String, _ name: String) throws {
        let server = try LoopbackServer { peer in
            guard WebRequest(from: peer) != nil else { return }
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabcd")
        }
        let (smallweb, screen) = (Smallweb(), try Screen(isTerminal: true))
        let url = "http://127.0.0.1:\(server.port)/" + path
        let status = try smallweb.run(["-O", url], on: screen, output: true) { _ in }
        #expect(status == Outcome.truncated.exitStatus)
        #expect(screen.shown.contains(hint), "\(screen.shown)")
        #expect(smallweb.home.names == [name])
    }
}
