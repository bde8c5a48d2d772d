// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
@preconcurrency internal import Glibc
internal import SmallWeb

/// Another program, found by PATH, with our terminal.
struct Program {
    private let process: pid_t
    /// Its standard input; -1 when that is ours.
    private let input: Int32

    /// Starts it.
    ///
    /// - Parameters:
    ///   - takesInput: Whether it is fed; another one says nothing on standard error.
    ///   - defaults: Variables that it gets unless they are set.
    /// - Returns: `nil` when it cannot be started.
    init?(_ words: [String], takesInput: Bool = false, defaults: [String: String] = [:]) {
        var actions = posix_spawn_file_actions_t()
        guard posix_spawn_file_actions_init(&actions) == 0 else { return nil }
        // It frees memory.
        defer { _ = posix_spawn_file_actions_destroy(&actions) }
        var ends: [Int32] = [-1, -1]
        if takesInput { guard swposix_pipe(&ends) == 0 else { return nil } }
        var status: Int32 = 0
        if takesInput { status = posix_spawn_file_actions_adddup2(&actions, ends[0], 0) }
        if !takesInput {
            status = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        }
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        // Without them it works as it does without us.
        for (name, value) in defaults { _ = setenv(name, value, 0) }
        var process: pid_t = 0
        if status == 0 {
            status = posix_spawnp(&process, words[0], &actions, nil, &arguments, environ)
        }
        if takesInput { close(ends[0]) }
        guard status == 0 else {
            if takesInput { close(ends[1]) }
            return nil
        }
        self.process = process
        input = ends[1]
    }

    /// Gives it `text` to read and waits for its end. If it ends early, the rest is not wanted, and
    /// keys such as Ctrl-C are meant for the program, which shares our terminal.
    ///
    /// - Returns: Its exit status.
    func feed(_ text: Spool) async -> Int32 {
        let ignored = [SIGINT, SIGQUIT, SIGPIPE]
        let saved = ignored.map { number in
            var ignoring = sigaction()
            ignoring.__sigaction_handler.sa_handler = SIG_IGN
            var before = sigaction()
            // It fails for numbers that are not signals.
            _ = sigaction(number, &ignoring, &before)
            return before
        }
        defer {
            for (number, before) in zip(ignored, saved) {
                var before = before
                // As above.
                _ = sigaction(number, &before, nil)
            }
        }
        do throws(FetchError) {
            try await text.drain { bytes throws(FetchError) in
                do throws(SystemError) { try writeAll(bytes, to: input) } catch { throw .cancelled }
            }
        } catch {
            // It has closed its input.
        }
        close(input)
        return wait()
    }

    /// - Returns: Its exit status.
    func wait() -> Int32 {
        var status: Int32 = 0
        while waitpid(process, &status, 0) == -1 && errno == EINTR {}
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + status & 0x7F
    }
}
