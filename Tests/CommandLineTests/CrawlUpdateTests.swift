// SPDX-License-Identifier: MIT
import Foundation
import Glibc
import SmallWebTestSupport
import Testing

/// The second time of a crawl: `--update`, and `watch --crawl`.
@Suite struct CrawlUpdateTests {
    private let smallweb = Smallweb()

    private func crawl(
        _ mode: String, _ space: Space, _ words: String..., state: String = "s"
    ) throws -> Smallweb.Result {
        try smallweb.run(
            ["crawl", "-k", "--per-host-delay", "0", "--retry", "0", "--state", state]
                + (CrawlTruthTests.modes[mode] ?? []) + words + [space.url("/")])
    }

    private func watch(_ words: String..., state: String = "s") throws -> Smallweb.Result {
        try smallweb.run(["watch", "--crawl", state] + words)
    }

    private func inode(_ path: String) -> (UInt64, Int, Int)? {
        var status = stat()
        guard stat(smallweb.home.file(path), &status) == 0 else { return nil }
        return (UInt64(status.st_ino), status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
    }

    private func words(_ result: Smallweb.Result, of space: Space) -> [String: String] {
        let rows = result.text.split(separator: "\n").map { $0.split(separator: "\t") }
        let prefix = space.url("/x.txt").dropLast(5)
        return Dictionary(
            rows.compactMap { row in
                row.last { $0.contains("://") }.map { url in
                    let path = url.hasPrefix(prefix) ? String(url.dropFirst(prefix.count)) : ""
                    return ("/" + path, String(row[0]))
                }
            }, uniquingKeysWith: { $0 + "," + $1 })
    }

    private static let first: [String: Reply] = [
        "/": .page(["/same.txt", "/changed.txt", "/gone.txt", "/later.txt", "/refused.txt"]),
        "/same.txt": .page([], "same"), "/changed.txt": .page([], "one"),
        "/gone.txt": .page([], "gone"), "/later.txt": .page([], "later"),
        "/refused.txt": .page([], "refused"),
    ]

    /// Each kind of change, over each scheme, with each thing that is filled.
    @Test(arguments: CrawlTruthTests.modes.keys.sorted(), Space.schemes)
    func eachKindOfChangeIsSaid(_ mode: String, _ scheme: String) throws {
        let space = try Space(scheme, Self.first)
        let isCheck = mode == "check"
        let before = try crawl(mode, space)
        #expect(before.status == 0, "\(before.text)\(before.errors)")
        let news = try watch()
        #expect(news.status == 0 && words(news, of: space).count == 6, "\(news.text)\(news.errors)")
        #expect(words(news, of: space).values.allSatisfy { $0 == "new" })
        let over = try crawl(mode, space)
        // A check that is over begins again.
        #expect(isCheck || over.errors.contains("over") && over.errors.contains("--update"))
        #expect(!over.errors.contains("remove"))
        let old = inode(space.file("/same.txt"))
        space.set(
            "/",
            .page([
                "/same.txt", "/changed.txt", "/gone.txt", "/later.txt", "/refused.txt", "/new.txt",
            ]))
        space.set("/changed.txt", .page([], "two"))
        space.set("/gone.txt", .gone)
        space.set("/later.txt", .later)
        space.set("/new.txt", .page([], "new"))
        // Gopher cannot refuse in another way.
        space.set("/refused.txt", scheme == "gopher" ? .page([], "refused") : .refused)
        space.forgetRequests()
        let update = try crawl(mode, space, "--update")
        #expect(update.status == (isCheck ? 22 : 75), "\(update.text)\(update.errors)")
        #expect(Set(space.paths) == Set(Self.first.keys).union(["/new.txt"]), "\(space.paths)")
        let isAsked = scheme == "http" && !["check", "cache"].contains(mode)
        let asked = Set(space.requests.filter(\.isConditional).map(\.path))
        if isAsked { #expect(asked == Set(Self.first.keys), "\(asked)") }
        var expected = [
            "/": "changed", "/changed.txt": "changed", "/gone.txt": "gone", "/new.txt": "new",
            "/later.txt": "failed",
        ]
        if scheme != "gopher" { expected["/refused.txt"] = "failed" }
        let changes = try watch()
        #expect(changes.status == 0 && words(changes, of: space) == expected, "\(changes.text)")
        if ["crawl", "mirror", "archive", "cache"].contains(mode) {
            expected["/same.txt"] = "unchanged"
            expected["/later.txt"] =
                scheme == "gopher" && mode != "cache" ? "empty-reply" : "temporary-failure"
            expected["/refused.txt"] = scheme == "gopher" ? "unchanged" : "permanent-failure"
            #expect(words(update, of: space) == expected, "\(update.text)")
            let row = update.text.split(separator: "\n").first { $0.hasPrefix("gone") } ?? ""
            let columns = row.split(separator: "\t")
            #expect(columns.count == 5 && columns[4].hasSuffix("Z"), "\(row)")
            #expect(columns[3] == ["http": "404", "gemini": "51", "gopher": "-"][scheme] ?? "")
        }
        if mode == "records" {
            let records = try Records(update.output)["response"]
            let changed = records.filter { $0["change"]?.string == "changed" }
            #expect(changed.count == 2 && records.contains { $0["change"]?.string == "gone" })
        }
        if mode == "mirror" { try checkFiles(space, old) }
        // A page that waits is of this round, whether it is asked for with or without the option.
        space.set("/later.txt", .page([], "later"))
        let rest = try crawl(mode, space)
        #expect(rest.status == (isCheck ? 22 : 0), "\(rest.text)\(rest.errors)")
        if !isCheck {
            #expect(words(try watch(), of: space)["/later.txt"] == nil)
            let again = try crawl(mode, space, "--update")
            #expect(again.status == 0, "\(again.text)\(again.errors)")
            #expect(again.errors.contains(": new 0, changed 0,"), "\(again.errors)")
            #expect(
                try watch().text.split(separator: "\n").filter { !$0.hasPrefix("failed") } == [])
        }
        if mode == "archive" {
            #expect(try smallweb.run(["warc", "check", "a.warc"]).status == 0)
            let listed = try smallweb.run(["warc", "list", "a.warc"]).text
            #expect(listed.contains("revisit") == (scheme != "gopher") || scheme == "gopher")
        }
    }

    private func checkFiles(_ space: Space, _ old: (UInt64, Int, Int)?) throws {
        let same = inode(space.file("/same.txt"))
        #expect(
            same.map { [$0.0, UInt64($0.1), UInt64($0.2)] }
                == old.map { [$0.0, UInt64($0.1), UInt64($0.2)] })
        func text(_ path: String) -> String? {
            smallweb.home.content(space.file(path)).map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(text("/changed.txt") == "two" && text("/new.txt") == "new")
        #expect(text("/gone.txt") == "gone" && text("/later.txt") == "later")
        let deleting = try crawl("mirror", space, "--update", "--delete")
        #expect(deleting.status == 75, "\(deleting.text)\(deleting.errors)")
        #expect(text("/gone.txt") == nil && text("/later.txt") == "later")
        #expect(text("/refused.txt") == "refused")
        // Once more, as its file goes only now.
        #expect(words(deleting, of: space)["/gone.txt"] == "gone", "\(deleting.text)")
        #expect(deleting.errors.contains(", gone 1"), "\(deleting.errors)")
        let next = try crawl("mirror", space, "--update", "--delete")
        #expect(words(next, of: space)["/gone.txt"] == "unchanged", "\(next.text)")
        #expect(next.errors.contains(", gone 0"), "\(next.errors)")
    }

    /// A run that was stopped goes on with its round; no page of it is asked for twice.
    @Test(arguments: ["crawl", "mirror", "archive", "records", "check"])
    func aRoundThatWasStoppedGoesOn(_ mode: String) throws {
        var pages: [String: Reply] = ["/": .page((1...9).map { "/\($0).txt" })]
        for number in 1...9 { pages["/\(number).txt"] = .page([], "\(number)") }
        let space = try Space("http", pages)
        #expect(try crawl(mode, space).status == 0)
        space.forgetRequests()
        for number in 1...9 { space.set("/\(number).txt", .page([], "new \(number)")) }
        for run in 1... {
            let result = try crawl(mode, space, "--update", "--max-pages", "3")
            if result.status == 0 { break }
            #expect(result.status == 130 && run < 6, "\(result.text)\(result.errors)")
            #expect(try watch().status == 130)
        }
        #expect(space.paths.count == 10 && Set(space.paths).count == 10, "\(space.paths)")
        let news = words(try watch(), of: space)
        #expect(news.count == 9 && news.values.allSatisfy { $0 == "changed" }, "\(news)")
        let state = String(decoding: smallweb.home.content("s") ?? [], as: UTF8.self)
        #expect(state.split(separator: "\n").filter { $0.contains(#""type":"round""#) }.count == 1)
        // A page that failed for now keeps no round from its beginning.
        space.set("/5.txt", .later)
        #expect(try crawl(mode, space, "--update").status == 75)
        space.forgetRequests()
        #expect(try crawl(mode, space, "--update").status == 75)
        #expect(space.paths.count == 10)
    }

    /// A shorter way to a page that has not changed: its links are read all the same.
    @Test func aPageThatHasNotChangedIsReadByAShorterWay() throws {
        let space = try Space(
            "http",
            [
                "/": .page(["/x.txt"]), "/x.txt": .page(["/p.txt"]), "/p.txt": .page(["/q.txt"]),
                "/q.txt": .page([], "q"),
            ])
        #expect(try crawl("mirror", space, "--depth", "2").status == 0)
        #expect(!space.paths.contains("/q.txt"))
        space.set("/", .page(["/x.txt", "/p.txt"]))
        #expect(try crawl("mirror", space, "--depth", "2", "--update").status == 0)
        #expect(space.paths.contains("/q.txt"), "\(space.paths)")
    }

    /// A wider scope: links of pages that have not changed lead to it.
    @Test func anAddedURLHasLinksReadAgain() throws {
        let space = try Space(
            "http",
            [
                "/a/": .page(["/b/2.txt"]), "/b/": .page([], "b"), "/b/2.txt": .page([], "2"),
            ])
        let words = ["crawl", "--per-host-delay", "0", "--state", "s"]
        #expect(try smallweb.run(words + [space.url("/a/")]).status == 0)
        let both = [space.url("/a/"), space.url("/b/")]
        #expect(try smallweb.run(words + ["--add"] + both).status == 0)
        #expect(try smallweb.run(words + ["--update"] + both).status == 0)
        #expect(space.paths.contains("/b/2.txt"), "\(space.paths)")
    }

    /// A run may be killed between a file and its line: the page is asked for as the state has it.
    @Test(arguments: [false, true])
    func aFileWithoutItsLineIsNotBelieved(_ goesBack: Bool) throws {
        let old: Reply = .page(["/1.txt"], "old")
        let space = try Space(
            "http", ["/": old, "/1.txt": .page([], "1"), "/2.txt": .page([], "2")])
        #expect(try crawl("mirror", space).status == 0)
        let state = try #require(smallweb.home.content("s"))
        space.set("/", .page(["/1.txt", "/2.txt"], "new"))
        #expect(try crawl("mirror", space, "--update").status == 0)
        try Data(state).write(to: URL(fileURLWithPath: smallweb.home.file("s")))
        if goesBack { space.set("/", old) }
        let result = try crawl("mirror", space, "--update")
        #expect(result.status == 0)
        let there = words(result, of: space)
        #expect(there["/"] == (goesBack ? "unchanged" : "changed"), "\(result.text)")
        #expect(there["/2.txt"] == (goesBack ? nil : "new"), "\(result.text)")
        let file = String(decoding: smallweb.home.content(space.file("/")) ?? [], as: UTF8.self)
        #expect(file.hasSuffix(goesBack ? "old" : "new"), "\(file)")
    }

    /// Files that were removed, changed or replaced, and archives that are gone, come whole.
    @Test(arguments: ["mirror", "archive", "cache"])
    func whatIsNotAtHandComesWhole(_ mode: String) throws {
        let space = try Space("http", Self.first)
        #expect(try crawl(mode, space).status == 0)
        if mode == "mirror" {
            try smallweb.home.write("SAME", to: space.file("/same.txt"))
            try FileManager.default.removeItem(
                atPath: smallweb.home.file(space.file("/gone.txt")))
        } else {
            for name in ["a.warc", ".cache"] {
                try? FileManager.default.removeItem(atPath: smallweb.home.file(name))
            }
        }
        #expect(try crawl(mode, space, "--update", "--max-pages", "3").status == 130)
        #expect(try crawl(mode, space, "--update").status == 0)
        if mode == "mirror" {
            #expect(smallweb.home.content(space.file("/same.txt")) == Array("same".utf8))
            #expect(smallweb.home.content(space.file("/gone.txt")) == Array("gone".utf8))
        }
        for path in Self.first.keys where mode == "archive" {
            let body = try smallweb.run(["warc", "cat", "a.warc", space.url(path)])
            #expect(body.status == 0 && !body.output.isEmpty, "\(path): \(body.errors)")
        }
        for path in Self.first.keys where mode == "cache" {
            let body = try smallweb.run(["get", "--offline", space.url(path)])
            #expect(body.status == 0 && !body.output.isEmpty, "\(path): \(body.errors)")
        }
    }

    /// A link within the mirror leads elsewhere, where nothing is removed.
    @Test(arguments: Space.schemes) func nothingElseIsDeleted(_ scheme: String) throws {
        let space = try Space(
            scheme,
            [
                "/": .page(["/d/1.txt", "/e/2.txt", "/3.txt", "/4.txt"]),
                "/d/1.txt": .page([], "1"),
                "/e/2.txt": .page([], "2"), "/3.txt": .page([], "3"), "/4.txt": .page([], "4"),
            ])
        #expect(try crawl("mirror", space).status == 0)
        let (home, place) = (smallweb.home, "m/\(scheme)/127.0.0.1:\(space.server.port)")
        try home.write("mine", to: "out/1.txt")
        try home.write("mine", to: "out3")
        try FileManager.default.removeItem(atPath: home.file("\(place)/d"))
        try FileManager.default.removeItem(atPath: home.file("\(place)/3.txt"))
        #expect(symlink(home.file("out"), home.file("\(place)/d")) == 0)
        #expect(symlink(home.file("out3"), home.file("\(place)/3.txt")) == 0)
        for path in ["/d/1.txt", "/e/2.txt", "/3.txt"] { space.set(path, .gone) }
        space.set("/4.txt", .later)
        if scheme == "gopher" {
            // Gone once is not enough there.
            let first = try crawl("mirror", space, "--update", "--delete")
            #expect(first.status == 75 && !first.errors.contains("a symbolic link"))
        }
        let result = try crawl("mirror", space, "--update", "--delete")
        #expect(result.status == 75, "\(result.text)\(result.errors)")
        #expect(home.content("out/1.txt") == Array("mine".utf8))
        #expect(home.content("out3") == Array("mine".utf8))
        #expect(result.errors.contains("a symbolic link leads to it"))
        #expect(!FileManager.default.fileExists(atPath: home.file("\(place)/e")))
        #expect(home.content(space.file("/4.txt")) == Array("4".utf8))
    }

    /// Without a status, a failure of the moment cannot be told from a page that is missing.
    @Test(arguments: Space.schemes)
    func aFileGoesOnceItsPageIsSurelyGone(_ scheme: String) throws {
        let space = try Space(scheme, ["/": .page(["/a.txt"]), "/a.txt": .page([], "a")])
        #expect(try crawl("mirror", space).status == 0)
        func round(_ reply: Reply) throws -> (word: String?, isThere: Bool) {
            space.set("/a.txt", reply)
            let result = try crawl("mirror", space, "--update", "--delete")
            #expect(result.status == 0, "\(result.errors)")
            let isThere = smallweb.home.content(space.file("/a.txt")) != nil
            return (words(result, of: space)["/a.txt"], isThere)
        }
        #expect(try round(.gone) == ("gone", scheme == "gopher"))
        #expect(try round(.page([], "a")) == ("new", true))
        #expect(try round(.gone) == ("gone", scheme == "gopher"))
        // As it is said whose file goes, in whatever round.
        #expect(try round(.gone) == (scheme == "gopher" ? "gone" : "unchanged", false))
        #expect(try round(.gone) == ("unchanged", false))
    }

    /// The URL given counts in each round: as it is now.
    @Test(arguments: Space.schemes, CrawlTruthTests.modes.keys.sorted())
    func theURLGivenCountsInEachRound(_ scheme: String, _ mode: String) throws {
        let space = try Space(scheme, Self.first)
        #expect(try crawl(mode, space).status == 0)
        for (reply, status) in [(Reply.gone, 22), (.later, 75), (Self.first["/"] ?? .gone, 0)] {
            space.set("/", reply)
            let result = try crawl(mode, space, "--update")
            #expect(result.status == Int32(status), "\(reply): \(result.text)\(result.errors)")
        }
    }

    /// A state of a version without rounds.
    @Test(arguments: ["crawl", "mirror"]) func aStateOfBeforeIsRenewed(_ mode: String) throws {
        let space = try Space("http", Self.first)
        #expect(try crawl(mode, space).status == 0)
        let state = String(decoding: smallweb.home.content("s") ?? [], as: UTF8.self)
        let old = state.replacing(/,"(sha256|validator)":"([^"\\]|\\.)*"/, with: "")
            .split(separator: "\n").filter { !$0.contains(#""type":"end""#) }
        try smallweb.home.write(old.joined(separator: "\n") + "\n", to: "s")
        space.forgetRequests()
        let result = try crawl(mode, space, "--update")
        #expect(result.status == 0, "\(result.errors)")
        #expect(space.paths.count == 6 && !space.requests.contains(where: \.isConditional))
        let word = mode == "mirror" ? "unchanged" : "changed"
        #expect(words(result, of: space).values.allSatisfy { $0 == word }, "\(result.text)")
    }

    /// A full disk, and a file that cannot be removed, end the run; the round goes on.
    @Test func whatCannotBeWrittenEndsTheRound() throws {
        let space = try Space("http", Self.first)
        #expect(try crawl("mirror", space).status == 0)
        let big = String(repeating: "big ", count: 20_000)
        space.set("/changed.txt", .page([], big))
        space.set("/gone.txt", .gone)
        let words = [
            "crawl", "--per-host-delay", "0", "--state", "s", "--mirror", "m", "--update",
            "--delete", space.url("/"),
        ]
        let full = try smallweb.run(words, shell: "ulimit -f 60; trap '' XFSZ; exec \"$@\"")
        #expect(full.status == 23, "\(full.text)\(full.errors)")
        let before = smallweb.home.content(space.file("/changed.txt"))
        #expect(before == Array("one".utf8))
        #expect(try smallweb.run(words).status == 0)
        #expect(smallweb.home.content(space.file("/changed.txt")) == Array(big.utf8))
        #expect(smallweb.home.content(space.file("/gone.txt")) == nil)
    }

    @Test func theNewsHaveTheFormsOfWatch() throws {
        let space = try Space("gemini", Self.first)
        #expect(try crawl("crawl", space).status == 0)
        space.set("/gone.txt", .gone)
        space.set("/changed.txt", .page([], "two"))
        #expect(try crawl("crawl", space, "--update").status == 0)
        let result = try watch("--json")
        let records = try Records(result.output)["watch"]
        #expect(records.count == 2 && result.status == 0, "\(result.text)")
        let gone = try #require(records.first { $0["change"]?.string == "gone" })
        #expect(gone["exit"]?.int == 22 && gone["last"]?["sha256"]?.string?.count == 64)
        let changed = try #require(records.first { $0["change"]?.string == "changed" })
        #expect(changed["size"]?.int == 3 && changed["last"]?["size"]?.int == 3)
        #expect(changed["sha256"] != changed["last"]?["sha256"])
        #expect(try crawl("crawl", space, "--update").status == 0)
        let none = try watch()
        #expect(none.status == 1 && none.text.isEmpty && none.errors.isEmpty)
        // A file that is not there is not made.
        #expect(try watch(state: "other").status == 26)
        #expect(!smallweb.home.names.contains("other"))
        try smallweb.home.write("notes\n", to: "notes")
        #expect(try watch(state: "notes").status == 2)
        #expect(try smallweb.run(["watch", "--crawl", "s", space.url("/")]).status == 2)
    }

    /// A page that redirects for a while has changed, twice, and is not gone.
    @Test(arguments: ["crawl", "mirror", "archive"], ["http", "gemini"])
    func aPageThatHasMovedHasChanged(_ mode: String, _ scheme: String) throws {
        let pages: [String: Reply] = [
            "/": .page(["/a.txt"]), "/a.txt": .page([], "a"), "/b.txt": .page([], "b"),
        ]
        let space = try Space(scheme, pages)
        #expect(try crawl(mode, space).status == 0)
        let words = mode == "mirror" ? ["--delete"] : []
        for (reply, word) in [(Reply.moved("/b.txt"), "new"), (.page([], "a"), "unchanged")] {
            space.set("/a.txt", reply)
            let result = try smallweb.run(
                ["crawl", "-k", "--per-host-delay", "0", "--state", "s", "--update"]
                    + (CrawlTruthTests.modes[mode] ?? []) + words + [space.url("/")])
            #expect(result.status == 0, "\(result.errors)")
            let said = self.words(result, of: space)
            #expect(said == ["/": "unchanged", "/a.txt": "changed", "/b.txt": word], "\(said)")
        }
        #expect(mode != "mirror" || smallweb.home.content(space.file("/a.txt")) == [0x61])
    }

    /// A page of the cache is no answer of its server.
    @Test func aServerThatIsAwayIsNotUnchanged() throws {
        let space = try Space("http", Self.first)
        #expect(try crawl("cache", space).status == 0)
        space.set("/later.txt", .later)
        let result = try crawl("cache", space, "--update")
        #expect(result.status == 75, "\(result.text)\(result.errors)")
        #expect(words(try watch(), of: space) == ["/later.txt": "failed"])
    }

    @Test func filesAreDeletedOfAMirrorAlone() throws {
        for words in [["--delete"], ["--delete", "--update"], ["--delete", "--mirror", "m"]] {
            let result = try smallweb.run(["crawl"] + words + ["gemini://127.0.0.1:1/"])
            #expect(result.status == 2 && result.errors.contains("--update"), "\(result.errors)")
        }
    }
}
