// SPDX-License-Identifier: MIT
internal import SmallWeb

/// Parses arguments into ``Settings`` by the option table. For names missing there it needs the
/// manifests of plugin programs, to know if the next word is the option's value.
struct ArgumentParser {
    private(set) var settings = Settings()
    private var arguments: ArraySlice<String>
    /// `nil` in a first pass, which skips names missing in the table.
    private let programs: [Option]?
    private var lacksNames = false
    /// The last option, if its value is missing.
    private(set) var waiting: Option?
    private(set) var optionsEnded = false
    /// The long name of the last option whose value is a URL.
    private var swallower: String?

    /// - Throws: `usage`, for unknown names with the nearest known one.
    static func parse(_ arguments: [String]) throws(FetchError) -> Settings {
        var first = ArgumentParser(arguments, nil)
        let result = Result { () throws(FetchError) in try first.parse() }
        guard first.lacksNames else {
            try result.get()
            try first.checkURL()
            return first.settings
        }
        // Plugins named by these words and by the config files declare further options.
        let known = first.settings.configured()
        var second = ArgumentParser(arguments, Option.ofPrograms(known.connection.plugins))
        second.settings.configuration = known.configuration
        try second.parse()
        try second.checkURL()
        return second.settings
    }

    /// Parses an unfinished command line for completion, skipping invalid words.
    static func unfinished(_ arguments: [String]) -> ArgumentParser {
        var parser = ArgumentParser(arguments, nil)
        while !parser.arguments.isEmpty { try? parser.parse() }
        guard parser.lacksNames else { return parser }
        let plugins = parser.settings.configured().connection.plugins
        parser = ArgumentParser(arguments, Option.ofPrograms(plugins))
        while !parser.arguments.isEmpty { try? parser.parse() }
        return parser
    }

    private init(_ arguments: [String], _ programs: [Option]?) {
        (self.arguments, self.programs) = (arguments[...], programs)
        settings.invocation.programOptions = programs ?? []
    }

    private mutating func parse() throws(FetchError) {
        while let argument = arguments.popFirst() {
            if argument == "--" {
                optionsEnded = true
                settings.invocation.operands += arguments
                settings.invocation.lastOperands = arguments.count
                arguments = []
            } else if argument.hasPrefix("-") && asksAbout(argument) {
                settings.invocation.operands.append(argument)
            } else if argument.hasPrefix("--") {
                try parseLong(argument.dropFirst(2))
            } else if argument.hasPrefix("-") && argument != "-" {
                try parseShort(argument.dropFirst())
            } else {
                settings.invocation.operands.append(argument)
            }
        }
    }

    /// Names the option that took the only URL for its value.
    private func checkURL() throws(FetchError) {
        guard let swallower, let option = option(swallower[...]), mayTake(option),
            let value = option.valueName, settings.run.lists.isEmpty,
            !settings.invocation.wantsHelp,
            settings.invocation.operands.count < 2, command?.operands.first ?? .url == .url,
            settings.invocation.operands.isEmpty || command != nil
        else { return }
        let name = settings.invocation.typed[swallower] ?? ""
        throw usageError(
            "no URL: \(name) took it for its \(value)",
            hint: advice(name) ?? "write \(name) \(value), and then the URL")
    }

    /// True for `help get --retry` and `help --retry`, questions about an option without its value.
    private func asksAbout(_ word: String) -> Bool {
        guard settings.invocation.operands.first == "help" else { return false }
        let isOfHelp =
            Option.typed(word, among: Option.all)?.takers.contains(.others) ?? false
        return !isOfHelp || settings.invocation.operands.count > 1
    }

    private mutating func parseLong(_ text: Substring) throws(FetchError) {
        let name = text.prefix { $0 != "=" }
        let value = text.count > name.count ? String(text.dropFirst(name.count + 1)) : nil
        if let option = option(name) {
            try apply(option, "--\(name)", attached: value)
        } else if name.hasPrefix("no-"), let option = option(name.dropFirst(3)),
            case .flag = option.action
        {
            guard value == nil else { throw usageError("--\(name) takes no value") }
            try settings.apply(Setting(option: option, value: "false", origin: .commandLine))
        } else if name == "oneline", value == nil, ofCommand(.maxCount) != nil,
            let option = ofCommand(.format)
        {
            try apply(option, "--\(name)", attached: "line")
        } else if programs == nil {
            lacksNames = true
        } else {
            let names = Option.all.flatMap { [$0.long] + $0.aliases }
            let bare = name.hasPrefix("no-") ? option(name.dropFirst(3)) : nil
            throw usageError(
                "unknown option --\(name)",
                hint: advice(name)
                    ?? bare.map { "--\($0.long) takes a value: leave it out" }
                    ?? Nearest.question(String(name), among: names, sign: "--")
                    ?? helpHint)
        }
    }

    private var helpHint: String {
        let name = command?.name ?? "get"
        return "'smallweb \(name) --help' lists the options of \(name)"
    }

    /// Parses `-fsSL`, `-o FILE` or `-oFILE`.
    private mutating func parseShort(_ text: Substring) throws(FetchError) {
        // `log -5`, as in git; -4 and -6 are the families of addresses.
        if text.utf8.allSatisfy(ASCII.isDigit),
            !text.allSatisfy({ letter in Option.all.contains { $0.short == letter } }),
            let option = ofCommand(.maxCount)
        {
            return try apply(option, "-\(text)", attached: String(text))
        }
        // Words of wget's that look like several letters.
        if ["nc", "nd", "nH", "np", "nv", "qO-"].contains(text) {
            throw usageError("unknown option -\(text)", hint: advice(text))
        }
        var rest = text
        while let letter = rest.popFirst() {
            guard let option = Option.lettered(letter, where: mayTake) else {
                throw usageError(
                    letter == "-" ? "unknown option - in -\(text)" : "unknown option -\(letter)",
                    hint: letter == "-"
                        ? "without -o and -O a body goes to standard output"
                        : advice(text) ?? advice(String(letter)) ?? helpHint)
            }
            if case .flag = option.action {
                if rest.isEmpty { try refuseValue(of: letter) }
                try apply(option, "-\(letter)", attached: nil)
            } else {
                try apply(option, "-\(letter)", attached: rest.isEmpty ? nil : String(rest))
                return
            }
        }
    }

    /// Refuses `-O FILE URL` and the like, where the letter of curl or wget takes a value and ours
    /// none.
    private func refuseValue(of letter: Character) throws(FetchError) {
        guard "OicR".contains(letter), let word = arguments.first,
            !word.hasPrefix("-") || letter == "O" && word == "-",
            !word.contains(text: ":"), word == "-" || !OperandSource.isList(word),
            (settings.invocation.operands + arguments).contains(where: { $0.contains(text: "://") }
            ),
            command != nil || Command.named(word) == nil
        else { return }
        throw usageError(
            "-\(letter) takes no value, and \"\(word)\" is not a URL",
            hint: advice(String(letter)))
    }

    private mutating func apply(
        _ option: Option, _ name: String, attached: String?
    ) throws(FetchError) {
        // Checked first: every user of the machine can see the value, so a message must not repeat
        // it.
        guard !option.isSecret else {
            throw usageError(
                "\(name) is a secret, which every user of the machine could read there;"
                    + " --\(option.long)-file FILE reads it, --ask-\(option.long) asks for it")
        }
        settings.invocation.typed[option.long] = name
        var value: String?
        switch option.action {
        case .flag:
            guard attached == nil else {
                throw usageError("\(name) takes no value", hint: advice(name))
            }
            // Taken for a list, a piped answer would be shown as a URL that is refused.
            guard option.id != .input || arguments.first != "-" else {
                throw usageError(
                    "\(name) takes no value", hint: "-d @- reads the input from standard input")
            }
        case .value(let placeholder, _, _):
            value = attached ?? arguments.popFirst()
            guard let value else {
                waiting = option
                throw usageError("\(name) needs a value: \(placeholder)")
            }
            if attached == nil, value.contains(text: "://") { swallower = option.long }
            guard !Self.isForeign(value, name) else {
                throw usageError(
                    "\(name) takes a \(placeholder), not \"\(value)\"", hint: advice(name))
            }
            if case .files = option.values, value.isEmpty {
                throw usageError("\(name) names no file")
            }
            guard !value.hasSystemEscapes || option.takesAnyBytes(value) else {
                throw usageError("the value of \(name) is not UTF-8")
            }
            if option.id == .plugin { settings.connection.trustedPlugins.insert(value) }
        }
        do throws(FetchError) {
            try settings.apply(Setting(option: option, value: value, origin: .commandLine))
        } catch {
            var error = error
            error.hint = error.hint ?? advice(name)
            throw error
        }
    }

    /// True for a value as wget takes it behind this letter, which means something else here:
    /// seconds to wait, suffixes to accept, a line of its settings.
    private static func isForeign(_ value: String, _ name: String) -> Bool {
        switch name {
        case "-w": value.utf8.allSatisfy { ASCII.isDigit($0) || $0 == ASCII.dot } && value != ""
        case "-A":
            !value.contains(" ") && !value.contains("/")
                && (value.hasPrefix(".") || value.contains("*") || value.contains(","))
        case "-e": value.contains("=") && !value.contains(text: "://")
        default: false
        }
    }

    /// - Parameter name: With dashes or without.
    private func advice(_ name: some StringProtocol) -> String? {
        Advice.option(name.drop { $0 == "-" }, of: command ?? .get)
    }

    private var command: Command? { settings.invocation.command }

    /// An option that the command before it takes.
    private func ofCommand(_ id: Option.ID) -> Option? {
        Option.all.first { $0.id == id && isOfCommand($0) }
    }

    private func isOfCommand(_ option: Option) -> Bool {
        command?.takes(option) ?? false
    }

    private func option(_ name: Substring) -> Option? {
        Option.named(name, where: mayTake) ?? programs?.first { $0.long == name }
    }

    /// True without a command, too.
    private func mayTake(_ option: Option) -> Bool {
        command?.takes(option) ?? true
    }
}
