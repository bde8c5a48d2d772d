// SPDX-License-Identifier: MIT
internal import ExternalPlugin
internal import SmallWebCore

/// A new plugin that works: what `plugin new` writes.
struct PluginTemplate {
    enum Language: String, Sendable, CaseIterable { case sh, python, swift }

    /// A file below the plugin's folder.
    struct File {
        let path: String
        let text: String
        var isProgram = false
    }

    let name: String
    let language: Language

    /// - Throws: `usage` when a plugin cannot have that name.
    init(_ name: String, _ language: Language) throws(FetchError) {
        guard name != "fixtures" else {
            throw usageError(
                "a plugin cannot be called \"fixtures\": its program would have the name of their "
                    + "folder", hint: "smallweb plugin new dict")
        }
        self.name = name
        self.language = language
        do throws(FetchError) {
            _ = try Manifest(parsing: Array(manifest.utf8))
        } catch {
            throw usageError(
                "a plugin cannot be called \"\(name)\": its manifest \(Self.reason(error))",
                hint: "smallweb plugin new dict")
        }
    }

    private static func reason(_ error: FetchError) -> String {
        error.message.replacing(text: "plugin.json ", with: "")
    }

    var files: [File] {
        let program =
            switch language {
            case .sh: shell
            case .python: [python] + repliesWithStatus
            case .swift: swift + repliesWithStatus
            }
        return [File(path: "plugin.json", text: manifest), refused] + program
    }

    /// What makes the program, where it is not there yet.
    var compiling: String? { language == .swift ? "make -C \(name)" : nil }

    private var manifest: String {
        """
        { "v": 1, "name": "\(name)", "version": "0.1", "summary": "what \(name) is",
          "program": ["./\(name)"],
          "schemes": [
            { "name": "\(name)", "port": 1900, "transport": "tcp", "mime": "text/plain" } ] }

        """
    }

    /// Of what is never asked for.
    private var refused: File {
        File(
            path: "fixtures/bad-url.wire",
            text: """
                # No line break in a path reaches the program. A URL that the program itself refuses
                # has the same fixture; with server_first its server is dialled all the same.
                url    \(name)://example.test/a%0Ab
                dial   no
                error  bad-url

                """)
    }

    /// What else a manifest may say, as comments.
    private static let manifestNote = [
        #""server_first": true in plugin.json says that the server speaks first,"#,
        #""path": "opaque" that .. and / mean nothing special in a path."#,
    ]

    func note(_ mark: String) -> String {
        Self.manifestNote.map { mark + " " + $0 }.joined(separator: "\n")
    }

    private var shell: [File] {
        [
            File(
                path: name,
                text: """
                    #!/bin/sh
                    # \(name): a path on a line; the reply is the page, up to its end.
                    \(note("#"))
                    printf '%s\\r\\n' "${SMALLWEB_PATH:-/}"
                    exec cat >&4

                    """, isProgram: true),
            File(
                path: "fixtures/page.wire",
                text: """
                    # The path goes out on a line, and what comes back is the page.
                    url    \(name)://example.test/page
                    dial   example.test:1900
                    >      /page\\r\\n
                    <      Hello\\n
                    =      {"event":"head","class":"success","mime":"text/plain"}
                    =      {"event":"body","text":"Hello\\n"}
                    =      {"event":"end","completeness":"unverified"}

                    """),
            File(
                path: "fixtures/root.wire",
                text: """
                    # No path is the root.
                    url    \(name)://example.test
                    >      /\\r\\n
                    <      Root\\n
                    =      {"event":"head","class":"success","mime":"text/plain"}
                    =      {"event":"body","text":"Root\\n"}
                    =      {"event":"end","completeness":"unverified"}

                    """),
        ]
    }

    private var python: File {
        File(
            path: name,
            text: """
                #!/usr/bin/python3 -IS
                \"""\(name): a path on a line; the reply is a line with 20 and a type, or with
                40 and a reason, and then the page, up to its end.\"""
                \(note("#"))
                import json
                import os
                import sys


                def say(**event):
                    os.write(3, json.dumps(event).encode() + b"\\n")


                def fail(outcome, message):
                    say(type="fail", outcome=outcome, message=message)
                    sys.exit()


                os.write(1, (os.environb[b"SMALLWEB_PATH"] or b"/") + b"\\r\\n")

                reply = open(0, "rb")
                line = reply.readline(1024)
                if not line:
                    fail("empty-reply", "the server sent nothing")
                status, _, text = line.decode(errors="replace").rstrip("\\r\\n").partition(" ")
                if not line.endswith(b"\\n") or status not in ("20", "40"):
                    fail("protocol-error", "the reply does not begin with 20 or 40")
                if status == "40":
                    say(type="head", **{"class": "permanent-failure"}, status=40, meta=text)
                    sys.exit()
                say(type="head", **{"class": "success"}, status=20, mime=text or "text/plain")
                while piece := reply.read1(65536):
                    os.write(4, piece)

                """, isProgram: true)
    }

    /// Of programs that know the status of a reply.
    private var repliesWithStatus: [File] {
        [
            File(
                path: "fixtures/page.wire",
                text: """
                    # 20, a type, and the page.
                    url    \(name)://example.test/page
                    dial   example.test:1900
                    >      /page\\r\\n
                    <      20 text/plain\\r\\nHello\\n
                    =      {"event":"head","status":20,"class":"success","mime":"text/plain"}
                    =      {"event":"body","text":"Hello\\n"}
                    =      {"event":"end","completeness":"unverified"}

                    """),
            File(
                path: "fixtures/refusal.wire",
                text: """
                    # 40 and a reason; no path is the root.
                    url    \(name)://example.test
                    >      /\\r\\n
                    <      40 no\\r\\n
                    =      {"event":"head","status":40,"class":"permanent-failure","meta":"no"}
                    =      {"event":"end","completeness":"unverified"}

                    """),
            File(
                path: "fixtures/malformed.wire",
                text: """
                    # Anything else is an error.
                    url    \(name)://example.test/
                    >      /\\r\\n
                    <      HTTP/1.1 400 Bad Request\\r\\n
                    error  protocol-error

                    """),
        ]
    }
}
