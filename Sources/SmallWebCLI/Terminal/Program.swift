// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
@preconcurrency internal import Glibc
internal import SmallWeb

/// Another program, found by PATH, that uses our terminal. Until it ends, signals from keys such as
/// Ctrl-C are ignored here.
struct Program {
    private let process: pid_t
    /// Write end of its standard input; -1 if it inherits ours.
    private let input: Int32

    /// Runs a program and waits for its end.
    ///
    /// - Parameters:
    ///   - text: Its standard input; by default it inherits ours. May be read in part.
    ///   - isSilent: True to discard its standard error.
    ///   - defaults: Environment variables to set unless they are set already.
    /// - Returns: Its exit status; `nil` if it cannot be started.
    static func run(
        _ words: [String], reading text: Spool? = nil, isSilent: Bool = false,
        defaults: [String: String] = [:]
    ) -> Int32? {
        // On failure the program runs without these defaults.
        for (name, value) in defaults { _ = setenv(name, value, 0) }
        let signals = IgnoredSignals()
        defer { signals.restore() }
        guard
            let program = Program(
                words, takesInput: text != nil, isSilent: isSilent, signals.forChildren)
        else { return nil }
        if let text { program.feed(text) }
        return program.wait()
    }

    private init?(
        _ words: [String], takesInput: Bool, isSilent: Bool, _ defaultSignals: sigset_t
    ) {
        var actions = posix_spawn_file_actions_t()
        guard posix_spawn_file_actions_init(&actions) == 0 else { return nil }
        // Only frees memory.
        defer { _ = posix_spawn_file_actions_destroy(&actions) }
        var attributes = posix_spawnattr_t()
        guard posix_spawnattr_init(&attributes) == 0 else { return nil }
        // Only frees memory.
        defer { _ = posix_spawnattr_destroy(&attributes) }
        var ends: [Int32] = [-1, -1]
        if takesInput { guard swposix_pipe(&ends) == 0 else { return nil } }
        var defaultSignals = defaultSignals
        var status = posix_spawnattr_setsigdefault(&attributes, &defaultSignals)
        if status == 0 {
            status = posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
        }
        if status == 0 && takesInput {
            status = posix_spawn_file_actions_adddup2(&actions, ends[0], 0)
        }
        if status == 0 && isSilent {
            status = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        }
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var process: pid_t = 0
        if status == 0 {
            status = posix_spawnp(&process, words[0], &actions, &attributes, &arguments, environ)
        }
        if takesInput { close(ends[0]) }
        guard status == 0 else {
            if takesInput { close(ends[1]) }
            return nil
        }
        self.process = process
        input = ends[1]
    }

    private func feed(_ text: Spool) {
        do throws(FetchError) {
            try text.read { bytes throws(FetchError) in
                do throws(SystemError) { try writeAll(bytes, to: input) } catch { throw .cancelled }
            }
        } catch {
            // The program has closed its input.
        }
        close(input)
    }

    private func wait() -> Int32 {
        var status: Int32 = 0
        while waitpid(process, &status, 0) == -1 && errno == EINTR {}
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + status & 0x7F
    }
}

/// Signals of the terminal's keys and of a closed pipe, ignored while another program runs.
private struct IgnoredSignals {
    private static let numbers = [SIGINT, SIGQUIT, SIGPIPE]
    private let saved: [sigaction]
    /// Signals to reset to their default action in children; those ignored before stay ignored.
    let forChildren: sigset_t

    init() {
        var signals = sigset_t()
        // Fails for invalid signal numbers only.
        _ = sigemptyset(&signals)
        var saved: [sigaction] = []
        for number in Self.numbers {
            var ignoring = sigaction()
            ignoring.__sigaction_handler.sa_handler = SIG_IGN
            var before = sigaction()
            // Fails for invalid signal numbers only.
            _ = sigaction(number, &ignoring, &before)
            let handler = before.__sigaction_handler.sa_handler
            let wasIgnored =
                unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
            if !wasIgnored { _ = sigaddset(&signals, number) }
            saved.append(before)
        }
        self.saved = saved
        // Fails for invalid signal numbers only.
        for number in Shell.limitSignals { _ = sigaddset(&signals, number) }
        forChildren = signals
    }

    func restore() {
        for (number, before) in zip(Self.numbers, saved) {
            var before = before
            // Fails for invalid signal numbers only.
            _ = sigaction(number, &before, nil)
        }
    }
}
