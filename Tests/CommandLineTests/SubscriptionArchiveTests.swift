// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

/// `feed` and `watch`, recorded and replayed.
@Suite(.timeLimit(.minutes(30))) struct SubscriptionArchiveTests {
    private let smallweb = Smallweb()

    private static let page = ChangingCapsule.gemtext("# Log\n=> a.gmi 2026-11-20 First\n")

    @Test(arguments: ["a.warc", "a.warc.gz"])
    func aFeedIsTheSameWithoutAServer(_ name: String) throws {
        let capsule = try ChangingCapsule(["/": Self.page])
        let live = try smallweb.run(["feed", "--warc", name, capsule.place + "/"])
        #expect(live.status == 0 && live.text.contains("First"))
        #expect(try smallweb.run(["warc", "check", name]).status == 0)
        capsule.server.stop()
        let words = ["feed", "--replay", name, capsule.place + "/"]
        let replayed = try smallweb.run(words)
        #expect(replayed.status == 0 && replayed.output == live.output)
        #expect(try smallweb.run(words + [capsule.place + "/other"]).status == 103)
    }

    /// Both rounds are in one archive, and their recordings are played in their order.
    @Test func whatHasChangedIsReplayed() throws {
        let capsule = try ChangingCapsule(["/": "20 text/plain\r\none\n"])
        let url = capsule.place + "/"
        func watch(_ options: String...) throws -> Smallweb.Result {
            try smallweb.run(["watch", "-q"] + options + [url])
        }
        #expect(try watch("--warc", "a.warc.gz").text == "new\t\(url)\n")
        capsule.set("/", "20 text/plain\r\ntwo\n")
        #expect(try watch("--warc", "b.warc.gz").text == "changed\t\(url)\n")
        capsule.server.stop()
        #expect(try watch("--state", "s", "--replay", "a.warc.gz").text == "new\t\(url)\n")
        let unchanged = try watch("--state", "s", "--replay", "a.warc.gz")
        #expect(unchanged.text == "unchanged\t\(url)\n" && unchanged.status == 1)
        let changed = try watch("--state", "s", "--replay", "b.warc.gz")
        #expect(changed.text == "changed\t\(url)\n" && changed.status == 0)
    }

    /// An archive from elsewhere could have a page move for good to where it likes.
    @Test(arguments: ["feed", "watch"])
    func aReplayLeavesTheStateOfLiveRunsAlone(_ command: String) throws {
        let capsule = try ChangingCapsule(["/": Self.page])
        let url = capsule.place + "/"
        let run = [command, "--name", "n"]
        #expect(try smallweb.run(run + [url]).status == 0)
        let state = ".local/state/smallweb/\(command)/n"
        let before = smallweb.home.content(state)
        #expect(before != nil)
        capsule.set("/", "31 \(capsule.place)/elsewhere\r\n")
        capsule.set("/elsewhere", Self.page)
        _ = try smallweb.run([command, "--state", "other", "--warc", "a.warc", url])
        let replayed = try smallweb.run(run + ["--replay", "a.warc", url])
        #expect(replayed.errors.contains("has moved for good"), "\(replayed.errors)")
        #expect(smallweb.home.content(state) == before)
        #expect(try smallweb.run(run + [url]).errors.contains("has moved for good"))
        #expect(smallweb.home.content(state) != before)
    }

    @Test(arguments: ["feed", "watch"])
    func anArchiveThatCannotBeWrittenEndsTheRun(_ command: String) throws {
        let capsule = try ChangingCapsule([
            "/": Self.page, "/large": "20 text/plain\r\n" + String(repeating: "x", count: 900_000),
        ])
        let urls = ["/large", "/"].map { capsule.place + $0 }
        for options in [["--warc", "none/a.warc"], ["--warc", "."]] {
            let result = try smallweb.run([command] + options + urls)
            #expect(result.status == 23 && capsule.requests.isEmpty, "\(result.errors)")
        }
        let full = try smallweb.run(
            [command, "--warc", "a.warc", "--state", "s"] + urls,
            shell: "trap '' XFSZ; ulimit -f 1000; exec \"$@\"")
        #expect(full.status == 23, "\(full.errors)")
        #expect(capsule.requests == ["/large"])
        #expect(try smallweb.run(["warc", "check", "a.warc"]).status == 0)
        for words in [["--replay-loose"], ["--warc-secrets"], ["--cache", "--replay", "b"]] {
            #expect(try smallweb.run([command] + words + urls).status == 2, "\(words)")
        }
    }
}
