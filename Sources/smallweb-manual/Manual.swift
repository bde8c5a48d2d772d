// SPDX-License-Identifier: MIT
internal import Foundation
internal import SmallWeb
internal import SmallWebCLI

/// Generates the manual pages, in mdoc(7), from the tables.
enum Manual {
    /// Changes with the program's version, not with the day of the build; `version.py` writes it.
    private static let date = "November 24, 2026"

    /// - Parameter docs: The directory of the documents that also become pages.
    static func pages(docs: String) throws -> [(file: String, text: String)] {
        let documents = [
            ("json", 5, "records and requests as JSON lines", "json.md"),
            ("plugin", 7, "protocols that a program speaks", "plugins.md"),
            ("warc", 5, "archives of what went over the wire", "warc.md"),
            ("wire", 5, "fixtures of plugins", "wire.md"),
        ]
        return [
            ("smallweb.1", try overview(docs)), ("smallweb-config.5", try config(docs)),
            ("smallweb-options.7", options),
        ]
            + Command.all.map { ("smallweb-\($0.name).1", page(of: $0)) }
            + [("smallweb-known_hosts.5", try knownHosts(docs))]
            + (try documents.map { name, section, summary, file in
                let text = try document(name, section, summary, "\(docs)/\(file)")
                return ("smallweb-\(name).\(section)", text)
            })
    }

    private static func document(
        _ name: String, _ section: Int, _ summary: String, _ path: String
    ) throws -> String {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        return opening("smallweb-\(name)", section, summary) + ".Sh DESCRIPTION\n"
            + ManualMarkdown(text).mdoc + seeAlso(["smallweb 1", "smallweb-get 1"])
    }

    private static func overview(_ docs: String) throws -> String {
        var text = opening("smallweb", 1, summary)
        text += """
            .Sh SYNOPSIS
            .Nm
            .Ar command
            .Op Ar options
            .Op Ar operands
            .Nm
            .Op Ar options
            .Ar URL ...
            .Sh DESCRIPTION
            Fetches from the small web and its neighbours: every protocol has the same
            options, the same limits and the same exit statuses.
            The second form runs
            .Xr smallweb-get 1 .
            .Pp
            Options may come before or after operands;
            .Fl -
            ends them.
            Each switch has a
            .Fl -no-
            form.
            .Pp
            The commands are:
            .Bl -tag -width Ds

            """
        for command in Command.all {
            text += ".It Xr smallweb-\(command.name) 1\n\(filled(Help.sentence(command.summary)))\n"
        }
        text += ".El\n.Pp\nThe schemes are:\n.Bl -tag -width Ds\n"
        for scheme in schemes {
            text += ".It Li \(scheme.name)\n"
            let port = scheme.transport == .none ? "" : ", port \(scheme.defaultPort)"
            text += filled("\(scheme.summary)\(port).") + "\n"
        }
        text += ".El\n.Pp\nThese come along as programs, see\n.Xr smallweb-plugin 7 :\n"
        text += ".Bl -tag -width Ds\n"
        for program in try programs(besides: docs) {
            for scheme in program.schemes {
                text += ".It Li \(scheme.name)\n"
                text += filled("\(program.summary), port \(scheme.port).") + "\n"
            }
        }
        text += ".El\n.Sh ENVIRONMENT\n.Bl -tag -width Ds\n"
        let variables = Texts.topics.first { $0.name == "environment" }?.texts.page ?? ""
        for line in variables.split(separator: "\n") where line.hasPrefix("  ") {
            let parts = line.split(separator: " ", maxSplits: 1)
            text += ".It Ev \(parts[0])\n\(filled(Help.sentence(parts[1].trimmed)))\n"
        }
        text += ".El\n.Sh FILES\n.Bl -tag -width Ds\n"
        for (path, use) in files { text += ".It Pa \(path)\n\(filled(use))\n" }
        let proxies = try String(contentsOfFile: docs + "/proxies.md", encoding: .utf8)
        text += ".El\n.Sh PROXIES\n" + ManualMarkdown(proxies).mdoc
        text += exitStatus + ".Sh EXAMPLES\n"
        text += Command.all.compactMap { $0.examples.first }.map(example).joined(
            separator: ".Pp\n")
        let others = [
            "config 5", "json 5", "known_hosts 5", "options 7", "plugin 7", "wire 5",
        ].map {
            "smallweb-" + $0
        }
        return text + seeAlso(Command.all.map { "smallweb-\($0.name) 1" } + others) + standards
            + ".Sh HISTORY\nThis manual is of smallweb \(Help.version).\n"
    }

    private static func page(of command: Command) -> String {
        var text = opening("smallweb-\(command.name)", 1, command.summary)
        text += ".Sh SYNOPSIS\n.Nm smallweb \(command.name)\n.Op Ar options\n"
        let operands = command.synopsis.dropFirst(command.name.count).drop { $0 == " " }
        if !operands.isEmpty {
            // A trailing bracket would be taken for the end of a sentence.
            let end = operands.last == "]" ? "\\&" : ""
            text += ".Ar \(escaped(String(operands)))\(end)\n"
        }
        text += ".Sh DESCRIPTION\n" + filled(command.manual) + "\n" + actions(of: command)
        let (shared, own) = (
            command.options.filter(isShared), command.options.filter { !isShared($0) }
        )
        for group in Option.Group.all { text += list(own.filter { $0.group == group }, group) }
        if !shared.isEmpty {
            text += ".Ss \(own.isEmpty ? "Options" : "Other options")\nIn\n"
            text += ".Xr smallweb-options 7 :\n"
            text += enumerated(shared.map { "Fl -\($0.long)" })
        }
        text += ".Sh EXIT STATUS\nSee\n.Xr smallweb 1 .\n.Sh EXAMPLES\n"
        text += command.examples.map(example).joined(separator: ".Pp\n")
        let others = (furtherReading[command.name] ?? []) + (shared.isEmpty ? [] : ["options 7"])
        return text + seeAlso(["smallweb 1"] + others.map { "smallweb-" + $0 })
    }

    /// Options of several commands, each once.
    private static var options: String {
        var text = opening("smallweb-options", 7, "options that several commands of smallweb take")
        text += """
            .Sh DESCRIPTION
            The page of each command has its own options, and lists the shared ones.
            .Ql smallweb help COMMAND
            shows all options of a command, and
            .Ql smallweb help COMMAND --OPTION
            explains one.

            """
        for group in Option.Group.all {
            text += list(Option.all.filter { $0.group == group && isShared($0) }, group)
        }
        return text + seeAlso(["smallweb 1", "smallweb-get 1", "smallweb-config 5"])
    }

    /// True for an option that several commands take.
    private static func isShared(_ option: Option) -> Bool {
        users[option.long, default: 0] > 1
    }

    private static let users: [String: Int] = Command.all.reduce(into: [:]) { users, command in
        for option in command.options { users[option.long, default: 0] += 1 }
    }

    private static func list(_ options: [Option], _ group: Option.Group) -> String {
        if options.isEmpty { return "" }
        let items = options.map { option in
            ".It \(flags(of: option))\n\(filled(option.manual))\n"
                + ".Dl \(typed(option.example))\n"
        }
        return ".Ss \(group.title)\n.Bl -tag -width Ds\n\(items.joined()).El\n"
    }

    /// Macros with commas between them, in lines of 78 columns.
    private static func enumerated(_ macros: [String]) -> String {
        var lines = ["."]
        for (index, macro) in macros.enumerated() {
            let word = macro + (index == macros.count - 1 ? " ." : " ,")
            if lines[lines.count - 1].count + word.count > 77 { lines.append(".") }
            lines[lines.count - 1] += (lines[lines.count - 1] == "." ? "" : " ") + word
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func actions(of command: Command) -> String {
        if command.actions.isEmpty { return "" }
        var text = ".Ss Actions\n.Bl -tag -width Ds\n"
        for action in command.actions {
            for usage in action.synopsis.split(whereSeparator: \.isNewline) {
                text += ".It Li \"\(escaped(String(usage.dropFirst(command.name.count + 1))))\"\n"
            }
            text += filled(action.manual) + "\n"
            let own = action.options.filter { !$0.takers.contains(.configured) }
                .map { "--" + $0.long }
            if !own.isEmpty { text += filled("Options: \(own.joined(separator: ", ")).") + "\n" }
            for (line, _) in action.examples { text += ".Pp\n.Dl \(typed(line))\n" }
        }
        return text + ".El\n"
    }

    private static let furtherReading = [
        "get": ["head 1", "open 1", "config 5", "json 5"],
        "head": ["get 1", "explain 1", "json 5"],
        "links": ["get 1", "open 1", "json 5"], "open": ["get 1", "links 1"],
        "put": ["get 1", "identity 1"], "refs": ["get 1", "json 5"],
        "explain": ["get 1", "json 5"],
        "trust": ["identity 1", "known_hosts 5", "json 5"], "identity": ["trust 1", "json 5"],
        "schemes": ["plugin 7"], "plugin": ["plugin 7", "wire 5"],
        "history": ["bookmarks 1"], "bookmarks": ["history 1"],
        "config": ["config 5"],
    ]

    /// Pages that no table makes, in mdoc(7): the sections between their names and other pages.
    private static func prose(_ page: String, _ docs: String) throws -> String {
        let path = "\(docs)/../Sources/smallweb-manual/Pages/\(page).mdoc"
        return try String(contentsOfFile: path, encoding: .utf8)
    }

    private static func config(_ docs: String) throws -> String {
        var text = try prose("config", docs)
        for scope in [Option.Scope.url, .run] {
            let options = Option.all.filter { $0.scope == scope }.map { option in
                "Li \(option.long)" + (option.valueName.map { " No = Ar \"\($0)\"" } ?? "")
            }
            text = text.replacingOccurrences(of: "{\(scope)}\n", with: enumerated(options))
        }
        return opening("smallweb-config", 5, "options that hold for every run of smallweb") + text
            + seeAlso(["smallweb 1", "smallweb-config 1", "smallweb-explain 1"])
    }

    private static func knownHosts(_ docs: String) throws -> String {
        try opening("smallweb-known_hosts", 5, "the keys of servers that smallweb trusts")
            + prose("known_hosts", docs) + seeAlso(["smallweb 1", "smallweb-trust 1"])
    }

    private struct Program: Decodable {
        struct Scheme: Decodable {
            let name: String
            let port: Int
        }
        let summary: String
        let schemes: [Scheme]
    }

    /// The manifests of the plugins that are programs, in the folder next to the documents.
    private static func programs(besides docs: String) throws -> [Program] {
        let folder = docs + "/../Plugins"
        return try FileManager.default.contentsOfDirectory(atPath: folder).sorted().compactMap {
            let data = FileManager.default.contents(atPath: "\(folder)/\($0)/plugin.json")
            return try data.map { try JSONDecoder().decode(Program.self, from: $0) }
        }
    }

    private static let files = [
        ("$XDG_CONFIG_HOME/smallweb/config", "Options, see smallweb-config(5)."),
        ("$XDG_CONFIG_HOME/smallweb/bookmarks", "A URL, a tab and a title per line."),
        (
            "$XDG_DATA_HOME/smallweb/known_hosts",
            "The keys of servers that are trusted, see smallweb-known_hosts(5)."
        ), ("$XDG_DATA_HOME/smallweb/identities", "Client certificates, see smallweb-identity(1)."),
        ("$XDG_STATE_HOME/smallweb/history", "The fetched URLs, for completion."),
        ("$XDG_CACHE_HOME/smallweb/refs", "Listed branches and tags, for completion."),
    ]

    private static var exitStatus: String {
        var text = """
            .Sh EXIT STATUS
            With several URLs, it is the first failure's, in the order given.
            .Bl -tag -width Ds

            """
        for outcome in Outcome.allCases {
            text += ".It \(outcome.exitStatus) Pq Li \(outcome.rawValue)\n"
            text += filled(Help.sentence(outcome.summary)) + "\n"
        }
        return text + ".El\n"
    }

    private static let schemes = (Registry.builtIn.schemes + Registry.files.schemes).sorted {
        $0.name < $1.name
    }

    /// The specifications in brackets in the schemes' summaries, by protocol, after the common
    /// ones.
    private static var standards: String {
        var found: [(name: String, standards: [String])] = [
            ("URIs", ["RFC 3986"]), ("TLS", ["RFC 8446", "RFC 5246"]), ("JSON", ["RFC 8259"]),
            ("SOCKS", ["RFC 1928", "RFC 1929"]), ("Atom", ["RFC 4287"]),
            ("WARC", ["ISO 28500:2017"]),
        ]
        for scheme in schemes {
            let parts = scheme.summary.split(whereSeparator: { $0 == "(" || $0 == ")" })
            guard parts.count > 1 else { continue }
            let name = name(of: scheme)
            let standard = String(parts[1])
            if let index = found.firstIndex(where: { $0.name == name }) {
                if !found[index].standards.contains(standard) {
                    found[index].standards.append(standard)
                }
            } else {
                found.append((name, [standard]))
            }
        }
        return ".Sh STANDARDS\n.Bl -tag -width Gopher -compact\n"
            + found.map { ".It \($0.name)\n\($0.standards.joined(separator: ", "))\n" }.joined()
            + ".El\n"
    }

    private static var summary: String {
        let schemes = Registry.builtIn.schemes
        return "fetch from " + list(schemes.filter { $0.uploads?.isOnlyUse != true })
            + ", upload to " + list(schemes.filter { $0.uploads != nil })
    }

    /// The protocol names of `schemes`, each once, as an enumeration.
    private static func list(_ schemes: [Scheme]) -> String {
        var names: [String] = []
        for name in schemes.map(name) where !names.contains(name) { names.append(name) }
        return names.dropLast().joined(separator: ", ") + " and " + names.suffix(1).joined()
    }

    /// The protocol's name: the first word of the summary.
    private static func name(of scheme: Scheme) -> String {
        String(scheme.summary.prefix(while: \.isLetter))
    }

    static func opening(_ name: String, _ section: Int, _ summary: String) -> String {
        """
        .\\" SPDX-License-Identifier: MIT
        .\\" Made from the tables by 'make generated'; do not edit.
        .Dd \(date)
        .Dt \(name.uppercased()) \(section)
        .Os
        .Sh NAME
        .Nm \(name)
        .Nd \(escaped(summary))

        """
    }

    private static func flags(of option: Option) -> String {
        var text = option.short.map { "Fl \($0) , " } ?? ""
        text += ([option.long] + option.aliases).map { "Fl -\($0)" }.joined(separator: " , ")
        // Quotes keep a word from being taken for a macro.
        return text + (option.valueName.map { " Ar \"\($0)\"" } ?? "")
    }

    private static func example(_ line: String, use: String) -> String {
        "\(escaped(use)):\n.Pp\n.Dl \(typed(line))\n"
    }

    static func seeAlso(_ pages: [String]) -> String {
        // By section, then by name.
        let pages = pages.sorted { ($0.suffix(1), $0) < ($1.suffix(1), $1) }
        let lines = pages.map { ".Xr \($0)" + ($0 == pages.last ? "" : " ,") }
        return ".Sh SEE ALSO\n" + lines.joined(separator: "\n") + "\n"
    }

    static func escaped(_ text: String) -> String {
        let escapes: [Character: String] = [
            "\\": "\\e", "…": "...", "'": "\\(aq", "`": "\\(ga", "~": "\\(ti", "^": "\\(ha",
            // Macros interpret quotes.
            "\"": "\\(dq",
        ]
        return text.map { escapes[$0] ?? String($0) }.joined()
    }

    /// A line to be typed, in which a word like `.` would be punctuation.
    static func typed(_ line: String) -> String {
        let words = escaped(line).split(separator: " ", omittingEmptySubsequences: false)
        return words.map { $0.count == 1 && ".,:;()[]?!|".contains($0) ? "\\&" + $0 : $0 }
            .joined(separator: " ")
    }

    /// Breaks text into lines: each sentence begins a new one, and none is longer than 78 columns.
    /// An empty line separates paragraphs; an indented one is a line to be typed.
    private static func filled(_ text: String) -> String {
        var (lines, isAfterText) = ([String](), false)
        for paragraph in text.split(separator: "\n\n").map(String.init) {
            let isLiteral = paragraph.hasPrefix("    ")
            if isAfterText && !isLiteral { lines.append(".Pp") }
            lines.append(
                isLiteral
                    ? ".Dl " + typed(paragraph.trimmed)
                    : wrapped(escaped(paragraph).split(separator: " ").map(String.init)))
            isAfterText = true
        }
        return lines.joined(separator: "\n")
    }

    /// Breaks lines between words, which must be escaped.
    static func wrapped(_ words: [String]) -> String {
        var lines: [String] = []
        var begins = true
        for word in words {
            // Skips the escape for bold text.
            let first = word.hasPrefix("\\f") ? word.dropFirst(3).first : word.first
            let startsSentence = begins && first?.isUppercase ?? false
            if let last = lines.last, !startsSentence, last.count + word.count < 78 {
                lines[lines.count - 1] += " " + word
            } else {
                // A leading dot would begin a macro.
                lines.append((word.hasPrefix(".") ? "\\&" : "") + word)
            }
            begins = [".", ".\\fP", ":", "?"].contains(where: word.hasSuffix)
        }
        return lines.joined(separator: "\n")
    }
}
