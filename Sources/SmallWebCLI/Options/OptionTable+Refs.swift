// SPDX-License-Identifier: MIT

extension Option {
    /// Of `smallweb refs`, beside those of the plugins.
    static let refs: [Option] = [
        Option(
            "exit-code", .refs, "fail when nothing is listed",
            manual: "Exits with status 22 when no reference matches.",
            example: "smallweb refs --exit-code --tags git://example.org/repo.git v2.0",
            .flag { settings, isOn in settings.fetch.failsWithoutMatch = isOn })
    ]
}
