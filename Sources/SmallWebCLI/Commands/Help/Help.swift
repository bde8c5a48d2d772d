// SPDX-License-Identifier: MIT
internal import SmallWeb

package enum Help {
    /// Version of the program, its manual and its packages; `docs/packaging/version.py` updates it
    /// in all of them.
    package static let version = "0.2.0"

    /// Adds a capital letter and a full stop.
    package static func sentence(_ text: String) -> String {
        text.prefix(1).uppercased() + text.dropFirst() + "."
    }

    /// Fits a screen of 24 lines; the options are in each command's help.
    static var summary: String {
        var text = """
            usage: smallweb COMMAND [options] [operands]
                   smallweb [options] URL…    the same as 'smallweb get'

            """
        let everyday = daily.compactMap(Command.named)
        for command in everyday { text += row(command.synopsis, command.summary) }
        let others = Command.all.map(\.name).filter { !daily.contains($0) }
        return text + """

            And \(wrapped(others.joined(separator: ", "), indent: 4)).

            Read a page: smallweb open gemini://geminiprotocol.net/
            Options: smallweb COMMAND --help    In full: smallweb help COMMAND, man smallweb
            Topics: \(Texts.topics.map(\.name).joined(separator: ", ")), config, plugins

            """
    }

    private static let daily = [
        "get", "open", "links", "head", "put", "feed", "watch", "refs", "log", "trust", "identity",
    ]

    /// The most important part of a command's help, at most 24 lines.
    static func short(of command: Command) -> String {
        let full = text(of: command)
        guard full.count(where: \.isNewline) > linesMax else { return full }
        var text = usage(of: command) + "\n" + actions(of: command)
        let examples = command.examples.prefix(2).map { line, use in
            use.count + line.count <= 78 ? "\n\(use): \(line)" : "\n\(use):\n    \(line)"
        }.joined()
        let room = linesMax - 6 - (text + examples).count(where: \.isNewline)
        let own = command.options.filter {
            command.operands.first != .url && [.store, .config].contains($0.group)
                || command.isAction && !$0.takers.contains(.configured)
        }
        let first = command.mainOptions + own.map(\.long)
        let names = first + mainOptions.filter { !first.contains($0) }
        let options = names.compactMap { name in command.options.first { $0.long == name } }
        guard command.actions.isEmpty else {
            return text + examples + "\n\nThe options of an action: "
                + "smallweb \(command.actions[0].name) --help\n"
                + "All of them: smallweb help \(command.name)\n"
        }
        for option in options.prefix(room) { text += row(syntax(option), option.summary) }
        return text + examples + "\n\n"
            + "The main ones of \(command.options.count) options. "
            + "All of them: smallweb help \(command.name)\n"
    }

    private static let linesMax = 24

    /// Most important first.
    private static let mainOptions = [
        "output", "remote-name", "output-dir", "continue-at", "data", "show-headers", "json",
        "jobs", "retry", "max-time", "max-filesize", "header", "render", "proxy", "identity",
        "insecure",
        "silent", "verbose",
    ]

    static func text(of command: Command) -> String {
        var text = usage(of: command) + "\n\(command.summary)\n"
        if !command.actions.isEmpty { text += "\nActions:\n" + actions(of: command) }
        let programs = Option.ofPrograms().filter { command.takes($0) && !$0.isSecret }
        let all = command.options + programs
        for group in Option.Group.of(programs) {
            let options = all.filter { $0.group == group }
            if options.isEmpty { continue }
            text += "\n\(group.title):\n"
            for option in options { text += row(syntax(option), option.summary) }
        }
        for (line, use) in command.examples { text += "\n\(use):\n    \(line)\n" }
        return text
            + "\nA switch is turned off by --no-NAME. "
            + "In full: man smallweb-\(command.name.prefix { $0 != " " })\n"
    }

    static func text(of option: Option) -> String {
        let manual = DisplayWidth.wrapped(option.manual, to: 78).joined(separator: "\n")
        return row(syntax(option), option.summary) + "\n\(manual)\n\n    \(option.example)\n"
    }

    private static func actions(of command: Command) -> String {
        command.actions.map { action in
            let usage = action.synopsis.prefix { !$0.isNewline }
            return row(String(usage.dropFirst(command.name.count + 1)), action.summary)
        }.joined()
    }

    /// One line for each form of the call.
    private static func usage(of command: Command) -> String {
        command.synopsis.split(whereSeparator: \.isNewline).enumerated().map {
            ($0 == 0 ? "usage: " : "       ") + "smallweb \($1)\n"
        }.joined()
    }

    /// Wraps to 80 columns; all lines but the first are indented.
    static func wrapped(_ text: String, indent: Int) -> String {
        DisplayWidth.wrapped(text, to: 80 - indent).joined(separator: "\n" + padded("", indent))
    }

    static func row(of outcome: Outcome) -> String {
        let number = "\(outcome.exitStatus)"
        return String(repeating: " ", count: 5 - number.count) + number + "  "
            + padded(outcome.rawValue, 20) + "  " + wrapped(outcome.summary, indent: 29) + "\n"
    }

    static func syntax(_ option: Option) -> String {
        let short = option.short.map { "-\($0), " } ?? "    "
        return short + "--" + option.long + (option.valueName.map { " " + $0 } ?? "")
    }

    static func row(_ left: String, _ right: String) -> String {
        left.count > 30
            ? "  \(left)\n  \(padded("", 30))  \(right)\n" : "  \(padded(left, 30))  \(right)\n"
    }

    static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
