// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebPlugins

/// Computes the candidates for the shell completion scripts. Reads the tables and the user's files;
/// neither writes nor connects.
package struct Completion {
    struct Candidate: Hashable {
        let text: String
        let description: String
    }

    enum Flag: String, CaseIterable {
        /// The word continues: a scheme, a directory.
        case nospace
        /// The shell completes names of files, or of directories.
        case files, dirs
        case keepOrder = "keep-order"
        /// The candidate replaces the typed text, which is not its prefix.
        case replace
    }

    /// More than can be read.
    static let candidatesMax = 200

    private(set) var candidates: [Candidate] = []
    private(set) var flags: Set<Flag> = []
    private var line: WordsBefore

    /// Handles `smallweb __complete WORD… CURRENT`, without the program's name. Prints lines of
    /// `candidate<TAB>description`, then `:` and the flags. Always succeeds, as a shell cannot show
    /// an error in the middle of a line.
    static func answer(_ words: [String]) -> Int32 {
        let completion = Completion(words)
        var text = ""
        for candidate in completion.candidates.prefix(candidatesMax) {
            guard !candidate.text.isEmpty else { continue }
            text += candidate.text
            if !candidate.description.isEmpty { text += "\t" + candidate.description }
            text += "\n"
        }
        // Without joined(), whose types take longer to look up than all candidates.
        let names = Flag.allCases.filter(completion.flags.contains).map(\.rawValue)
        let list = names.dropFirst().reduce(names.first ?? "") { "\($0),\($1)" }
        try? StandardStream.output.write(text + ":" + list + "\n")
        return 0
    }

    init(_ words: [String]) {
        line = WordsBefore(words: Array(words.dropLast()))
        complete(words.last ?? "")
    }

    private mutating func complete(_ word: String) {
        if let option = line.waiting {
            offerValues(of: option, word, prefix: "")
        } else if line.optionsEnded || !word.hasPrefix("-") {
            offerOperand(word)
        } else if let equals = word.firstIndex(of: "="), word.hasPrefix("--") {
            let name = word[..<equals].dropFirst(2)
            guard let option = line.option(name) else { return }
            let prefix = String(word[...equals])
            offerValues(of: option, String(word[word.index(after: equals)...]), prefix: prefix)
        } else {
            offerOptions(word)
        }
    }

    private mutating func offerOptions(_ word: String) {
        let isNegation = word.hasPrefix("--no")
        let beginning = isNegation ? "" : String(word.dropFirst(2))
        // The name first: few options have the one that is typed.
        for option in [Option.all, line.programs].joined()
        where option.long.hasPrefix(beginning) && !option.isSecret
            && line.command?.takes(option) ?? true
        {
            // Options with values may be repeated; a second switch has no effect.
            let isUsed = line.used.contains(option.long) && option.valueName == nil
            if isUsed { continue }
            add("--" + option.long, option.summary, ifItBeginsWith: word)
            if isNegation && option.valueName == nil {
                add("--no-" + option.long, "not: " + option.summary, ifItBeginsWith: word)
            }
        }
    }

    private mutating func offerOperand(_ word: String) {
        guard let command = line.command else {
            if !word.contains(":") {
                offer(Command.all.map { ($0.name, $0.summary) }, word)
            }
            let commands = candidates
            if !word.isEmpty { offerURLs(word, of: .get) }
            if !commands.isEmpty && candidates.count > commands.count { flags = [] }
            return
        }
        // A list of URLs: @FILE.
        if word.hasPrefix("@") { return flags = [.files] }
        if line.operands == 0 {
            offer(command.actions.map { ($0.word, $0.summary) }, word)
        }
        let kinds = command.operands
        guard !kinds.isEmpty else { return }
        switch kinds[min(line.operands, kinds.count - 1)] {
        case .url: offerURLs(word, of: command)
        case .file: flags = [.files]
        case .directory: flags = [.dirs]
        case .bookmark: offer(URLCompletion.bookmarks.map { ($0.url, $0.title) }, word)
        case .topic:
            offer(Command.all.map { ($0.name, $0.summary) }, word)
            offer(Texts.topics.map { ($0.name, $0.texts.summary) }, word)
        case .optionName:
            let options = Option.all.filter { $0.scope != .commandLine }
            offer(options.map { ($0.long, $0.summary) }, word)
        case .choice(let names): offer(names.map { ($0, "") }, word)
        case .identity: offer(line.identities.map { ($0, "") }, word)
        case .knownHost:
            let port = line.registry.schemeOfHosts?.defaultPort ?? 0
            offer(URLCompletion.trustedHosts(defaultPort: port).map { ($0, "") }, word)
        case .plugin: offerPlugins(PluginCommand.rows().map(\.name), word)
        case .ownPlugin: offer(PluginFolders.ofUserAlone.map { ($0.name, "") }, word)
        case .text: break
        }
    }

    private mutating func offerValues(of option: Option, _ word: String, prefix: String) {
        switch option.values {
        case .files: flags = [.files]
        case .directories: flags = [.dirs]
        case .oneOf(let names): offer(names().map { (prefix + $0, "") }, prefix + word)
        case .identities: offer(line.identities.map { (prefix + $0, "") }, prefix + word)
        case .plugins: offerPlugins(PluginFolders.all().map(\.name), word, prefix: prefix)
        case .someOf(let names):
            let (done, rest) = Self.parts(ofList: word)
            let used = done.split(separator: ",").map(String.init)
            for name in names() where name.hasPrefix(rest) && !used.contains(name) {
                add(prefix + done + name, "")
            }
        case .schemes:
            let (done, rest) = Self.parts(ofList: word)
            let sign = rest.first.map { "=+-".contains($0) ? String($0) : "" } ?? ""
            for scheme in line.registry.schemes + PluginFolders.schemes()
            where scheme.name.hasPrefix(rest.dropFirst(sign.count)) {
                add(prefix + done + sign + scheme.name, scheme.summary)
            }
        case .none:
            // Options such as --data and --header accept @FILE.
            if word.hasPrefix("@") { flags = [.files] }
        }
    }

    /// Offers names, or folders if no name has the typed prefix.
    private mutating func offerPlugins(_ names: [String], _ word: String, prefix: String = "") {
        var known: Set<String> = []
        for name in names where known.insert(name).inserted {
            add(prefix + name, "", ifItBeginsWith: prefix + word)
        }
        if candidates.isEmpty { flags = [.dirs] }
    }

    /// Splits a list at its last comma: the part before it is kept.
    private static func parts(ofList word: String) -> (done: String, rest: Substring) {
        let done = word.lastIndex(of: ",").map { String(word[...$0]) } ?? ""
        return (done, word.dropFirst(done.count))
    }

    private mutating func offerURLs(_ word: String, of command: Command) {
        let urls = URLCompletion(word, line.registry, canUse: command.canUse)
        offer(urls.candidates.map { ($0.text, $0.description) }, "")
        flags.formUnion(urls.flags)
    }

    private mutating func offer(_ found: [(text: String, description: String)], _ word: String) {
        for (text, description) in found { add(text, description, ifItBeginsWith: word) }
    }

    private mutating func add(
        _ text: String, _ description: String, ifItBeginsWith word: String = ""
    ) {
        guard word.isEmpty || text.hasPrefix(word) else { return }
        // Candidates are inserted into the command line, so they must not have control characters.
        guard TerminalText.escapeLine(text) == text else { return }
        let line = description.prefix { !$0.isNewline }
        let plain = TerminalText.escapeLine(String(line.map { $0 == "\t" ? " " : $0 }))
        candidates.append(Candidate(text: text, description: plain))
    }
}

private struct WordsBefore {
    /// `nil` while the next word may be the command.
    private(set) var command: Command?
    /// Number of operands after the command.
    private(set) var operands = 0
    private let parser: ArgumentParser
    /// Includes the config files; lazy, like the properties below.
    private lazy var settings = parser.settings.configured()
    private(set) lazy var programs = Option.ofPrograms(settings.connection.plugins)
    private(set) lazy var registry = (try? settings.registry()) ?? .withPrograms
    private(set) lazy var identities = (try? IdentityStore(registry).names()) ?? []

    init(words: [String]) {
        parser = .unfinished(words)
        for word in parser.settings.invocation.operands { takeOperand(word) }
    }

    var used: [String] { parser.settings.invocation.given }
    var waiting: Option? { parser.waiting }
    var optionsEnded: Bool { parser.optionsEnded }

    mutating func option(_ name: Substring) -> Option? {
        Option.named(name) { command?.takes($0) ?? true } ?? programs.first { $0.long == name }
    }

    private mutating func takeOperand(_ word: String) {
        if let action = operands == 0 ? command?.action(word) : nil {
            command = action
        } else if command != nil {
            operands += 1
        } else if let named = Command.named(word) {
            command = named
        } else {
            command = .get
            operands = 1
        }
    }
}

extension Completion {
    /// Shell scripts that call `smallweb __complete`. They are independent of the options.
    package static let scripts: [(shell: String, file: String, text: @Sendable () -> String)] = [
        ("bash", "smallweb.bash", { text(PackageResources.smallweb_bash) }),
        ("zsh", "_smallweb", { text(PackageResources._smallweb) }),
        ("fish", "smallweb.fish", { text(PackageResources.smallweb_fish) }),
    ]

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}

extension Command {
    static let completions = Command(
        "completions bash|zsh|fish", operands: [.choice(Completion.scripts.map(\.shell))],
        taker: .others
    ) { _, operands throws(FetchError) in
        guard let script = Completion.scripts.first(where: { $0.shell == operands[0] }) else {
            throw usageError(
                "completions wants bash, zsh or fish",
                hint: Nearest.question(operands[0], among: Completion.scripts.map(\.shell)))
        }
        try StandardStream.output.write(script.text())
        return 0
    }
}
