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
            "smallweb help get": "The manual page of get",
            "smallweb help exit-status": "What the exit statuses mean",
        ],
        operands: [.topic], takes: { $0.isForAll }
    ) { _, operands throws(FetchError) in
        try StandardStream.output.write(helpText(operands))
        return 0
    }

    /// - Returns: Nothing where man(1) has shown it.
    private static func helpText(_ operands: [String]) throws(FetchError) -> String {
        guard let operand = operands.first else { return Help.summary }
        // The name of a manual page means what it is about.
        let prefix = "smallweb-"
        let name = operand.hasPrefix(prefix) ? String(operand.dropFirst(prefix.count)) : operand
        if let topic = Help.topics.first(where: { $0.name == name }) { return topic.text() }
        guard let command = Command.named(name) else {
            let names = Command.all.map(\.name) + Help.topics.map(\.name)
            throw usageError(
                "no help on \"\(name)\"",
                hint: Nearest.question(name, among: names)
                    ?? "topics: " + Help.topics.map(\.name).joined(separator: ", "))
        }
        if operands.count > 1 {
            return Help.text(of: try command.resolved(Array(operands.dropFirst())).0)
        }
        let isShown =
            Environment.isTerminal(1)
            && Program.run(["man", prefix + command.name], isSilent: true) == 0
        return isShown ? "" : Help.text(of: command)
    }
}
