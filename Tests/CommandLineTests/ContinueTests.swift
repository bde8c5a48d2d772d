// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

@testable import SmallWeb
@testable import SmallWebCLI

/// A file that is cut off beside an older one of its name, and is continued.
@Suite struct ContinueTests {
    /// A file with a validator, of which the first reply is cut off after 4 bytes.
    private final class Site {
        let server: LoopbackServer
        let version = Monitor("ABCDEFGHIJ")
        let cuts = Monitor(true)
        let asked = Recorder<WebRequest>()

        init() throws {
            let (version, cuts, asked) = (version, cuts, asked)
            server = try LoopbackServer { peer in
                guard let request = WebRequest(from: peer) else { return }
                asked.add(request)
                let body = Array(version.update { $0 }.utf8)
                var at = request["range"].first.flatMap { Int($0.dropFirst(6).dropLast()) }
                let tag = "\"\(version.update { $0 })\""
                if let condition = request["if-range"].first, condition != tag { at = nil }
                let range = at.map { "Content-Range: bytes \($0)-9/10\r\n" } ?? ""
                peer.write(
                    "HTTP/1.1 \(at == nil ? 200 : 206) X\r\nETag: \(tag)\r\n\(range)"
                        + "Content-Length: \(body.count - (at ?? 0))\r\n\r\n")
                let end = cuts.update { $0 } ? min((at ?? 0) + 4, body.count) : body.count
                peer.write(Array(body[(at ?? 0)..<end]))
            }
        }

        func url(_ path: String) -> String { "http://127.0.0.1:\(server.port)/\(path)" }
    }

    /// A way to name the file of `http://…/d/f`.
    struct Name: Sendable, CustomStringConvertible {
        let words: [String]
        let file: String
        /// A request in JSON in place of the URL.
        var order: String?
        /// The file that is written where the older one is kept.
        var other: String?
        /// A link to the file.
        var link: String?
        var description: String { (words + [order ?? ""]).joined(separator: " ") }
    }

    static let names: [Name] = [
        Name(words: ["-o", "f"], file: "f"), Name(words: ["-o", "d/f"], file: "d/f"),
        Name(words: ["-o", "link"], file: "f", link: "link"),
        Name(words: ["--output-dir", "d", "-o", "f"], file: "d/f"),
        Name(words: ["--no-clobber", "-o", "f"], file: "f", other: "f.1"),
        Name(words: ["--if-changed", "-o", "f"], file: "f"),
        Name(words: ["-O"], file: "f"), Name(words: ["-O", "--overwrite"], file: "f"),
        Name(words: ["-O", "--no-clobber"], file: "f", other: "f.1"),
        Name(words: ["-O", "--output-dir", "d"], file: "d/f"),
        Name(words: ["--tree"], file: "127.0.0.1:@/d/f"),
        Name(words: ["--tree", "--overwrite", "--output-dir", "d"], file: "d/127.0.0.1:@/d/f"),
        Name(words: ["--json"], file: "d/f", order: "\"output\":\"d/f\""),
        Name(words: ["--json", "--body", "file"], file: "f", order: "\"tag\":1"),
    ]

    private let smallweb = Smallweb()

    /// The words between "came:" and "continues it".
    private static func hint(_ errors: String) -> [String] {
        let line = errors.split(separator: "\n").last ?? ""
        guard let start = line.range(of: "has the part that came: ")?.upperBound,
            line.hasSuffix(" continues it")
        else { return [] }
        return line[start...].split(separator: " ").dropLast(2).map(String.init)
    }

    private func run(_ name: Name, _ words: [String], _ site: Site) throws -> Smallweb.Result {
        let url = site.url("d/f")
        guard let order = name.order else {
            return try smallweb.run(["get"] + words + name.words + [url])
        }
        return try smallweb.run(
            ["get"] + words + name.words + ["-"], stdin: "{\"url\":\"\(url)\",\(order)}\n")
    }

    private func put(_ text: String, _ name: String) throws {
        let file = URL(fileURLWithPath: smallweb.home.file(name))
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
    }

    private func text(_ name: String) -> String? {
        smallweb.home.content(name).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The hint is typed; the version has changed meanwhile, or not.
    @Test(arguments: names, [["hint"], ["-C", "-"], ["-c"], ["-C", "4"]])
    func theOlderFileIsReplacedOrStays(_ name: Name, _ way: [String]) throws {
        for changes in [false, true] {
            let site = try Site()
            let file = name.file.replacing("@", with: "\(site.server.port)")
            if let link = name.link, !changes { symlink(file, smallweb.home.file(link)) }
            for old in [nil, "the older one"] {
                for left in [file, file + ".part", file + ".1"] {
                    unlink(smallweb.home.file(left))
                }
                if let old {
                    try put(old, file)
                } else if !file.contains("127") {
                    try put("", "d/x")
                }
                (_, _) = (site.cuts.update { $0 = true }, site.version.update { $0 = "ABCDEFGHIJ" })
                let first = try run(name, [], site)
                #expect(text(file + ".part") == "ABCD" && text(file) == old, "\(first)")
                let hint = Self.hint(first.errors)
                #expect(hint == ["-C", "-"] + (name.order == nil ? [] : ["--skip-existing"]))
                (_, _) = (
                    site.cuts.update { $0 = false },
                    site.version.update { $0 = changes ? "0123456789" : $0 }
                )
                let result = try run(name, way == ["hint"] ? hint : way, site)
                #expect(site.asked.values.last?["if-range"] == ["\"ABCDEFGHIJ\""])
                if changes {
                    #expect(result.status == 22 && result.text.isEmpty == (name.order == nil))
                    #expect(text(file) == old && text(file + ".part") == "ABCD")
                } else {
                    #expect(result.status == 0, "\(result.errors)")
                    let isKept = old != nil && name.other != nil
                    #expect(text(isKept ? name.other ?? "" : file) == "ABCDEFGHIJ")
                    #expect(text(file) == (isKept ? old : "ABCDEFGHIJ"))
                    #expect(text(file + ".part") == nil)
                }
            }
        }
    }

    /// Where the URL has no name, the hint has it.
    @Test(arguments: [[], ["--output-dir", "d"], ["--tree"]])
    func aNameOfTheReplyIsInTheHint(_ words: [String]) throws {
        let site = try Site()
        try put("", "d/x")
        let first = try smallweb.run(["get", "-O"] + words + [site.url("")])
        let hint = Self.hint(first.errors)
        #expect(hint.count == 4 && hint[2] == "-o", "\(first.errors)")
        _ = site.cuts.update { $0 = false }
        let more = words.first == "--output-dir" ? words : []
        let result = try smallweb.run(["get"] + more + hint + [site.url("")])
        #expect(result.status == 0, "\(result.errors)")
        let place = ["--output-dir": "d/", "--tree": "127.0.0.1:\(site.server.port)/"]
        #expect(text((place[words.first ?? ""] ?? "") + "index") == "ABCDEFGHIJ")
    }

    /// In a list those that are whole are skipped, and those with a part are not.
    @Test func theHintOfAListContinuesIt() throws {
        let site = try Site()
        let urls = ["a", "b"].map(site.url)
        for name in ["a", "b"] { try put("the older one", name) }
        let first = try smallweb.run(["get", "-O", "--overwrite"] + urls)
        #expect(first.errors.contains("b.part has the part that came: -C - --skip-existing"))
        unlink(smallweb.home.file("a.part"))
        _ = site.cuts.update { $0 = false }
        #expect(try smallweb.run(["get", "-O", "-C", "-", "--skip-existing"] + urls).status == 0)
        #expect(text("a") == "the older one" && text("b") == "ABCDEFGHIJ")
        #expect(smallweb.home.names == ["a", "b"])
    }

    /// Each attempt goes on where the one before it ended.
    @Test(arguments: [["-C", "-"], ["-C", "2"]], ["f", "f.part"])
    func retriesContinue(_ way: [String], _ name: String) throws {
        let site = try Site()
        try put("AB", name)
        let words = ["get", "--retry", "2", "--retry-delay", "0"] + way + ["-o", "f"]
        let cut = try smallweb.run(words + [site.url("f")])
        // By an offset, each asks for the same.
        let isWhole = way == ["-C", "-"]
        #expect(cut.status == (isWhole ? 0 : 18), "\(cut.errors)")
        #expect(text(isWhole ? "f" : name) == (isWhole ? "ABCDEFGHIJ" : "AB"))
        _ = site.cuts.update { $0 = false }
        if !isWhole { #expect(try smallweb.run(words + [site.url("f")]).status == 0) }
        #expect(text("f") == "ABCDEFGHIJ" && smallweb.home.names == ["f"])
    }

    @Test func anOffsetIsTheLengthOfTheFile() throws {
        let site = try Site()
        _ = site.cuts.update { $0 = false }
        for name in ["f", "f.part"] {
            try put("ABC", name)
            let result = try smallweb.run(["get", "-C", "4", "-o", "f", site.url("f")])
            #expect(result.status == 23 && result.errors.contains("it has 3 bytes"))
            #expect(smallweb.home.names == [name] && text(name) == "ABC")
            unlink(smallweb.home.file(name))
        }
        #expect(try smallweb.run(["get", "-C", "4", "-o", "end", site.url("f")]).status == 0)
        #expect(text("end") == "EFGHIJ")
        // Not the beginning of a file that could be continued.
        _ = site.cuts.update { $0 = true }
        let cut = try smallweb.run(["get", "-C", "4", "-o", "cut", site.url("f")])
        #expect(cut.status == 18 && !cut.errors.contains("continues it"), "\(cut.errors)")
        #expect(smallweb.home.names == ["end"])
    }

    /// Links, a page that is laid out, and replies to data are not the beginning of a body.
    @Test(arguments: [
        ["links"], ["get", "--render", "plain"], ["get", "--render", "html"], ["get", "-d", "x"],
    ])
    func whatIsNotABodyLeavesNoPart(_ words: [String]) throws {
        let site = try LoopbackServer { peer in
            guard WebRequest(from: peer) != nil else { return }
            peer.write("HTTP/1.1 200 OK\r\nContent-Type: text/gemini\r\nContent-Length: 99\r\n")
            peer.write("\r\n=> /a A\ntext\n")
        }
        let result = try smallweb.run(words + ["-o", "f", "http://127.0.0.1:\(site.port)/"])
        #expect(result.status == 18 && smallweb.home.names.isEmpty, "\(result.errors)")
    }

    /// A whole fetch makes the part of an earlier one useless; what is not a part of ours stays.
    @Test func aWholeFileHasNoPart() throws {
        let site = try Site()
        for words in [["-o", "f"], ["-O", "--overwrite"], ["-O"]] {
            _ = site.cuts.update { $0 = true }
            #expect(try smallweb.run(["get"] + words + [site.url("f")]).status == 18)
            _ = site.cuts.update { $0 = false }
            #expect(try smallweb.run(["get"] + words + [site.url("f")]).status == 0)
            #expect(text("f") == "ABCDEFGHIJ" && text("f.part") == nil)
        }
        try put("mine", "f.part")
        #expect(try smallweb.run(["get", "-o", "f", site.url("f")]).status == 0)
        #expect(text("f.part") == "mine")
    }

    /// All from the first byte on would be added to the file.
    @Test func aSchemeThatCannotResumeIsNotRedirectedTo() throws {
        let hole = try Hole()
        let site = try LoopbackServer { peer in
            guard WebRequest(from: peer) != nil else { return }
            peer.write("HTTP/1.1 302 X\r\nLocation: \(hole.place)/0/about.txt\r\n\r\n")
        }
        try put("This", "f.part")
        let words = ["get", "--proto-redir", "gopher", "-o", "f"]
        let url = "http://127.0.0.1:\(site.port)/"
        let result = try smallweb.run(words + ["-C", "-", url])
        #expect(result.status == Outcome.redirectRefused.exitStatus, "\(result.errors)")
        #expect(smallweb.home.names == ["f.part"] && text("f.part") == "This")
        #expect(try smallweb.run(words + [url]).status == 0)
    }
}
