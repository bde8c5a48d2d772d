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
            .flag { settings, isOn in settings.recordsHistory = isOn })
    ]
}
