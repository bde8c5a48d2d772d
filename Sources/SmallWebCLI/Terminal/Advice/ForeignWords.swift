// SPDX-License-Identifier: MIT
internal import SmallWeb

/// Words of curl, wget, git and other clients that have another name here, or none: hints for
/// replacing them.
extension Advice {
    /// - Parameter name: The name as typed, without dashes. A letter may be an option of another
    ///   smallweb command.
    static func option(_ name: some StringProtocol) -> String? { pointer(name, in: pointers) }

    static func command(_ name: String) -> String? { pointer(name, in: commands) }

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

    /// Ways out of what a command does not do: `COMMAND--OPTION`, `--OPTION` of a scheme without
    /// it, or a verb of a scheme without it.
    static func wayOut(_ name: String) -> String? { pointer(name, in: waysOut) }

    static var waysOut: [(names: String, pointer: String)] { words("other") }

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
