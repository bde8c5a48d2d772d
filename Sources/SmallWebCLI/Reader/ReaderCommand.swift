// SPDX-License-Identifier: MIT
internal import SmallWeb

/// A command at the reader's prompt. No I/O.
enum ReaderCommand: Equatable {
    case keys, address, save, bookmark, reload, history, back, identity, quit
    /// The number of a link, beginning with 1.
    case follow(Int)
    case go(String)
    case handOver(Int)
    case search(String)
    case nothing
    case invalid(String)

    /// Parses a key, or a line without its end.
    init(parsing text: String) {
        let words = text.trimmingSpaces
        guard let first = words.first else {
            self = .nothing
            return
        }
        let rest = words.dropFirst().trimmingSpaces
        switch (first, rest.isEmpty) {
        case ("?", true): self = .keys
        case ("u", true): self = .address
        case ("s", true): self = .save
        case ("m", true): self = .bookmark
        case ("r", true): self = .reload
        case ("h", true): self = .history
        case ("b", true): self = .back
        case ("i", true): self = .identity
        case ("q", true): self = .quit
        case ("g", true): self = .invalid("g wants a URL")
        case ("g", false):
            // `g` may be omitted for a URL with a scheme that begins with g.
            let isURL = !words.contains(" ") && String(words).contains(text: "://")
            self = .go(String(isURL ? words : rest))
        case ("x", _):
            let number = Self.number(rest)
            self = number.map { .handOver($0) } ?? .invalid("x wants the number of a link")
        case ("/", true): self = .invalid("/ wants words to search for")
        case ("/", false): self = .search(String(rest))
        default:
            self =
                Self.number(words).map { .follow($0) }
                ?? .invalid("unknown key \"\(words.prefix(20))\"")
        }
    }

    /// - Returns: `nil` unless it is a number.
    static func number(_ text: Substring) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy(ASCII.isDigit) else { return nil }
        // A longer number is out of range as well.
        return ASCII.decimal(text.utf8, max: 1_000_000_000) ?? .max
    }

    /// The keys of the prompt, for the prompt itself, `?` and the manual.
    static let table: [(key: Character, rest: String, meaning: String)] = [
        ("?", "", "lists the keys"),
        ("u", "", "shows the URL of the page"),
        ("s", "", "saves the page, and asks for the name of the file"),
        ("m", "", "bookmarks the page"),
        ("r", "", "loads the page again"),
        ("g", " URL", "goes to another URL, which may be relative to that of the page"),
        ("h", "", "lists the pages of this session, to go to one by its number"),
        ("b", "", "goes back to the page before"),
        ("i", "", "chooses or makes the client certificate for the page"),
        ("x", " N", "opens link N in another program, with xdg-open"),
        ("/", "WORDS", "searches in the page, where the pager is less"),
        ("q", "", "ends the session"),
    ]

    /// Characters that begin a line; all other keys take effect at once.
    static let openers = String(table.filter { !$0.rest.isEmpty }.map(\.key)) + digits
    static let digits = "0123456789"
}

extension StringProtocol {
    fileprivate var trimmingSpaces: SubSequence {
        var rest = self[...]
        while rest.first == " " { rest = rest.dropFirst() }
        while rest.last == " " { rest = rest.dropLast() }
        return rest
    }
}
