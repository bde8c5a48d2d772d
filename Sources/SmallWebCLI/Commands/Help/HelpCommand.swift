// SPDX-License-Identifier: MIT
internal import SmallWeb

extension Command {
    static let help: Command = Command(
        "help [COMMAND|TOPIC] [WORD…]", operands: [.topic], taker: .others
    ) { _, operands throws(FetchError) in
        try StandardStream.output.write(helpText(operands))
        return 0
    }

    /// - Returns: Empty if man(1) has shown the page.
    private static func helpText(_ operands: [String]) throws(FetchError) -> String {
        guard let operand = operands.first else { return Help.summary }
        // The name of a manual page stands for its topic.
        let prefix = "smallweb-"
        let name = operand.hasPrefix(prefix) ? String(operand.dropFirst(prefix.count)) : operand
        if let topic = Texts.topics.first(where: { $0.name == name }) { return topic.texts.page }
        if let outcome = Outcome.allCases.first(where: { "\($0.exitStatus)" == name }) {
            return Help.row(of: outcome)
        }
        guard let command = Command.named(name) else {
            if let option = Option.typed(name, among: Option.all) { return Help.text(of: option) }
            let names = Command.all.map(\.name) + Texts.topics.map(\.name)
            throw usageError(
                "no help on \"\(name)\"",
                hint: Nearest.question(name, among: names) ?? Advice.option(name, of: .get)
                    ?? "topics: \(Texts.topics.map(\.name).joined(separator: ", ")), config, "
                    + "plugins")
        }
        let words = Array(operands.dropFirst())
        if let word = words.first {
            let (action, rest) =
                word.hasPrefix("-") ? (command, words) : try command.resolved(words)
            guard let question = rest.first else { return Help.text(of: action) }
            return Help.text(of: try option(question, of: action))
        }
        let isShown =
            Environment.isTerminal(1)
            && Program.run(["man", prefix + command.name], isSilent: true) == 0
        return isShown ? "" : Help.text(of: command)
    }

    /// - Parameter word: With or without leading hyphens.
    private static func option(_ word: String, of command: Command) throws(FetchError) -> Option {
        let options = (command.options + Option.ofPrograms()).filter(command.takes)
        if let found = Option.typed(word, among: options) { return found }
        let name = word.drop { $0 == "-" }
        throw usageError(
            "\(command.name) has no option \(word)",
            hint: Nearest.question(String(name), among: options.map(\.long), sign: "--")
                ?? "'smallweb help \(command.name)' lists its options")
    }
}
