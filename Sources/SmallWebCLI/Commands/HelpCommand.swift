// SPDX-License-Identifier: MIT
internal import SmallWeb

extension Command {
    static let help: Command = Command(
        "help [COMMAND|TOPIC] [ACTION]", "the manual of a command, or a topic",
        manual: "Shows the manual page of a command, through man(1) when standard output is a "
            + "terminal and the page is installed, and otherwise a text that the program "
            + "contains. Of an action it shows the options. "
            + "Topics are \(Help.topics.map(\.name).joined(separator: ", ")).",
        examples: [
            ("smallweb help get", "The manual page of get"),
            ("smallweb help exit-status", "What the exit statuses mean"),
        ],
        operands: [.topic], takes: { $0.isForAll }
    ) { _, operands throws(FetchError) in
        guard let operand = operands.first else {
            try StandardStream.output.write(Help.summary)
            return 0
        }
        // The name of a manual page means what it is about.
        let prefix = "smallweb-"
        let name = operand.hasPrefix(prefix) ? String(operand.dropFirst(prefix.count)) : operand
        if let topic = Help.topics.first(where: { $0.name == name }) {
            try StandardStream.output.write(topic.text())
            return 0
        }
        guard let command = Command.named(name) else {
            let names = Command.all.map(\.name) + Help.topics.map(\.name)
            throw usageError(
                "no help on \"\(name)\"",
                hint: Nearest.question(name, among: names)
                    ?? "topics: " + Help.topics.map(\.name).joined(separator: ", "))
        }
        if operands.count > 1 {
            let action = try command.resolved(Array(operands.dropFirst())).0
            try StandardStream.output.write(Help.text(of: action))
            return 0
        }
        let page = "smallweb-" + command.name
        if Environment.isTerminal(1), Program.run(["man", page], silencesErrors: true) == 0 {
            return 0
        }
        try StandardStream.output.write(Help.text(of: command))
        return 0
    }
}
