// SPDX-License-Identifier: MIT

/// A command of one protocol, as data. It asks a question that a URL can ask as well: the command
/// line only composes that URL, `URL?key=OPERAND&…`, and fetches it.
public struct Verb: Sendable {
    /// The command's name.
    package let name: String
    /// The name and its operands: `log URL [RANGE] [-- PATH…]`.
    package let synopsis: String
    /// For help: a few words.
    package let summary: String
    /// For the manual: full sentences.
    package let manual: String
    /// Example command lines, each with its purpose.
    package let examples: KeyValuePairs<String, String>
    /// The query key of the question; its value is the operand after the URL.
    package let key: String
    /// The query key for each operand after `--`; `nil` where it takes no such operand.
    package var operandKey: String?
    /// The names of the options it takes, each with its query key.
    package var optionKeys: [(option: String, key: String)] = []
    /// The names of further options it takes, which are not in the URL.
    package var options: [String] = []

    /// A command without options of its own.
    package init(
        _ synopsis: String, key: String, summary: String, manual: String,
        examples: KeyValuePairs<String, String>
    ) {
        self.synopsis = synopsis
        name = String(synopsis.prefix { $0 != " " })
        self.key = key
        self.summary = summary
        self.manual = manual
        self.examples = examples
    }
}

extension String {
    /// The URL with another field in its query, unless it is there.
    ///
    /// - Parameter value: Not encoded yet; `nil` for a key alone, which any value stands for.
    package func adding(queryField key: String, _ value: (some Sequence<UInt8>)?) -> String {
        let encoded = value.map { "=" + PercentEncoding.encode($0, also: "/!$'()*,:@") } ?? ""
        let end = firstIndex(of: "#") ?? endIndex
        let fields = self[..<end].drop { $0 != "?" }.dropFirst().split(separator: "&")
        let wanted = PercentEncoding.decode(key + encoded)
        let isThere = fields.contains { field in
            value == nil
                ? field.prefix { $0 != "=" } == key
                : PercentEncoding.decode(String(field)) == wanted
        }
        if isThere { return self }
        let mark = self[..<end].contains("?") ? "&" : "?"
        return String(self[..<end]) + mark + key + encoded + String(self[end...])
    }
}
