// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

/// Secrets of programs: where they come from, and that nothing shows them.
@Suite(.timeLimit(.minutes(30)))
struct ProgramSecretTests {
    private let smallweb = Smallweb()
    private static let secret = "hunter/2"
    private static let option = """
        "options": [{"name": "trial-key", "value": "KEY", "help": "the key", "secret": true}],
        """

    /// Sends the secret in every form, repeats it on 2 and 3, and prints all it was given as its
    /// body.
    private static let script = #"""
        #!/bin/sh
        key=$SMALLWEB_OPT_TRIAL_KEY$SMALLWEB_UPLOAD_TOKEN
        printf 'KEY %s\r\n' "$key"
        printf 'AUTH %s\r\n' "$(printf 'ab%s' "$key" | base64)"
        printf 'hunter'; sleep 0.05; printf '%%2F2\r\n'
        echo "key $key" >&2
        echo '{"type":"head","class":"success","mime":"text/plain","meta":"'"$key"'",
         "facts":{"a":["'"$key"'"]}}' | tr -d '\n' >&3
        echo >&3
        echo '{"type":"note","code":"c","message":"the key is '"$key"'"}' >&3
        echo "key=$key user=$SMALLWEB_USERINFO mime=$SMALLWEB_UPLOAD_MIME" >&4
        """#

    private func server() throws -> (Hole, String) {
        let hole = try Hole()
        return (hole, String(hole.place.split(separator: ":").last ?? ""))
    }

    private func plugin(_ port: String, more: String = option) throws -> String {
        try smallweb.plugin(
            Self.script, scheme: #""transport": "tcp", "port": \#(port), "upload": true"#,
            more: more)
    }

    private func isQuiet(_ text: String) -> Bool {
        let base64 = Data("ab\(Self.secret)".utf8).base64EncodedString()
        return !text.contains(Self.secret) && !text.contains("hunter%2F2")
            && !text.contains(base64.dropFirst(3).prefix(8))
    }

    @Test func theValueComesFromAFileAndIsShownNowhere() throws {
        let (hole, port) = try server()
        let folder = try plugin(port)
        let file = smallweb.home.file("key")
        try smallweb.write(Self.secret + "\n", to: file, mode: 0o600)
        let words = ["--plugin", folder, "--trial-key-file", file, "trial://127.0.0.1/"]
        let result = try smallweb.run(["get", "-v"] + words)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.text == "key=hunter/2 user= mime=\n")
        #expect(isQuiet(result.errors) && result.errors.contains("KEY ***"), "\(result.errors)")
        #expect(result.errors.contains("key ***"), "\(result.errors)")
        let json = try smallweb.run(
            ["get", "--json", "--events", "--body", "none", "-v"] + words)
        #expect(json.status == 0 && json.text.contains(#""a":["***"]"#), "\(json.text)")
        #expect(isQuiet(json.text + json.errors), "\(json.text) \(json.errors)")
        let explained = try smallweb.run(["explain"] + words)
        #expect(isQuiet(explained.text) && explained.text.contains("KEY ***"), "\(explained.text)")
        withExtendedLifetime(hole) {}
    }

    /// In an archive neither, from which the request is found again.
    @Test func theValueIsInNoArchive() throws {
        let (hole, port) = try server()
        let folder = try plugin(port)
        let (file, archive) = (smallweb.home.file("key"), smallweb.home.file("a.warc"))
        try smallweb.write(Self.secret + "\n", to: file, mode: 0o600)
        let url = "trial://me:hunter%2F2@127.0.0.1/"
        let words = ["--plugin", folder, "--trial-key-file", file, url]
        let result = try smallweb.run(["get", "--warc", archive] + words)
        #expect(result.status == 0, "\(result.errors)")
        let text = String(
            decoding: try Data(contentsOf: URL(filePath: archive)), as: UTF8.self)
        #expect(isQuiet(text) && text.contains("KEY ***\r\nAUTH YW***\r\n***\r\n"), "\(text)")
        #expect(text.contains("WARC-Target-URI: trial://me:***@127.0.0.1/"), "\(text)")
        let again = try smallweb.run(["get", "--replay", archive] + words)
        #expect(again.status == 0 && again.text == result.text, "\(again.errors)")
        withExtendedLifetime(hole) {}
    }

    @Test func theValueIsNeverAnArgument() throws {
        let folder = try plugin("1")
        for words in [["--trial-key", Self.secret], ["--trial-key=" + Self.secret]] {
            let result = try smallweb.run(["get", "--plugin", folder, "trial://h/"] + words)
            #expect(result.status == 2)
            #expect(result.errors.contains("--trial-key-file"), "\(result.errors)")
            #expect(!result.errors.contains(Self.secret))
        }
        let help = try smallweb.run(["__complete", "get", "--plugin", folder, "--trial-"]).text
        #expect(help.contains("--trial-key-file\t") && !help.contains("--trial-key\t"))
    }

    @Test func theConfigFileMayHaveTheValue() throws {
        let (hole, port) = try server()
        let folder = try plugin(port)
        let config = smallweb.home.file("config")
        try smallweb.write(
            "plugin = \(folder)\ntrial-key = \(Self.secret)\n", to: config, mode: 0o600)
        let result = try smallweb.run(["get", "--config", config, "trial://127.0.0.1/"])
        #expect(result.text == "key=hunter/2 user= mime=\n", "\(result.errors)")
        for words in [["config"], ["config", "--json"]] {
            let shown = try smallweb.run(words + ["--config", config])
            #expect(shown.text.contains("***") && isQuiet(shown.text), "\(shown.text)")
        }
        withExtendedLifetime(hole) {}
    }

    @Test func passwordsOfURLsAreSecretsToo() throws {
        let (hole, port) = try server()
        let folder = try smallweb.plugin(
            #"""
            #!/bin/sh
            printf 'PASS %s\r\n' "${SMALLWEB_USERINFO#*:}"
            cat >/dev/null
            echo '{"type":"fail","outcome":"protocol-error","message":"said hunter/2"}' >&3
            """#,
            scheme: #""transport": "tcp", "port": \#(port)"#)
        let url = "trial://me:hunter%2F2@127.0.0.1/"
        let result = try smallweb.run(["get", "-v", "--json", "--events", "--plugin", folder, url])
        #expect(result.status == 8, "\(result.errors)")
        #expect(isQuiet(result.text + result.errors), "\(result.text) \(result.errors)")
        #expect(result.errors.contains("PASS ***"), "\(result.errors)")
        withExtendedLifetime(hole) {}
    }

    @Test func uploadsHaveATokenAndAType() throws {
        let (hole, port) = try server()
        let folder = try plugin(port, more: "")
        let file = smallweb.home.file("token")
        try smallweb.write(Self.secret, to: file, mode: 0o600)
        try smallweb.write("text", to: smallweb.home.file("a.txt"), mode: 0o600)
        let result = try smallweb.run([
            "put", "-v", "--plugin", folder, "--token-file", file, "--mime", "text/x-own",
            "trial://127.0.0.1/", smallweb.home.file("a.txt"),
        ])
        #expect(result.text == "key=hunter/2 user= mime=text/x-own\n", "\(result.errors)")
        #expect(isQuiet(result.errors), "\(result.errors)")
        withExtendedLifetime(hole) {}
    }

    /// The plugin takes uploads.
    @Test func optionsOfAProgramAreForUploadsToo() throws {
        let (hole, port) = try server()
        let folder = try plugin(port)
        let file = smallweb.home.file("key")
        try smallweb.write(Self.secret, to: file, mode: 0o600)
        let result = try smallweb.run(
            ["put", "--plugin", folder, "--trial-key-file", file, "trial://127.0.0.1/", "-"],
            stdin: "text")
        #expect(result.text.hasPrefix("key=hunter/2 user= mime="), "\(result.errors)")
        withExtendedLifetime(hole) {}
    }

    @Test(arguments: [
        ("json", "", "json"), ("no-color", "", "no-color"), ("mime", "", "mime"),
        ("header", "", "header"), ("token-file", "", "token-file"),
        ("token", #", "value": "T", "secret": true"#, "ask-token"),
    ])
    func optionsNamedLikeOursAreRefused(_ name: String, _ more: String, _ taken: String) throws {
        let folder = try smallweb.plugin(
            "#!/bin/sh", more: #""options": [{"name": "\#(name)"\#(more)}],"#)
        let result = try smallweb.run(["get", "--plugin", folder, "trial://h/"])
        #expect(result.status == 110, "\(result.errors)")
        #expect(result.errors.contains("smallweb has \"\(taken)\" already"), "\(result.errors)")
    }

    @Test(arguments: [
        (
            #"[{"name": "a", "value": "V", "secret": true}, {"name": "a-file", "value": "F"}]"#,
            "share"
        ),
        (#"[{"name": "a"}, {"name": "no-a"}]"#, "share"),
        (#"[{"name": "a", "secret": true}]"#, "secret"),
        (#"[{"name": "a", "value": "V", "default": "1", "secret": true}]"#, "secret"),
        (#"[{"name": "a", "value": "V", "secret": "yes"}]"#, "secret"),
    ])
    func secretsThatMakeNoSenseAreRefused(_ options: String, _ word: String) throws {
        let folder = try smallweb.plugin("#!/bin/sh", more: "\"options\": \(options),")
        let result = try smallweb.run(["get", "--plugin", folder, "trial://h/"])
        #expect(result.status == 110 && result.errors.contains(word), "\(result.errors)")
    }

    // MARK: Completion

    @Test func completionKnowsPlugins() throws {
        var smallweb = smallweb
        let parent = smallweb.home.file("plugins")
        try FileManager.default.createDirectory(
            atPath: parent, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o755])
        let folder = try smallweb.plugin("#!/bin/sh")
        try FileManager.default.moveItem(atPath: folder, toPath: parent + "/trial")
        smallweb.environment["SMALLWEB_PLUGIN_PATH"] = parent
        func offered(_ words: String...) throws -> [String] {
            try smallweb.run(["__complete"] + words).text.split(separator: "\n").map {
                String($0.prefix { $0 != "\t" })
            }
        }
        #expect(try offered("get", "tri") == ["trial://", ":nospace"])
        #expect(try offered("plugin", "show", "tr") == ["trial", ":"])
        #expect(try offered("plugin", "test", "gem") == ["gemini", ":"])
        #expect(try offered("plugin", "test", "./") == [":dirs"])
        #expect(try offered("plugin", "add", "./") == [":files"])
        #expect(try offered("get", "--plugin", "tr") == ["trial", ":"])
        #expect(try offered("get", "--plugin=tr") == ["--plugin=trial", ":"])
        #expect(try offered("get", "--plugin", "./") == [":dirs"])
        #expect(try offered("plugin", "remove", "tr") == [":"])
        smallweb.environment["XDG_DATA_HOME"] = smallweb.home.file("data")
        let own = smallweb.home.file("data/smallweb")
        try FileManager.default.createDirectory(
            atPath: own, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o755])
        try FileManager.default.moveItem(atPath: parent, toPath: own + "/plugins")
        #expect(try offered("plugin", "remove", "tr") == ["trial", ":"])
    }

    @Test func recordsOfAllTransportsFitTheSchema() throws {
        let folder = try smallweb.plugin(
            "#!/bin/sh", scheme: #""transport": "udp", "port": 9"#)
        let none = try smallweb.plugin("#!/bin/sh", name: "other")
        let result = try smallweb.run(["schemes", "--json", "--plugin", folder, "--plugin", none])
        for (scheme, transport) in [("trial", "udp"), ("other", "none")] {
            let line = result.text.split(separator: "\n").first { $0.contains("\"\(scheme)\"") }
            #expect(line?.contains(#""transport":"\#(transport)""#) ?? false, "\(result.text)")
        }
        for record in try Records(result.output).all {
            #expect(Schema.shared.problems(record).isEmpty)
        }
    }

    // MARK: The reader of records

    /// A server that never answers is not waited for when there is nothing to tell it to.
    @Test func aRunEndsWithTheReaderOfItsRecords() throws {
        let (refusing, silent) = (try RefusingPort(), try SilentPort())
        let began = Date()
        let result = try smallweb.run(
            ["--json", "-m", "60", "--connect-timeout", "60"]
                + [refusing.port, silent.port].map { "gopher://127.0.0.1:\($0)/" },
            shell: #"{ "$@"; echo $? >status; } | head -n 1; cat status"#)
        #expect(result.text.contains(#""outcome":"connect""#), "\(result.errors)")
        #expect(Date().timeIntervalSince(began) < 30)
        #expect(result.text.contains("141"), "\(result.text) \(result.errors)")
    }
}
