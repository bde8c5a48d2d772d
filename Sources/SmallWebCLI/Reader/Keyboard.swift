// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb

/// Reads single keys from the terminal. Between questions the terminal is in its normal line mode.
struct Keyboard {
    let messages: Messages

    private enum Event {
        case typed(String)
        /// Ctrl-D, or a closed terminal.
        case end
        case signal(Int32)
        case stop
    }

    private static let signals = [SIGINT, SIGQUIT, SIGTERM, SIGHUP]
    private static let suspend: UInt8 = 0x1A

    /// Asks a question. A signal ends the process.
    ///
    /// - Returns: The key or line; `nil` at the end of input.
    func ask(_ question: String, openers: String?) -> String? {
        var input = TypedInput(openers: openers)
        while true {
            switch readInOwnMode(question, &input) {
            case .typed(let text): return text
            case .end:
                messages.endPromptLine()
                return nil
            case .signal(let number):
                messages.endPromptLine()
                swposix_die_of(number)
            case .stop:
                messages.endPromptLine()
                // Stops the foreground process group, as the terminal's Ctrl-Z does. When
                // continued, the question is asked again.
                kill(0, SIGTSTP)
            }
        }
    }

    /// Restores the terminal's mode before it returns.
    private func readInOwnMode(_ question: String, _ input: inout TypedInput) -> Event {
        var saved = termios()
        let number = swposix_event()
        guard number >= 0 else { return .end }
        let event = Descriptor(owning: number)
        guard tcgetattr(0, &saved) == 0 else { return .end }
        // On failure a signal keeps its action.
        for signal in Self.signals { _ = swposix_signal_to_event(signal, event.borrowed) }
        defer {
            for signal in Self.signals { swposix_forget_signal(signal) }
            swposix_forget_event()
        }
        // Before the question, so that a quick answer is neither shown twice nor lost.
        guard Self.giveKeys(saved) else { return .end }
        defer {
            // No other way to restore the mode.
            _ = tcsetattr(0, TCSADRAIN, &saved)
        }
        messages.prompt(question + " ")
        messages.echo(input.line)
        while true {
            switch nextByte(event.borrowed) {
            case .byte(Self.suspend): return .stop
            case .byte(let byte):
                switch input.take(byte) {
                case .more(let echo): messages.echo(echo)
                case .typed(let text, let echo):
                    messages.echo(echo)
                    return .typed(text)
                case .end: return .end
                }
            case .end: return .end
            case .signal(let number): return .signal(number)
            case .interruption:
                // After a stop the shell may have changed the mode.
                guard Self.giveKeys(saved) else { return .end }
            }
        }
    }

    /// Turns off line mode and echo; Ctrl-C still sends a signal, and Ctrl-Z becomes a key.
    private static func giveKeys(_ saved: termios) -> Bool {
        var mode = saved
        mode.c_lflag &= ~tcflag_t(ICANON | ECHO)
        withUnsafeMutableBytes(of: &mode.c_cc) { characters in
            characters[Int(VMIN)] = 1
            characters[Int(VTIME)] = 0
            characters[Int(VSUSP)] = 0
        }
        return tcsetattr(0, TCSADRAIN, &mode) == 0
    }

    private enum Input {
        case byte(UInt8), end, signal(Int32), interruption
    }

    private func nextByte(_ event: Int32) -> Input {
        var ready = [
            pollfd(fd: 0, events: Int16(POLLIN), revents: 0),
            pollfd(fd: event, events: Int16(POLLIN), revents: 0),
        ]
        let count = poll(&ready, 2, -1)
        let signal = swposix_pending_signal()
        if signal != 0 { return .signal(signal) }
        guard count > 0 else { return .interruption }
        var byte: UInt8 = 0
        switch Glibc.read(0, &byte, 1) {
        case 1: return .byte(byte)
        case -1 where errno == EINTR || errno == EAGAIN: return .interruption
        default: return .end
        }
    }
}
