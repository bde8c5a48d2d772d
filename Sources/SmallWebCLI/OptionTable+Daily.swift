// SPDX-License-Identifier: MIT
internal import SmallWeb

extension Option {
    /// What a person sets once.
    static let daily: [Option] = [
        Option(
            "history", .messages, "record what is fetched, for completion",
            manual: "Records successful fetches for completion, without query strings. By default "
                + "that is done when standard output or standard error is a terminal.",
            example: "smallweb get --no-history gemini://example.org/secret",
            .flag { settings, isOn in settings.recordsHistory = isOn }),
        Option(
            "config", short: "K", .messages, "read FILE instead of the config files",
            manual: "Reads FILE instead of the system's config file and the user's own.",
            example: "smallweb get -K work.conf gemini://example.org/",
            .value("FILE") { settings, value in settings.configFile = value }),
        Option(
            "no-config", .messages, "read no config file",
            manual: "Reads no config file, so that a script does the same for everybody.",
            example: "smallweb get --no-config gemini://example.org/",
            .flag { settings, isOn in settings.readsConfiguration = !isOn }),
        Option(
            "show-origin", .config, "say where each value comes from",
            manual: "Puts the file and the line before each value.",
            example: "smallweb config --show-origin",
            .flag { settings, isOn in settings.showsOrigin = isOn }),
    ]
}
