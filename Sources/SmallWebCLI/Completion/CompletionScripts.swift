// SPDX-License-Identifier: MIT
internal import SmallWeb

/// Shell scripts that call `smallweb __complete`. They are independent of the options.
package enum CompletionScripts {
    package static let all: [(shell: String, file: String, text: @Sendable () -> String)] = [
        ("bash", "smallweb.bash", { text(PackageResources.smallweb_bash) }),
        ("zsh", "_smallweb", { text(PackageResources._smallweb) }),
        ("fish", "smallweb.fish", { text(PackageResources.smallweb_fish) }),
    ]

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}

extension Command {
    static let completions = Command(
        "completions bash|zsh|fish", "print a shell's completion script",
        manual: "Prints the script that completes commands, options, schemes, visited hosts and "
            + "paths in bash, zsh or fish. make install puts all three where the shells look.",
        examples: [
            "smallweb completions fish > ~/.config/fish/completions/smallweb.fish":
                "For one user of fish"
        ],
        operands: [.choice(CompletionScripts.all.map(\.shell))], taker: .others
    ) { _, operands throws(FetchError) in
        guard let script = CompletionScripts.all.first(where: { $0.shell == operands[0] }) else {
            throw usageError(
                "completions wants bash, zsh or fish",
                hint: Nearest.question(operands[0], among: CompletionScripts.all.map(\.shell)))
        }
        try StandardStream.output.write(script.text())
        return 0
    }
}
