// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

/// Plugins that are programs, as their users meet them.
@Suite(.timeLimit(.minutes(30)))
struct ProgramTests {
    private let smallweb = Smallweb()

    private func plugin(
        _ script: String, scheme: String = Smallweb.noServer, more: String = "",
        name: String = "trial"
    ) throws -> String {
        try smallweb.plugin("#!/bin/sh\n" + script, scheme: scheme, more: more, name: name)
    }

    private func get(_ folder: String, _ words: String...) throws -> Smallweb.Result {
        try smallweb.run(["get", "--plugin", folder] + words)
    }

    @Test func aProgramIsToldOfTheRequest() throws {
        let folder = try plugin(
            "env | grep -v '^_=\\|^PWD=\\|^SHLVL=\\|^OLDPWD=' | sort >&4",
            scheme: #""transport": "none", "port": 0, "input": true"#,
            more: """
                "options": [{"name": "trial-depth", "value": "N", "default": "1"},
                            {"name": "trial-all"}],
                """)
        let result = try get(
            folder, "--trial-all", "-d", "words", "trial://me%20@host:99/a%20b/../c?q=%20#f")
        #expect(result.status == 0, "\(result.errors)")
        let lines = result.text.split(separator: "\n").map(String.init)
        let own = lines.filter { $0.hasPrefix("SMALLWEB_") }
        #expect(
            own == [
                "SMALLWEB_HOST=host", "SMALLWEB_INPUT=words", "SMALLWEB_OPT_TRIAL_ALL=1",
                "SMALLWEB_OPT_TRIAL_DEPTH=1", "SMALLWEB_PATH=/c", "SMALLWEB_PORT=99",
                "SMALLWEB_QUERY=q=%20", "SMALLWEB_SCHEME=trial", "SMALLWEB_SELECTOR=/c",
                "SMALLWEB_URL=trial://host:99/c?q=%20", "SMALLWEB_USERINFO=me ", "SMALLWEB_V=1",
            ])
        let others = Set(
            lines.filter { !$0.hasPrefix("SMALLWEB_") }.map { $0.prefix { $0 != "=" } })
        #expect(others.isSubset(of: ["PATH", "LANG", "TZ", "TMPDIR", "LC_ALL", "LC_CTYPE"]))
        for url in ["trial://h/a%0ab", "trial://h/?a%0d", "trial://a%00@h/"] {
            #expect(try get(folder, url).status == 3)
        }
    }

    @Test(arguments: [
        ("exit 7", "exit status 7"), ("echo why >&2; exit 7", "exit status 7: why"),
        ("kill -9 $$", "signal 9"), ("echo nonsense >&3", "line 1"),
        (#"echo '{"type":"head"}' >&3"#, "class"), (#"echo '{"type":"new"}' >&3"#, "type"),
        (#"printf '{"type":"end"}' >&3"#, "no end"),
        (#"for i in 1 2; do echo '{"type":"head","class":"success"}'; done >&3"#, "line 2"),
        // More than a pipe holds: some of the body has been read when the head comes.
        (
            #"head -c 200000 /dev/zero >&4; echo '{"type":"head","class":"success"}' >&3"#,
            "head"
        ),
        (#"echo '{"type":"head","class":"success","size":1}' >&3; echo abc >&4"#, "1 bytes"),
        (#"echo '{"type":"fail","outcome":"ok"}' >&3"#, "outcome"),
        (#"head -c 70000 /dev/zero | tr '\0' x >&3"#, "too long"),
        (#"echo '{"type":"open","connection":1}' >&3"#, "no \"url\""),
        (#"echo '{"type":"open","url":"tcp://h:1"}' >&3"#, "from 1 to 3"),
        (#"echo '{"type":"open","connection":-1,"url":"tcp://h:1"}' >&3"#, "whole number"),
        (#"echo '{"type":"open","connection":[1],"url":"tcp://h:1"}' >&3"#, "not a number"),
        (#"echo '{"type":"open","connection":1,"url":["tcp://h:1"]}' >&3"#, "no \"url\""),
        (#"echo '{"type":"starttls"}' >&3"#, "from 0 to 3"),
        (#"echo '{"type":"starttls","connection":1.5}' >&3"#, "whole number"),
    ])
    func aProgramThatBreaksTheRulesIsItsOwnFault(_ script: String, _ words: String) throws {
        let result = try get(try plugin(script), "trial://h/")
        #expect(result.status == 110, "\(script): \(result.errors)")
        #expect(result.errors.contains(words), "\(result.errors)")
    }

    @Test func whatAProgramSaysCounts() throws {
        let ends = [
            (
                #"echo '{"type":"fail","outcome":"resolve","message":"nowhere"}' >&3; exit 3"#,
                6
            ),
            (#"echo '{"type":"head","class":"temporary-failure","status":41}' >&3"#, 75),
            (#"echo '{"type":"head","class":"input","meta":"Name?"}' >&3"#, 101),
            (#"echo '{"type":"head","class":"success","size":9}' >&3; echo abc >&4"#, 18),
            (#"echo abc >&4; echo '{"type":"end","complete":false}' >&3"#, 18),
            ("echo abc >&4", 0), ("", 0),
        ]
        for (script, status) in ends {
            let result = try get(try plugin(script), "trial://h/")
            #expect(result.status == status, "\(script): \(result.errors)")
        }
        let redirect = try plugin(
            """
            if [ "$SMALLWEB_PATH" = /a ]; then
                echo '{"type":"head","class":"redirect","redirect":"b"}' >&3
            else
                echo '{"type":"head","class":"success","mime":"text/plain","facts":{"x":[1]}}' >&3
                echo "$SMALLWEB_PATH" >&4
            fi
            """)
        let followed = try smallweb.records(["--plugin", redirect, "trial://h/a"]).records.terminal[
            0]
        #expect(followed["final_url"]?.string == "trial://h/b")
        #expect(followed["plugin"]?.string == "program:trial")
        #expect(followed["version"]?.string == "1.2")
        #expect(followed["body"]?["text"]?.string == "/b\n")
    }

    @Test func whatAProgramSaysForPeopleIsShownOnRequestAndHarmless() throws {
        let folder = try plugin("printf 'a\\033[31mred\\n' >&2; echo x >&4")
        #expect(try get(folder, "trial://h/").errors.isEmpty)
        let shown = try get(folder, "-v", "trial://h/").errors
        #expect(shown.contains("red") && !shown.contains("\u{1B}"))
    }

    /// Names of facts are of any text, too, and a wait of any length.
    @Test func factsAndWaitsAreHarmless() throws {
        let folder = try plugin(
            #"""
            cat >&3 <<'END'
            {"type":"head","class":"temporary-failure","retry_after":9223372036854775807,\
            "facts":{"a\"b":1,"c\u001b[1m\nd":{"e\"f":2}}}
            END
            """#.replacing("\\\n", with: ""))
        let json = try get(folder, "--json", "trial://h/")
        #expect(json.status == 75, "\(json.errors)")
        let record = try #require(try Records(json.output).all.first)
        #expect(record["retry_after"]?.int == 86_400)
        #expect(record["trial"]?["a\"b"]?.int == 1)
        #expect(record["trial"]?["c\u{1B}[1m\nd"]?["e\"f"]?.int == 2)
        let head = try smallweb.run(["head", "--plugin", folder, "trial://h/"])
        #expect(head.text.contains("trial c\\x1B[1m\\x0Ad e\"f 2\n"), "\(head.text)")
    }

    @Test func theHostDials() throws {
        let gopher = try Hole()
        let port = gopher.place.split(separator: ":").last ?? ""
        let folder = try plugin(
            "printf '%s\\r\\n' \"$SMALLWEB_PATH\"; exec cat >&4",
            scheme: #""transport": "tcp", "port": \#(port), "mime": "text/plain""#)
        let result = try get(folder, "trial://127.0.0.1/about.txt")
        #expect(result.status == 0 && result.text.hasPrefix("This hole"), "\(result.errors)")
        let refusing = try RefusingPort()
        #expect(try get(folder, "trial://127.0.0.1:\(refusing.port)/a").status == 7)
        let explained = try smallweb.run(
            ["explain", "--plugin", folder, "trial://127.0.0.1:\(refusing.port)/a"])
        #expect(explained.status == 0 && explained.text.contains("/a\\r\\n"), "\(explained)")
    }

    /// The request would depend on the server's first line.
    @Test(arguments: ["", #", "server_first": true"#])
    func explainsAProgramThatWaitsForTheServer(_ serverFirst: String) throws {
        let folder = try plugin(
            "read -r greeting; printf 'x\r\n'; exec cat >&4",
            scheme: #""transport": "tcp", "port": 70, "mime": "text/plain"\#(serverFirst)"#)
        let result = try smallweb.run(["explain", "--plugin", folder, "trial://127.0.0.1/"])
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.text.contains("request       none (the server speaks first)\n"))
        #expect(result.text.contains("127.0.0.1:70"))
    }

    @Test func anOpaquePathReachesTheProgramAsItIs() throws {
        let tell = #"printf '%s %s %s' "$SMALLWEB_PATH" "$SMALLWEB_SELECTOR" "$SMALLWEB_QUERY" >&4"#
        let plain = try plugin(tell)
        #expect(try get(plain, "trial://h/a%20b?x").text == "/a%20b /a b x")
        #expect(try get(plain, "trial://h").text == "  ")
        let opaque = try plugin(
            tell, scheme: #""transport": "none", "port": 0, "path": "opaque""#, name: "other")
        #expect(try get(opaque, "other://h/d:a/../b//c").text == "/d:a/../b//c /d:a/../b//c ")
    }

    @Test func limitsEndAProgramLikeAServer() throws {
        let silent = try plugin("echo 'prntf: not found' >&2; sleep 1000")
        let words = "the program said: prntf: not found"
        // On a busy machine it may take long to start.
        for seconds in ["0.3", "3", "30"] {
            let result = try get(silent, "--read-timeout", seconds, "trial://h/")
            #expect(result.status == 28)
            if !result.errors.contains(words) && seconds != "30" { continue }
            #expect(result.errors.contains(words), "\(result.errors)")
            break
        }
        let endless = try plugin("exec yes >&4", name: "other")
        #expect(try get(endless, "--max-filesize", "100k", "other://h/").status == 63)
    }

    @Test func aPluginOfOthersIsRefusedWithTheCommandThatHelps() throws {
        let folder = try plugin("echo x >&4")
        for file in ["", "/plugin.json", "/run"] {
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o777], ofItemAtPath: folder + file)
            let result = try get(folder, "trial://h/")
            #expect(result.status == 110 && result.errors.contains("others can write"))
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o755], ofItemAtPath: folder + file)
        }
        #expect(try get(folder, "trial://h/").status == 0)
    }

    @Test func installedPluginsAreFoundByTheirSchemes() throws {
        var smallweb = smallweb
        _ = try plugin("echo found >&4", more: #""options": [{"name": "trial-all"}],"#)
        _ = try plugin("echo twice >&4", name: "broken")
        try Data("{".utf8).write(to: URL(fileURLWithPath: smallweb.home.file("broken/plugin.json")))
        smallweb.environment["SMALLWEB_PLUGIN_PATH"] = smallweb.home.path
        #expect(try smallweb.run(["trial://h/"]).text == "found\n")
        #expect(try smallweb.run(["get", "--trial-all", "trial://h/"]).text == "found\n")
        let broken = try smallweb.run(["broken://h/"])
        #expect(broken.status == 110 && broken.errors.contains("is not JSON"), "\(broken.errors)")
        #expect(try smallweb.run(["other://h/"]).status == 1)
        #expect(try smallweb.run(["schemes"]).text.contains("\ntrial\t0\tnone\t"))
        #expect(try smallweb.run(["help", "get"]).text.contains("--trial-all"))
        #expect(try smallweb.run(["__complete", "get", "--tri"]).text.contains("--trial-all"))
        let list = try smallweb.run(["plugin", "list"]).text.split(separator: "\n")
        #expect(
            list.contains { $0.hasPrefix("trial\tprogram\ttrial\t1.2\t") && $0.hasSuffix("\t") })
        #expect(list.contains { $0.hasPrefix("broken\tprogram\t\t\t") && $0.contains("not JSON") })
        #expect(list.contains("nex\tbuilt-in\tnex\t\t\t"))
        let records = try smallweb.run(["plugin", "list", "--json"])
        #expect(records.text.contains(#""name":"trial","kind":"program","schemes":["trial"]"#))
        #expect(try smallweb.run(["plugin", "show", "trial"]).text.contains("--trial-all"))
    }

    @Test func aBuiltInSchemeIsTakenOverOnRequestAlone() throws {
        var smallweb = smallweb
        let folder = try plugin("echo taken >&4", name: "nex")
        smallweb.environment["SMALLWEB_PLUGIN_PATH"] = smallweb.home.path
        let refusing = try RefusingPort()
        let url = "nex://127.0.0.1:\(refusing.port)/"
        #expect(try smallweb.run([url]).status == 7)
        #expect(try smallweb.run(["--plugin", folder, url]).text == "taken\n")
        let config = smallweb.home.file("config")
        try Data("[scheme nex]\nplugin = nex\n".utf8).write(to: URL(fileURLWithPath: config))
        #expect(try smallweb.run(["-K", config, url]).text == "taken\n")
    }
}
