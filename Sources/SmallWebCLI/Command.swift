// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebPlugins

/// One command: its name, its help, and what it does with settings and operands.
struct Command: Sendable {
    let name: String
    let synopsis: String
    let summary: String
    /// Returns the exit status.
    let run: @Sendable (Settings, [String]) throws(FetchError) -> Int32

    static let all = [get, put, refs, trust, identity, schemes, help]

    static let get = Command(
        name: "get", synopsis: "get URL…", summary: "fetch, print or save bodies"
    ) { settings, operands throws(FetchError) in
        try GetCommand(settings: settings, operands: operands).run()
    }

    static let refs = Command(
        name: "refs", synopsis: "refs URL [PATTERN…]",
        summary: "list the references of a Git repository"
    ) { settings, operands throws(FetchError) in
        guard let url = operands.first else {
            throw usageError("no URL", hint: "smallweb refs https://example.org/repo.git")
        }
        var settings = settings
        settings.refs.patterns = Array(operands.dropFirst())
        settings.listing = .refs
        // The records have all that the body would say.
        if settings.writesJSON { settings.bodyForm = .none }
        // A repository is there under the URL that people copy from their browser.
        let isWeb = ["http", "https"].contains(URI.scheme(of: url))
        return try GetCommand(settings: settings, operands: [isWeb ? "git+" + url : url]).run()
    }

    static let schemes = Command(
        name: "schemes", synopsis: "schemes", summary: "list the schemes that can be fetched"
    ) { settings, operands throws(FetchError) in
        guard operands.isEmpty else { throw usageError("schemes takes no operands") }
        for scheme in try settings.registry().schemes {
            if settings.writesJSON {
                var writer = JSONWriter()
                writer.object { $0.members(of: scheme) }
                try StandardStream.output.write(writer.line[...])
                continue
            }
            let isBuiltIn = Registry.builtIn[scheme.name] != nil
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
    }

    static let help = Command(
        name: "help", synopsis: "help [exit-status]", summary: "show help on a topic"
    ) { settings, operands throws(FetchError) in
        switch operands {
        case [], ["get"], ["refs"], ["schemes"], ["trust"], ["identity"], ["put"]:
            try StandardStream.output.write(Help.summary)
        case ["exit-status"]: try StandardStream.output.write(Help.exitStatus)
        default:
            throw usageError(
                "no help on \"\(operands.joined(separator: " "))\"",
                hint: "topics: exit-status")
        }
        return 0
    }
}

/// The program: arguments in, exit status out.
enum Tool {
    static func run(_ arguments: [String]) -> Int32 {
        Environment.reserveStandardDescriptors()
        var settings = Settings()
        do throws(FetchError) {
            settings = try ArgumentParser.parse(arguments)
            return try dispatch(settings)
        } catch {
            Messages(settings: settings).error(nil, error)
            return error.outcome.exitStatus
        }
    }

    private static func dispatch(_ settings: Settings) throws(FetchError) -> Int32 {
        if settings.wantsHelp {
            try StandardStream.output.write(Help.summary)
            return 0
        }
        if settings.wantsVersion {
            try StandardStream.output.write("smallweb \(Help.version)\n")
            return 0
        }
        guard let first = settings.operands.first else {
            throw usageError("no command and no URL", hint: "try 'smallweb --help'")
        }
        if let command = Command.all.first(where: { $0.name == first }) {
            return try command.run(settings, Array(settings.operands.dropFirst()))
        }
        // No command will ever contain "://".
        if first.contains("://") { return try Command.get.run(settings, settings.operands) }
        let names = Command.all.map(\.name)
        throw usageError(
            "unknown command \"\(first)\"",
            hint: Nearest.name(to: first, among: names).map { "did you mean '\($0)'?" }
                ?? "'smallweb --help' lists the commands; a URL begins with its scheme://")
    }
}
