// SPDX-License-Identifier: MIT
package import SmallWebCore

/// The text of the file `bindings`, lines of `NAME URL`: the identity for each place. Unchanged
/// lines stay as they are, byte by byte. Pure: bytes in, bytes out.
package struct Bindings: Sendable, Equatable {
    private struct Line: Sendable, Hashable {
        let bytes: ArraySlice<UInt8>
        /// `nil` for a comment, and for a line that cannot be read.
        let binding: Binding?
    }

    private struct Binding: Sendable, Hashable {
        let name: String
        let scope: Identities.Scope
    }

    private var lines: [Line]
    private let registry: Registry

    package static func == (left: Bindings, right: Bindings) -> Bool { left.lines == right.lines }

    /// True if it can be the name of an identity, and so of a file.
    package static func isName(_ text: String) -> Bool {
        !text.isEmpty && !text.hasPrefix(".")
            && text.utf8.allSatisfy {
                ASCII.isLetter($0) || ASCII.isDigit($0) || "-_.@".utf8.contains($0)
            }
    }

    /// The free name that is nearest to `text`.
    package static func freeName(_ text: String, taken: [String]) -> String {
        let bytes = text.utf8.map { byte in
            isName("a" + String(UnicodeScalar(byte))) ? byte : UInt8(ascii: "-")
        }
        var base = String(decoding: bytes, as: UTF8.self)
        while base.first == "." || base.first == "-" { base.removeFirst() }
        if base.isEmpty { base = "identity" }
        guard taken.contains(base) else { return base }
        return (2...).lazy.map { "\(base)-\($0)" }.first { !taken.contains($0) } ?? base
    }

    package init(parsing bytes: [UInt8], registry: Registry) {
        self.registry = registry
        var bytes = bytes[...]
        if bytes.last == ASCII.lineFeed { bytes = bytes.dropLast() }
        let rows = bytes.split(separator: ASCII.lineFeed, omittingEmptySubsequences: false)
        lines =
            bytes.isEmpty
            ? [] : rows.map { Line(bytes: $0, binding: Self.binding($0, registry)) }
    }

    private static func binding(
        _ line: ArraySlice<UInt8>, _ registry: Registry
    ) -> Binding? {
        let words = line.split(whereSeparator: ASCII.isSpace).map {
            String(decoding: $0, as: UTF8.self)
        }
        guard words.count == 2, isName(words[0]),
            let scope = try? Identities.Scope(words[1], in: registry)
        else { return nil }
        return Binding(name: words[0], scope: scope)
    }

    package var bytes: [UInt8] { lines.flatMap { $0.bytes + [ASCII.lineFeed] } }

    package func scopes(of name: String) -> [Identities.Scope] {
        lines.compactMap { $0.binding?.name == name ? $0.binding?.scope : nil }
    }

    /// The identity of the narrowest place that contains `uri`.
    package func name(for uri: URI) -> String? {
        var best: (name: String, length: Int)?
        for case let binding? in lines.map(\.binding)
        where binding.scope.contains(uri, in: registry) {
            let length = binding.scope.path.utf8.count
            if length >= best?.length ?? 0 { best = (binding.name, length) }
        }
        return best?.name
    }

    /// A place has one identity: the last that was bound to it.
    package mutating func add(_ name: String, _ scope: Identities.Scope) {
        lines.removeAll { $0.binding?.scope == scope }
        lines.append(
            Line(
                bytes: Array("\(name) \(scope)".utf8)[...],
                binding: Binding(name: name, scope: scope)))
    }

    /// - Parameter scope: `nil` for all.
    package mutating func remove(_ name: String, scope: Identities.Scope?) {
        lines.removeAll {
            $0.binding?.name == name && (scope == nil || $0.binding?.scope == scope)
        }
    }
}
