// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb

/// Asks the user outside of a run: for passwords, keys, secrets.
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

    /// True to trust a key in spite of `error`.
    func confirms(_ error: FetchError) -> Bool {
        messages.ask(error.message, details: error.details)
        return confirms("trust it?")
    }
}

extension Settings {
    /// Confirms an irreversible action: by `--force`, or by asking.
    ///
    /// - Throws: `usage` if there is no terminal to ask on.
    func confirms(_ question: String) throws(FetchError) -> Bool {
        if stores.isForced { return true }
        guard asker.canAsk else {
            throw usageError("\(question) Cannot ask without a terminal; use --force to confirm")
        }
        return asker.confirms(question)
    }
}

/// Reads one line from the terminal.
enum Prompt {
    static var isPossible: Bool { Environment.isTerminal(0) && Environment.isTerminal(2) }

    /// The loop whose thread asks, so that signals interrupt it and questions are serialized.
    private static let loop = Locked<EventLoop?>(nil)

    /// Makes later calls of other threads ask on the thread of `loop`.
    static func ask(on loop: EventLoop) { Self.loop.withLock { $0 = loop } }

    /// - Parameter isSensitive: True to turn off the terminal's echo.
    /// - Returns: The line without its end; `nil` at end of file or after a signal.
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
        // The first signal only interrupts the read, so that the echo is restored on Ctrl-C, too.
        // During a fetch the loop handles signals; before it they are handled here.
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
                // No other way to restore the echo.
                _ = tcsetattr(0, TCSADRAIN, &saved)
                messages.endPromptLine()
            }
            for signal in noted { swposix_forget_signal(signal) }
            let signal = swposix_pending_signal()
            if noted.contains(signal) { swposix_die_of(signal) }
        }
        // Never ask for a secret that would be echoed.
        guard isHidden || !isSensitive else { return nil }
        messages.prompt(question + (question.hasSuffix(" ") ? "" : " "))
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while line.count < 65_536 {
            guard swposix_wait_readable(0) == 0, Glibc.read(0, &byte, 1) == 1 else {
                // The next message begins on a line of its own.
                if !canHide { messages.endPromptLine() }
                return nil
            }
            if byte == ASCII.lineFeed { return line }
            line.append(byte)
        }
        return nil
    }
}
