// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

@testable import SmallWebCLI

/// Files that fetches write.
@Suite struct FileTests {
    @Test(arguments: ["/truncated", "/status/51", "/reset", "/malformed"])
    func nothingAppearsUnderTheNameOfAFailedFetch(_ path: String) throws {
        let capsule = try Capsule()
        let smallweb = Smallweb()
        let result = try smallweb.run(["-k", "-o", "page", capsule.place + path])
        #expect(result.status != 0)
        #expect(smallweb.home.names.isEmpty)
    }

    @Test func aFailedFetchLeavesTheOldFileAlone() throws {
        let capsule = try Capsule()
        let smallweb = Smallweb()
        try Data("old".utf8).write(to: URL(fileURLWithPath: smallweb.home.file("page")))
        _ = try smallweb.run(["-k", "-o", "page", capsule.place + "/truncated"])
        #expect(smallweb.home.content("page") == Array("old".utf8))
        _ = try smallweb.run(["-k", "-o", "page", capsule.place + "/empty"])
        #expect(smallweb.home.content("page") == [])
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func aSignalLeavesNothingBehind(_ signal: Int32) throws {
        let capsule = try Capsule()
        let smallweb = Smallweb()
        let part = smallweb.home.file("page.part")
        let result = try smallweb.run(["-k", "-o", "page", capsule.place + "/silent-body"]) { pid in
            try eventually("there is a part") { FileManager.default.fileExists(atPath: part) }
            kill(pid, signal)
        }
        #expect(result.status == -signal)
        #expect(smallweb.home.names.isEmpty)
    }

    @Test func remoteNamesNeverReplaceAFile() throws {
        let hole = try Hole()
        let smallweb = Smallweb()
        for _ in 0..<3 { _ = try smallweb.run(["-O", hole.place + "/0/about.txt"]) }
        #expect(smallweb.home.names == ["about.txt", "about.txt.1", "about.txt.2"])
    }

    @Test func remoteNamesStayInTheirDirectory() throws {
        let server = try LoopbackServer { peer in
            _ = peer.readLine()
            peer.write("text\r\n.\r\n")
        }
        let smallweb = Smallweb()
        let place = "gopher://127.0.0.1:\(server.port)"
        for path in ["/0..%2F..%2Fetc%2Fpasswd", "/0/a/..", "/0/.hidden", "/0/%1B%07x", "/0%2F"] {
            let result = try smallweb.run([
                "-O", "--create-dirs", "--output-dir", "out", place + path,
            ])
            #expect(result.status == 0, "\(path): \(result.errors)")
        }
        #expect(smallweb.home.names == ["out"])
        let names = try FileManager.default.contentsOfDirectory(atPath: smallweb.home.file("out"))
        #expect(names.sorted() == ["hidden", "index.txt", "index.txt.1", "passwd", "x"])
    }

    @Test func outputsGoWithTheirURLs() throws {
        let capsule = try Capsule()
        let hole = try Hole()
        let smallweb = Smallweb()
        let result = try smallweb.run([
            "-k", "-o", "one", capsule.place + "/about", hole.place + "/0/about.txt",
        ])
        #expect(smallweb.home.content("one") == Array("# About\r\nNothing much.\r\n".utf8))
        #expect(result.text == "This hole is part of the tests of smallweb.\r\n")
        #expect(try smallweb.run(["-o", "a", "-o", "b", hole.place]).status == 2)
    }

    @Test func aFileKeepsItsPermissionsAndItsLinks() throws {
        let hole = try Hole()
        let smallweb = Smallweb()
        let target = smallweb.home.file("target")
        _ = FileManager.default.createFile(
            atPath: target, contents: nil, attributes: [.posixPermissions: 0o640])
        try FileManager.default.createSymbolicLink(
            atPath: smallweb.home.file("link"), withDestinationPath: target)
        _ = try smallweb.run(["-o", "link", hole.place + "/0/about.txt"])
        let attributes = try FileManager.default.attributesOfItem(atPath: target)
        #expect(attributes[.posixPermissions] as? Int == 0o640)
        #expect(smallweb.home.content("target")?.isEmpty == false)
        #expect(smallweb.home.names == ["link", "target"])
    }

    @Test func aFileThatMustNotBeWrittenIsNotReplaced() throws {
        let hole = try Hole()
        var smallweb = Smallweb()
        smallweb.isUnprivileged = true
        _ = FileManager.default.createFile(
            atPath: smallweb.home.file("mine"), contents: Data("old".utf8),
            attributes: [.posixPermissions: 0o444])
        let result = try smallweb.run(["-o", "mine", hole.place + "/0/about.txt"])
        #expect(result.status == 23)
        #expect(result.errors.hasSuffix("cannot write mine: permission denied\n"))
        #expect(smallweb.home.content("mine") == Array("old".utf8))
        #expect(smallweb.home.names == ["mine"])
    }

    @Test func aLinkToNoFileGetsItsFile() throws {
        let hole = try Hole()
        let smallweb = Smallweb()
        let manager = FileManager.default
        for (link, target) in [("a", "b"), ("b", "deep/c"), ("loop", "loop")] {
            try manager.createSymbolicLink(
                atPath: smallweb.home.file(link), withDestinationPath: target)
        }
        let arguments = ["-o", "a", hole.place + "/0/about.txt"]
        #expect(try smallweb.run(arguments).errors.contains("cannot create a: no such file"))
        #expect(try smallweb.run(["--create-dirs"] + arguments).status == 0)
        #expect(smallweb.home.names == ["a", "b", "deep", "loop"])
        #expect(smallweb.home.content("deep/c")?.isEmpty == false)
        #expect(try manager.destinationOfSymbolicLink(atPath: smallweb.home.file("a")) == "b")
        let loop = try smallweb.run(["-o", "loop", hole.place + "/0/about.txt"])
        #expect(loop.status == 23 && loop.errors.contains("too many levels of symbolic links"))
    }

    @Test func aNameMayBeAsLongAsTheSystemAllows() throws {
        let hole = try Hole()
        let smallweb = Smallweb()
        let url = hole.place + "/0/about.txt"
        let names = ["a", "b"].map { String(repeating: "é", count: 127) + $0 }
        for name in names { #expect(try smallweb.run(["-o", name, url]).status == 0) }
        #expect(smallweb.home.names == names)
        let result = try smallweb.run(["-o", names[0] + "c", url])
        #expect(result.status == 23 && result.errors.contains("file name too long"))
        #expect(FileOutput.partName("d/" + names[0]) != FileOutput.partName("d/" + names[1]))
        #expect(FileOutput.partName("d/short") == "d/short.part")
        let hash = try Digest.sha256(names[0])
        #expect(FileOutput.partName("d/" + names[0]).hasSuffix("~\(hash).part"))
    }

    @Test func whyADirectoryCannotBeMadeIsSaid() throws {
        let hole = try Hole()
        let capsule = try Capsule()
        var smallweb = Smallweb()
        smallweb.isUnprivileged = true
        let locked = smallweb.home.file("locked")
        try FileManager.default.createDirectory(
            atPath: locked, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o555])
        smallweb.environment["HOME"] = locked
        for arguments in [
            ["bookmarks", "add", "gopher://example.org/"], ["identity", "new", "alice"],
            ["get", capsule.place + "/"],
            ["get", "--create-dirs", "-o", "locked/a/b", hole.place + "/0/about.txt"],
            ["get", "--tree", "-O", "--output-dir", "locked/a", hole.place + "/0/about.txt"],
        ] {
            let result = try smallweb.run(arguments + ["-q"])
            #expect(result.status == 23, "\(arguments)")
            #expect(result.errors.hasSuffix(": permission denied\n"), "\(result.errors)")
        }
    }

    @Test func aTooLargeFileIsRemoved() throws {
        let hole = try Hole()
        let smallweb = Smallweb()
        let result = try smallweb.run([
            "--max-filesize", "64k", "-o", "big", hole.place + "/9/big/1000000",
        ])
        #expect(result.status == Outcome.tooLarge.exitStatus)
        #expect(smallweb.home.names.isEmpty)
    }

    @Test func devicesAreWrittenDirectly() throws {
        let hole = try Hole()
        #expect(try Smallweb().run(["-o", "/dev/null", hole.place + "/0/about.txt"]).status == 0)
        #expect(try Smallweb().run(["-o", "/dev/full", hole.place + "/0/about.txt"]).status == 23)
        let screen = try Screen(isTerminal: false)
        let arguments = ["get", "-o", "/dev/stdout", hole.place + "/0/about.txt"]
        #expect(try Smallweb().run(arguments, on: screen, output: true) { _ in } == 0)
        #expect(screen.shown.hasPrefix("This hole"), "a pipe, which has no path")
    }

    private func put(_ text: String, _ name: String, _ smallweb: Smallweb) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: smallweb.home.file(name)))
    }

    @Test func aFileOfAnOutputBelongsIntoTheDirectory() throws {
        let hole = try Hole()
        let smallweb = Smallweb()
        let url = hole.place + "/0/about.txt"
        let words = ["--create-dirs", "--output-dir", "out"]
        #expect(try smallweb.run(words + ["-o", "a", url]).status == 0)
        let order = "{\"url\":\"\(url)\",\"output\":\"b\"}\n"
        #expect(try smallweb.run(["get"] + words + ["--json", "-"], stdin: order).status == 0)
        let absolute = smallweb.home.file("c")
        #expect(try smallweb.run(words + ["-o", absolute, url]).status == 0)
        #expect(smallweb.home.names == ["c", "out"])
        #expect(smallweb.home.files(below: "out").sorted() == ["a", "b"])
    }

    @Test func whatIsThereIsKeptReplacedOrEnough() throws {
        let (hole, smallweb) = (try Hole(), Smallweb())
        let url = hole.place + "/0/about.txt"
        try put("old", "page", smallweb)
        let kept = try smallweb.run(["-v", "--no-clobber", "-o", "page", url])
        #expect(kept.errors.contains("page exists: written to"), "\(kept.errors)")
        #expect(smallweb.home.names == ["page", "page.1"])
        #expect(smallweb.home.content("page") == Array("old".utf8))
        hole.server.stop()
        // Nothing is sent, so that the server is gone does not matter.
        let enough = try smallweb.run(["--skip-existing", "-o", "page", url])
        #expect(enough.status == 0 && enough.output.isEmpty)
        let record = try smallweb.records(["--skip-existing", "-o", "page", url]).records.terminal[
            0]
        #expect(record["ok"]?.bool == true && record["body"]?["sha256"] == .null)
        #expect(record["body"]?["path"]?.string?.hasSuffix("/page") == true)
        try put("old", "about.txt", smallweb)
        #expect(try smallweb.run(["-O", "--skip-existing", url]).status == 0)
        #expect(try smallweb.run(["-O", url]).status == Outcome.connect.exitStatus)
        let there = try Hole()
        let other = there.place + "/0/about.txt"
        #expect(try smallweb.run(["-O", "--overwrite", other]).status == 0)
        #expect(smallweb.home.content("about.txt") != Array("old".utf8))
        #expect(smallweb.home.names == ["about.txt", "page", "page.1"])
        let word = try smallweb.run(["explain", "-O", "--skip-existing", other]).text
        #expect(word.contains("about.txt, which exists: nothing is fetched"))
    }

    /// These three URLs contain no file name.
    @Test func whereOnlyTheReplyTellsTheNameItIsAskedFor() throws {
        let (hole, capsule, smallweb) = (try Hole(), try Capsule(), Smallweb())
        let web = try LoopbackServer(handler: DemoSites.web)
        let page = "http://127.0.0.1:\(web.port)/"
        let words = ["-k", "-O", "--skip-existing", hole.place + "/", capsule.place + "/", page]
        for _ in 0..<2 {
            #expect(try smallweb.run(words).status == 0)
            #expect(smallweb.home.names == ["index", "index.gmi", "index.html"])
        }
        let plan = ["explain", "-O", "--skip-existing", "--output-dir", "out", page]
        let text = try smallweb.run(plan).text
        #expect(text.contains("a file that the reply names in out\n"), "\(text)")
    }

    /// A file of this name may be another page's.
    @Test func whereOnlyTheReplyTellsTheNameNothingIsContinued() throws {
        let smallweb = Smallweb()
        let web = try LoopbackServer(handler: DemoSites.web)
        for name in ["index", "index.html"] { try put("of another", name, smallweb) }
        #expect(try smallweb.run(["-c", "-O", "http://127.0.0.1:\(web.port)/"]).status == 0)
        #expect(smallweb.home.names == ["index", "index.html", "index.html.1"])
        for name in ["index", "index.html"] {
            #expect(smallweb.home.content(name) == Array("of another".utf8))
        }
    }

    /// The author of a URL chose the name of the link, but not its target.
    @Test func aNameOfTheURLReplacesALinkAndNotItsTarget() throws {
        let (hole, smallweb) = (try Hole(), Smallweb())
        let url = hole.place + "/0/about.txt"
        try put("mine", "target", smallweb)
        let link = smallweb.home.file("about.txt")
        symlink("target", link)
        #expect(try smallweb.run(["-O", "--overwrite", url]).status == 0)
        #expect(smallweb.home.content("target") == Array("mine".utf8))
        for words in [["--no-clobber"], ["--skip-existing"], ["--overwrite"]] {
            #expect(try smallweb.run(words + ["-o", "/dev/null", url]).status == 0)
            #expect(smallweb.home.names == ["about.txt", "target"])
        }
        #expect(access("/dev/null.1", F_OK) != 0)
    }

    /// A part that another process writes must not become its file.
    @Test func aCutLeavesThePartOfAnotherProcessAlone() throws {
        let server = try LoopbackServer { peer in
            guard let request = WebRequest(from: peer) else { return }
            if request.fields.contains(where: { $0.name.lowercased() == "range" }) {
                peer.write("HTTP/1.1 206 Part\r\nContent-Range: bytes 12-13/14\r\n")
                peer.write("Content-Length: 2\r\n\r\nab")
            } else {
                peer.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabcd")
            }
        }
        let smallweb = Smallweb()
        try put("of the other", "file.part", smallweb)
        let other = open(smallweb.home.file("file.part"), O_WRONLY | O_CLOEXEC)
        flock(other, LOCK_EX)
        let url = "http://127.0.0.1:\(server.port)/file"
        #expect(try smallweb.run(["-o", "file", url]).status == Outcome.truncated.exitStatus)
        #expect(smallweb.home.content("file.part") == Array("of the other".utf8))
        let busy = try smallweb.run(["-C", "-", "-o", "file", url])
        #expect(busy.status == Outcome.write.exitStatus, "\(busy.errors)")
        flock(other, LOCK_UN)
        close(other)
        // Nor is it replaced unless a fetch has left it.
        for text in ["of the other", "abcd", "abcd"] {
            #expect(try smallweb.run(["-o", "file", url]).status == Outcome.truncated.exitStatus)
            #expect(smallweb.home.content("file.part") == Array(text.utf8))
            #expect(smallweb.home.names == ["file.part"])
            if text != "abcd" { unlink(smallweb.home.file("file.part")) }
        }
    }

    /// Output of a script before and after ours stays.
    @Test func aNameOfStandardOutputIsStandardOutput() throws {
        let (hole, smallweb) = (try Hole(), Smallweb())
        let url = hole.place + "/0/about.txt"
        let body = try smallweb.run([url]).text
        for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
            let shell = Process()
            shell.executableURL = URL(fileURLWithPath: "/bin/sh")
            let file = smallweb.home.file("all")
            shell.arguments = [
                "-c", "{ echo a; \"$0\" get -o \(name) \(url); echo b; } >\(file)",
                Smallweb.binary,
            ]
            try shell.run()
            shell.waitInTime()
            #expect(smallweb.home.content("all") == Array("a\n\(body)b\n".utf8), "\(name)")
        }
    }

    /// The end of the body is not awaited here, so the part that came is not taken for all of it.
    @Test func aSignalEndsABodyThatIsHeldBack() throws {
        let server = try LoopbackServer { peer in
            _ = peer.readLine()
            peer.write([UInt8](repeating: 0x61, count: 100_000))
        }
        let smallweb = Smallweb()
        let part = smallweb.home.file("x.part")
        let url = "gopher://127.0.0.1:\(server.port)/9/x"
        let result = try smallweb.run(["--limit-rate", "1000", "-o", "x", url]) { pid in
            try eventually("there is a part") { FileManager.default.fileExists(atPath: part) }
            kill(pid, SIGTERM)
        }
        #expect(result.status == -SIGTERM && smallweb.home.names.isEmpty)
    }

    /// A hash of the rest alone would not be the hash of the file.
    @Test func aRestHasNoHash() throws {
        let server = try LoopbackServer { peer in
            guard WebRequest(from: peer) != nil else { return }
            peer.write("HTTP/1.1 206 Part\r\nContent-Range: bytes 3-4/5\r\n")
            peer.write("Content-Length: 2\r\n\r\nde")
        }
        let smallweb = Smallweb()
        try put("abc", "file", smallweb)
        let url = "http://127.0.0.1:\(server.port)/file"
        let record = try smallweb.records(["-C", "-", "-O", url]).records.terminal[0]
        #expect(record["ok"]?.bool == true && record["body"]?["sha256"] == .null)
        #expect(smallweb.home.content("file") == Array("abcde".utf8))
    }

    /// Half a second for 500 bytes.
    @Test func aRateIsKept() throws {
        let server = try LoopbackServer { peer in
            _ = peer.readLine()
            peer.write([UInt8](repeating: 0x61, count: 500))
        }
        let start = ContinuousClock.now
        let result = try Smallweb().run([
            "--limit-rate", "1000", "gopher://127.0.0.1:\(server.port)/9/x",
        ])
        #expect(result.output.count == 500 && start.duration(to: .now) >= .milliseconds(500))
        let slow = try Smallweb().run([
            "-m", "0.2", "--limit-rate", "1", "gopher://127.0.0.1:\(server.port)/9/x",
        ])
        #expect(slow.status == Outcome.timeout.exitStatus)
    }

    // MARK: Files that somebody else has put there

    @Test(arguments: [
        ("ln -s victim f.part", "it is a symbolic link"),
        ("ln -s nowhere f.part", "it is a symbolic link"),
        ("ln victim f.part", "it has another name (a hard link)"),
        ("mkfifo f.part", "it is a named pipe"), ("mkdir f.part", "it is not a regular file"),
    ])
    func onlyAPartOfOursIsContinued(_ planted: String, _ problem: String) throws {
        let web = try LoopbackServer(handler: DemoSites.web)
        let smallweb = Smallweb()
        try Data("victim".utf8).write(to: URL(fileURLWithPath: smallweb.home.file("victim")))
        let url = "http://127.0.0.1:\(web.port)/1k"
        // A command that hangs must not hang the tests.
        let shell = planted + "; exec timeout -k 1 20 \"$@\""
        let result = try smallweb.run(
            ["get", "--json", "-C", "-", "-o", "f", url], shell: shell)
        #expect(result.status == 23, "\(result.errors)")
        #expect(result.errors.contains("cannot continue f.part: \(problem)"), "\(result.errors)")
        // The hint that a person gets.
        #expect(result.text.contains("remove it"), "\(result.text)")
        #expect(smallweb.home.names == ["f.part", "victim"])
        #expect(smallweb.home.content("victim") == Array("victim".utf8))
        // Without -C it is left alone.
        let plain = try smallweb.run(
            ["get", "-o", "f", url], shell: "exec timeout -k 1 20 \"$@\"")
        #expect(plain.status == 0, "\(plain.errors)")
        #expect(smallweb.home.content("f") == DemoSites.page)
        #expect(smallweb.home.names == ["f", "f.part", "victim"])
        #expect(smallweb.home.content("victim") == Array("victim".utf8))
    }

    @Test func aPartOfAnotherUserIsNotContinued() throws {
        guard geteuid() == 0 else { return }
        let web = try LoopbackServer(handler: DemoSites.web)
        let smallweb = Smallweb()
        let result = try smallweb.run(
            ["get", "-C", "-", "-o", "f", "http://127.0.0.1:\(web.port)/1k"],
            shell: "printf x > f.part; chown 1 f.part; exec \"$@\"")
        #expect(result.status == 23 && result.errors.contains("belongs to another user"))
        #expect(smallweb.home.content("f.part") == Array("x".utf8))
    }

    @Test func whatIsNoFileIsWrittenTo() throws {
        let web = try LoopbackServer(handler: DemoSites.web)
        let url = "http://127.0.0.1:\(web.port)/1k"
        for (name, shell) in [
            ("/dev/stdout", "exec \"$@\""), ("/dev/fd/1", "exec \"$@\""),
            ("f", "mkfifo f; cat f & \"$@\"; status=$?; wait; exit $status"),
        ] {
            for words in [[], ["-C", "-"]] {
                let smallweb = Smallweb()
                let result = try smallweb.run(
                    ["get"] + words + ["-m", "20", "-o", name, url], shell: shell)
                #expect(result.status == 0, "\(name) \(words): \(result.errors)")
                #expect(result.output == DemoSites.page, "\(name) \(words)")
            }
        }
    }
}
