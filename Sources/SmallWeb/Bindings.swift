// SPDX-License-Identifier: MIT
public import SmallWebCore

/// The text of the file `bindings`, lines of `NAME URL`: which identity is for which place. Other
/// lines are kept. Pure: text in, text out.
public struct Bindings: Sendable, Hashable {
    private enum Line: Sendable, Hashable {
        case binding(name: String, Identities.Scope)
        case other(String)
    }

    private var lines: [Line]

    /// Whether it can be an identity's name, and with that a file's.
    public static func isName(_ text: String) -> Bool {
        !text.isEmpty && !text.hasPrefix(".")
            && text.utf8.allSatisfy {
                ASCII.isLetter($0) || ASCII.isDigit($0) || "-_.@".utf8.contains($0)
            }
    }

    public init(parsing text: String) {
        lines = text.unicodeScalars.split(separator: "\n").map { line in
            let words = line.split { $0 == " " || $0 == "\r" || $0 == "\t" }.map { String($0) }
            guard words.count == 2, Self.isName(words[0]),
                let scope = try? Identities.Scope(words[1])
            else { return .other(String(line)) }
            return .binding(name: words[0], scope)
        }
    }

    public var text: String {
        lines.reduce(into: "") { text, line in
            switch line {
            case .binding(let name, let scope): text += "\(name) \(scope)\n"
            case .other(let line): text += line + "\n"
            }
        }
    }

    public func scopes(of name: String) -> [Identities.Scope] {
        lines.compactMap { line in
            if case .binding(name, let scope) = line { scope } else { nil }
        }
    }

    /// The identity of the narrowest place that has `uri` in it.
    public func name(for uri: URI) -> String? {
        var best: (name: String, length: Int)?
        for case .binding(let name, let scope) in lines where scope.contains(uri) {
            let length = scope.path.utf8.count
            if length >= best?.length ?? 0 { best = (name, length) }
        }
        return best?.name
    }

    /// A place has one identity: the last that was bound to it.
    public mutating func add(_ name: String, _ scope: Identities.Scope) {
        lines.removeAll { line in
            if case .binding(_, scope) = line { true } else { false }
        }
        lines.append(.binding(name: name, scope))
    }

    /// - Parameter scope: `nil` for all.
    public mutating func remove(_ name: String, scope: Identities.Scope?) {
        lines.removeAll { line in
            guard case .binding(name, let other) = line else { return false }
            return scope == nil || scope == other
        }
    }
}
