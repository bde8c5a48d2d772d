// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

/// Programs for URLs without a server, and the files they may read.
@Suite(.timeLimit(.minutes(30)))
struct PlacelessTests {
    private let smallweb = Smallweb()
    private static let told = """
        #!/bin/sh
        echo "$SMALLWEB_URL|$SMALLWEB_HOST|$SMALLWEB_PATH|${SMALLWEB_QUERY-unset}" >&4
        """

    private func plugin(host: String? = nil, _ script: String = told) throws -> String {
        let host = host.map { #", "host": "\#($0)""# } ?? ""
        return try smallweb.plugin(script, scheme: Smallweb.noServer + host)
    }

    private func get(_ folder: String, _ words: String...) throws -> Smallweb.Result {
        try smallweb.run(["get", "--plugin", folder] + words)
    }

    // MARK: URLs

    @Test(arguments: [
        ("trial:ls(1)", "trial:ls(1)||ls(1)|unset"), ("trial:", "trial:|||unset"),
        ("trial://", "trial://|||unset"), ("trial:///a/./b/../c", "trial:///a/c||/a/c|unset"),
        ("trial:///../../a", "trial:///a||/a|unset"), ("trial:?xt=b#f", "trial:?xt=b|||xt=b"),
        ("trial://Host/a", "trial://host/a|host|/a|unset"),
        ("trial:10.1000/182", "trial:10.1000/182||10.1000/182|unset"),
    ])
    func aURLNeedsNoHost(_ url: String, _ told: String) throws {
        let result = try get(try plugin(), url)
        #expect(result.text == told + "\n", "\(result.errors)")
    }

    @Test(arguments: [
        ("trial://QmX/a/../B?C=d#f", "trial://QmX/a/../B?C=d|QmX|/a/../B|C=d"),
        ("trial://did:plc:xY/a", "trial://did:plc:xY/a|did:plc:xY|/a|unset"),
        ("trial:a.B", "trial:a.B||a.B|unset"), ("trial://", "trial://|||unset"),
        ("trial://a:99999/", "trial://a:99999/|a:99999|/|unset"),
    ])
    func aVerbatimPlaceStaysAsItIs(_ url: String, _ told: String) throws {
        let result = try get(try plugin(host: "verbatim"), url)
        #expect(result.text == told + "\n", "\(result.errors)")
    }

    /// No redirect or link turns the place into a part of the path.
    @Test func aPlaceStaysInRedirectsAndLinks() throws {
        let folder = try plugin(
            host: "verbatim",
            #"""
            #!/bin/sh
            to() { printf '{"type":"head","class":"redirect","redirect":"%s"}\n' "$1" >&3; }
            case $SMALLWEB_PATH in
            /to_*) to "${SMALLWEB_PATH#/to_}";;
            "") to other;;
            /page) echo '{"type":"head","class":"success","mime":"text/gemini"}' >&3
                printf '=> %s\n' /top c ../d //QmY/x trial://QmW/../e '?q' >&4;;
            *) echo "$SMALLWEB_URL|$SMALLWEB_HOST" >&4;; esac
            """#)
        #expect(try get(folder, "trial://QmX").text == "trial://QmX/other|QmX\n")
        for (target, url) in [
            ("/top", "trial://QmX/top|QmX"), ("//QmY/b", "trial://QmY/b|QmY"),
            ("c", "trial://QmX/c|QmX"),
        ] {
            #expect(try get(folder, "trial://QmX/to_" + target).text == url + "\n")
        }
        let links = try smallweb.run(["links", "--plugin", folder, "trial://QmX/page"])
        #expect(
            links.text.split(separator: "\n").map { $0.prefix { $0 != "\t" } } == [
                "trial://QmX/top", "trial://QmX/c", "trial://QmX/d", "trial://QmY/x",
                "trial://QmW/../e", "trial://QmX/page?q",
            ], "\(links.errors)")
    }

    /// A scheme with hosts gets no URL without one, not even from a page of the same scheme.
    @Test func aLinkWithoutItsHostIsNoURL() throws {
        let page =
            "=> gemini:/x a\n=> gemini:x b\n=> gopher:/x c\n=> gopher:///x d\n=> spartan:x e\n"
        let capsule = try Capsule(
            page: Array("20 text/gemini\r\n\(page)=> mailto:a@b.test f\n".utf8))
        let result = try smallweb.run(["links", "-k", "--json", capsule.place])
        let urls = try Records(result.output).all.filter { $0["type"]?.string == "link" }
            .map { $0["url"] }
        #expect(urls == [.null, .null, .null, .null, .null, .string("mailto:a@b.test")])
    }

    @Test func longOnesAreKeptAndBadOnesRefused() throws {
        let folder = try plugin(host: "verbatim")
        let long = "trial://" + String(repeating: "Ab", count: 4096)
        #expect(try get(folder, long).text.hasPrefix(long + "|"))
        for url in ["trial://a%0db/", "trial:a%00", "trial:?%0a", "trial://a b/", "trial:%zz"] {
            #expect(try get(folder, url).status == 3, "\(url)")
        }
        let required = try plugin(host: "required")
        for url in ["trial:a", "trial:///a", "trial://"] {
            let result = try get(required, url)
            #expect(result.status == 3 && result.errors.contains("no host"), "\(result.errors)")
        }
        // A port belongs to a host that smallweb understands.
        #expect(try get(try plugin(), "trial://a:99999/").status == 3)
    }

    @Test func aSchemeWithAServerNeedsOne() throws {
        for transport in [#""transport": "tcp", "port": 1"#, #""transport": "udp", "port": 1"#] {
            let folder = try smallweb.plugin(
                "#!/bin/sh", scheme: transport + #", "host": "optional""#)
            #expect(try get(folder, "trial://h/").status == 110)
        }
    }

    /// Like all others: in a run, in records, with a redirect and an item.
    @Test func runsAndRecordsHaveThem() throws {
        let folder = try plugin(
            host: "verbatim",
            #"""
            #!/bin/sh
            [ "$SMALLWEB_PATH" = /from ] && {
                echo '{"type":"head","class":"redirect","redirect":"trial://QmX/to"}' >&3; exit; }
            echo '{"type":"head","class":"success","mime":"text/plain"}' >&3
            echo '{"type":"item","kind":"link","text":"t","url":"trial://QmY/a"}' >&3
            echo "$SMALLWEB_URL" >&4
            """#)
        let list = (0..<20).map { "trial:\($0)\n" }.joined()
        let many = try smallweb.records(
            ["--plugin", folder, "-j", "4", "--per-host-delay", "30", "-"], stdin: list)
        #expect(many.result.status == 0 && many.records.terminal.count == 20)
        let one = try smallweb.records(["--plugin", folder, "trial://QmX/from"]).records.terminal[0]
        #expect(one["final_url"]?.string == "trial://QmX/to")
        #expect(one["body"]?["text"]?.string == "trial://QmX/to\n")
        let links = try smallweb.run(["links", "--plugin", folder, "trial://QmX/to"])
        #expect(links.text.hasPrefix("trial://QmY/a"), "\(links.text) \(links.errors)")
        // The command get may be left out.
        #expect(try smallweb.run(["--plugin", folder, "trial:ls(1)"]).text == "trial:ls(1)\n")
        #expect(try smallweb.run(["--plugin", folder, "none:ls(1)"]).status == 2)
        let shards = try (0...1).map { index in
            try smallweb.run(
                ["get", "--plugin", folder, "--shard", "\(index)/2", "-"], stdin: list
            ).text.count
        }
        #expect(shards.filter { $0 > 0 }.count == 1)
    }

    // MARK: Reading

    private static let reader = """
        #!/bin/sh
        cat ~/mail/a mail/a "$(cat place)"/mail/a >&4 2>/dev/null
        cat "$(cat place)"/other >&4 2>/dev/null; :
        """

    /// - Returns: A plugin that reads `reads`, beside files of the home directory.
    private func reading(_ reads: String, in parent: String? = nil) throws -> String {
        let folder = try smallweb.plugin(Self.reader, more: "\"reads\": \(reads),")
        try smallweb.write(smallweb.home.path, to: folder + "/place", mode: 0o644)
        try? FileManager.default.createDirectory(
            atPath: smallweb.home.file("mail"), withIntermediateDirectories: true)
        try smallweb.write("mail\n", to: smallweb.home.file("mail/a"), mode: 0o600)
        try smallweb.write("other\n", to: smallweb.home.file("other"), mode: 0o600)
        return folder
    }

    @Test func aProgramReadsWhatItsManifestNamesAndNothingElse() throws {
        #expect(try get(try reading("[]"), "trial:").text == "")
        let folder = try reading(#"["~/mail", "~/missing"]"#)
        let result = try get(folder, "-v", "trial:")
        #expect(result.text == "mail\n", "\(result.errors)")
        #expect(result.errors.contains("may read ~/mail, ~/missing"), "\(result.errors)")
        #expect(try get(try reading(#"["~/mail/a"]"#), "trial:").text == "mail\n")
    }

    @Test func linksThatLeadElsewhereAreRefused() throws {
        let home = smallweb.home
        let folder = try reading(#"["~/link"]"#)
        try FileManager.default.createSymbolicLink(
            atPath: home.file("link"), withDestinationPath: home.file("mail"))
        let result = try get(folder, "trial:")
        #expect(result.status == 110 && result.errors.contains("is a link"), "\(result.errors)")
        #expect(try get(try reading(#"["~/link/a"]"#), "trial:").status == 110)
        let pipe = try reading(#"["~/pipe"]"#)
        #expect(mkfifo(home.file("pipe"), 0o600) == 0)
        let refused = try get(pipe, "trial:")
        #expect(refused.status == 110 && refused.errors.contains("neither"), "\(refused.errors)")
        // A link inside of a permitted directory is followed only to files that are visible too.
        try FileManager.default.createSymbolicLink(
            atPath: home.file("mail/b"), withDestinationPath: home.file("other"))
        let inside = try smallweb.plugin(
            "#!/bin/sh\ncat '\(home.path)/mail/b' >&4 2>/dev/null; :",
            more: #""reads": ["~/mail"],"#)
        #expect(try get(inside, "trial:").text == "")
    }

    @Test(arguments: [
        #"["mail"]"#, #"["/"]"#, #"["~/../x"]"#, #"["/a/./b"]"#, #"["/a//b"]"#, #"["/a/*"]"#,
        #"["~other/x"]"#, #"["/proc/1"]"#, #"["/sys"]"#, #"["/dev/mem"]"#, #"["/a\u0000"]"#,
        #"["/a\nb"]"#, #"[1]"#, #""/a""#,
        "[" + (0..<1000).map { "\"/a\($0)\"" }.joined(separator: ",") + "]",
    ])
    func placesThatMakeNoSenseAreRefused(_ reads: String) throws {
        let folder = try smallweb.plugin("#!/bin/sh", more: "\"reads\": \(reads),")
        let result = try get(folder, "trial:")
        #expect(result.status == 110 && result.errors.contains("reads"), "\(result.errors)")
    }

    /// Consent is asked for when a plugin is added, and again when it asks for more.
    @Test func readingNeedsConsent() throws {
        var smallweb = smallweb
        let folder = try reading(#"["~/mail"]"#)
        smallweb.environment["SMALLWEB_PLUGIN_PATH"] = smallweb.home.path
        let found = try smallweb.run(["get", "trial:"])
        #expect(found.status == 110 && found.errors.contains("smallweb plugin add"))
        smallweb.environment["SMALLWEB_PLUGIN_PATH"] = nil
        let unasked = try smallweb.run(["plugin", "add", folder])
        #expect(unasked.status == 2 && unasked.text.contains("~/mail"), "\(unasked.errors)")
        let own = ".local/share/smallweb/plugins/"
        #expect(smallweb.home.content(own + "trial/plugin.json") == nil)
        #expect(try smallweb.run(["plugin", "add", "--force", folder]).status == 0)
        #expect(try smallweb.run(["get", "trial:"]).text == "mail\n")
        // If the manifest asks for more later, the consent does not cover it.
        let manifest = smallweb.home.file(own + "trial/plugin.json")
        let bytes = smallweb.home.content(own + "trial/plugin.json") ?? []
        let text = String(decoding: bytes, as: UTF8.self)
        try smallweb.write(
            text.replacing(#"["~/mail"]"#, with: #"["~/mail", "~/other"]"#), to: manifest,
            mode: 0o644)
        let grown = try smallweb.run(["get", "trial:"])
        #expect(grown.status == 110 && grown.errors.contains("~/other"), "\(grown.errors)")
        let list = try smallweb.run(["plugin", "list"]).text
        #expect(list.contains("not consented"), "\(list)")
        // Nor one whose consent others could have written.
        try smallweb.write(text, to: manifest, mode: 0o644)
        #expect(try smallweb.run(["get", "trial:"]).text == "mail\n")
        try smallweb.set(0o666, of: smallweb.home.file(own + "trial.consent"))
        #expect(try smallweb.run(["get", "trial:"]).status == 110)
        #expect(try smallweb.run(["plugin", "remove", "--force", "trial"]).status == 0)
        #expect(smallweb.home.content(own + "trial.consent") == nil)
    }
}
