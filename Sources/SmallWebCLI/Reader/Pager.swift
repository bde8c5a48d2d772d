// SPDX-License-Identifier: MIT
internal import SmallWeb

enum Pager {
    private enum Choice {
        case none
        /// `less` with our options.
        case usual
        /// The shell command in PAGER.
        case command(String)
    }

    private static var choice: Choice {
        guard Environment.isTerminal(1) else { return .none }
        guard Environment.isSet("PAGER") else { return .usual }
        let command = Environment.variable("PAGER") ?? ""
        return command.allSatisfy { $0 == " " } || command == "cat" ? .none : .command(command)
    }

    /// Options of less: F quits if the text fits one screen, R allows colours, X keeps the page on
    /// the screen at the end.
    private static let defaults = ["LESS": "FRX", "LESSCHARSET": "utf-8"]
    /// less's own prompt at the end of a page, and the way on.
    private static let prompt = "-Ps?e(END) .q to links and keys, q again to leave"

    /// Shows all of `text` and waits for the pager's end; writes it without a pager.
    ///
    /// - Parameter isInSession: True if a question follows, to which q in less leads.
    /// - Throws: `write` if the pager of PAGER cannot be started.
    static func show(_ text: Spool, isInSession: Bool) throws(FetchError) {
        let words: [String]? =
            switch choice {
            case .none: nil
            case .usual: ["less", "-R"] + (isInSession ? [prompt] : [])
            case .command(let command): ["/bin/sh", "-c", command]
            }
        if let words, text.count > 0 {
            if let status = Program.run(words, reading: text, defaults: defaults) {
                return try check(status, words)
            }
        }
        try text.read { bytes throws(FetchError) in try StandardStream.output.write(bytes) }
    }

    /// Shows `text` from the first match of `words`, with less's `/` search.
    ///
    /// - Throws: `usage` for a pager without support for it, `write` for one that cannot be
    ///   started.
    static func show(_ text: Spool, searching words: String) throws(FetchError) {
        // Turn off F, to show the match even if the text fits one screen.
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

    /// True for less with options, to which further ones can be added.
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
        // The shell's exit statuses for a command that cannot be started.
        guard words[0] == "/bin/sh", status == 126 || status == 127 else { return }
        throw FetchError(
            .write, .output, "the pager \"\(words[2])\" cannot be started",
            hint: "set PAGER to another program, or to nothing for none")
    }
}
