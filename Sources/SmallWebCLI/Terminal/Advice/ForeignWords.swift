// SPDX-License-Identifier: MIT
internal import SmallWeb

/// Words of curl, wget, git and other clients that have another name here, or none: hints for
/// replacing them.
extension Advice {
    /// - Parameters:
    ///   - name: The name as typed, without dashes; with or without the `no-` of a switch. A letter
    ///     may be an option of another smallweb command.
    ///   - command: Its own words come first.
    static func option(_ name: some StringProtocol, of command: Command? = nil) -> String? {
        let other = name.hasPrefix("no-") ? String(name.dropFirst(3)) : "no-\(name)"
        for name in [String(name), other] {
            let own = command.flatMap { pointer(name, in: words($0.name)) }
            if let text = own ?? pointer(name, in: pointers) { return text }
        }
        return nil
    }

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
    static var actions: [(names: String, pointer: String)] { words("action") }

    static var pointers: [(names: String, pointer: String)] { words("option") }

    /// Ways out of what a command does not do: `COMMAND--OPTION`, `--OPTION` of a scheme without
    /// it, or a verb of a scheme without it.
    static func wayOut(_ name: String) -> String? { pointer(name, in: waysOut) }

    static var waysOut: [(names: String, pointer: String)] { words("other") }

    /// The lines `KIND NAMES: TEXT` of a kind in words.txt, which are read for a hint alone.
    static func words(_ kind: String) -> [(names: String, pointer: String)] {
        let start = Array("\(kind) ".utf8)
        return PackageResources.words_txt.split(separator: ASCII.lineFeed)
            .filter { $0.starts(with: start) }
            .compactMap { bytes in
                let line = String(decoding: bytes.dropFirst(start.count), as: UTF8.self)
                // A name may be a colon, as curl has one.
                guard let colon = line.range(ofText: ": ") else { return nil }
                return (String(line[..<colon.lowerBound]), String(line[colon.upperBound...]))
            }
    }
}
