// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

@Suite struct WatchTests {
    private let smallweb = Smallweb()

    private func watch(_ arguments: String...) throws -> Smallweb.Result {
        try smallweb.run(["watch"] + arguments)
    }

    @Test func saysWhatIsNewAndWhatHasChanged() throws {
        let capsule = try ChangingCapsule(["/": "20 text/plain\r\none\n"])
        let url = capsule.place + "/"
        func expect(_ word: String, _ status: Int32) throws {
            let result = try watch("-q", url)
            #expect(result.text == "\(word)\t\(url)\n" && result.status == status)
        }
        try expect("new", 0)
        try expect("unchanged", 1)
        capsule.set("/", "20 text/plain\r\ntwo\n")
        try expect("changed", 0)
        capsule.set("/", "52 Gone\r\n")
        try expect("gone", 0)
        try expect("unchanged", 1)
        #expect(capsule.requests.count == 4)
        let states = smallweb.home.files(below: ".local/state/smallweb/watch")
        #expect(states == ["pages"])
        let mode = try FileManager.default.attributesOfItem(
            atPath: smallweb.home.file(".local/state/smallweb/watch/" + states[0]))
        #expect(mode[.posixPermissions] as? Int == 0o600)
    }

    /// A page is remembered by itself and by the rules of its comparison, not by its list.
    @Test func pagesAreRememberedNotLists() throws {
        let capsule = try ChangingCapsule([
            "/a": ChangingCapsule.gemtext("a 1\n"), "/b": ChangingCapsule.gemtext("b 1\n"),
        ])
        let (a, b) = (capsule.place + "/a", capsule.place + "/b")
        #expect(try watch(a).text == "new\t\(a)\n")
        #expect(try watch(a, b).text == "unchanged\t\(a)\nnew\t\(b)\n")
        #expect(try watch(b).text == "unchanged\t\(b)\n")
        // Other rules compare something else.
        #expect(try watch("--ignore", "^a", a).text == "new\t\(a)\n")
        #expect(try watch("--links", a).text == "new\t\(a)\n")
        capsule.set("/a", ChangingCapsule.gemtext("a 2\n"))
        #expect(try watch("--ignore", "^a", b, a).text == "new\t\(b)\nunchanged\t\(a)\n")
        #expect(try watch("--links", a).text == "unchanged\t\(a)\n")
        #expect(try watch(a, b).text == "changed\t\(a)\nunchanged\t\(b)\n")
        let files = smallweb.home.files(below: ".local/state/smallweb/watch")
        #expect(files.filter { !$0.contains(".copies") } == ["pages"])
        #expect(try watch("--name", "n", a).text == "new\t\(a)\n")
    }

    /// A list whose round takes long does not hold up another, and neither loses the other's pages.
    @Test func listsAreWatchedAtTheSameTime() throws {
        let capsule = try ChangingCapsule(["/": ChangingCapsule.gemtext("a\n")])
        let url = capsule.place + "/"
        let inner = "\(Smallweb.binary) watch -k \(url)"
        let slow = try LoopbackServer { peer in
            _ = peer.readLine()
            peer.write("slow\n")
        }
        let place = "gopher://127.0.0.1:\(slow.port)/0/"
        let first = try watch("--exec", inner + " >&2; exit 0", place)
        #expect(first.text == "new\t\(place)\n" && first.errors.contains("new\t\(url)\n"))
        #expect(try watch(place, url).text == "unchanged\t\(place)\nunchanged\t\(url)\n")
    }

    /// States of version 0.2.0 are one for each list, named by a hash.
    @Test func statesOfListsAreTakenOver() throws {
        let capsule = try ChangingCapsule([
            "/a": ChangingCapsule.gemtext("a 1\n"), "/b": ChangingCapsule.gemtext("b 1\n"),
        ])
        let (a, b) = (capsule.place + "/a", capsule.place + "/b")
        _ = try watch("--name", "0123456789abcdef", a)
        _ = try watch("--diff", "--ignore", "^x", "--name", "fedcba9876543210", a, b)
        _ = try watch("--name", "mine", b)
        capsule.set("/b", ChangingCapsule.gemtext("b 2\n"))
        #expect(try watch(a, b).text == "unchanged\t\(a)\nnew\t\(b)\n")
        let changed = try watch("--diff", "--ignore", "^x", b)
        #expect(changed.text.hasPrefix("changed\t\(b)\n"))
        #expect(changed.text.contains("-b 1\n+b 2\n"), "\(changed.text) \(changed.errors)")
        let files = smallweb.home.files(below: ".local/state/smallweb/watch")
        #expect(files.filter { !$0.contains(".copies") }.sorted() == ["mine", "pages"])
    }

    @Test func theStatusIsOfTheFirstFailureWhenNothingIsNew() throws {
        let capsule = try ChangingCapsule(["/": "20 text/plain\r\none\n"])
        let url = capsule.place + "/"
        #expect(try watch("--name", "n", url, capsule.place + "/none").status == 0)
        let second = try watch("--name", "n", url, capsule.place + "/none", "foo://x/")
        #expect(second.status == 22 && second.text.hasSuffix("failed\tfoo://x/\n"))
        let foreign = try watch("--json", "--name", "f", "foo://x/")
        #expect(foreign.status == 2)
        let records = try Records(foreign.output)
        #expect(records.all[0]["exit"]?.int == 1)
        #expect(records.all[0]["outcome"]?.string == "unsupported-scheme")
    }

    @Test func recordsSayWhatWasAndWhatIs() throws {
        let capsule = try ChangingCapsule([
            "/": ChangingCapsule.gemtext("=> a A\nVisitors: 1\nend\n")
        ])
        let arguments = ["watch", "--json", "--links", "--diff", "--summary", capsule.place + "/"]
        let first = try Records(try smallweb.run(arguments).output)
        #expect(first.all.map { $0["type"]?.string } == ["watch", "summary"])
        #expect(first.all[0]["last"] == .null && first.all[0]["change"]?.string == "new")
        capsule.set("/", ChangingCapsule.gemtext("=> b B\nVisitors: 2\nend\n"))
        let second = try Records(try smallweb.run(arguments).output).all[0]
        #expect(second["change"]?.string == "changed" && second["last"]?["size"]?.int == 23)
        #expect(second["added"]?.array == [.string(capsule.place + "/b")])
        #expect(second["removed"]?.array == [.string(capsule.place + "/a")])
    }

    @Test func showsTheDifferenceOfTexts() throws {
        let capsule = try ChangingCapsule(["/": "20 text/plain\r\none\ntwo\n"])
        _ = try watch("--diff", capsule.place + "/")
        capsule.set("/", "20 text/plain\r\none\nthree\n")
        let result = try watch("--diff", capsule.place + "/")
        #expect(result.text.hasSuffix("@@ -1,2 +1,2 @@\n one\n-two\n+three\n"))
    }

    /// Without --diff none is kept: that is said, and the next difference is shown.
    @Test func aDifferenceNeedsTheTextOfBefore() throws {
        let capsule = try ChangingCapsule(["/": "20 text/plain\r\none\n"])
        _ = try watch(capsule.place + "/")
        capsule.set("/", "20 text/plain\r\ntwo\n")
        let first = try watch("--diff", capsule.place + "/")
        #expect(first.errors.contains("/: the text of before was not kept"), "\(first.errors)")
        capsule.set("/", "20 text/plain\r\nthree\n")
        let second = try watch("--diff", capsule.place + "/")
        #expect(second.text.hasSuffix("-two\n+three\n") && second.errors.isEmpty)
    }

    @Test func leavesOutLinesThatDoNotCount() throws {
        let capsule = try ChangingCapsule([
            "/": ChangingCapsule.gemtext("a\nVisitors: 1\n# X\nb\n# Y\nc\n")
        ])
        let ignoring = ["watch", "--name", "i", "--ignore", "^Visitors", capsule.place + "/"]
        let below = ["watch", "--name", "u", "--under", "X", capsule.place + "/"]
        for arguments in [ignoring, below] { #expect(try smallweb.run(arguments).status == 0) }
        capsule.set("/", ChangingCapsule.gemtext("a\nVisitors: 2\n# X\nb\n# Y\nd\n"))
        #expect(try smallweb.run(ignoring).status == 0)
        #expect(try smallweb.run(below).status == 1)
        capsule.set("/", ChangingCapsule.gemtext("a\nVisitors: 3\n# X\nb\n# Y\nd\n"))
        #expect(try smallweb.run(ignoring).status == 1)
    }

    @Test(arguments: ["a{256}", "(a)\\1", "[", "((a{99}){99}){99}", ""])
    func refusesExpressions(_ pattern: String) throws {
        #expect(try watch("--ignore", pattern, "gemini://127.0.0.1:1/").status == 2)
    }

    @Test(arguments: [
        ["--jobs", "2"], ["--per-host", "2"], ["--every", "1s"], ["--every", "59"],
    ])
    func isPolite(_ arguments: [String]) throws {
        let result = try smallweb.run(["watch"] + arguments + ["gemini://127.0.0.1:1/"])
        #expect(result.status == 2 && result.errors.contains(arguments[0]))
    }

    @Test func aHostThatFailsIsLeftAlone() throws {
        let url = "gemini://127.0.0.1:1/"
        #expect(try watch("--state", "s", url).status == 7)
        let second = try watch("--state", "s", url)
        #expect(second.status == 75 && second.errors.contains("not asked before"))
        let state = String(decoding: smallweb.home.content("s") ?? [], as: UTF8.self)
        #expect(state.contains("host 127.0.0.1:1 next=") && state.contains(" failures=1"))
    }

    /// A page that redirects there is not asked for by way of it, and is not held itself.
    @Test func aHostThatFailsIsLeftAloneBehindARedirect() throws {
        let capsule = try ChangingCapsule([
            "/a": "30 gemini://127.0.0.1:1/\r\n", "/b": "20 text/plain\r\none\n",
        ])
        #expect(try watch("--state", "s", capsule.place + "/a").status == 7)
        let second = try watch("--state", "s", capsule.place + "/a", capsule.place + "/b")
        #expect(second.errors.contains("not asked before"), "\(second.errors)")
        #expect(second.text.contains("new\t\(capsule.place)/b\n"))
        let state = String(decoding: smallweb.home.content("s") ?? [], as: UTF8.self)
        #expect(state.contains("host 127.0.0.1:1 next=") && state.contains(" failures=1"))
    }

    @Test(arguments: ["data", "put"])
    func sendsNothing(_ member: String) throws {
        let list = "{\"url\":\"gemini://127.0.0.1:1/\",\"\(member)\":\"words\"}\n"
        let result = try smallweb.run(["watch", "-"], stdin: list)
        #expect(result.status == 2, "\(result.errors)")
        #expect(result.errors.contains("watch sends nothing: no \"data\" and no \"put\""))
    }

    /// Only of text are there lines to leave out.
    @Test func aPictureThatChangesHasChanged() throws {
        let capsule = try ChangingCapsule(["/": "20 image/png\r\none\n"])
        let arguments = ["--ignore", "x", capsule.place + "/"]
        #expect(try smallweb.run(["watch"] + arguments).text.hasPrefix("new"))
        #expect(try smallweb.run(["watch"] + arguments).text.hasPrefix("unchanged"))
        capsule.set("/", "20 image/png\r\ntwo\n")
        #expect(try smallweb.run(["watch"] + arguments).text.hasPrefix("changed"))
    }

    // MARK: exec

    @Test func runsACommandForEachPageWithNews() throws {
        let capsule = try ChangingCapsule(["/": "20 text/plain\r\none\n", "/b": "52 Gone\r\n"])
        let arguments = [
            "watch", "--json", "--state", "s", "--exec", "cat >> got; echo noise",
            capsule.place + "/", capsule.place + "/b", capsule.place + "/c",
        ]
        let result = try smallweb.run(arguments)
        #expect(result.status == 0)
        #expect(try Records(result.output).all.count == 3)
        #expect(result.errors.contains("noise"))
        let got = try Records(smallweb.home.content("got") ?? [])
        #expect(got.all.map { $0["change"]?.string } == ["new", "gone"])
        _ = try smallweb.run(arguments)
        #expect(try Records(smallweb.home.content("got") ?? []).all.count == 2)
    }

    @Test func whatACommandFailedForIsReportedAgain() throws {
        let capsule = try ChangingCapsule(["/": "20 text/plain\r\none\n"])
        let url = capsule.place + "/"
        let failed = try watch("--state", "s", "--exec", "exit 3", url)
        #expect(failed.status == 23 && failed.errors.contains("exit status 3"))
        let big = try watch("--state", "s", "--exec", "head -c 50000000 /dev/zero | wc -c", url)
        #expect(big.status == 0 && big.text == "new\t\(url)\n")
        #expect(try watch("--state", "s", "--exec", "exit 3", url).status == 1)
    }

    @Test func aSignalEndsACommandThatHangs() throws {
        let capsule = try ChangingCapsule(["/": "20 text/plain\r\none\n"])
        let started = smallweb.home.file("started")
        let result = try smallweb.run(
            ["watch", "--state", "s", "--exec", "touch started; exec sleep 1000", capsule.place]
        ) { process in
            try eventually("the command has begun") {
                FileManager.default.fileExists(atPath: started)
            }
            kill(process, SIGTERM)
        }
        #expect(result.status == -SIGTERM)
        #expect(try watch("--state", "s", capsule.place).status == 0)
    }

    // MARK: The state

    @Test func twentyProcessesAtOnceAllSucceed() throws {
        let capsule = try ChangingCapsule(["/": "20 text/plain\r\none\n"])
        let result = try smallweb.run(
            ["watch", "--state", "s", capsule.place + "/"],
            // dash's `wait` would hang, since children of Foundation's threads block SIGCHLD.
            shell: "seq 20 | xargs -P 20 -I N \"$@\" > all; cat all")
        let words = result.text.split(separator: "\n").map { $0.prefix { $0 != "\t" } }
        #expect(words.count == 20 && result.errors.isEmpty)
        #expect(words.count { $0 == "new" } == 1)
        #expect(words.count { $0 == "unchanged" } == 19)
        #expect(smallweb.home.names.filter { $0.hasPrefix("s") } == ["s"])
    }

    @Test func whatIsTornIsLeftOutWithAWarning() throws {
        let capsule = try ChangingCapsule(["/": "20 text/plain\r\none\n"])
        _ = try watch("--state", "s", capsule.place + "/")
        var state = smallweb.home.content("s") ?? []
        state += Array(
            "# a comment\nfuture line\npage gemini://x/ time=x\npage gemini://y/ ti".utf8)
        _ = FileManager.default.createFile(
            atPath: smallweb.home.file("s"), contents: Data(state))
        let result = try watch("--state", "s", capsule.place + "/")
        #expect(result.status == 1 && result.errors.contains("left out 2 lines"))
        capsule.set("/", "20 text/plain\r\ntwo\n")
        _ = try watch("--state", "s", capsule.place + "/")
        let kept = String(decoding: smallweb.home.content("s") ?? [], as: UTF8.self)
        #expect(kept.contains("# a comment\n") && kept.contains("future line\n"))
    }

    @Test func aStateThatCannotBeWrittenIsAFailure() throws {
        let capsule = try ChangingCapsule(["/": "20 text/plain\r\none\n"])
        let result = try watch("--state", ".", capsule.place + "/")
        #expect(result.status == 23)
        #expect(try watch("--state", "/dev/null", capsule.place + "/").status == 0)
        #expect(try watch("--state", "/dev/null", capsule.place + "/").status == 0)
    }

    @Test func aProcessThatKeepsTheStateIsNotWaitedForForever() throws {
        let capsule = try ChangingCapsule(["/": "20 text/plain\r\none\n"])
        _ = try watch("--state", "s", capsule.place + "/")
        let result = try smallweb.run(
            ["watch", "--max-time", "0.5", "--state", "s", capsule.place + "/"],
            shell: "binary=$1; shift; exec 9<s; flock 9; \"$binary\" \"$@\" 9<&-")
        #expect(result.status == 28 && result.errors.contains("is using the state"))
    }

    @Test func anHTTPServerIsAskedByItsValidator() throws {
        let asked = Monitor([String]())
        let server = try LoopbackServer { peer in
            var head = ""
            while let line = peer.readLine(), line.count > 2 {
                head += String(decoding: line, as: UTF8.self)
            }
            let isKnown = head.lowercased().contains("if-none-match: \"v1\"")
            asked.update { $0.append(head) }
            peer.write(
                isKnown
                    ? "HTTP/1.1 304 Not Modified\r\nETag: \"v1\"\r\n\r\n"
                    : "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Type: text/plain\r\n"
                        + "Content-Length: 4\r\n\r\none\n")
        }
        let url = "http://me:secret@127.0.0.1:\(server.port)/"
        #expect(try watch("--state", "s", url).status == 0)
        let second = try Records(
            try smallweb.run(["watch", "--state", "s", "--json", url]).output
        ).all[0]
        #expect(second["change"]?.string == "unchanged" && second["size"]?.int == 4)
        #expect(asked.update { $0.count } == 2)
        let state = String(decoding: smallweb.home.content("s") ?? [], as: UTF8.self)
        #expect(state.contains(" at=http://") && !state.contains("secret"), "\(state)")
    }

    /// A page that was changed in the second of its reply may have changed again in it.
    @Test(arguments: [
        ("Thu, 01 Jan 2026 00:00:00 GMT", false), ("Wed, 31 Dec 2025 23:59:59 GMT", true),
    ])
    func aDateIsAValidatorASecondLater(_ modified: String, _ isSent: Bool) throws {
        let asked = Monitor([String]())
        let server = try LoopbackServer { peer in
            var head = ""
            while let line = peer.readLine(), line.count > 2 {
                head += String(decoding: line, as: UTF8.self)
            }
            asked.update { $0.append(head.lowercased()) }
            peer.write(
                "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\n"
                    + "Last-Modified: \(modified)\r\nContent-Length: 4\r\n\r\none\n")
        }
        for words in [["watch", "--state", "s"], ["get", "--if-changed", "-o", "f"]] {
            for _ in 1...2 {
                _ = try smallweb.run(words + ["http://127.0.0.1:\(server.port)/"])
            }
            #expect(asked.update { $0.last?.contains("if-modified-since") } == isSent, "\(words)")
        }
    }
}
