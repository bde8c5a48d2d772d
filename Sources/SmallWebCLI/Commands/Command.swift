// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebTransport

/// One command: its name, its help, and what it does with settings and operands. The parser, the
/// help texts, the manual and the completions are made from these records.
struct Command: Sendable {
    /// What stands at one place after the command's name.
    enum Operand: Sendable, Hashable {
        case url, file, topic, optionName, text
        /// The name of one of the user's, and a host of the trust store.
        case identity, knownHost
        case choice([String])
    }

    /// Its name and what follows it.
    let synopsis: String
    let name: String
    let summary: String
    /// For the manual: several sentences.
    let manual: String
    /// Command lines, each with what it is good for.
    let examples: [(String, String)]
    /// The n-th goes with the n-th operand; the last is for all further ones.
    let operands: [Operand]
    /// Which options it has a use for.
    let takes: @Sendable (Option) -> Bool
    /// Returns the exit status.
    let run: @Sendable (Settings, [String]) throws(FetchError) -> Int32
    /// Other words for it.
    private(set) var aliases: [String] = []
    /// Those of its options that come first in its help, before those of all commands.
    private(set) var mainOptions: [String] = []
    /// Whether its URLs belong into the history.
    private(set) var visits: Bool

    init(
        _ synopsis: String, _ summary: String, manual: String, examples: [(String, String)],
        operands: [Operand] = [.url],
        takes: @escaping @Sendable (Option) -> Bool = {
            $0.group != .links && $0.isForFetches && !$0.isForReferences && !$0.isForUploads
        },
        run: @escaping @Sendable (Settings, [String]) throws(FetchError) -> Int32
    ) {
        self.synopsis = synopsis
        name = String(synopsis.prefix { $0 != " " })
        self.summary = summary
        self.manual = manual
        self.examples = examples
        self.operands = operands
        self.takes = takes
        self.run = run
        visits = operands.first == .url
    }

    /// The same with another name.
    func or(_ alias: String) -> Command {
        var command = self
        command.aliases.append(alias)
        return command
    }

    /// The same with these options first in its help.
    func featuring(_ options: [String]) -> Command {
        var command = self
        command.mainOptions = options
        return command
    }

    /// The same without a trace in the history.
    func leavingNoHistory() -> Command {
        var command = self
        command.visits = false
        return command
    }

    static let all: [Command] = [
        get, head, links, open, put, refs, explain, trust, identity, schemes, history, bookmarks,
        config, completions, help,
    ]

    /// The command of that name, or that alias.
    static func named(_ name: String) -> Command? {
        all.first { $0.name == name || $0.aliases.contains(name) }
    }

    /// The options that it takes, in the order of the table.
    var options: [Option] { Option.all.filter(takes) }

    /// - Throws: `usage` for an option that would change nothing.
    func refuseUseless(_ given: [String]) throws(FetchError) {
        for name in given where !options.contains(where: { $0.long == name }) {
            let nearest = Nearest.name(to: name, among: options.map(\.long))
            throw usageError(
                "\(self.name) has no use for --\(name)",
                hint: nearest.map { "did you mean --\($0)?" }
                    ?? "'smallweb \(self.name) --help' lists its options")
        }
    }

    static let get = Command(
        "get URL…", "fetch, print or save bodies",
        manual: "Fetches each URL and writes its body to standard output, back to back in the "
            + "order given, or to files. A pipe or file gets the exact bytes; a terminal gets text "
            + "that is safe to show. Errors go to standard error and into the exit status. The "
            + "word get may be left out when the first operand is a URL.",
        examples: [
            ("smallweb gemini://geminiprotocol.net/", "Print a page"),
            ("smallweb get -O gopher://gopher.floodgap.com/0/gopher/welcome", "Save it"),
            (
                "smallweb get -m 10 --max-filesize 1M --proto gemini gemini://example.org/",
                "Be strict in a script"
            ),
        ]
    ) { settings, operands throws(FetchError) in
        try GetCommand(settings, operands).run()
    }

    static let refs = Command(
        "refs URL [PATTERN…]", "list the references of a Git repository",
        manual: "Lists branches and tags as git-ls-remote does, without a clone: the object's "
            + "name, a tab, the reference. Patterns are those of git-ls-remote. An http or https "
            + "URL is that of a repository, as it is copied from a browser.",
        examples: [
            ("smallweb refs https://example.org/repo.git", "The references of a repository"),
            ("smallweb refs --tags git://example.org/repo.git 'v1.*'", "Some tags"),
        ],
        operands: [.url, .text],
        takes: {
            $0.group != .links && $0.isForFetches && !$0.isForUploads
                && !["head", "render", "hyperlink", "request", "continue-at"].contains($0.long)
        }
    ) { settings, operands throws(FetchError) in
        guard let url = operands.first else {
            throw usageError("no URL", hint: "smallweb refs https://example.org/repo.git")
        }
        var settings = settings
        settings.fetch.referencePatterns = Array(operands.dropFirst())
        settings.output.listing = .refs
        // The records have all that the body would say.
        if settings.records.areWanted {
            settings.records.bodyForm = .none
            settings.invocation.given.append("body")
        }
        // A repository is there under the URL that people copy from their browser.
        let web = URI.scheme(of: url)
        let own = try settings.registry().schemes.first { $0.hasReferences && $0.webScheme == web }
        let repository = own.map { $0.name + url.dropFirst(web?.count ?? 0) } ?? url
        return try GetCommand(settings, [repository]).run()
    }.featuring(["heads", "tags", "symref", "exit-code"])

    static let schemes = Command(
        "schemes", "list the schemes that can be fetched",
        manual: "Lists each scheme with its default port, what carries it, how its servers are "
            + "trusted, and its specification. A terminal gets columns, a pipe gets tabs.",
        examples: [("smallweb schemes | cut -f1", "The names of all schemes")],
        operands: [],
        takes: {
            $0.isForAll || Option.ofConfiguration.contains($0.long)
                || ["fallback-curl", "json"].contains($0.long)
        }
    ) { settings, operands throws(FetchError) in
        guard operands.isEmpty else { throw usageError("schemes takes no operands") }
        for scheme in try settings.registry().schemes {
            if settings.records.areWanted {
                try writeRecord { $0.members(of: scheme) }
                continue
            }
            let isBuiltIn = Settings.plugins[scheme.name] != nil
            let fields = [
                isBuiltIn ? scheme.name : "curl:\(scheme.name)", "\(scheme.defaultPort)",
                scheme.transport.rawValue,
                scheme.trust.rawValue, scheme.summary,
            ]
            // Columns for a person, tabs for `cut`.
            let line =
                Environment.isTerminal(1)
                ? zip(fields, [10, 6, 5, 6, 0]).map { Help.padded($0, $1) }.joined(separator: " ")
                : fields.joined(separator: "\t")
            try StandardStream.output.write(line + "\n")
        }
        return 0
    }.or("plugins")
}

/// The program: arguments in, exit status out.
enum Tool {
    static func run(_ arguments: [String]) -> Int32 {
        Environment.reserveStandardDescriptors()
        if arguments.first == "__complete" {
            return Completion.answer(Array(arguments.dropFirst()))
        }
        var settings = Settings()
        do throws(FetchError) {
            settings = try ArgumentParser.parse(arguments)
            return try dispatch(settings)
        } catch {
            Messages(settings.messages).error(nil, error)
            return error.outcome.exitStatus
        }
    }

    private static func dispatch(_ settings: Settings) throws(FetchError) -> Int32 {
        if settings.invocation.wantsVersion {
            try StandardStream.output.write(versionLine(settings)[...])
            return 0
        }
        guard let first = settings.invocation.operands.first else {
            if settings.invocation.wantsHelp { return try Command.help.run(settings, []) }
            throw usageError("no command and no URL", hint: "try 'smallweb --help'")
        }
        if let command = Command.named(first) {
            return try run(command, settings, Array(settings.invocation.operands.dropFirst()))
        }
        if first == "__manual", settings.invocation.operands.count == 3 {
            try Manual.write(
                to: settings.invocation.operands[1], docs: settings.invocation.operands[2])
            return 0
        }
        if first == "__desktop" {
            try StandardStream.output.write(DesktopEntry.text)
            return 0
        }
        // No command will ever contain "://".
        if first.contains("://") { return try run(.get, settings, settings.invocation.operands) }
        let names = Command.all.flatMap { [$0.name] + $0.aliases }
        throw usageError(
            "unknown command \"\(first)\"",
            hint: Nearest.name(to: first, among: names).map { "did you mean '\($0)'?" }
                ?? "'smallweb --help' lists the commands; a URL begins with its scheme://")
    }

    /// Ours, and those of the libraries that are there.
    private static func versionLine(_ settings: Settings) -> [UInt8] {
        let libraries = SystemLibraries.versions()
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
            for (name, version) in libraries { writer.member(name.lowercased(), version) }
        }
    }

    private static func run(
        _ command: Command, _ settings: Settings, _ operands: [String]
    ) throws(FetchError) -> Int32 {
        if settings.invocation.wantsHelp {
            try StandardStream.output.write(Help.short(of: command))
            return 0
        }
        try command.refuseUseless(settings.invocation.given)
        var settings = settings
        if command.takes(.config) {
            settings.configuration = try Configuration.load(settings).limited(to: command)
            settings = try settings.configuration.applied(to: settings, for: nil)
        }
        let status = try command.run(settings, operands)
        if status == 0 && command.visits { History.record(operands, settings.messages) }
        return status
    }
}
