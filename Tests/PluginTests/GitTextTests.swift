// SPDX-License-Identifier: MIT
@testable internal import GitPlugin
internal import SmallWebCore
internal import SmallWebTestSupport
internal import Testing

/// Parsing commits, attributes and queries of URLs, without a server.
@Suite struct GitTextTests {
    static let id = String(repeating: "ab", count: 20)

    // MARK: Queries

    @Test(arguments: [
        ("?tar", true), ("?tar=1&prefix=a/&strip=2&ref=v1", true), ("?log", true),
        ("?log=v1..v2&n=20&since=2026-11-20&format=full", true), ("?log=..v2", true),
        ("?describe=main&tags=1&long&match=v*&match=w*&abbrev=12", true),
        ("?diff=v1..v2&raw=1&path=a", true), ("?refs&dates=1", true),
        ("?tar&log=", false), ("?path=a", false), ("?log&n=0", false), ("?log&n=-1", false),
        ("?log&n=", false), ("?log&n=100001", false), ("?log&x=1", false),
        ("?log=v1...v2", false), ("?log=a..b..c", false), ("?log=a%20b", false),
        ("?log=a%0Ab", false), ("?log&since=yesterday", false), ("?log&format=short", false),
        ("?log&path=a", true), ("?path=a", false), ("?tar&log=", false), ("?log&n=-1", false),
        ("?log&path=a/../b", false), ("?diff=a..b&raw=1&patch=1", false), ("?object", false),
        ("?object=refs/tags/v1", true), ("?object=v1&n=1", false),
        ("?diff=a..b&path=../x", false), ("?diff=a..b&path=", false),
        ("?tar=2", false), ("?tar&tar", false),
        ("?describe&abbrev=3", false), ("?describe&abbrev=65", false), ("?diff=v1", false),
        ("?describe&long&abbrev=0", false), ("?refs=1&heads", false),
        ("?", false), ("?&", false), ("?ref=v1", false),
    ])
    func aQueryIsAQuestionOrRefused(_ query: String, _ isQuestion: Bool) throws {
        do {
            let address = try GitAddressTests.address("git://h/r\(query)")
            #expect(isQuestion, "\(address.question)")
        } catch {
            #expect((error as? FetchError)?.outcome == .badURL)
            #expect(!isQuestion)
        }
    }

    @Test func anUnknownKeyNamesTheKnownOnes() {
        let error = #expect(throws: FetchError.self) {
            try GitAddressTests.address("git://h/r?log&x=1")
        }
        for key in ["n", "since", "format"] {
            #expect(error?.hint?.contains("\"\(key)\"") == true)
        }
    }

    @Test func rangesHaveTwoEnds() throws {
        let range = try VersionRange("v1..v2")
        #expect(range.from == "v1" && range.to == "v2")
        let open = try VersionRange("v1..")
        #expect(open.from == "v1" && open.to == nil)
        let other = try VersionRange("..v2")
        #expect(other.from == "HEAD" && other.to == "v2")
        #expect(try VersionRange("HEAD").to == nil)
    }

    @Test(
        arguments: [
            ("2026-11-20", 1_795_132_800), ("2026-11-20T00:00:01Z", 1_795_132_801),
            ("2026-11-20T01:30:00+01:30", 1_795_132_800),
            ("2026-11-19T23:00:00-01:00", 1_795_132_800),
            ("2026-13-01", nil), ("2026-02-30", nil), ("2026-11-20T99:99:99Z", nil), ("today", nil),
        ] as [(String, Int?)])
    func datesAreInUTC(_ text: String, _ seconds: Int?) {
        #expect(GitQuestion.seconds(text) == seconds)
    }

    // MARK: Commits

    static let commit =
        "tree \(id)\nparent \(id)\nparent \(id)\nauthor Jos\u{E9} <j@x> 1700000000 -0330\n"
        + "committer C <c@y> 1700000001 +0100\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n"
        + " author Not <me> 1 +0000\n -----END\nencoding UTF-8\n\n\n  \nsubject\nof two\n\nbody\n"

    static func parsed(_ content: some Sequence<UInt8>) throws -> Commit {
        let id = try #require(ObjectID(hex: id))
        return try Commit(PackObject(id: id, type: .commit, content: Array(content)))
    }

    @Test func aCommitIsTakenApart() throws {
        let commit = try Self.parsed(Self.commit.utf8)
        #expect(commit.parents.count == 2)
        #expect(commit.signature == "openpgp")
        #expect(commit.encoding == "UTF-8")
        #expect(commit.date == 1_700_000_001)
        let author = try #require(Ident(commit.author))
        #expect(String(decoding: author.name, as: UTF8.self) == "Jos\u{E9}")
        #expect(author.date?.iso8601 == "2023-11-14T18:43:20-03:30")
        #expect(author.date?.text == "Tue Nov 14 18:43:20 2023 -0330")
        #expect(author.date?.mail == "Tue, 14 Nov 2023 18:43:20 -0330")
        let paragraph = Commit.paragraph(commit.text)
        #expect(paragraph.subject.elementsEqual("subject of two".utf8))
        #expect(Commit.withoutBlankLines(paragraph.rest).elementsEqual("body\n".utf8))
    }

    @Test func aCutCommitIsAnErrorOrShorter() {
        let bytes = Array(Self.commit.utf8)
        for count in bytes.indices {
            guard let commit = try? Self.parsed(bytes[..<count]) else { continue }
            #expect(count >= 46)
            #expect(commit.parents.count <= 2)
            _ = commit.fullEntry
        }
    }

    @Test(arguments: [
        "1 +0000", "99999999999999999999 +0000", "5 -0500", "0 +0000", "-1 +0000", "x", "5", "",
        "5 +", "1700000000 +9999999999",
    ])
    func oddDatesAreNoCrash(_ text: String) {
        guard let date = GitDate(Array(text.utf8)[...]) else { return }
        #expect(date.seconds >= 0)
        #expect(!date.iso8601.isEmpty && !date.text.isEmpty)
    }

    /// Before 1970 in its zone: shown in UTC.
    @Test func aDayBefore1970IsShownInUTC() {
        #expect(GitDate(seconds: 5, zone: -500).iso8601 == "1970-01-01T00:00:05+00:00")
    }

    // MARK: Placeholders

    @Test func placeholdersAreOfTheCommit() throws {
        let commit = try Self.parsed(Self.commit.utf8)
        var placeholders = Placeholders(commit)
        let text = "a $Format:%H|%an|%ct|%s|%f|%%|%x41|%h|%d$ b $Format:%H"
        let expanded = placeholders.expand(Array(text.utf8))
        #expect(
            String(decoding: expanded ?? [], as: UTF8.self)
                == "a \(Self.id)|Jos\u{E9}|1700000001|subject of two|subject|%|A|%h|%d b $Format:%H"
        )
        #expect(placeholders.unknown == ["%h", "%d"])
    }

    /// So is the text between `$Format:` and `$`.
    @Test func placeholdersAreInTheEncodingOfTheCommit() throws {
        let tree = String(repeating: "0", count: 40)
        let person = "A <a@one.test> 1 +0000"
        var bytes = Array(
            "tree \(tree)\nauthor \(person)\ncommitter \(person)\nencoding ISO-8859-1\n\nM".utf8)
        bytes += [0xFC, 0x0A]
        let commit = try Self.parsed(bytes)
        var placeholders = Placeholders(commit)
        let found = placeholders.expand(Array("\u{E9}$Format:\u{E9} %s$".utf8))
        #expect(found == [0xC3, 0xA9, 0xE9, 0x20, 0x4D, 0xFC])
    }

    /// A message of a megabyte, a thousand times, would take a gigabyte; so would looking for a
    /// subject in it take a second.
    @Test(arguments: ["%B", "%b", "%s"])
    func whatPlaceholdersStandForIsBounded(_ placeholder: String) throws {
        let message = "\n\n\n" + String(repeating: "x\n", count: 500)
        let text = Self.commit + (placeholder == "%s" ? "" : message)
        let commit = try Self.parsed(text.utf8)
        var placeholders = Placeholders(commit)
        let most = 20 * commit.message.count
        func format(_ count: Int) -> [UInt8] {
            Array("$Format:\(String(repeating: placeholder, count: count))$".utf8)
        }
        #expect(placeholders.expand(format(20), bytesMax: most) != nil)
        #expect(placeholders.expand(format(21), bytesMax: most) == nil)
        #expect(placeholders.expand(format(10) + format(11), bytesMax: most) == nil)
        let around = [UInt8](repeating: 0x20, count: most)
        #expect(placeholders.expand(around, bytesMax: most) == around)
        #expect(placeholders.expand(around + format(0) + [0x20], bytesMax: most) == nil)
    }

    // MARK: Attributes

    @Test func whatIsNearestCounts() {
        var attributes = Attributes()
        let root = "*.txt text\n*.bin binary\n[attr]mine export-ignore -text\ndocs/* mine\n"
        attributes.push([], Array((root + "\"a\\142c\" eol=crlf\n!x bad\n-y =z\n").utf8)[...])
        attributes.push(Array("docs/".utf8), Array("b.txt !export-ignore text=auto\n".utf8)[...])
        func values(_ path: String) -> Attributes.Values {
            (try? attributes.values(for: Array(path.utf8))) ?? [:]
        }
        #expect(values("a.txt") == ["text": .set])
        #expect(values("x/a.bin")["text"] == .unset)
        #expect(values("x/a.bin")["binary"] == .set)
        #expect(values("abc") == ["eol": .text(Array("crlf".utf8))])
        #expect(values("docs/a.txt")["export-ignore"] == .set)
        #expect(values("docs/a.txt")["text"] == .unset)
        #expect(values("docs/b.txt")["export-ignore"] == nil)
        #expect(values("docs/b.txt")["text"] == .text(Array("auto".utf8)))
        #expect(values("docs/x/b.txt")["export-ignore"] == nil)
        attributes.pop()
        #expect(values("docs/b.txt")["export-ignore"] == .set)
    }

    /// A single file is asked for with the attributes of all directories above it.
    @Test func attributesSpeakOfWhatIsInTheirDirectory() {
        var attributes = Attributes()
        attributes.push(Array("docs/er/".utf8), Array("er/ export-ignore\ner text\n".utf8)[...])
        func values(_ path: String) -> Attributes.Values {
            (try? attributes.values(for: Array(path.utf8))) ?? [:]
        }
        #expect(values("docs/er/").isEmpty)
        #expect(values("docs/er").isEmpty)
        #expect(values("er/").isEmpty)
        #expect(values("docs/er/er/")["export-ignore"] == .set)
        #expect(values("docs/er/er")["text"] == .set)
    }

    @Test func aMacroThatNamesItselfEnds() throws {
        var attributes = Attributes()
        attributes.push([], Array("[attr]a b\n[attr]b a x\n* a\n".utf8)[...])
        #expect(try attributes.values(for: Array("f".utf8)) == ["a": .set, "b": .set, "x": .set])
    }

    @Test(arguments: [
        ("a/b", "a/b", true), ("/a/b", "a/b", true), ("*/b", "a/b", true), ("*/b", "a/c/b", false),
        ("**/b", "a/c/b", true), ("**/b", "b", true), ("a/**", "a/b/c", true),
        ("a/**", "a", false),
        ("a/**/b", "a/b", true), ("a/**/b", "a/x/y/b", true), ("a/*", "a/b/c", false),
        ("a/?", "a/b", true), ("a?b/", "a/b/", false), ("dir/", "dir/", true),
        ("dir/", "dir", false), ("dir/", "x/dir/", true), ("[ab]", "b", true),
        ("x/[!/]", "x/b", true), ("*.c", "a/b.c", true), ("\\*", "*", true), ("a\\", "a", false),
    ])
    func patternsAreThoseOfGitignore(_ pattern: String, _ path: String, _ isMatch: Bool) {
        let pattern = AttributePattern(Array(pattern.utf8))
        #expect(pattern.matches(Array(path.utf8), in: []) == isMatch)
    }

    /// It would take ages if every star tried everything again.
    @Test func aHostilePatternTakesNoTime() {
        let stars = Array([[UInt8]](repeating: Array("*a".utf8), count: 200).joined()) + [0x62]
        let text = [UInt8](repeating: 0x61, count: 2000)
        #expect(!Wildmatch(stars, isPath: true).matches(text))
        let pairs = Array([[UInt8]](repeating: Array("**/".utf8), count: 60).joined()) + [0x62]
        let path = Array([[UInt8]](repeating: Array("a/".utf8), count: 500).joined())
        #expect(!Wildmatch(pairs, isPath: true).matches(path))
    }

    /// The time and memory that every star took for every byte of the name behind it.
    @Test(.timeLimit(.minutes(30)))
    func aHostilePatternOfALongNameTakesNoMemory() {
        let stars = Array([[UInt8]](repeating: Array("*a".utf8), count: 500).joined()) + [0x2A]
        let text = [UInt8](repeating: 0x61, count: 100_000)
        for isPath in [true, false] {
            #expect(!Wildmatch(stars + [0x62], isPath: isPath).matches(text))
            #expect(Wildmatch(stars + [0x62], isPath: isPath).matches(text + [0x62]))
        }
    }

    /// An earlier star takes more where the latest one cannot.
    @Test(arguments: [
        ("**/*a", "b/a/ca", true), ("**/*a/b", "xa/ya/b", true), ("**/a*/b", "a/a/ab/b", true),
        ("**/a*/b", "a/c/b", false), ("**/**/b", "b", true), ("a/**/*/b", "a/b", false),
        ("a/**/*/b", "a/x/y/b", true), ("**/a/*", "a/a/b", true), ("**/a/*", "a/b/c", false),
        ("**a", "b/a", false), ("a/**b/c", "a/xb/c", true), ("a/**b/c", "a/x/b/c", false),
        ("**\\/b", "a/c/b", true), ("**\\/b", "b", false), ("*a*/**", "bab/c/d", true),
    ])
    func theLatestStarsTakeMore(_ pattern: String, _ path: String, _ isMatch: Bool) {
        #expect(Wildmatch(pattern.utf8, isPath: true).matches(path.utf8) == isMatch)
    }

    // MARK: Conversions

    @Test(arguments: [
        ("text eol=crlf", "a\nb\r\n", "a\r\nb\r\n"), ("text=auto eol=crlf", "a\nb\r\n", "a\nb\r\n"),
        ("text=auto eol=crlf", "a\nb\n", "a\r\nb\r\n"), ("-text eol=crlf", "a\n", "a\n"),
        ("ident", "$Id$ $Id: x $ $Id: a b $", "$Id: # $ $Id: # $ $Id: a b $"),
        ("working-tree-encoding=ISO-8859-1", "\u{E9}", "\\xE9"),
        ("working-tree-encoding=ISO-8859-1", "\u{2603}", "!\u{2603}"),
        ("working-tree-encoding=a//b", "a", "!a"), ("working-tree-encoding=utf8", "a", "a"),
    ])
    func contentIsConvertedAsGitDoes(_ line: String, _ content: String, _ wanted: String) throws {
        var attributes = Attributes()
        attributes.push([], Array("* \(line)\n".utf8)[...])
        let id = try #require(ObjectID(hex: Self.id))
        let conversion = Conversion(try attributes.values(for: [0x61]))
        let (found, isEncoded) = conversion.apply(to: Array(content.utf8), id)
        #expect(isEncoded == !wanted.hasPrefix("!"))
        let expected =
            wanted == "\\xE9"
            ? [0xE9] : Array(wanted.drop { $0 == "!" }.replacing("#", with: Self.id).utf8)
        #expect(found == expected)
    }

    /// Four bytes become forty-seven, and those four times as many.
    @Test func moreThanTheLimitIsNotExpanded() throws {
        var attributes = Attributes()
        attributes.push([], Array("* ident working-tree-encoding=UTF-32LE\n".utf8)[...])
        let id = try #require(ObjectID(hex: Self.id))
        let conversion = Conversion(try attributes.values(for: [0x61]))
        let content = Array(String(repeating: "$Id$", count: 1000).utf8)
        let whole = conversion.apply(to: content, id)
        #expect(whole.content.count == 4 * 47_000 && whole.isEncoded)
        let cut = conversion.apply(to: content, id, bytesMax: 6000)
        #expect(6001...6100 ~= cut.content.count)
    }

    // MARK: Submodules

    @Test(
        arguments: [
            ("[submodule \"x\"]\n\tpath = a\n\turl = ../b.git\n", "../b.git"),
            ("[Submodule \"x\"] URL=u\nPATH=a", "u"),
            (
                "\u{FEFF}; no\n[submodule \"x\\\"\\y\"]# no\npath=a ; no\nurl = \" u;#\" v \r\n",
                " u;# v"
            ),
            ("[submodule \"x\"]\npath=a\nurl=u\\\nv\\t\\\\\\\"\n", "uv\t\\\""),
            ("[submodule \"x\"]\nactive\npath=a\nurl=u\nurl=v\n", "v"),
            ("[submodule \"x\"]\npath=a\n[submodule \"y\"]\nurl=u\n", nil),
            ("[submodule]\npath=a\nurl=u\n", nil), ("path=a\nurl=u\n", nil),
            ("[submodule \"x\"\npath=a\nurl=u\n", nil), ("[submodule \"x\n\"]\npath=a\nurl=u", nil),
            ("[submodule \"x\"]\npath=a\nurl=\"u\n", nil),
            ("[submodule \"x\"]\npath=a\nurl=\\q", nil),
            ("[other \"x\"]\npath=a\nurl=u\n", nil), ("", nil),
        ] as [(String, String?)])
    func submodulesHaveTheirURLs(_ text: String, _ url: String?) {
        let modules = Submodules(Array(text.utf8)[...])
        #expect(modules.url(of: [0x61]) == Facts.Value(url))
    }

    @Test func aCutFileOfSubmodulesIsReadAsFarAsItGoes() {
        let text = Array("[submodule \"x\"]\n\tpath = a\n\turl = ../b.git\n".utf8)
        for count in text.indices {
            let url = Submodules(text[..<count]).url(of: [0x61])
            if case .text(let url) = url { #expect("../b.git".hasPrefix(url)) }
        }
    }

    // MARK: Pointers

    private static let pointer = """
        version https://git-lfs.github.com/spec/v1
        oid sha256:\(String(repeating: "0a", count: 32))
        size 12345

        """

    @Test func aPointerHasAnIDAndASize() throws {
        let pointer = try #require(LFSPointer(Array(Self.pointer.utf8)[...]))
        #expect(pointer.byteCount == 12345)
        #expect(pointer.id == "sha256:" + String(repeating: "0a", count: 32))
    }

    @Test func whatIsCutOrOtherwiseIsNotAPointer() {
        let bytes = Array(Self.pointer.utf8)
        for count in bytes.indices { #expect(LFSPointer(bytes[..<count]) == nil) }
        for (from, to) in [("size 12345", "size x"), ("sha256:0a", "sha256:0g"), ("v1", "v2")] {
            #expect(LFSPointer(Array(Self.pointer.replacing(from, with: to).utf8)[...]) == nil)
        }
    }
}
