// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb
internal import SmallWebRecords

extension Command {
    static let open = Command(
        "open URL [N]", "read pages with a pager, follow links",
        manual: "Lays a page out for reading and shows it with a pager: gemtext and plain text "
            + "wrapped to the width of the terminal, links, gopher menus and directories of Git "
            + "repositories numbered, their URLs at the end. With N it opens the page that this "
            + "link leads to. After a page it asks on a terminal which link to open next: a "
            + "number, b for the page before, q or an empty line to end; --no-input asks nothing. "
            + "A link that is marked (input), as the pages of Spartan have them, is asked for what "
            + "it sends; --data answers for N, or else for URL. "
            + "The pager is that of PAGER, by "
            + "default less; there is none when PAGER is empty or cat, and none when standard "
            + "output is not a terminal. Other than text is refused: save it with smallweb get -O.",
        examples: [
            "smallweb open gemini://geminiprotocol.net/": "Read a page",
            "smallweb open gemini://geminiprotocol.net/ 1": "Read what its first link leads to",
            "smallweb open -d hello spartan://example.org/ 2": "Send a text to its second link",
            "PAGER= smallweb open gopher://gopher.floodgap.com/": "The same without a pager",
        ],
        operands: [.url, .text],
        takes: { option in
            let groups: [Option.Group] = [
                .requests, .limits, .archive, .connection, .messages,
            ]
            let others = [
                "render", "hyperlink", "identity", "cert", "key", "key-password-file", "fail",
                "fail-with-body", "retry", "retry-delay", "retry-max-time",
            ]
            return groups.contains(option.group) || option.purpose == .fetches
                || others.contains(option.long)
        }
    ) { settings, operands throws(FetchError) in
        guard 1...2 ~= operands.count, !OrderSource.isList(operands[0]) else {
            throw usageError("open wants one URL", hint: "smallweb open gemini://example.org/")
        }
        let number = operands.count > 1 ? ASCII.decimal(operands[1].utf8, max: 1_000_000) : nil
        guard operands.count == 1 || number ?? 0 > 0 else {
            throw usageError("open wants the number of a link, not \"\(operands[1])\"")
        }
        var command = OpenCommand(settings)
        return try command.run(operands[0], link: number)
    }
}

/// What is known of a page when it has been laid out.
final class OpenedPage: Sendable {
    let isShown: Bool
    /// What its numbers lead to, from 1.
    let targets = Locked<[PageView.Target]>([])

    init(isShown: Bool) { self.isShown = isShown }
}

private struct OpenCommand {
    private var settings: Settings
    /// Those that were shown, the present one last.
    private var pages: [(place: PageView.Target, targets: [PageView.Target])] = []
    /// What the next page that is shown gets: it is for one page alone.
    private var input: InputSource.Origin?

    init(_ settings: Settings) {
        self.settings = settings
        self.settings.output.isReading = true
        input = settings.fetch.input
        self.settings.fetch.input = nil
    }

    /// - Parameter link: Which link of the page is opened instead.
    /// - Returns: The exit status of the last page.
    mutating func run(_ url: String, link: Int?) throws(FetchError) -> Int32 {
        var next = PageView.Target(url: url)
        if let link {
            let (status, targets) = try open(url, isShown: false)
            guard status == 0 else { return status }
            guard let target = targets.dropFirst(link - 1).first else {
                throw usageError("\(URI.display(url)) has \(targets.count) links")
            }
            next = target
            guard try readInput(for: next) else { throw Self.unanswered(next) }
        }
        while true {
            let (status, targets) = try open(next.url, isShown: true)
            if status == 0 {
                // The first operand is recorded as those of other commands are.
                if next.url != url { History.record([next.url], settings) }
                pages.append((next, targets))
            }
            guard let choice = try chooseNext() else { return status }
            next = choice
        }
    }

    private mutating func open(
        _ url: String, isShown: Bool
    ) throws(FetchError) -> (Int32, [PageView.Target]) {
        let page = OpenedPage(isShown: isShown)
        var settings = settings
        settings.output.page = page
        if isShown { (settings.fetch.input, input) = (input, nil) }
        let status = try GetCommand(settings, [url]).run()
        return (status, page.targets.withLock { $0 })
    }

    /// Asks for what the page at `target` gets, where that wants to be asked for.
    ///
    /// - Returns: Whether there is nothing to ask for, or an answer, which may be there already.
    /// - Throws: `needs-input` when there is no person to ask.
    private mutating func readInput(for target: PageView.Target) throws(FetchError) -> Bool {
        guard let question = target.question, input == nil else { return true }
        guard settings.asker.canAsk else { throw Self.unanswered(target) }
        let place = (try? URI(parsing: target.url))?.hostAndPort ?? target.url
        input = ask("\(place): \(question.isEmpty ? "input" : question)").map { .bytes($0) }
        return input != nil
    }

    private static func unanswered(_ target: PageView.Target) -> FetchError {
        let question = target.question.flatMap { $0.isEmpty ? nil : ": " + $0 } ?? ""
        return FetchError(
            .needsInput, .input, "\(target.url) asks for input\(question)",
            hint: "give it with -d TEXT, or keep it secret with -d @FILE")
    }

    /// A page was there before: Ctrl-C ends the program at once, as it does outside of a fetch.
    private func ask(_ question: String) -> [UInt8]? {
        for signal in [SIGINT, SIGTERM, SIGHUP] { swposix_forget_signal(signal) }
        return settings.asker.ask(question)
    }

    /// What a person wants to see next; `nil` to end.
    private mutating func chooseNext() throws(FetchError) -> PageView.Target? {
        let asker = settings.asker
        guard asker.canAsk, Environment.isTerminal(1), let page = pages.last,
            !page.targets.isEmpty || pages.count > 1
        else { return nil }
        let numbers = page.targets.isEmpty ? "" : "link 1-\(page.targets.count), "
        let back = pages.count > 1 ? "b back, " : ""
        while true {
            guard let line = ask("\(numbers)\(back)q quit:") else {
                asker.messages.endPromptLine()
                return nil
            }
            let answer = String(decoding: line, as: UTF8.self)
            if answer == "" || answer == "q" { return nil }
            var choice: PageView.Target?
            if answer == "b", pages.count > 1 {
                // What was sent to it is not sent again unasked.
                choice = pages[pages.count - 2].place
            } else if let number = ASCII.decimal(answer.utf8, max: page.targets.count), number > 0 {
                choice = page.targets[number - 1]
            }
            if let choice {
                guard try readInput(for: choice) else { continue }
                if answer == "b" { pages.removeLast(2) }
                return choice
            }
            asker.messages.hint("the links have the numbers in brackets")
        }
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
