// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebPlugins

/// Texts made from the tables.
enum Help {
    static let version = "0.1.0"

    /// Fits a screen of 24 lines; each command's own text has its options, the manual the rest.
    static var summary: String {
        var text = """
            usage: smallweb COMMAND [options] [operands]
                   smallweb [options] URL…    the same as 'smallweb get'


            """
        for command in Command.all { text += row(command.synopsis, command.summary) }
        return text + """

            Options: smallweb COMMAND --help    In full: smallweb help COMMAND
            Topics: \(topics.map(\.name).joined(separator: ", "))

            """
    }

    /// The options of one command.
    static func text(of command: Command) -> String {
        var text = "usage: smallweb \(command.synopsis)\n\n\(command.summary)\n"
        for group in Option.Group.allCases {
            let options = command.options.filter { $0.group == group }
            if options.isEmpty { continue }
            text += "\n\(group.rawValue):\n"
            for option in options { text += row(syntax(option), option.summary) }
        }
        for (line, use) in command.examples { text += "\n\(use):\n    \(line)\n" }
        return text
            + "\nA switch is turned off by --no-NAME. In full: man smallweb-\(command.name)\n"
    }

    /// What `help` knows beside the commands.
    static let topics: [(name: String, summary: String, text: @Sendable () -> String)] = [
        ("exit-status", "what each exit status means", { exitStatus }),
        ("environment", "variables that count", { environment }),
    ]

    static var exitStatus: String {
        var text = "Exit status, outcome, and when:\n\n"
        for outcome in Outcome.allCases {
            let number = "\(outcome.exitStatus)"
            text += String(repeating: " ", count: 5 - number.count) + number + "  "
            text += padded(outcome.rawValue, 20) + "  " + outcome.summary + "\n"
        }
        return text + "\nSeveral URLs: the status of the first that failed, in the order given.\n"
    }

    private static var environment: String {
        Environment.variables.reduce(into: "Environment variables:\n\n") { text, variable in
            text += row(variable.name, variable.meaning)
        }
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

extension Environment {
    /// For the help topic and the manual.
    static let variables: [(name: String, meaning: String)] = [
        ("SMALLWEB_CONFIG", "the config file; an empty value is none"),
        ("SMALLWEB_KNOWN_HOSTS", "the trust store's file"),
        ("SMALLWEB_IDENTITIES", "the directory of client certificates"),
        ("SMALLWEB_NO_HISTORY", "set: no visit is recorded"),
        ("SMALLWEB_FORCE_TTY", "standard output is a terminal of so many columns"),
        ("XDG_CONFIG_HOME", "where smallweb/config and smallweb/bookmarks are"),
        ("XDG_CONFIG_DIRS", "where the system's smallweb/config is"),
        ("XDG_DATA_HOME", "where smallweb/known_hosts is"),
        ("XDG_STATE_HOME", "where smallweb/history is"),
        ("NO_COLOR", "set: no colour"),
        ("CLICOLOR_FORCE", "set: colour even to a pipe"),
        ("TERM", "dumb: no colour"),
        ("PAGER", "what open shows a page with; empty or cat for none (less -R)"),
        ("LESS", "options of less; FRX unless set"),
        ("COLUMNS", "the width of pages that do not go to a terminal (80)"),
        ("SSL_CERT_FILE", "certificate authorities for HTTPS and --trust ca, as one file"),
        ("SSL_CERT_DIR", "the same as a directory"),
        ("http_proxy", "a proxy for HTTP"),
        ("HTTPS_PROXY", "a proxy for HTTPS"),
        ("ALL_PROXY", "a proxy for both"),
        ("NO_PROXY", "hosts that need no proxy"),
    ]
}
