// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebPlugins

/// Texts made from the tables.
enum Help {
    static let version = "0.1.0"

    /// Fits a screen; the manual has the rest.
    static var summary: String {
        var text = """
            usage: smallweb COMMAND [options] [operands]
                   smallweb [options] URL…          the same as 'smallweb get'

            Commands:

            """
        for command in Command.all { text += row(command.synopsis, command.summary) }
        for group in Option.Group.allCases {
            text += "\n\(group.rawValue):\n"
            for option in Option.all where option.group == group {
                text += row(syntax(option), option.summary)
            }
        }
        return text
            + "\nA switch is turned off by --no-NAME. Exit statuses: smallweb help exit-status\n"
    }

    static var exitStatus: String {
        var text = "Exit status, outcome, and when:\n\n"
        for outcome in Outcome.allCases {
            let number = "\(outcome.exitStatus)"
            text += String(repeating: " ", count: 5 - number.count) + number + "  "
            text += padded(outcome.rawValue, 20) + "  " + outcome.summary + "\n"
        }
        return text + "\nSeveral URLs: the status of the first that failed, in the order given.\n"
    }

    private static func syntax(_ option: Option) -> String {
        let short = option.short.map { "-\($0), " } ?? "    "
        guard case .value(let name, _) = option.action else { return short + "--" + option.long }
        return short + "--\(option.long) \(name)"
    }

    private static func row(_ left: String, _ right: String) -> String {
        left.count > 30
            ? "  \(left)\n  \(padded("", 30))  \(right)\n" : "  \(padded(left, 30))  \(right)\n"
    }

    static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
