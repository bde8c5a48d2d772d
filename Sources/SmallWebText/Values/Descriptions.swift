// SPDX-License-Identifier: MIT

extension TerminalText {
    /// A value that is one line wherever it is printed, dumped or logged, alone or within another
    /// value: without secrets, the bytes of a body, and a server's control characters.
    public protocol Line: CustomStringConvertible, CustomReflectable {}
}

extension TerminalText.Line {
    /// The name of the type alone.
    public var description: String { "\(Self.self)" }
    /// Without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension URI: CustomDebugStringConvertible, TerminalText.Line {
    /// ``display``, unlike `description`, which is the whole URI.
    public var debugDescription: String { display }
}

extension FetchError: TerminalText.Line {}

extension Item: TerminalText.Line {
    /// Kind, text and URL.
    public var description: String { Self.line(kind, text, url) }

    package static func line(_ kind: Kind, _ text: String, _ url: String?) -> String {
        let parts = ["\(kind.rawValue)", String(text.prefix(200)), url.map(URI.display)]
        return TerminalText.escapeLine(parts.compactMap(\.self).joined(separator: " "))
    }
}
