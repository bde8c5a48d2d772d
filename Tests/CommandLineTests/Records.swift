// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import Testing

/// Any JSON value.
indirect enum JSON: Decodable, Hashable, Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let flag = try? value.decode(Bool.self) {
            self = .bool(flag)
        } else if let number = try? value.decode(Double.self) {
            self = .number(number)
        } else if let text = try? value.decode(String.self) {
            self = .string(text)
        } else if let elements = try? value.decode([JSON].self) {
            self = .array(elements)
        } else {
            self = .object(try value.decode([String: JSON].self))
        }
    }

    static func parse(_ text: some StringProtocol) throws -> JSON {
        try JSONDecoder().decode(JSON.self, from: Data(text.utf8))
    }

    subscript(name: String) -> JSON? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    var string: String? { if case .string(let text) = self { text } else { nil } }
    var int: Int? { if case .number(let number) = self { Int(exactly: number) } else { nil } }
    var double: Double? { if case .number(let number) = self { number } else { nil } }
    var bool: Bool? { if case .bool(let flag) = self { flag } else { nil } }
    var array: [JSON] { if case .array(let elements) = self { elements } else { [] } }
}

/// The lines that a run has written.
struct Records {
    let all: [JSON]

    /// Checks the invariants of all records.
    ///
    /// - Parameter areWhole: False with `--fields`, which leaves members out.
    init(_ output: [UInt8], areWhole: Bool = true) throws {
        let text = try #require(String(validating: output, as: UTF8.self))
        #expect(text.isEmpty || text.hasSuffix("\n"))
        #expect(Self.firstDanger(output) == nil)
        all = try text.split(separator: "\n", omittingEmptySubsequences: true).map { line in
            #expect(line.hasPrefix("{\"type\":\""), "\(line.prefix(40))")
            let record = try JSON.parse(line)
            #expect(record["v"]?.int == 1)
            if areWhole {
                let problems = Schema.shared.problems(record)
                #expect(problems.isEmpty, "\(line.prefix(300))")
            }
            return record
        }
    }

    /// The index of the first byte that can drive a terminal: C0 but for the line feeds, DEL, C1,
    /// bidirectional controls.
    private static func firstDanger(_ output: [UInt8]) -> Int? {
        output.withUnsafeBufferPointer { bytes in
            for (index, byte) in bytes.enumerated() {
                if byte >= 0x20 && byte < 0x7F || byte == 0x0A { continue }
                if byte < 0x80 { return index }
                let next = index + 1 < bytes.count ? bytes[index + 1] : 0
                let last = index + 2 < bytes.count ? bytes[index + 2] : 0
                let isC1 = byte == 0xC2 && next < 0xA0
                let isBidi =
                    byte == 0xE2
                    && (next == 0x80 && 0xA8...0xAE ~= last || next == 0x81 && 0xA6...0xA9 ~= last)
                if isC1 || isBidi { return index }
            }
            return nil
        }
    }

    subscript(type: String) -> [JSON] { all.filter { $0["type"]?.string == type } }

    /// One per request, by position in the input.
    var terminal: [JSON] {
        (self["response"] + self["error"]).sorted { ($0["n"]?.int ?? -1) < ($1["n"]?.int ?? -1) }
    }

    var exits: [Int?] { terminal.map { $0["exit"]?.int } }
    var summary: JSON? { self["summary"].last }
}

extension Smallweb {
    /// Runs `get --json` and checks every record.
    func records(
        _ arguments: [String], stdin: String? = nil, areWhole: Bool = true
    ) throws -> (records: Records, result: Result) {
        let result = try run(["get", "--json", "-k"] + arguments, stdin: stdin)
        return (try Records(result.output, areWhole: areWhole), result)
    }
}

enum TestDigest {
    static func sha256(_ bytes: [UInt8]) -> String? {
        guard let digest = try? Digest(.sha256) else { return nil }
        digest.update(bytes[...])
        return digest.finish().hex
    }
}

/// A file of docs/schema, as far as it uses JSON Schema.
struct Schema: Sendable {
    /// The schema of records.
    static let shared = Schema("v1")

    let root: JSON?

    init(_ name: String) {
        let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../docs/schema/\(name).json").path
        root = (try? String(contentsOfFile: path, encoding: .utf8)).flatMap { try? JSON.parse($0) }
    }

    /// The definitions of the schema, by name.
    var definitions: JSON? { root?["$defs"] }

    func problems(_ text: JSON) -> [String] {
        guard let root else { return ["no schema"] }
        return Validator(definitions: definitions ?? .null).problems(text, root, "")
    }
}

/// The keywords that the schemas use; an unknown one is a problem of its own.
private struct Validator {
    let definitions: JSON

    private static let ignored: Set<String> = [
        "$schema", "$defs", "title", "description", "then", "else",
    ]

    func problems(_ value: JSON, _ schema: JSON, _ place: String) -> [String] {
        guard case .object(let keywords) = schema else {
            return schema == .bool(false) ? ["\(place): not allowed"] : []
        }
        return keywords.flatMap { name, rule in problem(value, name, rule, schema, place) }
    }

    private func problem(
        _ value: JSON, _ name: String, _ rule: JSON, _ schema: JSON, _ place: String
    ) -> [String] {
        let wrong = ["\(place): \(name)"]
        switch name {
        case "$ref":
            let target = rule.string?.split(separator: "/").last.map(String.init) ?? ""
            guard let definition = definitions[target] else { return ["\(place): no \(target)"] }
            return problems(value, definition, place)
        case "type":
            let types = rule.string.map { [$0] } ?? rule.array.compactMap(\.string)
            return types.contains { isOf($0, value) } ? [] : wrong
        case "const": return value == rule ? [] : wrong
        case "enum": return rule.array.contains(value) ? [] : wrong
        case "minimum": return (value.double ?? .infinity) >= (rule.double ?? 0) ? [] : wrong
        case "maximum": return (value.double ?? 0) <= (rule.double ?? 0) ? [] : wrong
        case "pattern":
            guard let text = value.string, let pattern = rule.string else { return [] }
            return pattern.matches(text) ? [] : wrong
        case "required":
            guard case .object(let members) = value else { return [] }
            return rule.array.compactMap(\.string).filter { members[$0] == nil }
                .map { "\(place): no \($0)" }
        case "properties":
            guard case .object(let rules) = rule else { return wrong }
            return rules.flatMap { name, rule in
                value[name].map { problems($0, rule, "\(place).\(name)") } ?? []
            }
        case "additionalProperties":
            guard case .object(let members) = value else { return [] }
            return members.filter { schema["properties"]?[$0.key] == nil }
                .filter { member in !patterns(of: schema).contains { $0.matches(member.key) } }
                .flatMap { problems($0.value, rule, "\(place).\($0.key)") }
        case "patternProperties":
            guard case .object(let members) = value else { return [] }
            return patterns(of: schema).flatMap { pattern in
                members.filter { pattern.matches($0.key) }
                    .flatMap { problems($0.value, rule[pattern] ?? .null, "\(place).\($0.key)") }
            }
        case "dependentRequired":
            guard case .object(let rules) = rule else { return wrong }
            let needed = rules.filter { value[$0.key] != nil }.flatMap { $0.value.array }
            return needed.compactMap(\.string).filter { value[$0] == nil }
                .map { "\(place): no \($0)" }
        case "items":
            let count = schema["prefixItems"]?.array.count ?? 0
            return value.array.dropFirst(count).flatMap { problems($0, rule, place + "[]") }
        case "prefixItems":
            return zip(value.array, rule.array).flatMap { problems($0, $1, place + "[]") }
        case "minItems":
            guard case .array(let elements) = value else { return [] }
            return elements.count >= rule.int ?? 0 ? [] : wrong
        case "maxItems": return value.array.count <= rule.int ?? .max ? [] : wrong
        case "minLength": return value.string?.count ?? .max >= rule.int ?? 0 ? [] : wrong
        case "maxLength": return value.string?.count ?? 0 <= rule.int ?? .max ? [] : wrong
        case "not": return problems(value, rule, place).isEmpty ? wrong : []
        case "if":
            let branch = problems(value, rule, place).isEmpty ? "then" : "else"
            return schema[branch].map { problems(value, $0, place) } ?? []
        case "allOf": return rule.array.flatMap { problems(value, $0, place) }
        case "anyOf", "oneOf":
            let fits = rule.array.count { problems(value, $0, place).isEmpty }
            return fits == 1 || fits > 1 && name == "anyOf" ? [] : ["\(place): \(fits) of \(name)"]
        default: return Self.ignored.contains(name) ? [] : ["unknown keyword \(name)"]
        }
    }

    private func patterns(of schema: JSON) -> [String] {
        guard case .object(let rules)? = schema["patternProperties"] else { return [] }
        return Array(rules.keys)
    }

    private func isOf(_ type: String, _ value: JSON) -> Bool {
        switch value {
        case .null: type == "null"
        case .bool: type == "boolean"
        case .number(let number):
            type == "number" || type == "integer" && number == number.rounded()
        case .string: type == "string"
        case .array: type == "array"
        case .object: type == "object"
        }
    }
}

extension String {
    /// True if the text matches this pattern anywhere.
    fileprivate func matches(_ text: String) -> Bool {
        text.range(of: self, options: .regularExpression) != nil
    }
}
