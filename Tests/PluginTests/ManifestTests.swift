// SPDX-License-Identifier: MIT
@testable internal import ExternalPlugin
internal import SmallWebCore
internal import SmallWebTestSupport
internal import Testing

/// Manifests and events of programs: bad ones are refused, and nothing crashes.
@Suite struct ManifestTests {
    private static let good = """
        {"v": 1, "name": "nex", "version": "1.0", "summary": "Nex", "program": ["./nex", "-x"],
         "schemes": [{"name": "nex", "port": 1900, "transport": "tcp", "mime": "text/plain"},
                     {"name": "nexs", "port": 1901, "transport": "tls", "trust": "ca",
                      "path": "opaque", "input": true, "upload": true, "identities": true,
                      "server_first": true, "query": "encoded", "summary": "Nex over TLS",
                      "x-note": {}},
                     {"name": "nexu", "port": 1900, "transport": "udp", "udp_peer": "host"},
                     {"name": "nexn", "port": 0, "transport": "none", "secure_form": "nexs"}],
         "options": [{"name": "nex-depth", "value": "N", "help": "how deep", "default": "1"},
                     {"name": "nex-all", "help": "everything"}],
         "connections": 3, "answers": true, "opens": ["tcp://{host}:*", "tls://*.Example.org:443",
                   "https://{host}:8443/a?*", "gopher://*/"],
         "limits": {"cpu_seconds": 1, "memory_bytes": 16777216, "files": 16}, "x-more": 1}
        """

    @Test(arguments: [
        ("tcp://{host}:*", "tcp://own.example.org:1", true),
        ("tcp://{host}:*", "tcp://OWN.example.org:65535", true),
        ("tcp://{host}:*", "tls://own.example.org:1", false),
        ("tcp://{host}:*", "udp://own.example.org:1", false),
        ("tcp://{host}:*", "tcp://other.example.org:1", false),
        ("tcp://{host}:80", "tcp://own.example.org:81", false),
        ("tls://*.example.org:443", "tls://a.b.example.org:443", true),
        ("tls://*.example.org:443", "tls://example.org:443", false),
        ("tls://*.example.org:443", "tls://xexample.org:443", false),
        ("tls://*.example.org:443", "tls://example.org:443.example.org:443", false),
        ("udp://*:53", "udp://[::1]:53", true), ("tcp://[::1]:9", "tcp://[::1]:9", true),
        ("tcp://*:*", "tcp://h:0", false), ("tcp://*:*", "tcp://h:080", false),
        ("tcp://*:*", "tcp://h", false), ("tcp://*:*", "tcp://:1", false),
        ("tcp://*:*", "tcp://h:1/", false), ("tcp://*:*", "tcp://u@h:1", false),
        ("tcp://*:*", "tcp://*:1", false), ("tcp://*:*", "tcp://{host}:1", false),
        ("tcp://*:*", "tcp://::1:9", false), ("tcp://*:*", "tcp://a b:9", false),
        ("tcp://*:*", "tcp://h\n:9", false), ("tcp://*:*", "tcp://h\0:9", false),
    ])
    func aPatternMatches(_ pattern: String, _ url: String, _ fits: Bool) throws {
        let pattern = try #require(OpenPattern(pattern))
        let target = OpenPattern.target(url)
        #expect(target.map { pattern.matches($0, own: "own.example.org") } ?? false == fits)
        #expect(
            target.map { pattern.matches($0, own: nil) } ?? false
                == (fits && !pattern.text.contains("{")))
    }

    @Test(arguments: [
        ("https://doi.org/*", "https://doi.org/api", true),
        ("https://doi.org/*", "https://doi.org", true),
        ("https://doi.org/*", "https://doi.org:8443/", false),
        ("https://doi.org:8443/*", "https://doi.org:8443/", true),
        ("https://doi.org:443/*", "https://doi.org/", true),
        ("https://doi.org:*/*", "https://doi.org:1/", true),
        ("https://doi.org/*", "http://doi.org/", false),
        ("https://doi.org/*", "https://doi.org.evil/", false),
        ("https://DOI.org/*", "https://doi.ORG/", true),
        ("https://doi.org/*", "https://u@doi.org/", false),
        ("https://doi.org/a*", "https://doi.org/ab?c", true),
        ("https://doi.org/a", "https://doi.org/a?b", false),
        ("https://doi.org/a?b*", "https://doi.org/a?bc", true),
        ("https://doi.org/a", "https://doi.org/b/../a", true),
        ("https://doi.org/a/*", "https://doi.org/a/../b", false),
        ("https://doi.org/a/*", "https://doi.org/a/%2E%2e/b", false),
        ("https://doi.org/a/*", "https://doi.org/a/x%2f..%2Fb", false),
        ("gemini://{host}/*", "gemini://own.example.org/", true),
        ("gemini://{host}/*", "gemini://h/", false),
        ("tcp://*:*", "https://doi.org:443", false), ("nex://[::1]/*", "nex://[::1]/a", true),
    ])
    func aPatternMatchesWhatIsFetched(_ pattern: String, _ url: String, _ fits: Bool) throws {
        let pattern = try #require(OpenPattern(pattern))
        let uri = try URI(parsing: url).removingDotSegments()
        let matches = { (own: String?) in
            pattern.matches(
                uri, port: uri.port ?? 443, isUsualPort: uri.port ?? 443 == 443, own: own)
        }
        #expect(matches("own.example.org") == fits)
        #expect(matches(nil) == (fits && !pattern.text.contains("{")))
    }

    @Test func aManifestIsRead() throws {
        let manifest = try Manifest(parsing: Array(Self.good.utf8))
        #expect(manifest.name == "nex" && manifest.version == "1.0")
        #expect(manifest.schemes.map(\.name) == ["nex", "nexs", "nexu", "nexn"])
        #expect(manifest.schemes.map(\.transport) == [.tcp, .tls, .udp, .none])
        #expect(manifest.schemes.map(\.trust) == [.none, .ca, .none, .none])
        #expect(manifest.facts.filter(\.value.acceptsAnyPort).keys.sorted() == ["nexu"])
        #expect(manifest.schemes.map(\.canUseProxy) == [true, true, false, true])
        #expect(manifest.schemes[1].pathForm == .opaque && manifest.schemes[1].uploads != nil)
        #expect(manifest.schemes[3].secureForm == "nexs")
        #expect(manifest.options.map(\.key) == ["nex-depth", "nex-all"])
        #expect(manifest.limits.processorSeconds == 1 && manifest.limits.descriptors == 16)
    }

    @Test(arguments: [
        (#""v": 1"#, #""v": 2"#, "v"), (#""v": 1, "#, "", "\"v\""),
        (#""name": "nex""#, #""name": "Nex""#, "name"),
        (#""name": "nex""#, #""name": "body""#, "records"),
        (#"["./nex", "-x"]"#, "[]", "program"), (#"["./nex", "-x"]"#, #""./nex""#, "program"),
        (#"["./nex", "-x"]"#, #"["./../nex"]"#, "folder"), ("1900", "0", "port"),
        ("1900", "65536", "port"), ("1900", "19.5", "port"), ("1900", "\"1900\"", "port"),
        (#""name": "nexs""#, #""name": "nex""#, "twice"),
        (#""nex-all""#, #""nex-depth""#, "twice"),
        (#""transport": "tcp""#, #""transport": "sctp""#, "transport"),
        (#""transport": "tcp", "#, "", "transport"),
        (#""mime": "text/plain""#, #""mime": "nonsense""#, "mime"),
        (#""mime""#, #""mine""#, "schemes.mine"), (#""port""#, #""prot""#, "schemes.prot"),
        (#""program""#, #""programs""#, "unknown member \"programs\""),
        (#""x-more""#, #""more""#, "\"more\""),
        (#""trust": "ca""#, #""trust": "none""#, "trust"),
        (#""transport": "udp""#, #""transport": "udp", "trust": "tofu""#, "TLS"),
        (#""connections": 3"#, #""connections": 0"#, "connections"),
        (#""connections": 3"#, #""connections": 5"#, "connections"),
        (#""connections": 3"#, #""connections": "2""#, "connections"),
        (#""connections": 3"#, #""connections": ["tls"]"#, "connections"),
        (#""connections": 3"#, #""connections": ["tcp", "tcp", "tcp", "tcp"]"#, "connections"),
        (#""tcp://{host}:*""#, #""tcp://{host}""#, "opens"),
        (#""tcp://{host}:*""#, #""http://{host}:*""#, "opens"),
        (#""tcp://{host}:*""#, #""http://h/a*b""#, "opens"),
        (#""tcp://{host}:*""#, #""http://h/a b*""#, "opens"),
        (#""tcp://{host}:*""#, #""http://h:0/*""#, "opens"),
        (#""tcp://{host}:*""#, #""tcp://{host}:0""#, "opens"),
        (#""tcp://{host}:*""#, #""tcp://{host}:65536""#, "opens"),
        (#""tcp://{host}:*""#, #""tcp://a*b:1""#, "opens"),
        (#""tcp://{host}:*""#, #""tcp://h:1/path""#, "opens"),
        (#""tcp://{host}:*""#, #""tcp://u@h:1""#, "opens"), (#""tcp://{host}:*""#, "7", "opens"),
        (#""mime": "text/plain""#, #""udp_peer": "host""#, "datagrams"),
        (#""udp_peer": "host""#, #""udp_peer": "any""#, "udp_peer"),
        (#""input": true"#, #""input": 1"#, "input"),
        (#""help": "everything""#, #""default": "1""#, "flag"),
        (#""cpu_seconds": 1"#, #""cpu_seconds": 0"#, "cpu_seconds"),
        (#""files""#, #""fails""#, "limits.fails"), ("{\"v\"", "[\"v\"", "JSON"),
    ])
    func whatBreaksARuleIsNamed(_ old: String, _ new: String, _ word: String) {
        let text = Self.good.replacing(old, with: new, maxReplacements: 1)
        #expect(text != Self.good)
        let error = #expect(throws: FetchError.self) {
            try Manifest(parsing: Array(text.utf8))
        }
        #expect(
            error?.outcome == .plugin && error?.message.contains(word) == true, "\(error as Any)")
    }

    @Test func aMistypedMemberHasANearestOne() {
        let text = Self.good.replacing("\"port\"", with: "\"prot\"", maxReplacements: 1)
        let error = #expect(throws: FetchError.self) { try Manifest(parsing: Array(text.utf8)) }
        #expect(error?.hint == "did you mean port?")
    }

    private func events(_ text: String, step: Int = .max) throws -> [String] {
        let uri = try URI(parsing: "nex://h/a/b")
        var reader = ProgramEventReader(base: uri, name: "nex")
        var bytes = Array(text.utf8)[...]
        var all: [String] = []
        while !bytes.isEmpty {
            reader.add(bytes.prefix(step))
            while let event = try reader.next() { all.append(String(describing: event)) }
            bytes = bytes.dropFirst(step)
        }
        try reader.finish()
        return all
    }

    @Test func eventsMeanTheSameHoweverTheyCome() throws {
        let text = """
            {"type":"head","class":"success","status":20,"mime":"text/plain","facts":{"a":[1,2.5]}}
            {"type":"item","kind":"link","text":"c","url":"c","later":true}
            {"type":"note","code":"n","message":"m"}
            {"type":"end","complete":null}
            {"type":"fail","outcome":"timeout","message":"late"}

            """
        let whole = try events(text)
        #expect(whole.count == 5 && whole[1].contains("nex://h/a/c"))
        for step in [1, 2, 7, 64] { #expect(try events(text, step: step) == whole) }
        for count in 1..<text.utf8.count {
            let cut = String(decoding: Array(text.utf8).prefix(count), as: UTF8.self)
            guard !cut.hasSuffix("\n") else { continue }
            #expect(throws: FetchError.self) { try events(cut) }
        }
    }

    @Test(arguments: [(true, "nex://h/a/../b"), (false, "nex://h/b")])
    func itemsKeepDotSegmentsOfAnOpaquePath(_ isOpaque: Bool, _ url: String) throws {
        let base = try URI(parsing: "nex://h/a/")
        var reader = ProgramEventReader(base: base, name: "nex", isOpaque: isOpaque)
        let head = #"{"type":"head","class":"success"}"#
        let item = #"{"type":"item","kind":"link","url":"nex://h/a/../b"}"#
        reader.add(Array("\(head)\n\(item)\n".utf8)[...])
        _ = try reader.next()
        let event = try #require(try reader.next())
        #expect(String(describing: event).contains(url))
    }

    @Test(arguments: ["\u{7}", "\u{7F}", "\u{85}"])
    func validatorsHaveNoControlCharacters(_ character: String) {
        let head = #"{"type":"head","class":"success","validator":"a\#(character)b"}"# + "\n"
        #expect(throws: FetchError.self) { try events(head) }
        #expect((try? events(head.replacing(character, with: "é")))?.count == 1)
    }

    @Test func randomBytesEndInAnError() {
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<2000 {
            let count = Int.random(in: 0..<200, using: &generator)
            var bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            let good = Array(Self.good.utf8)
            if Bool.random(using: &generator) {
                bytes = good
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                bytes[place] = UInt8.random(in: 0...255, using: &generator)
            }
            _ = try? Manifest(parsing: bytes)
            if let uri = try? URI(parsing: "nex://h/") {
                var reader = ProgramEventReader(base: uri, name: "nex")
                reader.add(bytes[...])
                while (try? reader.next()) != nil {}
            }
        }
    }
}
