// SPDX-License-Identifier: MIT
internal import SmallWeb

extension Option {
    /// Separate from the table: each run looks it up, and need not create all the others.
    static let config = Option(
        .config, short: "K", .messages.with(takers: [.fetches, .configured], scope: .commandLine),
        .value("FILE") { $0.invocation.configFile = $1 })

    static let messages: [Option] = [
        Option(.color, .messages, .choice("WHEN") { $0.messages.color = $1 }),
        Option(.quiet, short: "q", .messages, .flag { $0.messages.isQuiet = $1 }),
        Option(.silent, short: "s", .messages, .flag { $0.messages.isSilent = $1 }),
        Option(.showError, short: "S", .messages, .flag { $0.messages.showsErrorsWhenSilent = $1 }),
        Option(
            .verbose, short: "v", .messages.with(takers: .fetches),
            .flag { $0.messages.isVerbose = $1 }),
        Option(
            .help, short: "h", .messages.with(scope: .commandLine),
            .flag { $0.invocation.wantsHelp = $1 }),
        Option(
            .version, short: "V", .messages.with(scope: .commandLine),
            .flag { $0.invocation.wantsVersion = $1 }),
    ]

    /// Options usually set once, in the config file.
    static let daily: [Option] = [
        Option(
            .progress, .messages.with(takers: [.results, .open]),
            .choice("FORM") { $0.messages.progress = $1 }),
        Option(
            .progressBar, short: "#", .messages.with(takers: [.results, .open]),
            .flag { $0.messages.progress = $1 ? .bar : .none }
        ).with(\.aliases, ["progress-meter"]),
        Option(
            .history, .messages.with(takers: [.results, .open, .edit]),
            .flag { $0.messages.recordsHistory = $1 }),
        config,
        Option(
            .noConfig, .messages.with(takers: [.fetches, .configured], scope: .commandLine),
            .flag { $0.invocation.readsConfiguration = !$1 }),
        Option(.showOrigin, .config, .flag { $0.invocation.showsOrigin = $1 }),
    ]
}
