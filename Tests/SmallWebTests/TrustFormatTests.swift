// SPDX-License-Identifier: MIT
import SmallWebCore
import SmallWebPlugins
import Testing

@testable import SmallWeb

/// The stores of other clients, in and out.
@Suite struct TrustFormatTests {
    private static let key = String(repeating: "0a", count: 32)
    private static let c256 = String(repeating: "1b", count: 32)
    private static let c512 = String(repeating: "2c", count: 64)

    private func pin(_ place: String, expires: Int? = 1_797_805_033) -> KnownHosts.Pin {
        var pin = KnownHosts.Pin(
            place: place, key: Self.key, expires: expires, first: 1, last: 2, days: 1, via: "x")
        pin.seenSHA256 = Self.c256
        pin.seenSHA512 = Self.c512
        return pin
    }

    @Test(arguments: TrustFormat.allCases.filter { $0.text(of: []) != nil })
    func whatIsExportedIsImported(_ format: TrustFormat) throws {
        let pins = [pin("example.org:1965"), pin("other.test:1966")]
        let (text, left) = try #require(format.text(of: pins))
        let (back, refused) = format.pins(in: text)
        #expect(refused == 0, "\(text)")
        let hasPorts = format != .gmni && format != .chawan
        let places = left.map(\.place)
        #expect(places == (hasPorts ? [] : ["other.test:1966"]))
        #expect(left.allSatisfy { $0.why.hasPrefix("has no ports") })
        #expect(back.map(\.place) == pins.map(\.place).filter { !places.contains($0) })
        for pin in back {
            #expect(pin.via == "import:\(format.rawValue)")
            #expect([Self.key, Self.c256, Self.c512].contains(pin.key))
            #expect((pin.kind == .key) == (pin.key == Self.key))
            if let expires = pin.expires { #expect(expires == 1_797_805_033) }
        }
        #expect(format.text(of: pins)?.text == text)
    }

    /// Lines as those clients write them.
    @Test(arguments: [
        (TrustFormat.gmni, "A.example SHA-512 \(pairs(64))\n", "a.example:1965", "c"),
        (.gplaces, "a.example:1970 \(String(repeating: "AB", count: 64))\n", "a.example:1970", "c"),
        (
            .telescope, "a.example SHA256:\(String(repeating: "ab", count: 32)) 0\n",
            "a.example:1965", "c"
        ),
        (
            .lagrange, "a.example;1965 1797805033 \(String(repeating: "ab", count: 32))\n",
            "a.example:1965", "k"
        ),
        (.chawan, "a.example sha256 \(pairs(32)) 1797805033\n", "a.example:1965", "k"),
        (
            .amfora, "\"a/example:1966\" = \"\(String(repeating: "AB", count: 32))\"\n",
            "a.example:1966", "k"
        ),
        (
            .agunua, "/x/a.example:1966\tq6urq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s=\n",
            "a.example:1966", "k"
        ),
        (
            .ncgopher,
            "[certificate]\n\"a.example\" = \"q6urq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s=\"\n",
            "a.example:1965", "c"
        ),
        (.av98, "a.example||\(String(repeating: "ab", count: 32))\n", "a.example:1965", "c"),
        (
            .offpunk, "certs/a.example/192.0.2.1/\(String(repeating: "ab", count: 32))\t3\n",
            "a.example:1965", "c"
        ),
        (
            .smallweb, "a.example:1965 k sha256:\(String(repeating: "ab", count: 32)) n=1\n",
            "a.example:1965", "k"
        ),
    ])
    func readsWhatTheClientWrites(
        _ format: TrustFormat, text: String, place: String, kind: String
    ) throws {
        let (pins, refused) = format.pins(in: text)
        #expect(refused == 0)
        let pin = try #require(pins.first)
        #expect(pin.place == place)
        #expect(pin.kind.rawValue == kind)
        #expect(pin.key.allSatisfy { "ab".contains($0) })
        #expect(KnownHosts(parsing: pin.line).pins == [pin])
        #expect(TrustFormat.recognised(text, isDirectory: format.isDirectory) == format)
        let more = text + "what is this\n"
        #expect(TrustFormat.recognised(more, isDirectory: format.isDirectory) == nil)
    }

    /// A store of ours is known by its first line, also where some of its lines cannot be read.
    @Test func ourOwnStoreKeepsWhatItKnows() throws {
        let pins = [pin("example.org:1965"), pin("other.test:70", expires: nil)]
        let text = try #require(TrustFormat.smallweb.text(of: pins)).text
        #expect(TrustFormat.recognised(text, isDirectory: false) == .smallweb)
        #expect(TrustFormat.recognised(text + "x.test k ?\n", isDirectory: false) == .smallweb)
        var imported = pins
        for index in imported.indices { imported[index].via = "import:smallweb" }
        #expect(TrustFormat.smallweb.pins(in: text).pins == imported)
        // A place without a port is none of a store.
        let bare = text.split(separator: "\n")[1].replacing(":1965", with: "")
        #expect(TrustFormat.smallweb.pins(in: String(bare)).refused == 1)
    }

    @Test(arguments: TrustFormat.allCases)
    func whatItCannotReadIsCounted(_ format: TrustFormat) {
        let (pins, refused) = format.pins(in: "what is this\n\n# a comment\na/b c:d e\n")
        #expect(pins.isEmpty)
        // Directories have names of files, and those no comments.
        #expect(refused == (format.isDirectory ? 3 : 2))
        // Headings are TOML's alone.
        let isTOML = format == .amfora || format == .ncgopher
        #expect(format.pins(in: "[certificate]\n").refused == (isTOML ? 0 : 1))
        #expect(format.pins(in: "[::1] what is this\n").refused == 1)
    }

    private static let (hex, hex512) = (
        String(repeating: "ab", count: 32), String(repeating: "ab", count: 64)
    )
    private static let base64 = "q6urq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s="

    /// A line of each format about a host, which `PLACE` stands for, or `HOST` and `PORT`.
    private static func line(_ format: TrustFormat) -> String {
        switch format {
        case .gmni: "HOST SHA-512 \(pairs(64))"
        case .chawan: "HOST sha256 \(pairs(32)) 1797805033"
        case .gplaces: "PLACE \(hex512)"
        case .telescope: "PLACE SHA256:\(hex) 0"
        case .lagrange: "HOST;PORT 1797805033 \(hex)"
        case .amfora: "\"PLACE\" = \"\(hex)\""
        case .ncgopher: "\"PLACE\" = \"\(base64)\""
        case .agunua: "/x/PLACE\t\(base64)"
        case .av98: "HOST|PORT|\(hex)"
        case .offpunk: "certs/HOST/192.0.2.1/\(hex)\t3"
        case .smallweb: "PLACE k sha256:\(hex) n=1"
        }
    }

    /// Each is that place, or refused and counted: never another place, and never nothing.
    @Test(arguments: TrustFormat.allCases)
    func anIPv6HostIsThatPlaceOrRefused(_ format: TrustFormat) {
        let keepsPorts = ![.gmni, .chawan, .offpunk].contains(format)
        for (host, address) in [
            ("::1", "[::1]"), ("[::1]", "[::1]"), ("2001:db8:0:0:0:0:0:1", "[2001:db8::1]"),
            ("2001:DB8::1", "[2001:db8::1]"), ("fe80::a:1", "[fe80::a:1]"),
            ("[fe80::a:1]", "[fe80::a:1]"),
        ] {
            for port in ["1965", "1967"] where keepsPorts || port == "1965" {
                let text = Self.line(format).replacing("PLACE", with: "\(host):\(port)")
                    .replacing("HOST", with: host).replacing("PORT", with: port)
                let (pins, refused) = format.pins(in: text + "\n")
                #expect(pins.count + refused == 1, "\(text)")
                #expect(pins.allSatisfy { $0.place == "\(address):\(port)" }, "\(text): \(pins)")
                let isClear = !text.contains("\(host):\(port)") || host.hasPrefix("[")
                #expect(!isClear || refused == 0, "\(text)")
            }
        }
        // Without a port, where the format allows that.
        guard format != .smallweb, format != .lagrange else { return }
        let bare = Self.line(format).replacing("PLACE", with: "::1").replacing("HOST", with: "::1")
            .replacing("PORT", with: "")
        #expect(format == .gplaces || format.pins(in: bare).pins.map(\.place) == ["[::1]:1965"])
    }

    @Test func namesOfExpiryAreHostsToo() {
        let key = Self.hex
        let text =
            "\"mail/expiry/org\" = \"\(key)\"\n\"mail/expiry\" = \"\(key)\"\n"
            + "\"a/test:1966\" = \"\(key)\"\n\"a/test/expiry:1966\" = 2026-12-20T22:17:13Z\n"
            + "\"b/test/expiry\" = soon\n"
        let (pins, refused) = TrustFormat.amfora.pins(in: text)
        #expect(pins.map(\.place) == ["mail.expiry.org:1965", "mail.expiry:1965", "a.test:1966"])
        #expect(pins.map { $0.expires != nil } == [false, false, true])
        #expect(refused == 1)
    }

    @Test(arguments: ["0", "-7", "soon", "99999999999999999999"])
    func aDateThatIsNoneIsUnknown(_ date: String) {
        let key = String(repeating: "ab", count: 32)
        let old = "\"h/test/expiry\" = 1013-12-20T22:17:13Z\n"
        for (format, text) in [
            (TrustFormat.lagrange, "h.test;1965 \(date) \(key)\n"),
            (.amfora, "\"h/test\" = \"\(key)\"\n\(old)"),
        ] {
            #expect(format.pins(in: text).pins.map(\.expires) == [nil])
        }
    }

    @Test(arguments: [
        ("Example.ORG", "example.org:1965"), ("a:70", "a:70"), ("[::1]:7", "[::1]:7"),
        ("[::1]", "[::1]:1965"), ("::1", "[::1]:1965"), ("[0:0::1]:7", "[::1]:7"),
    ])
    func aPlaceIsWrittenOneWay(_ text: String, place: String) {
        #expect(KnownHosts.place(text, port: 1965) == place)
    }

    @Test(arguments: [
        "", ":1", "a:x", "a:70000", "a b", "a/b", ".a", "a..b", "#a", "[a]", "[a]:7",
        "1:2:3", "1:2:3:4:5:6:7:8:9", "[::1%eth0]",
    ])
    func whatIsNoPlace(_ text: String) { #expect(KnownHosts.place(text, port: 1965) == nil) }

    private static func pairs(_ count: Int) -> String {
        [String](repeating: "AB", count: count).joined(separator: ":")
    }
}

struct BindingsTests {
    @Test(arguments: [
        "", "# a comment\n", "a gemini://h.test:1965/\n",
        "a gemini://h.test:1965/x/y\nwhat is this\n",
        "a https://h.test:443/\na gophers://h.test:70/1/x\n",
    ])
    func aFileIsWrittenAsItWasRead(_ text: String) {
        #expect(Bindings(parsing: Array(text.utf8), registry: .builtIn).bytes == Array(text.utf8))
    }

    @Test(arguments: [
        ("a gemini://h.test//\n", "gemini://h.test:1965/"),
        ("a\tTITAN://H.test/x//\r\n", "gemini://h.test:1965/x"),
        ("a git+https://h.test/x?y#z\n", "https://h.test:443/x"),
    ])
    func aPlaceIsShownOneWay(_ text: String, shown: String) {
        let bindings = Bindings(parsing: Array(text.utf8), registry: .builtIn)
        #expect(bindings.scopes(of: "a").map(\.description) == [shown])
    }

    @Test(arguments: [
        "a http://h.test/", "a gopher://h.test/", "../a gemini://h.test/", "a b gemini://h.test/",
        "a h.test", ".a gemini://h.test/",
    ])
    func whatIsNoBindingIsKeptAndNotUsed(_ line: String) throws {
        let bindings = Bindings(parsing: Array("\(line)\n".utf8), registry: .builtIn)
        #expect(bindings.bytes == Array("\(line)\n".utf8))
        for scheme in ["gemini", "http", "gopher", "https"] {
            #expect(bindings.name(for: try URI(parsing: "\(scheme)://h.test/")) == nil)
        }
    }

    @Test func portsAndSchemesArePlacesOfTheirOwn() throws {
        let bindings = Bindings(
            parsing: Array("a gemini://h.test/\nb https://h.test:1965/\n".utf8),
            registry: .builtIn)
        for (url, name) in [
            ("gemini://h.test/x", "a"), ("titan://h.test:1965/x", "a"), ("https://h.test/", nil),
            ("https://h.test:1965/", "b"), ("git+https://h.test:1965/x", "b"),
            ("gemini://h.test:1966/", nil), ("gemini://h.test.evil.test/", nil),
        ] as [(String, String?)] {
            #expect(bindings.name(for: try URI(parsing: url)) == name, "\(url)")
        }
    }
}
