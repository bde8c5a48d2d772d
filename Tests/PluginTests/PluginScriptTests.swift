// SPDX-License-Identifier: MIT
@testable internal import ExternalPlugin
internal import SmallWebCore
internal import SmallWebTestSupport
internal import Testing

/// Plugins in one file: their manifests and fixtures, and the reasons for refusing them.
@Suite struct PluginScriptTests {
    private func script(_ text: String) throws -> PluginScript {
        try PluginScript(parsing: Array(text.utf8))
    }

    private func problem(_ text: String) -> String {
        do throws(FetchError) {
            _ = try PluginScript(parsing: Array(text.utf8))
            return ""
        } catch {
            #expect(error.outcome == .plugin)
            return error.message
        }
    }

    private static let scheme = #""scheme": "nex", "port": 1900, "transport": "tcp""#

    @Test(arguments: ["#", "##", "//", "///", "--", ";", ";;", "%", "%%"])
    func everySignOfACommentWillDo(_ sign: String) throws {
        let script = try script(
            """
            #!/usr/bin/env something
            \(sign) smallweb: {\(Self.scheme),
            \(sign)smallweb:   "summary": "{ Nex }", "mime": "text/plain", "x-more": [1]}
            code
            \(sign) wire: url nex://h/a
            more code
            \(sign)  wire:   < x\\n
            \(sign) wire: url nex://h/
            """)
        #expect(script.manifest.name == "nex" && script.manifest.summary == "{ Nex }")
        #expect(script.manifest.program == ["./nex"])
        #expect(script.manifest.schemes.map(\.name) == ["nex"])
        #expect(script.manifest.facts["nex"]?.mediaType == "text/plain")
        #expect(script.fixtures.map(\.name) == ["line-5.wire", "line-8.wire"])
        #expect(script.fixtures.first?.text == Array("url nex://h/a\n< x\\n\n".utf8))
    }

    @Test func whatAFolderSaysIsSaidInAFile() throws {
        let short = try script(
            """
            # smallweb: {"name": "other", \(Self.scheme), "upload": true, "version": "2",
            # smallweb: "options": [{"name": "other-all"}], "limits": {"files": 20},
            # smallweb: "reads": ["/srv/a\\u0020b"], "connections": 2, "opens": ["tcp://*:1"]}
            """)
        let long = try script(
            """
            # smallweb: {"v": 1, "name": "other", "version": "2", "limits": {"files": 20},
            # smallweb: "schemes": [{"name": "nex", "port": 1900, "transport": "tcp",
            # smallweb: "upload": true}], "options": [{"name": "other-all"}],
            # smallweb: "reads": ["/srv/a b"], "connections": 2, "opens": ["tcp://*:1"]}
            """)
        for script in [short, long] {
            let manifest = try Manifest(parsing: script.json)
            #expect(manifest.name == "other" && manifest.version == "2")
            #expect(manifest.schemes == script.manifest.schemes)
            #expect(manifest.schemes.first?.uploads != nil && manifest.options.count == 1)
            #expect(manifest.limits.descriptors == 20 && manifest.reads == ["/srv/a b"])
            #expect(manifest.opens.count == 1 && manifest.program == ["./other"])
        }
    }

    @Test(arguments: [
        ("", "has no line"), ("#!/bin/sh\necho smallweb: {}\n", "has no line"),
        ("#### smallweb: {}", "has no line"), ("# smallweb:", "its manifest is not JSON"),
        ("# smallweb: []", "its manifest is not an object"),
        ("# smallweb: {", "its manifest is"), ("# smallweb: {}", "its manifest has"),
        ("# smallweb: {\(scheme)}\n# smallweb: {}", "more text"),
        // A comment of another sign does not count.
        ("# smallweb: {\(scheme),\n// smallweb: }", "its manifest is not JSON"),
        ("# smallweb: {\(scheme), \"program\": [\"sh\"]}", "this file is the program"),
        ("# smallweb: {\(scheme), \"schemes\": []}", "\"schemes\" is there twice"),
        ("# smallweb: {\(scheme), \"prot\": 1}", "unknown member \"prot\""),
        ("# smallweb: {\"scheme\": 1, \"port\": 1, \"transport\": \"tcp\"}", "its manifest has a"),
        ("# smallweb: {\"scheme\": \"../a\", \"port\": 1, \"transport\": \"tcp\"}", "lower-case"),
        ("# smallweb: {\"scheme\": \"body\", \"port\": 1, \"transport\": \"tcp\"}", "records use"),
        ("# smallweb: {\"scheme\": \"a\", \"port\": 0, \"transport\": \"tcp\"}", "number from 1"),
        ("# smallweb: {\(scheme)}\n# wire: < x\n# wire: url nex://h/", "in line 2 a fixture"),
        (
            "# smallweb: {\(scheme)}\n" + String(repeating: "# wire: url nex://h/\n", count: 1001),
            "more than 1000"
        ),
        ("# smallweb: " + String(repeating: "[", count: 100_000), "nested too deeply"),
    ])
    func whatIsNoPluginIsRefused(_ text: String, _ words: String) {
        #expect(problem(text).contains(words), "\(problem(text))")
    }

    /// In linear time: a megabyte of signs, of lines and of blanks.
    @Test(
        .timeLimit(.minutes(30)),
        arguments: ["#", "# \n", "# smallweb:\n", "//", " ", "\r\n", "\0"])
    func isReadInLinearTime(_ piece: String) {
        _ = problem(String(repeating: piece, count: (1 << 20) / piece.utf8.count))
        let begun = "# smallweb: {\(Self.scheme)}\n# wire: url nex://h/\n"
        _ = problem(begun + String(repeating: "# wire:" + piece, count: 100_000))
    }

    /// Each byte of a good one in turn is another: a plugin comes out, or an error.
    @Test func damagedOnesAreRefusedOrRead() throws {
        let good = Array(
            "#!/bin/sh\r\n# smallweb: {\(Self.scheme)}\r\n# wire: url nex://h/\r\n# wire: < é\r\n"
                .utf8)
        let fixtures = try PluginScript(parsing: good).fixtures.map(\.text)
        #expect(fixtures == [Array("url nex://h/\n< é\n".utf8)])
        for index in good.indices {
            for byte: UInt8 in [0, 0x0A, 0x0D, 0x20, 0x22, 0x23, 0x2F, 0x7B, 0xFF] {
                var bad = good
                bad[index] = byte
                for text in [bad, Array(good[..<index])] {
                    guard let script = try? PluginScript(parsing: text) else { continue }
                    #expect((try? Manifest(parsing: script.json)) != nil)
                }
            }
        }
    }
}
