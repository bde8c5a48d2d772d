// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

/// `watch --news`: nothing is printed but news, and a failure once it lasts.
@Suite struct WatchNewsTests {
    private let smallweb = Smallweb()

    /// A round with the state `s`, in which no server is left alone.
    private func round(_ words: [String], shell: String? = nil) throws -> Smallweb.Result {
        let lines = state.split(separator: "\n").filter { !$0.hasPrefix("host ") }
        if !lines.isEmpty { try smallweb.home.write(lines.joined(separator: "\n") + "\n", to: "s") }
        return try smallweb.run(["watch", "--news", "--state", "s"] + words, shell: shell)
    }

    private var state: String {
        String(decoding: smallweb.home.content("s") ?? [], as: UTF8.self)
    }

    @Test func onlyNewsIsPrinted() throws {
        let capsule = try ChangingCapsule(["/": ChangingCapsule.gemtext("one\n")])
        let url = capsule.place + "/"
        try smallweb.home.write("news = true\nfailures-after = 2\n", to: "conf")
        func expect(_ line: String?) throws {
            let text = line.map { "\($0)\t\(url)\n" } ?? ""
            let result = try round([url])
            #expect(result.text == text && result.errors.isEmpty && result.status == 0)
        }
        try expect("new")
        try expect(nil)
        let configured = try smallweb.run(["watch", "-K", "conf", "--state", "s", url])
        #expect(configured.output.isEmpty && configured.errors.isEmpty && configured.status == 0)
        let json = try round(["--json", url])
        #expect(json.output.isEmpty && json.status == 0)
        capsule.set("/", ChangingCapsule.gemtext("two\n"))
        try expect("changed")
        try expect(nil)
        capsule.set("/", "52 Gone\r\n")
        try expect("gone")
        try expect(nil)
        #expect(capsule.requests.count == 7)
        // It has written a state as before.
        #expect(!state.contains("failures") && !state.contains("told"))
        #expect(try smallweb.run(["watch", "--state", "s", url]).text == "unchanged\t\(url)\n")
    }

    /// Replies that are failures, with the exit status of each.
    static let failures: [(reply: String, status: Int32)] = [
        ("41 busy\r\n", 75), ("44 1\r\n", 75), ("51 no\r\n", 22), ("59 bad\r\n", 22),
        ("", 52), ("banana\r\n", 8), ("60 who\r\n", 98), ("10 what\r\n", 101),
    ]

    /// Said once after so many rounds, again when it is another one, and after a success as at
    /// first. Meanwhile the status does not say that all is well.
    @Test(arguments: failures.indices, [1, 2, 3])
    func aFailureIsSaidOnceItLasts(_ index: Int, _ count: Int) throws {
        let (reply, status) = Self.failures[index]
        let capsule = try ChangingCapsule(["/": ChangingCapsule.gemtext("one\n")])
        let url = capsule.place + "/"
        let words = count == 3 ? [] : ["--failures-after", "\(count)"]
        func turn(_ news: String = "", status: Int32, says: Bool) throws {
            let result = try round(words + [url])
            let errors = result.errors.split(separator: "\n")
            #expect(result.text.hasPrefix(news) && result.text.isEmpty == news.isEmpty)
            #expect(result.status == status && errors.count == (says ? 1 : 0), "\(result.errors)")
            #expect(!says || errors.first?.hasPrefix("smallweb: \(url): ") == true)
        }
        try turn("new\t\(url)\n", status: 0, says: false)
        for _ in 0..<2 {
            capsule.set("/", reply)
            for _ in 1..<count { try turn(status: 75, says: false) }
            try turn(status: status, says: true)
            for _ in 0..<2 { try turn(status: status, says: false) }
            // Another way to fail, and back: neither is said again.
            let other = reply == "51 no\r\n" || status == 22 ? "41 busy\r\n" : "51 no\r\n"
            capsule.set("/", other)
            let otherStatus: Int32 = other == "51 no\r\n" ? 22 : 75
            try turn(status: otherStatus, says: otherStatus != status)
            try turn(status: otherStatus, says: false)
            capsule.set("/", reply)
            try turn(status: status, says: false)
            #expect(state.contains(" failures=\(count + 5) "))
            capsule.set("/", ChangingCapsule.gemtext("one\n"))
            try turn(status: 0, says: false)
            #expect(!state.contains("failures") && !state.contains("told"))
        }
    }

    /// A server that fails one request in five wakes nobody, and is no reason for a 0.
    @Test func aFailureNowAndThenIsNotSaid() throws {
        let capsule = try ChangingCapsule(["/": ChangingCapsule.gemtext("one\n")])
        let url = capsule.place + "/"
        for turn in 0..<15 {
            let fails = turn % 5 == 4
            capsule.set("/", fails ? "41 busy\r\n" : ChangingCapsule.gemtext("one\n"))
            let result = try round([url])
            #expect(result.text == (turn == 0 ? "new\t\(url)\n" : "") && result.errors.isEmpty)
            #expect(result.status == (fails ? 75 : 0))
        }
    }

    /// A server that is left alone was not asked: that is no failure more, and no success.
    @Test func roundsWithoutARequestDoNotCount() throws {
        let capsule = try ChangingCapsule(["/": "41 busy\r\n"])
        let url = capsule.place + "/"
        let words = ["watch", "--news", "--failures-after", "2", "--state", "s", url]
        for _ in 0..<4 {
            let result = try smallweb.run(words)
            #expect(result.status == 75 && result.errors.isEmpty && result.output.isEmpty)
        }
        #expect(capsule.requests.count == 1 && state.contains(" failures=1"))
        // Without --news each round says it.
        let plain = try smallweb.run(["watch", "--state", "s", url])
        #expect(plain.text == "failed\t\(url)\n" && plain.errors.contains("not asked before"))
    }

    /// One page fails and another has news: the news is printed, and the status is not 0.
    @Test func newsDoNotHideAFailure() throws {
        let capsule = try ChangingCapsule(["/a": ChangingCapsule.gemtext("a\n"), "/b": "51 no\r\n"])
        let (a, b) = (capsule.place + "/a", capsule.place + "/b")
        let first = try round([a, b])
        #expect(first.text == "new\t\(a)\n" && first.status == 75 && first.errors.isEmpty)
        _ = try round([a, b])
        capsule.set("/a", ChangingCapsule.gemtext("b\n"))
        let third = try round([a, b])
        #expect(third.text == "changed\t\(a)\n" && third.status == 22)
        #expect(third.errors.contains("\(b): "))
    }

    /// Waiting cannot mend them.
    @Test func mistakesAreSaidAtOnce() throws {
        for (url, status) in [("nope://x/", 1), ("gemini://", 3), ("gemini://[::1", 3)] {
            let result = try round([url])
            #expect(result.status == Int32(status), "\(result.errors)")
            #expect(result.errors.contains(url))
        }
        let alone = try smallweb.run(["watch", "--failures-after", "2", "gemini://127.0.0.1:1/"])
        #expect(alone.status == 2 && alone.errors.contains("--news"), "\(alone.errors)")
        let capsule = try ChangingCapsule(["/": ChangingCapsule.gemtext("one\n")])
        let key = "sha256:" + String(repeating: "0", count: 64)
        for says in [true, false] {
            let result = try round(["--pin", key, capsule.place + "/"])
            #expect(result.status == 90 && result.errors.isEmpty != says, "\(result.errors)")
        }
    }

    /// No room for the state or the news: each round says so, and nothing is lost.
    @Test func aFullDiskIsSaidInEachRound() throws {
        let capsule = try ChangingCapsule(["/": ChangingCapsule.gemtext("one\n")])
        let url = capsule.place + "/"
        // The key of the server has its place already.
        #expect(try smallweb.run(["head", url]).status == 0)
        let full = "trap '' XFSZ; (ulimit -f 0; \"$@\" 2>&1; echo \"status $?\") | cat"
        for _ in 0..<2 {
            let result = try round([url], shell: full)
            #expect(result.text.contains("new\t\(url)\n"), "\(result.text)")
            #expect(result.text.contains("smallweb: ") && result.text.hasSuffix("status 23\n"))
            let device = try smallweb.run(
                ["watch", "--news", "--state", "s", url], output: "/dev/full")
            #expect(device.status == 23 && !device.errors.isEmpty)
        }
        #expect(try round([url]).text == "new\t\(url)\n")
        #expect(try round([url]).output.isEmpty)
    }

    /// Killed between two rounds, it does not repeat its news.
    @Test(arguments: [SIGKILL, SIGINT, SIGTERM])
    func aKillBetweenRoundsLosesNothing(_ signal: Int32) throws {
        let capsule = try ChangingCapsule(["/a": ChangingCapsule.gemtext("a\n"), "/b": "51 no\r\n"])
        let (a, b) = (capsule.place + "/a", capsule.place + "/b")
        let words = ["watch", "--news", "--failures-after", "1", "--state", "s", a, b]
        let result = try smallweb.run(words + ["--every", "60"]) { process in
            while !state.contains(" told=22") { usleep(10_000) }
            kill(process, signal)
        }
        #expect(result.text == "new\t\(a)\n" && result.status == -signal)
        let next = try round(["--failures-after", "1", a, b])
        #expect(next.output.isEmpty && next.errors.isEmpty && next.status == 22)
    }

    /// States of versions that do not count, and counts that nobody has written.
    @Test func otherStatesAreRead() throws {
        let capsule = try ChangingCapsule(["/": "51 no\r\n"])
        let url = capsule.place + "/"
        let before = "# smallweb watch 1\npage \(url) time=1795478000 size=1 sha256=aa exit=22"
        try smallweb.home.write(before + " later=1\n", to: "s")
        #expect(try round([url]).errors.isEmpty)
        #expect(state.contains("exit=22 failures=1 later=1\n"), "\(state)")
        for told in ["", "x", "22,,9999,-1,22", "1e99", String(repeating: "9,", count: 5000)] {
            let line = before + " failures=99999999999 told=\(told)\n"
            try smallweb.home.write(line, to: "s")
            let result = try round([url])
            #expect(result.status == 22 && result.errors.isEmpty == told.hasPrefix("22"))
        }
    }
}
