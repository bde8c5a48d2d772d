// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

/// `smallweb edit`: the text that is sent or kept, and the claim of each exit status.
@Suite(.timeLimit(.minutes(30)))
struct EditTests {
    private var smallweb = Smallweb()

    init() throws {
        smallweb.environment["TMPDIR"] = smallweb.home.file("tmp")
        try FileManager.default.createDirectory(
            atPath: smallweb.home.file("tmp"), withIntermediateDirectories: true)
    }

    /// Runs with a shell script as the editor, whose first argument is the file.
    private func edit(
        _ url: String, _ script: String, _ words: [String] = ["-k"],
        started: (Int32) throws -> Void = { _ in }
    ) throws -> Smallweb.Result {
        try Programs.write("#!/bin/sh\n\(script)\n", to: smallweb.home.file("editor"))
        var smallweb = smallweb
        smallweb.environment["EDITOR"] = smallweb.home.file("editor")
        return try smallweb.run(["edit", url] + words, started: started)
    }

    /// The files that are kept.
    private var kept: [String] { smallweb.home.files(below: "tmp") }

    /// The text in the one file that a message names.
    private func text(keptBy result: Smallweb.Result) throws -> String {
        #expect(kept.count == 1, "\(kept)")
        let path = smallweb.home.file("tmp/" + (kept.first ?? ""))
        #expect(result.errors.contains("what was typed is in \(path)\n"), "\(result.errors)")
        return String(
            decoding: smallweb.home.content("tmp/" + (kept.first ?? "")) ?? [], as: UTF8.self)
    }

    private static let append = "echo new >>\"$1\""

    // MARK: Sending

    @Test(arguments: [true, false])
    func theEditedTextIsSentBack(_ knowsEdit: Bool) throws {
        let wiki = try Wiki { $0.knowsEdit = knowsEdit }
        try smallweb.home.write("s3cret\n", to: "token")
        let result = try edit(wiki.url(), Self.append, ["-k", "--token-file", "token"])
        #expect(result.status == 0 && result.text == "stored\n", "\(result.errors)")
        #expect(wiki.page == "# Old\nnew\n" && kept.isEmpty)
        let source =
            knowsEdit ? [wiki.url() + ";edit"] : [wiki.url() + ";edit", wiki.url("gemini")]
        #expect(
            wiki.requests == source + source.suffix(1) + [
                wiki.url() + ";size=10;mime=text/gemini;token=s3cret"
            ])
    }

    /// The page may be named as well, and the text as its links name it.
    @Test(arguments: ["gemini://PLACE/page", "titan://PLACE/page;edit"])
    func otherNamesOfThePageWork(_ url: String) throws {
        let wiki = try Wiki { $0.knowsEdit = true }
        let place = "127.0.0.1:\(wiki.server.port)"
        let url = url.replacingOccurrences(of: "PLACE", with: place)
        #expect(try edit(url, Self.append).status == 0)
        #expect(wiki.page == "# Old\nnew\n")
    }

    @Test func thePageOfSpartanIsAtItsURL() throws {
        let wiki = try Wiki(isSpartan: true)
        let result = try edit(wiki.url("spartan"), Self.append, [])
        #expect(result.status == 0 && wiki.page == "# Old\nnew\n", "\(result.errors)")
        let new = try edit(wiki.url("spartan", "/other"), Self.append, [])
        #expect(new.status == 0 && wiki.state.update { $0.pages.count } == 2, "\(new.errors)")
        let busy = try Wiki(isSpartan: true) { $0.storing = "5 busy\r\n" }
        let result2 = try edit(busy.url("spartan"), Self.append, [])
        #expect(result2.status == 75)
        #expect(try text(keptBy: result2) == "# Old\nnew\n")
    }

    @Test func overHTTPItIsPut() throws {
        let state = Monitor((page: "old\n", methods: [String]()))
        let server = try LoopbackServer { peer in
            var lines: [String] = []
            while let line = peer.readLine(), line.count > 2 {
                lines.append(String(decoding: line, as: UTF8.self))
            }
            let size = lines.first { $0.lowercased().hasPrefix("content-length:") }
                .flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespacesAndNewlines)) }
            let body = String(decoding: peer.read(size ?? 0), as: UTF8.self)
            let page = state.update { state in
                state.methods += lines.prefix(1) + lines.filter { $0.hasPrefix("Content-Type") }
                if lines[0].hasPrefix("PUT") { state.page = body }
                return state.page
            }
            peer.write(
                "HTTP/1.1 200 OK\r\nContent-Type: text/markdown\r\nContent-Length: "
                    + "\(page.utf8.count)\r\nConnection: close\r\n\r\n\(page)")
        }
        let result = try edit("http://127.0.0.1:\(server.port)/a.md", Self.append, [])
        #expect(result.status == 0 && result.text == "old\nnew\n", "\(result.errors)")
        let seen = state.update { $0.methods }.map { $0.trimmingCharacters(in: .newlines) }
        #expect(
            seen == [
                "GET /a.md HTTP/1.1", "GET /a.md HTTP/1.1", "PUT /a.md HTTP/1.1",
                "Content-Type: text/markdown",
            ])
    }

    @Test func ofAPluginThePageIsThatOfTheSameURL() throws {
        let page = Monitor("old\n")
        let server = try LoopbackServer { peer in
            let line = String(decoding: peer.readLine() ?? [], as: UTF8.self)
            if let size = Int(line.trimmingCharacters(in: .newlines)) {
                let text = String(decoding: peer.read(size), as: UTF8.self)
                page.update { $0 = text }
            }
            peer.write(page.update { $0 })
        }
        try Programs.write(
            """
            #!/bin/sh
            # smallweb: {"scheme": "trial", "port": 1, "transport": "tcp", "upload": true,
            # smallweb:  "mime": "text/plain"}
            echo "$SMALLWEB_UPLOAD_SIZE"
            cat <&5
            exec cat >&4
            """, to: smallweb.home.file("trial.sh"))
        let words = ["--plugin", "./trial.sh"]
        let result = try edit("trial://127.0.0.1:\(server.port)/a", Self.append, words)
        #expect(result.status == 0 && page.update { $0 } == "old\nnew\n", "\(result.errors)")
        #expect(kept.isEmpty)
    }

    @Test func aNewPageBeginsEmpty() throws {
        let wiki = try Wiki { $0.pages = [:] }
        let result = try edit(wiki.url(), "test ! -s \"$1\" && " + Self.append)
        #expect(result.status == 0 && wiki.page == "new\n", "\(result.errors)")
        #expect(!result.errors.contains("51"), "\(result.errors)")
        let empty = try Wiki { $0.pages = [:] }
        #expect(try edit(empty.url(), "exit 0").status == 0)
        #expect(empty.page == nil && empty.uploads.isEmpty && kept.isEmpty)
    }

    /// Bytes of a page, the addition of the editor in UTF-8, and the bytes that are sent.
    @Test(
        arguments: [
            (
                "text/plain; charset=iso-8859-1", [0x6E, 0xE9, 0x0D, 0x0A], #"é\n"#,
                [0x6E, 0xE9, 0x0D, 0x0A, 0xE9, 0x0D, 0x0A], "text/plain%3B%20charset%3Diso-8859-1"
            ),
            (
                "text/plain; charset=utf-16le", [0x61, 0, 0x0A, 0], #"b\r\n"#,
                [0x61, 0, 0x0A, 0, 0x62, 0, 0x0A, 0], "text/plain%3B%20charset%3Dutf-16le"
            ),
            (
                "text/gemini; lang=de", [0x61, 0x0D, 0x0A], #"b\n"#,
                [0x61, 0x0D, 0x0A, 0x62, 0x0D, 0x0A], "text/gemini"
            ),
            (
                "text/gemini", [0x61, 0x0D, 0x0A, 0x62, 0x0A], #"c\n"#,
                [0x61, 0x0D, 0x0A, 0x62, 0x0A, 0x63, 0x0A], "text/gemini"
            ),
            ("text/gemini", [0x61], #"\r\nb"#, [0x61, 0x0D, 0x0A, 0x62], "text/gemini"),
        ] as [(String, [UInt8], String, [UInt8], String)])
    func charsetAndLineEndsStay(
        _ type: String, _ before: [UInt8], _ typed: String, _ after: [UInt8], _ sent: String
    ) throws {
        let wiki = try Wiki {
            $0.type = type
            $0.pages["/page"] = before
        }
        let result = try edit(wiki.url(), "printf '\(typed)' >>\"$1\"")
        #expect(result.status == 0, "\(result.errors)")
        #expect(wiki.state.update { $0.pages["/page"] } == after)
        #expect(wiki.requests.last?.contains(";mime=\(sent)") == true, "\(wiki.requests)")
        #expect(wiki.requests.last?.hasSuffix(sent) == true, "\(wiki.requests)")
    }

    // MARK: The editor

    @Test func theFileIsPrivateAndNamedByThePage() throws {
        for (type, path, name) in [
            ("text/gemini", "/page", "page.gmi"), ("text/gemini", "/dir/", "index.gmi"),
            ("text/markdown", "/a.md", "a.md"), ("text/plain", "/a.cgi", "a.cgi.txt"),
            ("text/plain", "/-%2Frm%20x", "rm x.txt"),
        ] {
            let wiki = try Wiki {
                $0.type = type
                $0.pages[path] = [0x61]
            }
            let script =
                "{ stat -c %a \"$1\" \"${1%/*}\"; printf %s \"${1##*/}\"; } "
                + ">\(smallweb.home.file("seen"))"
            #expect(try edit(wiki.url("titan", path), script).status == 0)
            let seen = String(decoding: smallweb.home.content("seen") ?? [], as: UTF8.self)
            #expect(seen == "600\n700\n\(name)")
        }
        #expect(kept.isEmpty)
    }

    @Test func nothingChangedSendsNothing() throws {
        let wiki = try Wiki()
        let result = try edit(wiki.url(), "touch \"$1\"")
        #expect(result.status == 0 && result.errors.contains("nothing was sent"))
        #expect(wiki.uploads.isEmpty && kept.isEmpty)
    }

    @Test func anEditorThatFailsSendsNothing() throws {
        let wiki = try Wiki()
        let changed = try edit(wiki.url(), Self.append + "; exit 3")
        #expect(changed.status == 23 && changed.errors.contains("exit status 3"))
        #expect(try text(keptBy: changed) == "# Old\nnew\n")
        _ = try smallweb.run([], shell: "rm -r tmp/*")
        #expect(try edit(wiki.url(), "exit 3").status == 23)
        #expect(try edit(wiki.url(), "rm \"$1\"").status == 26)
        let empty = try edit(wiki.url(), ": >\"$1\"")
        #expect(empty.status == 2 && empty.errors.contains("--delete"), "\(empty.errors)")
        #expect(wiki.uploads.isEmpty && wiki.page == "# Old\n" && kept.isEmpty)
    }

    @Test func theEditorIsFoundAndTold() throws {
        let wiki = try Wiki()
        var smallweb = smallweb
        let none = try smallweb.run(["edit", "-k", wiki.url()])
        #expect(none.status == 23 && none.errors.contains("set EDITOR"), "\(none.errors)")
        smallweb.environment["EDITOR"] = "/nowhere/editor"
        let missing = try smallweb.run(["edit", "-k", wiki.url()])
        #expect(missing.status == 23 && missing.errors.contains("set VISUAL or EDITOR"))
        smallweb.environment["VISUAL"] = "sed -i s/Old/New/"
        #expect(try smallweb.run(["edit", "-k", wiki.url()]).status == 0)
        #expect(wiki.page == "# New\n" && kept.isEmpty)
    }

    @Test func theEditorHasTheTerminal() throws {
        let wiki = try Wiki()
        let screen = try Screen(isTerminal: true)
        var smallweb = smallweb
        smallweb.environment["PATH"] = "/usr/bin:/bin"
        smallweb.environment["EDITOR"] = "test -t 0 -a -t 1 -a -t 2 && sed -i s/Old/Seen/"
        let status = try smallweb.run(
            ["edit", "-k", wiki.url()], on: screen, input: true, output: true
        ) { _, _ in }
        #expect(status == 0 && wiki.page == "# Seen\n", "\(screen.shown)")
    }

    // MARK: Failures

    /// Each keeps the text, and the command of the hint sends it.
    @Test(
        arguments: [
            ("59 no\r\n", 22), ("41 later\r\n", 75), ("60 who are you\r\n", 98),
            ("10 why\r\n", 101),
            ("", 52), ("nonsense\r\n", 8), ("30 titan://127.0.0.1/b\r\n", 102), ("20 text/gem", 8),
        ] as [(String, Int32)])
    func anUploadThatFailsKeepsWhatWasTyped(_ reply: String, _ status: Int32) throws {
        let wiki = try Wiki { $0.storing = reply }
        let result = try edit(wiki.url(), Self.append)
        #expect(result.status == status, "\(result.errors)")
        #expect(try text(keptBy: result) == "# Old\nnew\n")
        #expect(wiki.uploads.count == 1)
        wiki.state.update { $0.storing = nil }
        let hint = try #require(
            result.errors.split(separator: "\n").last { $0.hasPrefix("hint: smallweb put") })
        let words = hint.dropFirst("hint: smallweb ".count)
            .replacingOccurrences(of: " sends it", with: "")
        let again = try smallweb.run([], shell: "\"$1\" \(words) -k")
        #expect(again.status == 0 && wiki.page == "# Old\nnew\n", "\(again.errors)")
    }

    /// The command of the hint has the options of the one that failed.
    @Test(arguments: [
        ["-k", "--token-file", "token"], ["--token-file=token", "-k", "--mime", "text/x-own"],
        ["-k", "--token-file", "to'ken", "--force"], ["-k"],
    ])
    func theHintHasTheOptionsOfTheCommand(_ options: [String]) throws {
        let wiki = try Wiki { $0.storing = "61 bad token\r\n" }
        for name in ["token", "to'ken"] { try smallweb.home.write("s3cret\n", to: name) }
        let result = try edit(wiki.url(), Self.append, options)
        #expect(result.status == 98 && !result.errors.contains("s3cret"), "\(result.errors)")
        wiki.state.update { $0.storing = nil }
        let hint = try #require(
            result.errors.split(separator: "\n").last { $0.hasPrefix("hint: smallweb put") })
        let words = hint.dropFirst("hint: smallweb ".count)
            .replacingOccurrences(of: " sends it", with: "")
        let again = try smallweb.run([], shell: "\"$1\" \(words)")
        #expect(again.status == 0 && wiki.page == "# Old\nnew\n", "\(again.errors)")
        let sent = wiki.uploads.map { $0.contains("token=s3cret") }
        #expect(sent == [options.count > 1, options.count > 1], "\(wiki.uploads)")
    }

    @Test func aPageThatHasChangedMeanwhileStays() throws {
        for before in [["/page": Array("# Old\n".utf8)], [:]] as [[String: [UInt8]]] {
            let wiki = try Wiki {
                $0.pages = before
                $0.changesMeanwhile = Array("theirs\n".utf8)
            }
            let result = try edit(wiki.url(), Self.append)
            #expect(result.status == 75 && result.errors.contains("changed meanwhile"))
            #expect(result.errors.contains("--force") && wiki.page == "theirs\n")
            #expect(try text(keptBy: result).hasSuffix("new\n"))
            #expect(wiki.uploads.isEmpty)
            _ = try smallweb.run([], shell: "rm -r tmp/*")
            wiki.state.update { $0.pages = before }
            #expect(try edit(wiki.url(), Self.append, ["-k", "--force"]).status == 0)
            #expect(wiki.page?.hasSuffix("new\n") == true && kept.isEmpty)
        }
    }

    /// No editor begins with a page that could not be sent back.
    @Test(
        arguments: [
            ("20 image/png\r\nx", 2), ("20 text/gemini\r\na\0b", 2),
            ("20 text/gemini\r\na\u{FFFD}", 2),
            ("30 /other\r\n", 102), ("60 who\r\n", 98), ("53 no\r\n", 22), ("44 5\r\n", 75),
            ("20 text/plain; charset=nonsense\r\na", 2), ("10 name\r\n", 101),
            ("20 text/plain; charset=../../a\r\na", 2), ("20 text/gemini\r\n0123456789", 63),
        ] as [(String, Int32)])
    func whatCannotBeEditedIsRefused(_ reply: String, _ status: Int32) throws {
        let wiki = try Wiki { $0.reading = reply }
        // A byte that is not UTF-8.
        if reply.contains("\u{FFFD}") {
            wiki.state.update { ($0.reading, $0.pages["/page"]) = (nil, [0xE9]) }
        }
        let result = try edit(
            wiki.url(), "touch \(smallweb.home.file("ran"))", ["-k", "--max-filesize", "8"])
        #expect(result.status == status, "\(result.errors)")
        #expect(smallweb.home.content("ran") == nil && kept.isEmpty && wiki.uploads.isEmpty)
    }

    @Test func aCharacterThatTheCharsetLacksIsNotLost() throws {
        let wiki = try Wiki { $0.type = "text/plain; charset=iso-8859-1" }
        let result = try edit(wiki.url(), "printf '€' >>\"$1\"")
        #expect(result.status == 2 && result.errors.contains("iso-8859-1"), "\(result.errors)")
        #expect(try text(keptBy: result) == "# Old\n€" && wiki.uploads.isEmpty)
    }

    /// 0 says that the server has the text; else it is in a file, or could not be typed.
    @Test func ofAServerThatFailsEachFifthRequestNothingIsLost() throws {
        let wiki = try Wiki { $0.failEvery = 5 }
        var statuses: [Int32] = []
        for number in 0..<12 {
            let script = "echo line \(number) >>\"$1\"; touch \(smallweb.home.file("ran"))"
            let result = try edit(wiki.url(), script)
            statuses.append(result.status)
            let isStored = wiki.page?.contains("line \(number)\n") ?? false
            #expect((result.status == 0) == isStored, "\(number): \(result.errors)")
            #expect(result.status == 0 || result.status == 75)
            if result.status != 0, smallweb.home.content("ran") != nil {
                #expect(try text(keptBy: result).contains("line \(number)\n"))
            } else {
                #expect(kept.isEmpty)
            }
            _ = try smallweb.run([], shell: "rm -rf tmp/* ran")
        }
        #expect(Set(statuses) == [0, 75])
    }

    @Test func aFullDiskIsToldBeforeTheEditor() throws {
        let wiki = try Wiki()
        var smallweb = smallweb
        smallweb.environment["EDITOR"] = "touch \(smallweb.home.file("ran"));:"
        let full = try smallweb.run(["edit", "-k", wiki.url()], shell: "ulimit -f 0; exec \"$@\"")
        // Nor could the message be written to a file.
        #expect(full.status == 23)
        smallweb.environment["TMPDIR"] = smallweb.home.file("nowhere")
        let none = try smallweb.run(["edit", "-k", wiki.url()])
        #expect(none.status == 23 && none.errors.contains("file for the editor"), "\(none.errors)")
        #expect(smallweb.home.content("ran") == nil && kept.isEmpty && wiki.uploads.isEmpty)
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func aSignalDuringTheUploadKeepsWhatWasTyped(_ number: Int32) throws {
        let wiki = try Wiki { $0.hangs = true }
        let result = try edit(wiki.url(), Self.append) { process in
            try wiki.state.wait(for: "the upload has begun") {
                $0.requests.contains { $0.contains(";size=") } ? () : nil
            }
            kill(process, number)
        }
        #expect(result.status == -number)
        #expect(try text(keptBy: result) == "# Old\nnew\n")
    }

    @Test func aSignalDuringTheEditorSendsNothing() throws {
        let wiki = try Wiki()
        let (begun, over) = (smallweb.home.file("begun"), smallweb.home.file("over"))
        let script = Self.append + "; touch \(begun); while [ ! -e \(over) ]; do sleep 0.01; done"
        let result = try edit(wiki.url(), script) { process in
            try eventually("the editor has begun") { FileManager.default.fileExists(atPath: begun) }
            kill(process, SIGTERM)
            _ = FileManager.default.createFile(atPath: over, contents: nil)
        }
        #expect(result.status == -SIGTERM && wiki.uploads.isEmpty)
        #expect(try text(keptBy: result) == "# Old\nnew\n")
    }

    @Test func whatIsNoPageIsAMistake() throws {
        for words in [[], ["titan://h/a", "file"], ["gopher://h/"], ["file"], ["-"], ["@list"]] {
            #expect(try smallweb.run(["edit"] + words).status == 2, "\(words)")
        }
        #expect(try smallweb.run(["edit", "--delete", "titan://h/a"]).status == 2)
        // Options that the upload could not have are refused before the editor.
        for words in [
            ["-H", "a: b", "titan://h.invalid/a"], ["--mime", "a/b", "http://h.invalid/"],
        ] {
            #expect(try smallweb.run(["edit"] + words).status == 2, "\(words)")
        }
        #expect(try smallweb.run(["edit", "titan://h/a;size=4"]).status == 3)
        let spoken = try smallweb.run(["get", "titan://127.0.0.1:1/a"])
        #expect(spoken.status == 2 && spoken.errors.contains("smallweb put"))
    }
}
