// SPDX-License-Identifier: MIT
internal import SmallWeb

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
    /// `nil` to record if there is a terminal.
    var recordsHistory: Bool?

    var showsErrors: Bool { !isSilent || showsErrorsWhenSilent }
    var showsNotes: Bool { !isQuiet && !isSilent }
    /// True if a running fetch may print messages.
    var showsTrace: Bool { isVerbose || showsNotes }
}

/// Messages on standard error. Text from servers is escaped here, once for all.
final class Messages: Sendable {
    private struct State {
        var transient = ""
        /// Notes printed already, one for each server.
        var told: Set<Note> = []
    }

    private let settings: MessageSettings
    /// True if a person sees them.
    static var areSeen: Bool { Environment.isTerminal(2) }
    private let isTerminal = areSeen
    private let usesColor: Bool
    /// Locked while a line is written: fetches on several loops share the terminal.
    private let state = Locked(State())

    init(_ settings: MessageSettings) {
        self.settings = settings
        usesColor = Environment.usesColor(settings.color, on: 2)
    }

    /// The form of progress: `bar`, `json` or `none`. Concurrent URLs share one line.
    func progress(writesRecords: Bool) -> MessageSettings.Progress {
        switch settings.progress {
        case .auto:
            // A terminal that cannot erase a line would show each update on a line of its own.
            let isWatched =
                isTerminal && settings.showsNotes && !settings.isVerbose
                && Environment.variable("TERM") != "dumb"
            return isWatched && !writesRecords ? .bar : .none
        case .bar, .json, .none: return settings.progress
        }
    }

    /// Limit of a transient line: a character in the last column can begin another line.
    var transientColumnsMax: Int { max(1, Environment.columns(2) - 1) }

    /// Prints `smallweb: URL: message`, detail lines and the hint. A mistake on the command line is
    /// printed even when errors are not.
    func error(
        _ url: String?, _ outcome: Outcome, _ message: String, details: [String] = [],
        hint: String?
    ) {
        guard settings.showsErrors || outcome == .usage else { return }
        let isBad = [.usage, .badURL, .unsupportedScheme].contains(outcome)
        let place = url.map { (isBad ? URI.shown($0).inPart : URI.shown($0)) + ": " } ?? ""
        line("smallweb: " + place + message, color: "31")
        for detail in details { line(detail) }
        if let hint { self.hint(hint) }
    }

    func error(_ url: String?, _ error: FetchError) {
        self.error(
            url, error.outcome, error.message, details: error.details, hint: advice(error))
    }

    func advice(_ error: FetchError) -> String? {
        isTerminal ? error.adviceForPerson : error.advice
    }

    func hint(_ text: String) {
        if settings.showsNotes { line("hint: " + text) }
    }

    /// Says what a person is to type if standard input is a terminal.
    func promptToType(_ what: String) {
        if Environment.isTerminal(0) { hint("type \(what), and Ctrl-D at the end") }
    }

    /// Prints a note on a terminal or in the trace; scripts get warnings only.
    func note(_ url: String, _ note: Note) {
        guard settings.showsNotes, isTerminal || settings.isVerbose || note.isWarning else {
            return
        }
        if note.place != nil, !state.withLock({ $0.told.insert(note).inserted }) { return }
        line("smallweb: \(URI.shown(url)): note: \(note.message)")
    }

    /// Says on a terminal that the key of a server was seen for the first time.
    func pinned(_ place: String) {
        guard isTerminal && settings.showsNotes else { return }
        line("smallweb: first visit: the key of \(place) is pinned", color: "2")
    }

    /// Printed for scripts, too.
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

    /// Prints the subject of a question before it is asked.
    func ask(_ text: String, details: [String]) {
        line("smallweb: " + text)
        for detail in details { line(detail) }
    }

    /// Writes a line of JSON as it is: JSON escapes control characters itself.
    func writeRecord(_ line: [UInt8]) {
        state.withLock { _ in try? StandardStream.error.write(line[...], isWhole: true) }
    }

    func prompt(_ text: String) {
        showTransient("")
        print(TerminalText.escapeLine(text))
    }

    func endPromptLine() { print("\n") }

    /// Echoes typed characters in place of the terminal; `text` must be safe to show.
    func echo(_ text: String) { if !text.isEmpty { print(text) } }

    /// Prints output that the user has asked for.
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
    /// This error with a long line of a list shortened.
    var inPart: FetchError {
        FetchError(
            outcome, phase, message.inPart, errnoName: errnoName, hint: advice?.inPart,
            expected: expected, actual: actual)
    }
}

extension String {
    /// At most 200 bytes: the beginning and the end.
    fileprivate var inPart: String {
        guard utf8.count > 200 else { return self }
        let (first, last) = (
            utf8.index(startIndex, offsetBy: 120), utf8.index(endIndex, offsetBy: -77)
        )
        return "\(self[..<first])…\(self[last...])"
    }
}
