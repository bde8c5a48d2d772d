// SPDX-License-Identifier: MIT
@testable import ExternalPlugin
import Foundation
import SmallWebCore
import Testing

extension Schema {
    static let manifest = Schema("plugin-v1")
    static let event = Schema("plugin-event-v1")

    subscript(path: String...) -> JSON? { path.reduce(root) { $0?[$1] } }
}

/// docs/schema/plugin-v1.json and plugin-event-v1.json agree with the parsers of manifests and
/// events.
@Suite struct PluginSchemaTests {
    /// With every member that there is.
    private static let manifest = """
        {"v": 1, "name": "nex", "version": "1.0", "summary": "Nex",
         "program": ["./nex", "./more", "-x"],
         "schemes": [{"name": "nex", "port": 1900, "transport": "tcp", "mime": "text/plain"},
                     {"name": "nexs", "port": 1901, "transport": "tls", "trust": "ca",
                      "path": "opaque", "input": true, "upload": true, "identities": true,
                      "server_first": true, "query": "encoded", "summary": "Over TLS",
                      "mime": "text/plain; a=b", "secure_form": "nexs"},
                     {"name": "nexu", "port": 1, "transport": "udp", "udp_peer": "host"},
                     {"name": "nexn", "port": 0, "transport": "none"}],
         "options": [{"name": "nex-depth", "value": "N", "help": "how deep", "default": "1"},
                     {"name": "nex-all", "help": "everything"}],
         "connections": ["tcp", "udp"], "answers": true,
         "opens": ["tcp://{host}:*", "udp://*:65535", "tls://*.example.org:1", "tcp://[::1]:9",
                   "https://{host}:8443/a?*", "gopher://*/", "http://[::1]/*"],
         "limits": {"cpu_seconds": 1, "memory_bytes": 16777216, "files": 16}}
        """

    private static let events = [
        """
        {"type": "head", "class": "success", "status": 20, "meta": "m", "mime": "text/plain",
         "size": 1, "name": "a", "redirect": null, "permanent": true, "sensitive": true,
         "retry_after": 5, "facts": {"a": [1]}}
        """,
        #"{"type": "head", "class": "redirect", "redirect": "/a"}"#,
        #"{"type": "item", "kind": "link", "text": "t", "url": "u", "facts": {}}"#,
        #"{"type": "note", "code": "c", "message": "m"}"#,
        #"{"type": "end", "complete": true}"#,
        #"{"type": "fail", "outcome": "timeout", "message": "m"}"#,
        #"{"type": "open", "connection": 1, "url": "tcp://h:1"}"#,
        #"{"type": "starttls", "connection": 0}"#,
    ]

    /// - Returns: The parser's error; `nil` if it accepts the text.
    private func refusal(ofManifest text: String) -> String? {
        do {
            _ = try Manifest(parsing: Array(text.utf8))
            return nil
        } catch {
            return error.message
        }
    }

    private func refusal(ofEvent text: String) -> String? {
        do {
            var reader = ProgramEventReader(base: try URI(parsing: "nex://h/"), name: "nex")
            // No item comes before a head.
            let isHead = text.contains(#""class""#)
            let lines = isHead ? [text] : [#"{"type":"head","class":"success"}"#, text]
            for line in lines {
                reader.add(Array((line.replacing("\n", with: " ") + "\n").utf8)[...])
                _ = try reader.next()
            }
            return nil
        } catch {
            return "\(error)"
        }
    }

    // MARK: Both accept and refuse the same

    /// The value with one thing changed: each member and element left out, or another value in its
    /// place, or a member more.
    private func variants(of value: Any) -> [Any] {
        var all: [Any] = [
            NSNull(), true, 0, 1, -1, 15, 1.5, 65_536, 1 << 50, "", "a", "A", "-a", "..", "./../a",
            "../a", "body", "tcp", "tls", "none", "text", "text/plain", " a/b ;c", "a/b c", "ok",
            "a\u{7}b", "a\u{202E}b", "a\0b", "text/plain; \u{1B}", "write", "interrupted",
            String(repeating: "a", count: 63), String(repeating: "a", count: 64), [Any](),
            ["./a", "./b/../c", "-d"], ["a", "../b"], ["a/../b"], ["/a", ""], [String: Any](),
        ]
        if let object = value as? [String: Any] {
            all += ["unknown", "x-unknown"].map { object.merging([$0: 1]) { $1 } }
            for (name, member) in object {
                var changed = object
                changed[name] = nil
                all.append(changed)
                for other in variants(of: member) {
                    changed[name] = other
                    all.append(changed)
                }
            }
        } else if let list = value as? [Any] {
            for index in list.indices {
                var changed = list
                for other in variants(of: list[index]) {
                    changed[index] = other
                    all.append(changed)
                }
                changed.remove(at: index)
                all.append(changed)
            }
        }
        return all
    }

    private func agree(
        _ text: String, _ schema: Schema, _ refusal: (String) -> String?
    ) throws -> (taken: Int, refused: Int) {
        #expect(refusal(text) == nil)
        #expect(try schema.problems(JSON.parse(text)).isEmpty, "\(text)")
        var (taken, refused) = (0, 0)
        let value = try JSONSerialization.jsonObject(with: Data(text.utf8))
        for variant in variants(of: value) {
            let data = try JSONSerialization.data(
                withJSONObject: variant, options: [.fragmentsAllowed, .withoutEscapingSlashes])
            let other = String(decoding: data, as: UTF8.self)
            let problems = schema.problems(try JSON.parse(other))
            let said = refusal(other)
            #expect(
                problems.isEmpty == (said == nil),
                "the schema: \(problems); the reader: \(said ?? "takes it"); \(other)")
            if said == nil { taken += 1 } else { refused += 1 }
        }
        return (taken, refused)
    }

    @Test func takeAndRefuseTheSameManifests() throws {
        let (taken, refused) = try agree(
            Self.manifest, .manifest, { refusal(ofManifest: $0) })
        #expect(taken > 100 && refused > 500)
    }

    @Test func takeAndRefuseTheSameEvents() throws {
        var (taken, refused) = (0, 0)
        for event in Self.events {
            let counts = try agree(event, .event, { refusal(ofEvent: $0) })
            (taken, refused) = (taken + counts.taken, refused + counts.refused)
        }
        #expect(taken > 50 && refused > 300)
    }

    // MARK: The same words

    @Test func haveTheWordsOfTheTables() {
        func words(_ path: String...) -> [String] {
            path.reduce(Schema.event["$defs"]) { $0?[$1] }?["enum"]?.array
                .compactMap(\.string) ?? []
        }
        #expect(words("head", "properties", "class") == Head.Class.allCases.map(\.rawValue))
        #expect(
            words("item", "properties", "kind") == ProgramEventReader.kinds.map(\.rawValue))
        #expect(
            words("fail", "properties", "outcome")
                == Outcome.allCases.map(\.rawValue)
                .filter { !ProgramEventReader.outcomesOfHost.contains($0) })
        let reserved = Schema.manifest["$defs", "reserved", "enum"]?.array.compactMap(\.string)
        #expect(reserved == Manifest.reservedNames.sorted())
    }

    /// The reader says which words it knows, and from where to where a number may be.
    @Test func haveTheWordsAndRangesOfTheReader() throws {
        for (place, path) in [
            ("transport", "scheme"), ("trust", "scheme"), ("path", "scheme"), ("query", "scheme"),
            ("udp_peer", "scheme"), ("port", "scheme"), ("cpu_seconds", "limits"),
            ("memory_bytes", "limits"),
            ("files", "limits"),
        ] {
            let rule = try #require(Schema.manifest["$defs", path, "properties", place])
            let word = "\"\(place)\": "
            let start = try #require(Self.manifest.ranges(of: word).last).upperBound
            let rest = Self.manifest[start...].drop { !",}".contains($0) }
            let bad = rule["enum"] == nil ? "-1" : "\"\""
            let said = refusal(ofManifest: Self.manifest[..<start] + bad + rest)
            let expected =
                if let words = rule["enum"] {
                    "is not one of " + words.array.compactMap(\.string).joined(separator: ", ")
                } else {
                    "from \(rule["minimum"]?.int ?? -1) to \(rule["maximum"]?.int ?? -1)"
                }
            #expect(said?.hasSuffix(expected) == true, "\(place): \(said ?? "taken"), \(expected)")
        }
    }

    /// A member that a reader knows and its schema does not would never be missed otherwise.
    @Test func haveTheMembersOfTheReader() throws {
        for (files, pattern, schema) in [
            (
                ["Manifest", "ManifestReader+Connections", "ManifestReader+Scheme"],
                #"reader\.(?:\w+)\("(\w+)""#,
                Schema.manifest
            ),
            (["ProgramEvents"], #"\(value, "(\w+)"\)|value\["(\w+)"\]"#, .event),
        ] {
            let source = try files.map { file in
                try String(
                    contentsOfFile: PluginKitTests.root + "/Plugins/External/\(file).swift",
                    encoding: .utf8)
            }.joined()
            let expression = try Regex(pattern)
            let known = source.matches(of: expression).compactMap { match in
                match.output.dropFirst().compactMap(\.substring).first.map(String.init)
            }
            let members = SchemaTests.members(of: schema).map(\.name)
            #expect(Set(known) == Set(members), "\(files) and their schema")
        }
    }

    @Test func areExplained() throws {
        let text = try PluginDocument("plugins.md").text
        for member in SchemaTests.members(of: .manifest) + SchemaTests.members(of: .event)
        where !["v", "type"].contains(member.name) {
            #expect(
                text.contains("`\(member.name)`") || text.contains("\"\(member.name)\""),
                "docs/plugins.md does not mention \(member.path)")
        }
    }

    // MARK: Manifests and events of the tree

    @Test(arguments: PluginKitTests.folders)
    func manifestsOfTheTreeFit(_ folder: String) throws {
        let text = try String(
            contentsOfFile: "\(PluginKitTests.root)/\(folder)/plugin.json", encoding: .utf8)
        #expect(refusal(ofManifest: text) == nil)
        #expect(Schema.manifest.problems(try JSON.parse(text)).isEmpty)
    }

    @Test func examplesOfTheDocumentsFit() throws {
        let parts = try ["plugins.md", "wire.md"].flatMap { try PluginDocument($0).parts }
        var (manifests, events) = (0, 0)
        for part in parts {
            switch part {
            case .manifest(let text):
                manifests += 1
                #expect(refusal(ofManifest: text) == nil)
                #expect(Schema.manifest.problems(try JSON.parse(text)).isEmpty)
            case .events(let lines):
                for line in lines {
                    events += 1
                    #expect(refusal(ofEvent: line) == nil)
                    #expect(Schema.event.problems(try JSON.parse(line)).isEmpty, "\(line)")
                }
            default: break
            }
        }
        #expect(manifests >= 1 && events >= 5)
    }
}
