// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

/// Interactive session: fetches and shows a page, then asks for the next one.
struct Reader {
    private(set) var settings: Settings
    let messages: Messages
    let keyboard: Keyboard
    /// True if the user can be asked, and standard output is a terminal.
    let isInSession: Bool
    /// The current page, and the target to request it with again.
    private(set) var page: (opened: OpenedPage, target: PageView.Target)?
    /// History of the key `b`, the nearest page last.
    private var before: [PageView.Target] = []
    /// The pages of this session, without duplicates.
    private var visits: [PageView.Target] = []
    /// URLs that may be files of this machine: those that the user names, and the links of such
    /// files.
    private var files: Set<String> = []
    /// The page that the options of its type and base are for.
    private var named = ""
    /// Input for the next page; used once.
    private var input: InputSource.Origin?
    var status: Int32 = 0
    var isDone = false

    /// Effect of a new page on the history of `b`.
    enum Move {
        case forward, back, reload
    }

    init(_ settings: Settings) {
        self.settings = settings
        self.settings.output.isReading = true
        input = settings.fetch.input
        self.settings.fetch.input = nil
        messages = Messages(settings.messages)
        keyboard = Keyboard(messages: messages)
        isInSession = settings.asker.canAsk && Environment.isTerminal(1)
    }

    /// - Parameter link: Number of the link to open instead of the page itself.
    /// - Returns: The exit status of the last fetch.
    mutating func run(_ url: String, link: Int?) throws(FetchError) -> Int32 {
        var first = PageView.Target(url: url)
        if settings.fetch.readsFiles { files.insert(url) }
        named = url
        if let link {
            let opened = try fetch(url)
            guard status == 0 else { return status }
            guard let target = opened.targets.dropFirst(link - 1).first else {
                throw usageError("\(URI.shown(url)) has \(Self.count(opened.targets))")
            }
            first = target
            follow(first, from: url)
        }
        try visit(first, .forward, isOperand: link == nil)
        while isInSession, !isDone, page != nil { chooseNext() }
        return status
    }

    /// A file leads to other files; a page of a network does not.
    private mutating func follow(_ target: PageView.Target, from url: String) {
        if Reach.isFile(url), url != named || settings.fetch.base == nil {
            files.insert(target.url)
        }
    }

    private static func count(_ targets: [PageView.Target]) -> String {
        "\(targets.count) link\(targets.count == 1 ? "" : "s")"
    }

    // MARK: Pages

    /// Shows a page. On failure the current page stays.
    ///
    /// - Parameter isOperand: True if the caller records it in the history.
    mutating func visit(
        _ target: PageView.Target, _ move: Move, isOperand: Bool = false
    ) throws(FetchError) {
        guard readInput(for: target) else {
            if page == nil { throw Self.unanswered(target) }
            return
        }
        let answer = input
        input = nil
        if let page { follow(target, from: page.target.url) }
        let opened = try fetch(target.url, input: answer, again: move == .reload)
        if status == 0 && !isOperand { History.record([target.url], settings) }
        guard isInSession else {
            if let text = opened.text { try Pager.show(text, isInSession: false) }
            return
        }
        guard opened.isReadable else { return try offerHelp(target, opened, move) }
        if let text = opened.text { try Pager.show(text, isInSession: true) }
        var place = target
        // After a redirect the final URL is the page, and needs no input.
        if let uri = opened.uri, uri.withoutFragment != opened.origin?.withoutFragment {
            place = PageView.Target(url: uri.description)
            if target.url == named { named = place.url }
        }
        switch move {
        case .forward: if let page { before.append(page.target) }
        case .back: before.removeLast()
        case .reload: break
        }
        if !visits.contains(where: { $0.url == place.url }) { visits.append(place) }
        page = (opened, place)
    }

    /// - Parameter again: True to ask the server, whatever the cache has.
    private mutating func fetch(
        _ url: String, input: InputSource.Origin? = nil, again: Bool = false
    ) throws(FetchError) -> OpenedPage {
        let opened = OpenedPage(isInSession: isInSession)
        var settings = settings
        settings.output.page = opened
        settings.fetch.input = input
        settings.fetch.readsFiles = files.contains(url)
        if url != named { (settings.fetch.contentType, settings.fetch.base) = (nil, nil) }
        if again { settings.archive.ageSecondsMax = 0 }
        status = try GetCommand(settings, [url]).run()
        return opened
    }

    /// Saves a page under a free name.
    mutating func fetch(_ url: String, to path: String) throws(FetchError) {
        let saved = OpenedPage(isInSession: false)
        var settings = settings
        settings.output.isReading = false
        settings.output.page = saved
        settings.fetch.readsFiles = files.contains(url)
        // `-` would mean standard output.
        settings.output.files = [path == "-" ? "./-" : path]
        settings.output.existing = .kept
        status = try GetCommand(settings, [url]).run()
        if let path = saved.path { messages.answer(["saved as \(path)"]) }
    }

    /// Asks for the input that `target` requires.
    ///
    /// - Returns: True if no input is needed, or if there is some.
    private mutating func readInput(for target: PageView.Target) -> Bool {
        guard let question = target.question, input == nil else { return true }
        guard settings.asker.canAsk else { return false }
        let place = (try? URI(parsing: target.url))?.hostAndPort ?? target.url
        let answer = keyboard.ask(
            "\(place): \(question.isEmpty ? "input" : question)", openers: nil)
        input = answer.map { .bytes(Array($0.utf8)) }
        return input != nil
    }

    private static func unanswered(_ target: PageView.Target) -> FetchError {
        let question = target.question.flatMap { $0.isEmpty ? nil : ": " + $0 } ?? ""
        return FetchError(
            .needsInput, .input, "\(target.url) asks for input\(question)",
            hint: "give it with -d TEXT, or keep it secret with -d @FILE")
    }

    // MARK: The prompt

    private mutating func chooseNext() {
        guard let page else { return }
        let links = page.opened.targets.count
        let numbers = links == 0 ? "" : links == 1 ? "link 1, " : "link 1-\(links), "
        let question = numbers + (before.isEmpty ? "" : "b back, ") + "? keys, q quit:"
        guard let typed = keyboard.ask(question, openers: ReaderCommand.openers) else {
            isDone = true
            return
        }
        attempt { reader throws(FetchError) in
            try reader.perform(ReaderCommand(parsing: typed), page.opened)
        }
    }

    /// On failure the current page stays.
    mutating func attempt(_ action: (inout Reader) throws(FetchError) -> Void) {
        do throws(FetchError) {
            try action(&self)
        } catch {
            if error.outcome != .interrupted { messages.error(nil, error) }
        }
    }

    mutating func perform(
        _ command: ReaderCommand, _ opened: OpenedPage
    ) throws(FetchError) {
        switch command {
        case .nothing: break
        case .invalid(let problem):
            messages.error(nil, .usage, problem + ": ? lists the keys", hint: nil)
        case .quit: isDone = true
        case .keys:
            let rows = ReaderCommand.table.map { ("\($0.key)\($0.rest)", $0.meaning) }
            for (keys, meaning) in [("N", "opens link N")] + rows {
                messages.answer(["  \(Help.padded(keys, 8)) \(meaning)"])
            }
        case .address: messages.answer([opened.uri?.display ?? ""])
        case .save: try save(opened)
        case .bookmark: try bookmark(opened)
        case .reload: if let page { try visit(page.target, .reload) }
        case .back:
            guard let target = before.last else {
                throw usageError("there is no page before this one")
            }
            try visit(target, .back)
        case .history: try chooseVisit()
        case .identity:
            guard let page, try chooseIdentity(for: opened.uri?.description ?? page.target.url)
            else { return }
            try visit(page.target, .reload)
        case .go(let text): try visit(PageView.Target(url: try address(text, opened)), .forward)
        case .follow(let number): try visit(try link(number, opened), .forward)
        case .handOver(let number): try HandOver.open(try link(number, opened).url)
        case .search(let words):
            if let text = opened.text { try Pager.show(text, searching: words) }
        }
    }

    private func link(
        _ number: Int, _ opened: OpenedPage
    ) throws(FetchError) -> PageView.Target {
        let targets = opened.targets
        if !targets.isEmpty, 1...targets.count ~= number { return targets[number - 1] }
        throw usageError(
            targets.isEmpty
                ? "this page has no links"
                : "there is no link \(number): the page has \(Self.count(targets))")
    }

    /// - Parameter text: An absolute URL, or one relative to the page. An absolute one may follow
    ///   the key immediately: `ggemini://…`.
    private func address(_ text: String, _ opened: OpenedPage) throws(FetchError) -> String {
        let registry = try settings.registry()
        var text = settings.unwrapped(text)
        let scheme = text.prefix { $0 != ":" }.lowercased()
        if scheme.hasPrefix("g"), registry[scheme] == nil,
            registry[String(scheme.dropFirst())] != nil
        {
            text.removeFirst()
        }
        guard let base = opened.uri else { return text }
        return try base.resolving(text, in: registry).description
    }

    private mutating func chooseVisit() throws(FetchError) {
        let present = page?.target.url
        messages.answer(
            visits.enumerated().map { index, visit in
                "[\(index + 1)] \(URI.shown(visit.url))"
                    + (visit.url == present ? " (this page)" : "")
            })
        let question = "page 1-\(visits.count), b back to the page:"
        while let answer = keyboard.ask(question, openers: ReaderCommand.digits), answer != "b" {
            if let number = ReaderCommand.number(answer[...]), 1...visits.count ~= number {
                return try visit(visits[number - 1], .forward)
            }
            if answer == "q" {
                isDone = true
                return
            }
            messages.error(nil, .usage, "there is no page \(answer) in the list", hint: nil)
        }
    }
}
