// SPDX-License-Identifier: MIT
internal import SmallWeb

extension Command {
    static let open = Command(
        "open URL", "read a page, with a pager",
        manual: "Lays a page out for reading and shows it with a pager: gemtext and plain text "
            + "wrapped to the width of the terminal, links, gopher menus and directories of Git "
            + "repositories numbered, their URLs at the end. The pager is that of PAGER, by "
            + "default less; there is none when PAGER is empty or cat, and none when standard "
            + "output is not a terminal. Other than text is refused: save it with smallweb get -O.",
        examples: [
            ("smallweb open gemini://geminiprotocol.net/", "Read a page"),
            ("PAGER= smallweb open gopher://gopher.floodgap.com/", "The same without a pager"),
        ],
        takes: { option in
            let groups: [Option.Group] = [.requests, .limits, .connection, .messages]
            let others = [
                "render", "hyperlink", "identity", "cert", "key", "key-password-file", "fail",
                "fail-with-body", "retry", "retry-delay", "retry-max-time",
            ]
            return groups.contains(option.group) || option.purpose == .fetches
                || others.contains(option.long)
        }
    ) { settings, operands throws(FetchError) in
        guard operands.count == 1, !OrderSource.isList(operands[0]) else {
            throw usageError("open wants one URL", hint: "smallweb open gemini://example.org/")
        }
        var settings = settings
        settings.output.isReading = true
        return try GetCommand(settings, operands).run()
    }
}

/// The program that shows a long text a screen at a time.
enum Pager {
    /// What runs it; `nil` for none.
    private static var words: [String]? {
        guard Environment.isTerminal(1) else { return nil }
        guard Environment.isSet("PAGER") else { return ["less", "-R"] }
        let command = Environment.variable("PAGER") ?? ""
        // The variable may hold options, and whatever else a shell understands.
        let isNone = command.allSatisfy { $0 == " " } || command == "cat"
        return isNone ? nil : ["/bin/sh", "-c", command]
    }

    /// Shows all of `text`, or writes it where there is no pager. Returns when the person is done.
    ///
    /// - Throws: `write` when the pager of PAGER cannot be started.
    static func show(_ text: Spool) async throws(FetchError) {
        // One screen needs no keys, colours are wanted, and the page stays when less is done.
        let defaults = ["LESS": "FRX", "LESSCHARSET": "utf-8"]
        guard let words, text.count > 0,
            let pager = Program(words, takesInput: true, defaults: defaults)
        else {
            return try await text.drain { bytes throws(FetchError) in
                try StandardStream.output.write(bytes)
            }
        }
        let status = await pager.feed(text)
        // What the shell says when there is no such command.
        if status == 126 || status == 127 {
            throw FetchError(
                .write, .output, "the pager \"\(words.last ?? "")\" cannot be started",
                hint: "set PAGER to another program, or to nothing for none")
        }
    }
}
