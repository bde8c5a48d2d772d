// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import Testing

@Suite struct URITests {
    @Test func hasAllItsParts() throws {
        let uri = try URI(parsing: "Scheme://us%20er@Example.TEST:8080/Pa/th;x?q=1?2#f/?")
        #expect(uri.scheme == "scheme")
        #expect(uri.userinfo == "us%20er")
        #expect(uri.host == "example.test")
        #expect(uri.port == 8080)
        #expect(uri.path == "/Pa/th;x")
        #expect(uri.query == "q=1?2")
        #expect(uri.fragment == "f/?")
        #expect(uri.description == "scheme://us%20er@example.test:8080/Pa/th;x?q=1?2#f/?")
        #expect(uri.withoutFragment.description.hasSuffix("?q=1?2"))
        #expect(uri.hostAndPort == "example.test:8080")
    }

    @Test(arguments: [
        ("HTTP://joe:secret@H/", "http://joe:***@h/"), ("HTTP://joe@H/", "HTTP://joe@H/"),
        ("mailto:a@b", "mailto:a@b"), ("gopher://h:99999/a@b", "gopher://h:99999/a@b"),
        ("http://joe:secret@h:99999/a@b", "http://joe:***@h:99999/a@b"),
        ("http://joe:se/cr?et@h/", "http://joe:***@h/"),
        ("http://joe:se cr\u{E9}t@h/", "http://joe:***@h/"),
        ("http://joe@h:x/", "http://joe@h:x/"), ("a@b c", "a@b c"), ("://:@", "://:***@"),
        ("a&b://x/y:z@w", "a&b://x/y:***@w"),
    ])
    func showsAURLWithoutItsPassword(_ text: String, _ shown: String) {
        #expect(URI.display(text) == shown)
    }

    @Test func tellsAbsentFromEmpty() throws {
        let absent = try URI(parsing: "gemini://h")
        #expect(absent.path == "" && absent.query == nil && absent.fragment == nil)
        #expect(absent.userinfo == nil && absent.port == nil)
        let empty = try URI(parsing: "gemini://@h:?#")
        #expect(empty.query == "" && empty.fragment == "" && empty.userinfo == "")
        #expect(empty.port == nil)
        #expect(empty.description == "gemini://@h?#")
        #expect(try URI(parsing: "mailto:a@b").host == nil)
        #expect(try URI(parsing: "mailto:a@b").hostAndPort == nil)
    }

    @Test(
        arguments: [
            ("gemini://[::1]/", "::1", nil), ("gemini://[0:0::0001]/", "::1", nil),
            ("gemini://[FE80::A:1]:7/", "fe80::a:1", 7),
            ("gemini://[::ffff:1.2.3.4]/", "::ffff:1.2.3.4", nil),
            ("gemini://127.0.0.1:1965/", "127.0.0.1", 1965),
            ("gemini://a_b-c.d.:1/", "a_b-c.d.", 1),
            ("gemini://h%41st/", "hast", nil),
            ("gemini://B\u{DC}cher.test/", "b\u{FC}cher.test", nil),
            ("gemini://b%C3%BCcher.test/", "b\u{FC}cher.test", nil),
            ("gemini://h:00080/", "h", 80), ("gemini://h:65535/", "h", 65535),
        ] as [(String, String, UInt16?)])
    func readsTheAuthority(_ text: String, host: String, port: UInt16?) throws {
        let uri = try URI(parsing: text)
        #expect(uri.host == host)
        #expect(uri.port == port)
        #expect(try URI(parsing: uri.description) == uri)
    }

    @Test func writesIPv6InBrackets() throws {
        #expect(try URI(parsing: "gemini://[::1]:7/a").description == "gemini://[::1]:7/a")
        #expect(try URI(parsing: "gemini://[::1]:7/a").hostAndPort == "[::1]:7")
    }

    @Test func encodesWhatNoURIMayHold() throws {
        let uri = try URI(parsing: "gemini://h/\u{E4}\"<>[]^`{|}?\u{20AC}|#[\u{E4}#]")
        #expect(uri.path == "/%C3%A4%22%3C%3E%5B%5D%5E%60%7B%7C%7D")
        #expect(uri.query == "%E2%82%AC%7C")
        #expect(uri.fragment == "%5B%C3%A4%23%5D")
    }

    @Test func keepsEscapesAndCaseOfThePath() throws {
        let text = "gemini://h/%2f%2F%41/../A;=,&$!'()*+:@~-._?%61"
        #expect(try URI(parsing: text).description == text)
    }

    @Test(arguments: [
        "", "h", "//h/", "/path", "?q", "1a://h/", "-a://h/", "gemini", "gem ini://h/",
        " gemini://h/",
        "gemini://h/ ", "gemini://h/a b", "gemini://h/a\tb", "gemini://h/\n",
        "gemini://h/\r\nHost: x",
        "gemini://h/\u{0}", "gemini://h/\u{1B}[2J", "gemini://h/\u{7F}", "gemini://h\\@evil.test/",
        "gemini:\\\\h\\a", "gemini://", "gemini:///a", "gemini://:1965/", "gemini://@/",
        "gemini://u@/", "gemini://a@b@c/", "gemini://h:0/", "gemini://h:65536/", "gemini://h:-1/",
        "gemini://h:+1/", "gemini://h:1 /", "gemini://h:1:2/", "gemini://h:a/",
        "gemini://h:99999999999/",
        "gemini://[::1/", "gemini://::1/", "gemini://[::1]x/", "gemini://[::1]x:1/", "gemini://[]/",
        "gemini://[1:2:3]/",
        "gemini://[h]/", "gemini://[1]/", "gemini://[fe80::1%25eth0]/", "gemini://[fe80::1%eth0]/",
        "gemini://[v1.x]/", "gemini://h%/", "gemini://h%2/", "gemini://h%2F/", "gemini://h%00/",
        "gemini://h%0A/", "gemini://h%40x/", "gemini://h%FF/", "gemini://h!/", "gemini://h$(id)/",
        "gemini://a..b/", "gemini://.a/", "gemini://./", "gemini://a../", "gemini://\u{212A}../",
        "gemini://h/%", "gemini://h/%2", "gemini://h/%g0", "gemini://h/%0g", "gemini://h/?%x",
        "gemini://h/#%",
        "gemini://u%zz@h/", "gemini://\(String(repeating: "a", count: 64))/",
        "gemini://\(String(repeating: "a.", count: 127))a/",
    ])
    func refuses(_ text: String) {
        #expect(throws: FetchError.self) { try URI(parsing: text) }
        do throws(FetchError) { _ = try URI(parsing: text) } catch {
            #expect(error.outcome == .badURL)
            #expect(error.phase == .input)
        }
    }

    @Test func refusesOneByteMoreThanItsLimit() throws {
        let longest = "a:" + String(repeating: "x", count: URI.lengthMax - 2)
        #expect(try URI(parsing: longest).path.utf8.count == URI.lengthMax - 2)
        #expect(throws: FetchError.self) { try URI(parsing: longest + "x") }
    }

    @Test func encodesTheUserinfoToo() throws {
        #expect(try URI(parsing: "finger://j\u{F6}rg@h/").userinfo == "j%C3%B6rg")
    }

    @Test func acceptsLabelsAndNamesOfTheLongestSize() throws {
        let label = String(repeating: "a", count: 63)
        #expect(try URI(parsing: "gemini://\(label)/").host == label)
        let name = [label, label, label, String(label.dropLast(2))].joined(separator: ".")
        #expect(name.utf8.count == 253)
        #expect(try URI(parsing: "gemini://\(name)/").host == name)
        #expect(try URI(parsing: "gemini://\(name)./").host == name + ".")
        #expect(throws: FetchError.self) { try URI(parsing: "gemini://\(name)a./") }
    }
}

@Suite struct PercentEncodingTests {
    @Test func decodesEscapesAndNothingElse() {
        #expect(PercentEncoding.decode("a%20%C3%a4%00+") == [0x61, 0x20, 0xC3, 0xA4, 0, 0x2B])
        #expect(PercentEncoding.decode("%") == Array("%".utf8))
        #expect(PercentEncoding.decode("%4") == Array("%4".utf8))
        #expect(PercentEncoding.decode("%zz%4%41") == Array("%zz%4A".utf8))
        #expect(PercentEncoding.decode("%2525") == Array("%25".utf8))
    }

    @Test func encodesAllButUnreserved() {
        #expect(PercentEncoding.encode("aZ09-._~".utf8) == "aZ09-._~")
        #expect(
            PercentEncoding.encode(" +%&#?=/\n\u{E4}".utf8) == "%20%2B%25%26%23%3F%3D%2F%0A%C3%A4")
        #expect(PercentEncoding.encode("/:a b".utf8, also: "/:") == "/:a%20b")
    }

    @Test func comesBackForEveryByte() {
        let all = Array(UInt8.min...UInt8.max)
        #expect(PercentEncoding.decode(PercentEncoding.encode(all)) == all)
    }
}
