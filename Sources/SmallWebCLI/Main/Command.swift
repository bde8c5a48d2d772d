// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import ExternalPlugin
internal import Glibc
internal import SmallWeb
internal import SmallWebPlugins
internal import SmallWebRecords
internal import SmallWebTransport

/// A command: its name, operands and implementation. The parser, the help texts, the manual and
/// the completions are generated from these and their entries of `Texts/commands.txt`.
package struct Command: Sendable, Adjustable {
    enum Operand: Sendable, Hashable {
        case url, file, directory, topic, optionName, text, bookmark
        /// A plugin or its folder; a plugin of the user's own.
        case plugin, ownPlugin
        /// The name of an identity; a host of the trust store.
        case identity, knownHost
        case choice([String])
    }

    /// Usage lines, one for each form of the call; brackets mark optional words.
    package private(set) var synopsis: String
    /// For an action including the command's name.
    package private(set) var name: String
    /// Of a plugin; `nil` for a command that ``Texts/commands`` has.
    var verb: Verb?
    package var summary: String { verb?.summary ?? texts.summary }
    /// Several sentences for the manual; of an action perhaps the summary alone.
    package var manual: String {
        let text = verb?.manual ?? texts.manual
        return text.isEmpty ? Help.sentence(summary) : text
    }
    /// Command lines, each with its purpose.
    package var examples: [(String, String)] {
        verb.map { $0.examples.map { ($0, $1) } } ?? texts.examples
    }
    private var texts: Texts { Texts.command(name) }
    /// Kinds of the operands in order; the last one also stands for all further operands.
    let operands: [Operand]
    /// Selects options by ``Option/takers``.
    private(set) var taker: Option.Takers
    /// Long names of further options that it accepts.
    var optionNames: [String] = []
    let run: @Sendable (Settings, [String]) throws(FetchError) -> Int32
    var aliases: [String] = []
    /// Values of options that neither the command line nor a config file sets.
    var defaults: [(option: Option.ID, value: String)] = []
    /// Long names of the options listed first in this command's help.
    var mainOptions: [String] = []
    /// True for schemes whose URLs are offered by completion.
    var canUse: @Sendable (Scheme) -> Bool = { !($0.uploads?.isOnlyUse ?? false) }
    var visits: Bool
    /// Subcommands, selected by the first operand. The first is the default.
    package private(set) var actions: [Command] = []

    init(
        _ synopsis: String, operands: [Operand] = [.url], taker: Option.Takers = .get,
        run: @escaping @Sendable (Settings, [String]) throws(FetchError) -> Int32
    ) {
        self.synopsis = synopsis
        name = String(Substring(synopsis.utf8.prefix { $0 != ASCII.space }))
        self.operands = operands
        self.taker = taker
        self.run = run
        visits = operands.first == .url
    }

    /// A command with subcommands only.
    ///
    /// - Parameter options: Long names of the options that all its actions accept.
    init(
        _ synopsis: String, taker: Option.Takers = .others, options: [String] = [],
        actions: [Command]
    ) {
        self.init(synopsis, operands: [], taker: taker, run: actions[0].run)
        optionNames = options + actions.flatMap(\.optionNames)
        self.actions = actions.map { original in
            var action = original
            action.taker = taker
            action.optionNames += options
            action.name = "\(name) \(action.name)"
            // By bytes, and without joined(): this is done for commands that are not called.
            let usages = action.synopsis.utf8.split(separator: ASCII.lineFeed)
            action.synopsis = usages.reduce(into: "") {
                $0 += "\($0.isEmpty ? "" : "\n")\(name) \(Substring($1))"
            }
            action.visits = false
            return action
        }
    }

    /// A command without fetches.
    ///
    /// - Parameter options: Long names of the accepted options, besides those of all commands.
    static func action(
        _ synopsis: String, operands: [Operand] = [], options: [String] = [],
        run: @escaping @Sendable (Settings, [String]) throws(FetchError) -> Void
    ) -> Command {
        Command(synopsis, operands: operands, taker: .others) {
            settings, words throws(FetchError) in
            try run(settings, words)
            return 0
        }.with(\.optionNames, options)
    }

    /// Created on demand: building all texts would dominate the start-up time.
    private static let makers: [@Sendable () -> Command] = [
        { get }, { head }, { links }, { open }, { put }, { edit }, { refs }, { feed }, { watch },
        { crawl }, { explain },
        { shard }, { ledger }, { warc }, { cache }, { trust }, { identity }, { schemes },
        { plugin }, { history }, { bookmarks },
        { config }, { completions }, { help },
    ]

    package static var all: [Command] {
        var all = makers.map { $0() }
        // Insert them behind `refs`: they are used on the references it lists.
        let place = all.firstIndex { $0.name == refs.name }.map { $0 + 1 } ?? all.count
        all.insert(contentsOf: verbs, at: place)
        return all
    }

    static func named(_ name: String) -> Command? {
        for make in makers {
            let command = make()
            if command.name == name || command.aliases.contains(name) { return command }
        }
        return verbs.first { $0.name == name }
    }

    func action(_ word: String) -> Command? { actions.first { $0.word == word } }

    var word: String { name.split(separator: " ").last.map(String.init) ?? name }
    var isAction: Bool { name.contains(" ") }

    /// Splits the operands into the action and its operands.
    ///
    /// - Throws: `usage` for an unknown action.
    func resolved(_ operands: [String]) throws(FetchError) -> (Command, [String]) {
        guard let first = actions.first else { return (self, operands) }
        guard let word = operands.first else { return (first, []) }
        guard let action = action(word) else {
            throw usageError(
                "unknown action \"\(name) \(word)\"",
                hint: Advice.action(word, of: self)
                    ?? Nearest.question(word, among: actions.map(\.word))
                    ?? "'smallweb \(name) --help' lists the actions")
        }
        return (action, Array(operands.dropFirst()))
    }

    /// - Throws: `usage` for a number of operands that the synopsis does not allow. Not checked for
    ///   commands with URLs, as these may also come from a list, nor of `config`.
    func checkCount(of given: [String]) throws(FetchError) {
        guard isAction || operands.first != .url && operands.first != .optionName else { return }
        let forms = synopsis.split(whereSeparator: \.isNewline).map { operandNames(in: $0) }
        let isFitting = forms.contains { form in
            let most = form.last?.contains("…") ?? false ? Int.max : form.count
            return form.count { !$0.hasPrefix("[") }...most ~= given.count
        }
        guard !isFitting else { return }
        let required = forms[0].filter { !$0.hasPrefix("[") }.dropFirst(given.count).first
        throw usageError(
            required.map { "\(name) wants a \($0)" }
                ?? "\(name) does not take \"\(given.last ?? "")\"",
            hint: "usage: smallweb \(synopsis.prefix { !$0.isNewline })")
    }

    /// Operand names in a line of the synopsis, without options and their values.
    private func operandNames(in line: Substring) -> [String] {
        var (names, depth, isValue) = ([""], 0, false)
        for character in line.dropFirst(name.count + 1) {
            depth += character == "[" ? 1 : character == "]" ? -1 : 0
            if character == " " && depth == 0 {
                names.append("")
            } else {
                names[names.count - 1].append(character)
            }
        }
        return names.filter { word in
            defer { isValue = word.hasPrefix("--") }
            return !isValue && !word.isEmpty && !word.hasPrefix("--") && !word.hasPrefix("[--")
        }
    }

    package var options: [Option] { Option.all.filter(takes) }

    package func takes(_ option: Option) -> Bool {
        // `feed` and `watch` have options with the names of others.
        !option.takers.isDisjoint(with: taker)
            || option.group != .feeds && optionNames.contains(option.long)
    }

    /// - Throws: `usage` for an option that the command does not accept.
    func refuseUseless(_ words: Invocation) throws(FetchError) {
        // Fast path: building the table takes time.
        if words.given.isEmpty { return }
        for name in words.given {
            let isMeant = { (option: Option) in option.long == name && takes(option) }
            // Those of plugins are made if need be.
            if Option.own.contains(where: isMeant) || Option.all.contains(where: isMeant)
                || words.programOptions.contains(where: isMeant)
            {
                continue
            }
            let known = (options + words.programOptions.filter(takes)).map(\.long)
            let typed = words.typed[name] ?? "--\(name)"
            throw usageError(
                "\(self.name) does not take \(typed.count == 2 ? typed : "--\(name)")",
                hint: Advice.wayOut("\(self.name)--\(name)")
                    ?? Advice.option(typed.drop { $0 == "-" }, of: self)
                    ?? Self.takers(of: name) ?? Nearest.question(name, among: known, sign: "--")
                    ?? "'smallweb \(self.name) --help' lists its options")
        }
    }

    /// Names the first commands with an option.
    private static func takers(of name: String) -> String? {
        let commands = all.flatMap { [$0] + $0.actions }.filter { command in
            command.options.contains { $0.long == name }
                && !command.actions.contains { $0.options.contains { $0.long == name } }
        }
        let names = commands.map { "'smallweb \($0.name)'" }
        guard !names.isEmpty else { return nil }
        let others = names.count > 3 ? " and others" : ""
        return "--\(name) is for \(names.prefix(3).joined(separator: ", "))\(others)"
    }

    static let get = Command("get URL…") { settings, operands throws(FetchError) in
        try GetCommand(settings, operands).run()
    }

    static let refs = Command(
        "refs URL [PATTERN…]", operands: [.url, .text], taker: .refs
    ) { settings, operands throws(FetchError) in
        guard let url = operands.first else {
            throw usageError("no URL", hint: "smallweb refs https://example.org/repo.git")
        }
        var settings = settings
        settings.fetch.referencePatterns = Array(operands.dropFirst())
        settings.list(.refs)
        // Accept the web URL of a repository, as copied from a browser.
        var repository = url
        if let web = URI.scheme(of: url),
            let own = try settings.registry().repositories(overWeb: web)
        {
            repository = own.name + url.dropFirst(web.count)
        }
        return try GetCommand(settings, [repository]).run()
    }.with(
        \.mainOptions, ["heads", "tags", "dates", "symref", "exit-code"]
    ).with(\.canUse) { scheme in
        scheme.hasReferences || Registry.builtIn.repositories(overWeb: scheme.name) != nil
    }

    static let schemes = Command(
        "schemes", operands: [], taker: .configured
    ) { settings, operands throws(FetchError) in
        let registry = try settings.registry()
        var seen: Set<String> = []
        // Of several with one name, the first is used for fetching.
        let own = (registry.schemes + Registry.files.schemes).sorted { $0.name < $1.name }
        let schemes = (own + PluginFolders.schemes()).filter { seen.insert($0.name).inserted }
        try settings.write(schemes) {
            $0.members(of: $1)
        } text: { scheme in
            let isProgram = registry[scheme.name]?.handler.programVersion != nil
            let isBuiltIn = [.builtIn, .files].contains { (all: Registry) in all[scheme.name] != nil
            }
            let isOfCurl = !isBuiltIn && !isProgram
            let fields = [
                isOfCurl ? "curl:\(scheme.name)" : scheme.name, "\(scheme.defaultPort)",
                scheme.transport.rawValue, scheme.trust.rawValue, scheme.summary,
            ]
            // Aligned columns on a terminal, tabs for other programs.
            return Environment.isTerminal(1)
                ? zip(fields, [10, 6, 5, 6, 0]).map(Help.padded).joined(separator: " ") + "\n"
                : fields.joined(separator: "\t") + "\n"
        }
        return 0
    }.with(\.optionNames, ["fallback-curl", "json", "plugin"])
}

extension EventLoop {
    /// Runs `body` on the calling thread and returns its result, or throws its error.
    func runToEnd<Value: Sendable>(
        _ body: @escaping @Sendable () async throws(FetchError) -> Value
    ) throws(FetchError) -> Value {
        try runToCompletion { () async -> Result<Value, FetchError> in
            do throws(FetchError) {
                return .success(try await body())
            } catch {
                return .failure(error)
            }
        }.get()
    }
}

/// Entry point: runs the command line and returns the exit status.
package enum Tool {
    package static func run(_ arguments: [String]) -> Int32 {
        // stderr is not usable, so exit without a message.
        guard Environment.reserveStandardDescriptors() else { return Outcome.write.exitStatus }
        PluginFolders.isTaken.withLock { $0 = Option.isTaken }
        swposix_own_signals()
        // Ignore the signals of resource limits: exceeding one then fails with an error to report.
        for number in Shell.limitSignals { signal(number, SIG_IGN) }
        if arguments.first == "__complete" {
            return Completion.answer(Array(arguments.dropFirst()))
        }
        var settings = Settings()
        do throws(FetchError) {
            settings = try ArgumentParser.parse(arguments)
            settings.invocation.words = arguments
            return try dispatch(settings)
        } catch {
            // Words that cannot be parsed may still ask for quiet.
            if settings.invocation.words.isEmpty {
                settings = ArgumentParser.unfinished(arguments).settings
            }
            Messages(settings.messages).error(nil, error)
            return Verdict(failure: error).status
        }
    }

    private static func dispatch(_ settings: Settings) throws(FetchError) -> Int32 {
        let (words, wantsHelp) = (settings.invocation, settings.invocation.wantsHelp)
        if words.wantsVersion {
            try StandardStream.output.write(versionLine(settings)[...])
            return 0
        }
        guard let first = words.operands.first else {
            if wantsHelp { return try Command.help.run(settings, []) }
            if !settings.run.lists.isEmpty { return try dispatch(.get, [], settings) }
            let hint =
                settings.isGiven(.config)
                ? "a config file has settings; a list of URLs is @FILE" : "try 'smallweb --help'"
            throw usageError("no command and no URL", hint: hint)
        }
        var (command, operands) = (Command.get, words.operands)
        // No command name contains "://", or is a list.
        if !first.contains(text: "://") && !OperandSource.isList(first) {
            let named = Command.named(first)
            // Schemes without "//", as in man:ls(1).
            if named == nil, let scheme = URI.scheme(of: first),
                let entry = try? settings.configured().registry()[scheme],
                entry.scheme.isVerbatim(first)
            {
                return try dispatch(command, operands, settings)
            }
            guard let named else {
                let names = Command.all.flatMap { [$0.name] + $0.aliases }
                let registry = (try? settings.configured().registry()) ?? .builtIn
                throw usageError(
                    "unknown command \"\(first)\"",
                    hint: Advice.line(operands, registry) ?? Advice.file(first, for: nil)
                        ?? Advice.url(first, registry, before: operands.dropFirst().first)
                        ?? URI.scheme(of: first).map { _ in FetchError.Remedy.useKnownScheme.hint }
                        ?? Nearest.question(first, among: names)
                        ?? "'smallweb --help' lists the commands; a URL begins with its scheme://")
            }
            command = named
            operands.removeFirst()
        }
        return try dispatch(command, operands, settings)
    }

    private static func dispatch(
        _ command: Command, _ operands: [String], _ settings: Settings
    ) throws(FetchError) -> Int32 {
        let (words, wantsHelp) = (settings.invocation, settings.invocation.wantsHelp)
        var (command, operands) = (command, operands)
        if !(wantsHelp && operands.isEmpty) { (command, operands) = try command.resolved(operands) }
        if wantsHelp {
            try StandardStream.output.write(Help.short(of: command))
            return 0
        }
        try command.refuseUseless(words)
        try command.checkCount(of: operands)
        var settings = settings
        if !command.takes(.config) {
            settings.configuration = Configuration()
        } else {
            // The list of settings also shows those behind an invalid section.
            let isList = command.name == "config"
            settings.configuration = try Configuration.load(settings, keepsProblems: isList)
                .limited(to: command)
            settings = try settings.configuration.applied(to: settings, for: nil)
            let messages = Messages(settings.messages)
            for text in settings.configuration.warnings { messages.warning(text) }
        }
        for (index, word) in operands.enumerated() where command.isServer(index) {
            if ASCII.isLetter(word.utf8.first ?? 0), Advice.isGlob(word) {
                try settings.note(Advice.glob)
            }
            operands[index] = settings.unwrapped(word)
        }
        try settings.checkRules(operands)
        if settings.fetch.served != nil {
            try settings.serve(
                operands.prefix(command.operands.first == command.operands.last ? .max : 1))
        }
        try settings.apply(command.defaults)
        let status = try command.runAdvised(settings, operands)
        if status == 0 && command.visits { History.record(operands, settings) }
        return status
    }

    private static func versionLine(_ settings: Settings) -> [UInt8] {
        let libraries = systemLibraries()
        guard settings.records.areWanted else {
            let found = libraries.compactMap { library in
                library.version.map { "\(library.name)/\($0)" }
            }
            let list = found.isEmpty ? "" : " (\(found.joined(separator: " ")))"
            return Array("smallweb \(Help.version)\(list)\n".utf8)
        }
        return JSONWriter.line { writer in
            writer.begin("version")
            writer.member("version", Help.version)
            for (name, version) in libraries {
                writer.member(named: name.lowercased()) { $0.value(version) }
            }
        }
    }
}
