// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

package enum Help {
    /// Version of the program, its manual and its packages; `docs/packaging/version.py` updates it
    /// in all of them.
    package static let version = "0.2.0"

    /// Adds a capital letter and a full stop.
    package static func sentence(_ text: String) -> String {
        text.prefix(1).uppercased() + text.dropFirst() + "."
    }

    /// Fits a screen of 24 lines; the options are in each command's help.
    static var summary: String {
        var text = """
            usage: smallweb COMMAND [options] [operands]
                   smallweb [options] URL…    the same as 'smallweb get'

            """
        let everyday = daily.compactMap(Command.named)
        for command in everyday { text += row(command.synopsis, command.summary) }
        let others = Command.all.map(\.name).filter { !daily.contains($0) }
        return text + """

            And \(wrapped(others.joined(separator: ", "), indent: 4)).

            Read a page: smallweb open gemini://geminiprotocol.net/
            Options: smallweb COMMAND --help    In full: smallweb help COMMAND, man smallweb
            Topics: \(topics.map(\.name).joined(separator: ", ")), config, plugins

            """
    }

    private static let daily = [
        "get", "open", "links", "head", "put", "feed", "watch", "refs", "log", "trust", "identity",
    ]

    /// The most important part of a command's help, at most 24 lines.
    static func short(of command: Command) -> String {
        let full = text(of: command)
        guard full.count(where: \.isNewline) > linesMax else { return full }
        var text = usage(of: command) + "\n" + actions(of: command)
        let examples = command.examples.prefix(2).map { line, use in
            use.count + line.count <= 78 ? "\n\(use): \(line)" : "\n\(use):\n    \(line)"
        }.joined()
        let room = linesMax - 6 - (text + examples).count(where: \.isNewline)
        let own = command.options.filter {
            command.operands.first != .url && [.store, .config].contains($0.group)
                || command.isAction && !$0.takers.contains(.configured)
        }
        let first = command.mainOptions + own.map(\.long)
        let names = first + mainOptions.filter { !first.contains($0) }
        let options = names.compactMap { name in command.options.first { $0.long == name } }
        guard command.actions.isEmpty else {
            return text + examples + "\n\nThe options of an action: "
                + "smallweb \(command.actions[0].name) --help\n"
                + "All of them: smallweb help \(command.name)\n"
        }
        for option in options.prefix(room) { text += row(syntax(option), option.summary) }
        return text + examples + "\n\n"
            + "The main ones of \(command.options.count) options. "
            + "All of them: smallweb help \(command.name)\n"
    }

    private static let linesMax = 24

    /// Most important first.
    private static let mainOptions = [
        "output", "remote-name", "output-dir", "continue-at", "data", "show-headers", "json",
        "jobs", "retry", "max-time", "max-filesize", "header", "render", "proxy", "identity",
        "insecure",
        "silent", "verbose",
    ]

    static func text(of command: Command) -> String {
        var text = usage(of: command) + "\n\(command.summary)\n"
        if !command.actions.isEmpty { text += "\nActions:\n" + actions(of: command) }
        let programs = Option.ofPrograms().filter { command.takes($0) && !$0.isSecret }
        let all = command.options + programs
        for group in Option.Group.of(programs) {
            let options = all.filter { $0.group == group }
            if options.isEmpty { continue }
            text += "\n\(group.title):\n"
            for option in options { text += row(syntax(option), option.summary) }
        }
        for (line, use) in command.examples { text += "\n\(use):\n    \(line)\n" }
        return text
            + "\nA switch is turned off by --no-NAME. "
            + "In full: man smallweb-\(command.name.prefix { $0 != " " })\n"
    }

    static func text(of option: Option) -> String {
        let manual = DisplayWidth.wrapped(option.manual, to: 78).joined(separator: "\n")
        return row(syntax(option), option.summary) + "\n\(manual)\n\n    \(option.example)\n"
    }

    private static func actions(of command: Command) -> String {
        command.actions.map { action in
            let usage = action.synopsis.prefix { !$0.isNewline }
            return row(String(usage.dropFirst(command.name.count + 1)), action.summary)
        }.joined()
    }

    /// One line for each form of the call.
    private static func usage(of command: Command) -> String {
        command.synopsis.split(whereSeparator: \.isNewline).enumerated().map {
            ($0 == 0 ? "usage: " : "       ") + "smallweb \($1)\n"
        }.joined()
    }

    /// The topics of `help` besides the commands.
    static let topics: [(name: String, summary: String, text: @Sendable () -> String)] = [
        ("exit-status", "what each exit status means", { exitStatus }),
        ("json", "records, and requests as records", { json }),
        ("environment", "environment variables", { environment }),
        ("patterns", "patterns with * in options", { patterns }),
        ("proxies", "which proxy a URL uses", { proxies }),
        ("wire", "fixtures of plugins", { wire }),
    ]

    /// Help topic; shortened, as the manual page has more.
    private static var json: String {
        """
        With --json each URL gives one line of JSON, its record, of the type response
        or error. Lines of other types may come before: chunk (--stream), request,
        redirect and notice (--events), ref (refs), link (links); a summary ends a run
        of several.

        Fields, which --fields chooses from:

          \(wrapped(RecordFields.all(.builtIn).joined(separator: " "), indent: 2))

        A list of URLs (-, @FILE, --input-file) may have requests among its lines:

          {"url":"gemini://example.org/search","data":"small web","id":7}

        with url, id, tag, data, headers, method, output, max_time, max_filesize,
        max_redirs, identity, trust, pin, body, put.

          smallweb get --json - < urls.txt | jq -r 'select(.ok == false).url'

        In full: man smallweb-json. The schema: share/smallweb/schema/v1.json.

        """
    }

    /// Wraps to 80 columns; all lines but the first are indented.
    private static func wrapped(_ text: String, indent: Int) -> String {
        DisplayWidth.wrapped(text, to: 80 - indent).joined(separator: "\n" + padded("", indent))
    }

    private static let patterns = """
        refs URL PATTERN   as git-ls-remote has it: v1.* is every reference whose last
                           parts match, so refs/tags/v1.0 and refs/heads/v1.x.
                           * ? [ab] as in a shell, * across slashes.

        [host PATTERN]     in the config file: *.example.org is every host below
                           example.org, but not example.org itself; *.example.org:1965
                           on that port alone, [host [::1]:70] for an IPv6 address.

        bound identities   not a pattern but a place: a URL of identity use stands for
                           its path and all that is below it.

        URLs               have none: {a,b} and [1-9] are sent as they are. The shell's
                           own braces make several URLs: gemini://example.org/{a,b}

        """

    private static let wire = #"""
        A file fixtures/NAME.wire of a plugin holds one exchange. Its lines:

          url     what is fetched              dial    its host and port, or no
          >       what the program sends       <       what the server answers
          =       an event, as JSON            error   an outcome; the exchange fails
          input   of --data or a prompt        upload  what 'put' stores
          option  a name and a value           head    without a value: the head alone
          raw     without a value: undecoded   items   no: none are wanted
          close   how the server ends          cut     any: a part may be a whole
          limit   of a line, or of memory      #       a comment

        In input, upload, > and < the escapes are \r \n \t \\ \xNN.

          smallweb plugin test ./hello    replays those of the folder hello

        In full: man smallweb-wire. On plugins: man 7 smallweb-plugin.

        """#

    static var exitStatus: String {
        var text = "Exit status, outcome, and when:\n\n"
        for outcome in Outcome.allCases { text += row(of: outcome) }
        return text + "\nSeveral URLs: the status of the first that failed, in the order given.\n"
    }

    static func row(of outcome: Outcome) -> String {
        let number = "\(outcome.exitStatus)"
        return String(repeating: " ", count: 5 - number.count) + number + "  "
            + padded(outcome.rawValue, 20) + "  " + wrapped(outcome.summary, indent: 29) + "\n"
    }

    private static var proxies: String {
        """
        Which proxy a URL uses:

          smallweb get -x socks5h://127.0.0.1:9050 gemini://example.org/

        -x, --proxy URL is for all schemes over TCP: socks5h (the proxy resolves the
        name), socks5, socks4a, socks4, http and https (a tunnel by CONNECT). Without it
        the variables gemini_proxy, gopher_proxy, https_proxy and so on count for their
        scheme, ALL_PROXY for all others, and NO_PROXY names hosts that need none.
        --proxy-command runs a command that connects. .onion hosts need a proxy.
        'smallweb explain URL' says which one is used.

        """
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
    package static let variables: [(name: String, meaning: String)] = [
        ("SMALLWEB_CONFIG", "the config file; an empty value means no file"),
        ("SMALLWEB_KNOWN_HOSTS", "the trust store's file"),
        ("SMALLWEB_IDENTITIES", "the directory of client certificates"),
        ("SMALLWEB_NO_HISTORY", "set: no visit is recorded"),
        ("SMALLWEB_FORCE_TTY", "stdout is a terminal of so many columns"),
        ("XDG_CONFIG_HOME", "config and bookmarks (~/.config)"),
        ("XDG_CONFIG_DIRS", "the system's config (/etc/xdg)"),
        ("XDG_DATA_HOME", "known_hosts, identities (~/.local/share)"),
        ("XDG_STATE_HOME", "history (~/.local/state)"),
        ("XDG_CACHE_HOME", "names of branches (~/.cache)"),
        ("NO_COLOR", "set: no colour"),
        ("CLICOLOR", "0: no colour"),
        ("CLICOLOR_FORCE", "set and not 0: colour even to a pipe"),
        ("TERM", "dumb: no colour"),
        ("PAGER", "what open shows a page with (less -R)"),
        ("LESS", "options of less; FRX unless set"),
        ("COLUMNS", "width of pages not for a terminal (80)"),
        ("SSL_CERT_FILE", "certificate authorities, as one file"),
        ("SSL_CERT_DIR", "the same as a directory"),
        ("SCHEME_proxy", "the proxy of a scheme, such as gemini_proxy"),
        ("ALL_PROXY", "the proxy of all others"),
        ("NO_PROXY", "hosts that need none of these"),
    ]
}
