// SPDX-License-Identifier: MIT
package import SmallWebCore

/// A plugin in one file: a program with its manifest and its fixtures in comments. Pure.
///
///     # smallweb: {"scheme": "nex", "port": 1900, "transport": "tcp"}
///     # wire: url    nex://example.test/page
///     # wire: >      /page\r\n
///
/// The sign of these comments is one to three of `#`, `/`, `-`, `;` and `%`, and all have the same.
package struct PluginScript: Sendable {
    package private(set) var manifest: Manifest
    /// The manifest as the text of a `plugin.json`, whose program has the plugin's name.
    package let json: [UInt8]
    /// In their order; the name has the line in the file.
    package private(set) var fixtures: [(name: String, text: [UInt8])] = []

    private static let fixturesMax = 1000
    private static let signs = Set("#/-;%".utf8)

    /// - Throws: `plugin`, naming the problem.
    package init(parsing file: [UInt8]) throws(FetchError) {
        var (header, sign) = ([UInt8](), ArraySlice<UInt8>?.none)
        var lines: [(Int, ArraySlice<UInt8>)] = []
        let all = file.split(separator: ASCII.lineFeed, omittingEmptySubsequences: false)
        for (number, line) in zip(1..., all) {
            let own = line.prefix { Self.signs.contains($0) }
            let rest = line.dropFirst(own.count).drop(while: ASCII.isSpace)
            guard 1...3 ~= own.count, sign.map({ $0 == own }) ?? true else { continue }
            if rest.starts(with: "smallweb:".utf8) {
                sign = own
                header += rest.dropFirst("smallweb:".utf8.count) + [ASCII.lineFeed]
            } else if rest.starts(with: "wire:".utf8), sign != nil {
                let text = rest.dropFirst("wire:".utf8.count).drop(while: ASCII.isSpace)
                lines.append((number, text.last == ASCII.carriageReturn ? text.dropLast() : text))
            }
        }
        guard sign != nil else {
            throw .plugin(
                "has no line \"# smallweb: {…}\" with its manifest",
                hint: "a folder in an archive is unpacked with tar first")
        }
        do throws(FetchError) {
            json = try Self.json(header)
            manifest = try Manifest(parsing: json)
        } catch {
            var error = error
            error.message = error.message.replacing(text: "plugin.json", with: "its manifest")
            throw error
        }
        for (number, line) in lines {
            // A fixture begins with its URL.
            if line.starts(with: "url ".utf8) { fixtures.append(("line-\(number).wire", [])) }
            guard let last = fixtures.indices.last, last < Self.fixturesMax else {
                throw .plugin(
                    fixtures.isEmpty
                        ? "has in line \(number) a fixture that does not begin with its url"
                        : "has more than \(Self.fixturesMax) fixtures")
            }
            fixtures[last].text += line + [ASCII.lineFeed]
        }
    }

    /// The manifest of a file, in which `scheme` may stand for the name and the list of schemes,
    /// with the members of that scheme next to it.
    private static func json(_ header: [UInt8]) throws(FetchError) -> [UInt8] {
        let value: JSONValue
        do throws(FetchError) {
            value = try JSONValue.parse(header[...])
        } catch {
            throw ManifestReader.problem("is \(error.message)")
        }
        guard case .object(let members) = value else {
            throw ManifestReader.problem("is not an object")
        }
        guard value["program"] == nil else {
            throw ManifestReader.problem("has a \"program\": this file is the program")
        }
        let name = (value["name"] ?? value["scheme"])?.string ?? ""
        var (plugin, scheme) = (["\"program\": [\(quoted("./" + name))]"], [String]())
        if value["v"] == nil { plugin.append("\"v\": 1") }
        for member in members {
            let text = ": " + String(decoding: member.text, as: UTF8.self)
            if member.name == "scheme" {
                scheme.append("\"name\"" + text)
                if value["name"] == nil { plugin.append("\"name\"" + text) }
            } else if value["scheme"] != nil, ManifestReader.ofScheme.contains(member.name) {
                scheme.append(quoted(member.name) + text)
            } else {
                plugin.append(quoted(member.name) + text)
            }
        }
        if !scheme.isEmpty {
            plugin.append("\"schemes\": [{ \(scheme.joined(separator: ", ")) }]")
        }
        return Array("{ \(plugin.joined(separator: ",\n  ")) }\n".utf8)
    }

    private static func quoted(_ text: String) -> String {
        String(decoding: JSONWriter.string(text), as: UTF8.self)
    }
}
