// SPDX-License-Identifier: MIT
internal import SmallWeb

extension Option {
    /// Separate from the table: each run looks it up, and need not create all the others.
    static let config = Option(
        .config, short: "K", .messages.with(takers: [.fetches, .configured], scope: .commandLine),
        "read FILE instead of the config files",
        manual: "Reads FILE instead of the system's config file and the user's own.",
        example: "smallweb get -K work.conf gemini://example.org/",
        .value("FILE") { settings, value in settings.invocation.configFile = value })

    static let messages: [Option] = [
        Option(
            .color, .messages, "use colour: auto, always or never",
            manual: "auto uses colour on a terminal, unless NO_COLOR is set or TERM is dumb.",
            example: "smallweb get --color never gopher://gopher.floodgap.com/",
            .choice("WHEN") { $0.messages.color = $1 }),
        Option(
            .quiet, short: "q", .messages, "no notes, hints or progress",
            manual: "Leaves out notes, hints and progress. Errors are still shown.",
            example: "smallweb get -q -O gopher://example.org/9/disk.img",
            .flag { settings, isOn in settings.messages.isQuiet = isOn }),
        Option(
            .silent, short: "s", .messages, "no messages at all, errors included",
            manual: "Leaves out all messages, errors included, but for mistakes on the command "
                + "line. The exit status still tells.",
            example: "smallweb get -s gemini://geminiprotocol.net/",
            .flag { settings, isOn in settings.messages.isSilent = isOn }),
        Option(
            .showError, short: "S", .messages, "with -s, still show errors",
            manual: "Shows errors although --silent is given.",
            example: "smallweb get -sS gemini://geminiprotocol.net/",
            .flag { settings, isOn in settings.messages.showsErrorsWhenSilent = isOn }),
        Option(
            .verbose, short: "v", .messages.with(takers: .fetches),
            "show the conversation on stderr",
            manual: "Shows the conversation on standard error: * marks the connection and "
                + "retries, > bytes sent, < bytes received.",
            example: "smallweb get -v gemini://geminiprotocol.net/",
            .flag { settings, isOn in settings.messages.isVerbose = isOn }),
        Option(
            .help, short: "h", .messages.with(scope: .commandLine), "show this help",
            manual: "Shows the commands, or with a command its options.",
            example: "smallweb get --help",
            .flag { settings, isOn in settings.invocation.wantsHelp = isOn }),
        Option(
            .version, short: "V", .messages.with(scope: .commandLine), "show the version",
            manual: "Shows the version, and those of libcurl and OpenSSL if installed. With "
                + "--json it is a record.",
            example: "smallweb --version",
            .flag { settings, isOn in settings.invocation.wantsVersion = isOn }),
    ]

    /// Options usually set once, in the config file.
    static let daily: [Option] = [
        Option(
            .progress, .messages.with(takers: [.results, .open]),
            "show progress: auto, bar, none or json",
            manual: "Shows the progress of a transfer on standard error. auto draws a bar if "
                + "standard error is a terminal, the body goes elsewhere, and it takes more than "
                + "a second; bar always draws it; json writes a record a second for each URL in "
                + "progress.",
            example: "smallweb get --progress json -O gopher://example.org/9/disk.img",
            .choice("FORM") { $0.messages.progress = $1 }),
        Option(
            .progressBar, short: "#", .messages.with(takers: [.results, .open]),
            "the same as --progress bar",
            manual: "Draws a progress bar, as --progress bar does.",
            example: "smallweb get -# -O gopher://example.org/9/disk.img",
            .flag { settings, isOn in settings.messages.progress = isOn ? .bar : .none }),
        Option(
            .history, .messages.with(takers: [.results, .open]),
            "record fetched URLs, for completion",
            manual: "Records successful fetches for completion, without query strings. This is "
                + "the default if standard output or standard error is a terminal.",
            example: "smallweb get --no-history gemini://example.org/secret",
            .flag { settings, isOn in settings.messages.recordsHistory = isOn }),
        config,
        Option(
            .noConfig, .messages.with(takers: [.fetches, .configured], scope: .commandLine),
            "read no config file",
            manual: "Reads no config file, so that a script does the same for every user.",
            example: "smallweb get --no-config gemini://example.org/",
            .flag { settings, isOn in settings.invocation.readsConfiguration = !isOn }),
        Option(
            .showOrigin, .config, "show the origin of each value",
            manual: "Shows the file and line before each value.",
            example: "smallweb config --show-origin",
            .flag { settings, isOn in settings.invocation.showsOrigin = isOn }),
    ]
}
