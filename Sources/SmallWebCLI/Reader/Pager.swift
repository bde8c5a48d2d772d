// SPDX-License-Identifier: MIT
internal import SmallWeb

/// The program that shows a long text a screen at a time.
enum Pager {
    private enum Choice {
        case none
        /// `less` with options of ours.
        case usual
        /// What PAGER says: it may hold options, and all else that a shell understands.
        case command(String)
    }

    private static var choice: Choice {
        guard Environment.isTerminal(1) else { return .none }
        guard Environment.isSet("PAGER") else { return .usual }
        let command = Environment.variable("PAGER") ?? ""
        return command.allSatisfy { $0 == " " } || command == "cat" ? .none : .command(command)
    }

    /// One screen needs no keys, colours are wanted, and the page stays when less is done.
    private static let defaults = ["LESS": "FRX", "LESSCHARSET": "utf-8"]

    /// Shows all of `text`, or writes it where there is no pager. Returns when the person is done.
    ///
    /// - Throws: `write` when the pager of PAGER cannot be started.
    static func show(_ text: Spool) throws(FetchError) {
        let words: [String]? =
            switch choice {
            case .none: nil
            case .usual: ["less", "-R"]
            case .command(let command): ["/bin/sh", "-c", command]
            }
        if let words, text.count > 0 {
            if let status = Program.run(words, reading: text, defaults: defaults) {
                return try check(status, words)
            }
        }
        try text.read { bytes throws(FetchError) in try StandardStream.output.write(bytes) }
    }

    /// Shows `text` from the first place that `words` match, as `/` of less searches.
    ///
    /// - Throws: `usage` for a pager that cannot be told, `write` for one that cannot be started.
    static func show(_ text: Spool, searching words: String) throws(FetchError) {
        // Also when all of it fits the screen, it is to be seen what was found.
        let options = ["-+F", "+/" + words]
        let command: [String]
        switch choice {
        case .usual: command = ["less", "-R"] + options
        case .command(let pager) where isLess(pager):
            command = ["/bin/sh", "-c", pager + " \"$@\"", "sh"] + options
        case .command(let pager):
            throw usageError(
                "the pager \"\(pager)\" cannot be told what to search for",
                hint: "search with its own keys, or set PAGER to less")
        case .none:
            throw usageError("there is no pager to search with", hint: "set PAGER to less")
        }
        guard let status = Program.run(command, reading: text, defaults: defaults) else {
            throw usageError("less, which searches, is not installed")
        }
        try check(status, command)
    }

    /// Whether a command is less with options, so that further ones can follow.
    static func isLess(_ command: String) -> Bool {
        let words = command.split(separator: " ")
        let isPlain = command.unicodeScalars.allSatisfy { scalar in
            scalar == " " || "/._-+=%".unicodeScalars.contains(scalar)
                || scalar.isASCII && scalar.properties.isAlphabetic
                || "0"..."9" ~= scalar
        }
        return isPlain && words.first?.split(separator: "/").last == "less"
    }

    private static func check(_ status: Int32, _ words: [String]) throws(FetchError) {
        // What the shell says when there is no such command.
        guard words[0] == "/bin/sh", status == 126 || status == 127 else { return }
        throw FetchError(
            .write, .output, "the pager \"\(words[2])\" cannot be started",
            hint: "set PAGER to another program, or to nothing for none")
    }
}
