// SPDX-License-Identifier: MIT
internal import SmallWeb

/// What a person is told, and how.
struct MessageSettings: Sendable {
    enum Progress: String, Sendable, CaseIterable {
        case auto, bar, none, json
    }
    var color = Settings.When.auto
    var progress = Progress.auto
    var isQuiet = false
    var isSilent = false
    var showsErrorsWhenSilent = false
    var isVerbose = false
    /// `nil`: when there is a terminal.
    var recordsHistory: Bool?

    var showsErrors: Bool { !isSilent || showsErrorsWhenSilent }
    var showsNotes: Bool { !isQuiet && !isSilent }
    /// Whether anything is said of a fetch while it goes on.
    var showsTrace: Bool { isVerbose || showsNotes }
}

/// What smallweb says on standard error. Text from servers is neutralised here, once for all.
final class Messages: Sendable {
    private struct State {
        var transient = ""
        /// What has been said of servers.
        var told: Set<Note> = []
    }

    private let settings: MessageSettings
    private let isTerminal = Environment.isTerminal(2)
    private let usesColor: Bool
    /// Held while a line is written: fetches on several loops have one terminal.
    private let state = Locked(State())

    init(_ settings: MessageSettings) {
        self.settings = settings
        usesColor = Environment.usesColor(settings.color, on: 2)
    }

    /// How progress is shown: `bar`, `json` or `none`. Several URLs at a time share one line.
    func progress(writesRecords: Bool) -> MessageSettings.Progress {
        switch settings.progress {
        case .auto:
            // A terminal that cannot erase a line would show one after the other.
            let isWatched =
                isTerminal && settings.showsNotes && !settings.isVerbose
                && Environment.variable("TERM") != "dumb"
            return isWatched && !writesRecords ? .bar : .none
        case .bar, .json, .none: return settings.progress
        }
    }

    /// The most of a transient line: a character in the last column can begin another one.
    var transientColumnsMax: Int { max(1, Environment.columns(2) - 1) }

    /// `smallweb: URL: message`, details on lines of their own, and the hint: for a person, and
    /// where the log of a script needs the command that helps.
    func error(
        _ url: String?, _ outcome: Outcome, _ message: String, details: [String] = [],
        hint: String?
    ) {
        guard settings.showsErrors else { return }
        let isBad = [.usage, .badURL, .unsupportedScheme].contains(outcome)
        let place = url.map { (isBad ? URI.shown($0).inPart : URI.shown($0)) + ": " } ?? ""
        line("smallweb: " + place + message, color: "31")
        for detail in details { line(detail) }
        let isNeeded = [.untrusted, .trustChanged, .needsIdentity].contains(outcome)
        if let hint, isTerminal || isNeeded { line("hint: " + hint) }
    }

    func error(_ url: String?, _ error: FetchError) {
        self.error(
            url, error.outcome, error.message, details: error.details, hint: advice(error))
    }

    func advice(_ error: FetchError) -> String? {
        isTerminal ? error.adviceForPerson : error.advice
    }

    func hint(_ text: String) {
        if isTerminal && settings.showsNotes { line("hint: " + text) }
    }

    /// A remark, for a person or in the trace: a script does not need most of them.
    func note(_ url: String, _ note: Note) {
        guard settings.showsNotes, isTerminal || settings.isVerbose || note.isWarning else {
            return
        }
        if note.place != nil, !state.withLock({ $0.told.insert(note).inserted }) { return }
        line("smallweb: \(URI.shown(url)): note: \(note.message)")
    }

    /// Shown even when a script runs it.
    func warning(_ text: String) {
        if settings.showsNotes { line("smallweb: warning: " + text) }
    }

    func trace(_ mark: Character, _ text: String) {
        guard settings.isVerbose else { return }
        line("\(mark) \(text)", color: "2")
    }

    /// Replaces the transient line; an empty one erases it.
    ///
    /// The cursor stays at its beginning: there the terminal shows what is typed, ^C included.
    /// Behind the line it would wrap into another one and leave the first on the screen. Most
    /// terminals that become narrower wrap the line, too; the cursor stays in its first part.
    func showTransient(_ text: String) { state.withLock { showTransient(text, &$0) } }

    private func showTransient(_ text: String, _ state: inout State) {
        guard text != state.transient else { return }
        let line = TerminalText.escapeLine(text).prefix(transientColumnsMax)
        print("\r\u{1B}[J" + line + (line.isEmpty ? "" : "\r"))
        state.transient = text
    }

    /// What a question is about, on lines before it.
    func ask(_ text: String, details: [String]) {
        line("smallweb: " + text)
        for detail in details { line(detail) }
    }

    /// A line of JSON, which escapes what is dangerous by itself.
    func writeRecord(_ line: [UInt8]) {
        state.withLock { _ in try? StandardStream.error.write(line[...], isWhole: true) }
    }

    /// Asks without a line end.
    func prompt(_ text: String) {
        showTransient("")
        print(TerminalText.escapeLine(text))
    }

    func endPromptLine() { print("\n") }

    /// What a person types, as far as the terminal does not show it itself; it is safe to show.
    func echo(_ text: String) { if !text.isEmpty { print(text) } }

    /// What a person has asked for, a line each.
    func answer(_ lines: [String]) { for text in lines { line(text) } }

    private func line(_ text: String, color: String? = nil) {
        let safe = TerminalText.escapeLine(text)
        let color = usesColor ? color : nil
        state.withLock { state in
            showTransient("", &state)
            print(color.map { "\u{1B}[\($0)m\(safe)\u{1B}[0m\n" } ?? safe + "\n")
        }
    }

    private func print(_ text: String) {
        // A failure to write to standard error cannot be reported.
        try? StandardStream.error.write(text)
    }
}

extension FetchError {
    /// The same about a line of a list, which may be of any length.
    var inPart: FetchError {
        FetchError(
            outcome, phase, message.inPart, errnoName: errnoName, hint: advice?.inPart,
            expected: expected, actual: actual)
    }
}

extension String {
    /// At most 200 bytes, of the beginning and the end.
    fileprivate var inPart: String {
        guard utf8.count > 200 else { return self }
        let (first, last) = (
            utf8.index(startIndex, offsetBy: 120), utf8.index(endIndex, offsetBy: -77)
        )
        return "\(self[..<first])…\(self[last...])"
    }
}
