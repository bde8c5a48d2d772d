// SPDX-License-Identifier: MIT
@testable internal import GitPlugin
internal import SmallWebCore
internal import SmallWebTestSupport
internal import SmallWebTesting
internal import Testing

/// Parsing Git URLs, and the first request for each.
@Suite struct GitAddressTests {
    static func address(_ url: String) throws -> GitAddress { try GitAddress(URI(parsing: url)) }

    static func names(_ address: GitAddress) -> [String]? {
        address.path?.map { String(decoding: $0, as: UTF8.self) }
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let url: String
        let repository: String
        let path: [String]?
        var version: String?
        var testDescription: String { url }
    }

    @Test(arguments: [
        Case(url: "git://h/r.git", repository: "git://h/r.git", path: nil),
        Case(url: "git://h/r.git/", repository: "git://h/r.git", path: nil),
        Case(url: "git://h/a/b/c", repository: "git://h/a/b/c", path: nil),
        Case(url: "git://h/r//", repository: "git://h/r", path: []),
        Case(url: "git://h/r//f", repository: "git://h/r", path: ["f"]),
        Case(url: "git://h/r//a/b/", repository: "git://h/r", path: ["a", "b"]),
        Case(url: "git://h/r//a//b", repository: "git://h/r", path: ["a", "b"]),
        Case(url: "git://h/r///a", repository: "git://h/r", path: ["a"]),
        Case(url: "git://h//r//a", repository: "git://h//r", path: ["a"]),
        Case(url: "git://h//r", repository: "git://h//r", path: nil),
        Case(url: "git://h/r//a?ref=v1", repository: "git://h/r", path: ["a"], version: "v1"),
        Case(
            url: "git://h/r//?ref=refs/heads/x", repository: "git://h/r", path: [],
            version: "refs/heads/x"),
        Case(
            url: "git://h/r//a?ref=a%26b%3Fc", repository: "git://h/r", path: ["a"],
            version: "a&b?c"),
        Case(url: "git://h/r//%61%20b", repository: "git://h/r", path: ["a b"]),
        Case(url: "git://h/r//...", repository: "git://h/r", path: ["..."]),
        Case(url: "git://h/r//a#part", repository: "git://h/r", path: ["a"]),
        Case(url: "git://h/../r//a", repository: "git://h/../r", path: ["a"]),
        Case(url: "git://[::1]:99/r//a", repository: "git://[::1]:99/r", path: ["a"]),
        Case(url: "git+http://h/r//a", repository: "http://h/r", path: ["a"]),
        Case(url: "git+https://h:8443/r/", repository: "https://h:8443/r", path: nil),
        Case(url: "git+https://h/r%2Fs//a", repository: "https://h/r%2Fs", path: ["a"]),
    ])
    func isSplitAtTwoSlashes(_ wanted: Case) throws {
        let address = try Self.address(wanted.url)
        #expect(address.repository.description == wanted.repository)
        #expect(Self.names(address) == wanted.path)
        #expect(address.version == wanted.version)
    }

    @Test(arguments: [
        "git://h", "git://h/", "git://h//", "git://h///a", "git://user@h/r", "git://@h/r",
        "git://user:secret@h/r", "git://h/r?x", "git://h/r?ref=v1", "git://h/r//a?",
        "git://h/r//a?ref=", "git://h/r//a?ref", "git://h/r//a?x=1", "git://h/r//a?ref=a&b=c",
        "git://h/r//a?ref=a&ref=b", "git://h/r//a?REF=a", "git://h/r//a?ref=a%20b",
        "git://h/r//a?ref=a%0Ab", "git://h/r//a?ref=%00", "git://h/r//a?ref=a%7F",
        "git://h/r//.", "git://h/r//a/..", "git://h/r//%2E%2e/a", "git://h/r//.%2E",
        "git://h/r//a%2Fb", "git://h/r//%2f", "git://h/r//a%00b", "git://h/r%00host=evil",
        "git://h/r%0Ax", "git://h/r%0D", "git://h/r%01", "git://h/r%1F", "git://h/r%7F",
        "git://h/%00//a", "git+https://h/r%0D%0Ax", "git+https://h/", "git+https://u@h/r",
    ])
    func isRefused(_ url: String) {
        let error = #expect(throws: FetchError.self) { try Self.address(url) }
        #expect(error?.outcome == .badURL)
    }

    /// Tree names may hold anything but a slash and NUL, even line breaks: they are never sent.
    @Test func aNameMayHoldControlCharacters() throws {
        #expect(try Self.address("git://h/r//a%0Ab").path == [[0x61, 0x0A, 0x62]])
        #expect(try Self.address("git://h/r//%FF%80").path == [[0xFF, 0x80]])
    }

    @Test func anyNamesComeBackFromTheirURL() throws {
        var random = SeededGenerator(seed: 20)
        let bases = ["git://h/r", "git+https://h:1/a%20b/c", "git://[::1]/~u/r", "git://h//r"]
        for round in 0..<3_000 {
            let names = (0..<Int.random(in: 0...4, using: &random)).map { _ in
                random.bytes(upTo: 8, alphabet: "..%%25%2F#?&=+ \n\r\\\"<>[]^`{|}~:@;,'()*!$ab")
                    .filter { $0 != 0 && $0 != ASCII.slash }
            }.filter { ![[], [0x2E], [0x2E, 0x2E]].contains($0) }
            let version = ["", "?ref=main", "?ref=a/b%26%25%23%3F", "?ref=%C3%A4+!"][round % 4]
            let address = try Self.address(bases[round / 4 % 4] + "//start" + version)
            let again = try Self.address(address.url(of: names))
            #expect(again.path == names)
            #expect(again.version == address.version)
            #expect(again.repository == address.repository)
        }
    }

    @Test func aMovedRepositoryKeepsPathAndVersion() throws {
        let address = try Self.address("git+http://h/r//a%20b/c?ref=x/y")
        let target = try URI(parsing: "https://other:1/s")
        #expect(address.url(at: target) == "git+https://other:1/s//a%20b/c?ref=x/y")
        let list = try Self.address("git+http://h/r")
        #expect(list.url(at: target) == "git+https://other:1/s")
    }

    /// The first three lengths come from Git's own tests.
    @Test(arguments: [
        (
            "git://myserver.com/project.git", 0,
            "0033git-upload-pack /project.git|host=myserver.com|"
        ),
        (
            "git://myserver.com/project.git", 1,
            "003egit-upload-pack /project.git|host=myserver.com||version=1|"
        ),
        (
            "git://example.com/schacon/gitbook.git", 0,
            "003agit-upload-pack /schacon/gitbook.git|host=example.com|"
        ),
        ("git://h/~user/r//f", 2, "002egit-upload-pack ~user/r|host=h||version=2|"),
        ("git://h/a~user", 2, "002egit-upload-pack /a~user|host=h||version=2|"),
        ("git://h:9418/r", 2, "002egit-upload-pack /r|host=h:9418||version=2|"),
        ("git://[::1]/r", 2, "002dgit-upload-pack /r|host=[::1]||version=2|"),
        ("git://[::1]:42/r", 2, "0030git-upload-pack /r|host=[::1]:42||version=2|"),
        ("git://H/a%20b%C3%A9", 2, "002dgit-upload-pack /a bé|host=h||version=2|"),
        ("git://h/r%23%3F/", 2, "002bgit-upload-pack /r#?|host=h||version=2|"),
        ("git://h/a/../b", 2, "002egit-upload-pack /a/../b|host=h||version=2|"),
    ])
    func makesTheKnownRequest(_ url: String, _ version: Int, _ request: String) throws {
        let bytes = try Self.address(url).daemonRequest(version)
        let shown = String(decoding: bytes, as: UTF8.self).replacing("\0", with: "|")
        #expect(shown == request)
        #expect(Int(request.prefix(4), radix: 16) == bytes.count)
    }

    /// Every URL makes one packet with one host and one version.
    @Test func noURLMakesASecondField() throws {
        var random = SeededGenerator(seed: 21)
        var made = 0
        for _ in 0..<5_000 {
            let tail = random.bytes(upTo: 24, alphabet: "%0%0%0%1dDaA9?#/~@:7./=")
                .filter { 0x21..<0x7F ~= $0 }
            guard
                let address = try? Self.address(
                    "git://h.test/\(String(decoding: tail, as: UTF8.self))"),
                let request = try? address.daemonRequest(2)
            else { continue }
            made += 1
            #expect(
                request.count == Int(String(decoding: request.prefix(4), as: UTF8.self), radix: 16))
            let fields = request.dropFirst(4).split(separator: 0, omittingEmptySubsequences: false)
            #expect(fields.count == 5)
            #expect(fields[1].elementsEqual("host=h.test".utf8))
            #expect(fields[2].isEmpty && fields[4].isEmpty)
            #expect(fields[3].elementsEqual("version=2".utf8))
            #expect(fields[0].allSatisfy { $0 >= 0x20 && $0 != 0x7F })
        }
        #expect(made > 500)
    }

    @Test func aPathLongerThanAPacketIsRefusedBeforeDialling() async {
        let url = "git://h/" + String(repeating: "a", count: 65_500)
        let dialer = GitDialer(GitPeer { _ in GitAnswer([], close: .fin) })
        let played = await playGit(url, dialer)
        #expect(played.error?.outcome == .badURL)
        #expect(dialer.endpoints.isEmpty)
    }
}
