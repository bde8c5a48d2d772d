// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb

/// How a person is asked outside of a run: for passwords, keys, secrets.
struct Asker: Sendable {
    let isAllowed: Bool
    let settings: MessageSettings

    var canAsk: Bool { isAllowed && Prompt.isPossible }
    var messages: Messages { Messages(settings) }

    func ask(_ question: String, isSensitive: Bool = false) -> [UInt8]? {
        Prompt.read(question, isSensitive: isSensitive, messages: messages)
    }

    func confirms(_ question: String) -> Bool {
        ask(question + " [y/N]").map { ["y", "yes"].contains(String(decoding: $0, as: UTF8.self)) }
            ?? false
    }

    /// Whether a key is trusted that would otherwise be refused by `error`.
    func confirms(_ error: FetchError) -> Bool {
        messages.ask(error.message, details: error.details)
        return confirms("trust it?")
    }
}

extension Settings {
    /// Whether to do what cannot be undone: `--force`, or a person's yes.
    ///
    /// - Throws: `usage` when there is no person to ask.
    func confirms(_ question: String) throws(FetchError) -> Bool {
        if stores.isForced { return true }
        guard asker.canAsk else {
            throw usageError("\(question) Cannot ask without a terminal; use --force to confirm")
        }
        return asker.confirms(question)
    }
}

/// Asks the person at the terminal for one line.
enum Prompt {
    static var isPossible: Bool { Environment.isTerminal(0) && Environment.isTerminal(2) }

    /// Whose thread asks: a signal interrupts it, and one question comes after the other.
    private static let loop = Locked<EventLoop?>(nil)

    /// From now on, questions of other threads are asked on that of `loop`.
    static func ask(on loop: EventLoop) { Self.loop.withLock { $0 = loop } }

    /// - Parameter isSensitive: Whether the terminal must not show what is typed.
    /// - Returns: The line without its end; `nil` at end of file or when a signal came.
    static func read(_ question: String, isSensitive: Bool, messages: Messages) -> [UInt8]? {
        guard let loop = loop.withLock({ $0 }), !loop.isCurrent else {
            return readHere(question, isSensitive: isSensitive, messages: messages)
        }
        return loop.performAndWait {
            readHere(question, isSensitive: isSensitive, messages: messages)
        }
    }

    private static func readHere(
        _ question: String, isSensitive: Bool, messages: Messages
    ) -> [UInt8]? {
        var saved = termios()
        let canHide = isSensitive && tcgetattr(0, &saved) == 0
        // A signal's first arrival only interrupts the read, so the end is reached on Ctrl-C too:
        // during a fetch because the loop has seen to it, before it because of this.
        let noted =
            canHide
            ? [SIGINT, SIGQUIT, SIGTERM, SIGHUP].filter { swposix_note_signal($0) == 1 } : []
        var isHidden = false
        if canHide {
            var hidden = saved
            hidden.c_lflag &= ~tcflag_t(ECHO)
            // Before the question, so that a quick answer is neither shown nor lost.
            isHidden = tcsetattr(0, TCSADRAIN, &hidden) == 0
        }
        defer {
            if canHide {
                // There is nothing else that would show again what is typed.
                _ = tcsetattr(0, TCSADRAIN, &saved)
                messages.endPromptLine()
            }
            for signal in noted { swposix_forget_signal(signal) }
            let signal = swposix_pending_signal()
            if noted.contains(signal) { swposix_die_of(signal) }
        }
        // A secret is not asked for where it would be shown.
        guard isHidden || !isSensitive else { return nil }
        messages.prompt(question + (question.hasSuffix(" ") ? "" : " "))
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while line.count < 65_536 {
            guard swposix_wait_readable(0) == 0, Glibc.read(0, &byte, 1) == 1 else {
                // What is said next begins a line of its own.
                if !canHide { messages.endPromptLine() }
                return nil
            }
            if byte == ASCII.lineFeed { return line }
            line.append(byte)
        }
        return nil
    }
}
