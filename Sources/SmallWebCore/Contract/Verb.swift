// SPDX-License-Identifier: MIT

/// A command of one protocol, as data. It asks a question that a URL can ask as well: the command
/// line does no more than write that URL, `URL?key=OPERAND&…`, and fetch it.
public struct Verb: Sendable {
    /// The command's name.
    public let name: String
    /// The name and what follows it: `log URL [RANGE] [-- PATH…]`.
    public let synopsis: String
    /// For help: a few words.
    public let summary: String
    /// For the manual: full sentences.
    public let manual: String
    /// Command lines, each with what it is good for.
    public let examples: KeyValuePairs<String, String>
    /// The key of the query that asks the question; its value is the operand behind the URL.
    public let key: String
    /// The key for each operand behind `--`; `nil` where it takes no such operand.
    public var operandKey: String?
    /// The options that it takes, by their names, with the key that each has in the query.
    public var optionKeys: [(option: String, key: String)] = []
    /// The names of further options that it takes, which are not in the URL.
    public var options: [String] = []

    /// A command without options of its own.
    public init(
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
    /// The URL with another field in its query.
    ///
    /// - Parameter value: Not encoded yet; `nil` for a key alone.
    package func adding(queryField key: String, _ value: (some Sequence<UInt8>)?) -> String {
        let encoded = value.map { "=" + PercentEncoding.encode($0, also: "/!$'()*,:@") } ?? ""
        let end = firstIndex(of: "#") ?? endIndex
        let mark = self[..<end].contains("?") ? "&" : "?"
        return self[..<end] + mark + key + encoded + self[end...]
    }
}
