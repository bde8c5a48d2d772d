// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

/// Deadlines also hold for long work before and during the first fetch.
@Suite(.timeLimit(.minutes(30))) struct LongWorkCommandTests {
    private let smallweb = Smallweb()

    private func write(_ name: String, _ content: [UInt8]) throws {
        try Data(content).write(to: URL(fileURLWithPath: smallweb.home.file(name)))
    }

    /// Nothing of that can be read in a millisecond.
    private static let soon = ["-m", "0.001"]

    @Test func aLedgerThatIsReadHasADeadline() throws {
        let record = #"{"v":1,"type":"error","url":"gopher://h.test/","outcome":"connect"}"# + "\n"
        try write("ledger", Array(String(repeating: record, count: 60_000).utf8))
        let result = try smallweb.run(
            ["get", "--ledger", "ledger", "gopher://127.0.0.1:1/"] + Self.soon)
        #expect(result.status == 28, "\(result.errors)")
        #expect(result.errors.contains("reading ledger took longer than 0.001 s"))
    }

    @Test(arguments: ["--warc", "--replay"])
    func anArchiveThatIsReadHasADeadline(_ option: String) throws {
        let server = try LoopbackServer(handler: DemoSites.gopher)
        let url = "gopher://127.0.0.1:\(server.port)/0/dots.txt"
        #expect(try smallweb.run(["get", "--warc", "one.warc", url]).status == 0)
        let one = try #require(smallweb.home.content("one.warc"))
        let count = (4 << 20) / one.count
        try write("many.warc", [[UInt8]](repeating: one, count: count).flatMap { $0 })
        let result = try smallweb.run(["get", option, "many.warc", url] + Self.soon)
        #expect(result.status == 28, "\(result.errors)")
        #expect(result.text.isEmpty)
        // Nothing has been done to it.
        #expect(smallweb.home.content("many.warc")?.count == one.count * count)
        #expect(try smallweb.run(["get", "--replay", "many.warc", url]).status == 0)
    }

    /// A server whose bytes are always there does not keep the fetch from its end.
    @Test func aComparisonHasADeadline() throws {
        let server = try LoopbackServer { peer in
            _ = peer.readLine()
            peer.write([UInt8](repeating: 0x61, count: 4 << 20))
        }
        let result = try smallweb.run([
            "watch", "--diff", "--ignore", "(a|b)*a(a|b){100}c", "-m", "0.5",
            "gopher://127.0.0.1:\(server.port)/0/a",
        ])
        #expect(result.status == 75 || result.status == 28, "\(result.errors)")
        #expect(result.text.hasPrefix("failed\t"))
    }

    // MARK: Options

    /// The letter is another option's, which the command does not take.
    @Test func aLetterIsExplainedAsALetter() throws {
        for (words, said) in [
            (["get", "-p"], "get does not take -p\n"),
            (["get", "--patch"], "get does not take --patch\n"),
            (["links", "-z"], "links does not take -z\n"),
        ] {
            let result = try smallweb.run(["-q"] + words + ["gopher://127.0.0.1:1/"])
            #expect(result.status == 2 && result.errors == "smallweb: " + said, "\(result.errors)")
        }
    }
}
