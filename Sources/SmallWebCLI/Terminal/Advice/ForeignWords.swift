// SPDX-License-Identifier: MIT
internal import SmallWeb

/// Words of curl, wget, git and other clients that have another name here, or none: hints for
/// replacing them.
extension Advice {
    /// - Parameter name: The name as typed, without dashes. A letter may be an option of another
    ///   smallweb command.
    static func option(_ name: some StringProtocol) -> String? { pointer(name, in: pointers) }

    static func command(_ name: String) -> String? { pointer(name, in: commands) }

    /// The URL or list that a word without a scheme was meant to be.
    static func url(_ word: String, _ registry: Registry?) -> String? {
        if FileOutput.isTaken(word) {
            return "a list of URLs is @\(word), and 'smallweb open \(word)' shows a page"
        }
        if registry?[word] != nil { return "a URL begins with its scheme: \(word)://HOST/" }
        if word.hasPrefix("{") || word.hasPrefix("[{") {
            return "--json is for output; --header 'Content-Type: application/json' --data DATA "
                + "sends JSON"
        }
        if let scheme = URI.scheme(of: word),
            let rest = word.split(separator: ":").dropFirst().first,
            !(rest.first?.isNumber ?? true)
        {
            let place = word.dropFirst(scheme.count + 1).drop { $0 == "/" }
            return registry?[scheme] == nil
                ? "'smallweb schemes' lists those that work" : "write \(scheme)://\(place)"
        }
        let word = word.drop { $0 == "/" }
        guard word.utf8.contains(where: { ":/.@".utf8.contains($0) }) else { return nil }
        let scheme = registry?.schemeOfHosts?.name ?? "SCHEME"
        return "write the URL in full, for example \(scheme)://\(word)"
    }

    /// The action of a command that another client calls `name`.
    static func action(_ name: String, of command: Command) -> String? {
        for (names, action) in actions
        where names.split(separator: " ").contains(where: { $0 == name }) {
            guard let action = command.action(action) else { continue }
            return "did you mean 'smallweb \(action.name)'?"
        }
        return nil
    }

    private static func pointer(
        _ name: some StringProtocol, in pointers: [(names: String, pointer: String)]
    ) -> String? {
        pointers.first { $0.names.split(separator: " ").contains { $0 == name } }?.pointer
    }

    static var commands: [(names: String, pointer: String)] { words("command") }

    /// Actions of a command, after other names for them; the first that the command has.
    static var actions: [(names: String, action: String)] { words("action") }

    static var pointers: [(names: String, pointer: String)] { words("option") }

    /// The lines `KIND NAMES: TEXT` of a kind in words.txt, which are read for a hint alone.
    private static func words(_ kind: String) -> [(String, String)] {
        String(decoding: PackageResources.words_txt, as: UTF8.self).split(separator: "\n")
            .filter { $0.hasPrefix(kind + " ") }
            .map { line in
                let names = line.prefix { $0 != ":" }
                return (
                    String(names.dropFirst(kind.count + 1)),
                    String(line.dropFirst(names.count + 2))
                )
            }
    }
}
