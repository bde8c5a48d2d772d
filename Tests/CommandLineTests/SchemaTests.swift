// SPDX-License-Identifier: MIT
import Foundation
import SmallWebRecords
import Testing

@testable import SmallWeb

/// The files of docs/schema as their readers have them.
@Suite struct SchemaTests {
    /// A member of a record, or of an object in one.
    struct Member: CustomTestStringConvertible, Sendable {
        let name: String
        /// The names that lead to it, from the type of the record.
        let path: String
        let description: String?
        var testDescription: String { path }
    }

    static let members = members(of: .shared)

    static func members(of schema: Schema) -> [Member] {
        var found = members(of: schema.root ?? .null, path: "")
        if case .object(let definitions)? = schema.definitions {
            found += definitions.flatMap { members(of: $1, path: $0) }
        }
        return found.sorted { $0.path < $1.path }
    }

    private static func members(of schema: JSON, path: String) -> [Member] {
        var found: [Member] = []
        if case .object(let properties)? = schema["properties"] {
            for (name, rule) in properties {
                let path = "\(path).\(name)"
                let description = rule["description"]?.string
                found.append(Member(name: name, path: path, description: description))
                found += members(of: rule, path: path)
            }
        }
        var parts = ["anyOf", "oneOf"].flatMap { schema[$0]?.array ?? [] }
        if let items = schema["items"] { parts.append(items) }
        for part in parts { found += members(of: part, path: path) }
        return found
    }

    /// The words of docs/json.md that are set as code.
    private static let documented: Set<String> = {
        let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../docs/json.md").path
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        let code = text.split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .filter { $0.offset % 2 == 1 }
        return Set(
            code.flatMap { span in
                span.element.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init)
            })
    }()

    @Test func hasMembers() { #expect(Self.members.count > 200) }

    @Test func describesEachMember() {
        let others = [Schema.manifest, .event].flatMap { Self.members(of: $0) }
        for member in Self.members + others {
            let text = member.description ?? ""
            #expect(text.hasSuffix("."), "\(member.path) needs a description, a sentence")
            #expect(text.count <= 100, "the description of \(member.path) is too long")
        }
    }

    /// Each member of a response or an error can be asked for by name.
    @Test func everyMemberIsAField() throws {
        let fields = Set(RecordFields.all(.builtIn))
        let members = Self.members.filter {
            let parts = $0.path.split(separator: ".")
            return parts.count == 2 && ["response", "error"].contains(parts[0])
                && !$0.name.hasSuffix("_base64")
        }
        #expect(members.count > 40)
        for member in members where !["type", "v", "n", "id", "tag"].contains(member.name) {
            #expect(fields.contains(member.name), "--fields \(member.name)")
        }
    }

    @Test func isExplainedInFull() {
        for member in Self.members {
            #expect(
                Self.documented.contains(member.name),
                "docs/json.md does not mention \(member.path) as code")
        }
    }
}
