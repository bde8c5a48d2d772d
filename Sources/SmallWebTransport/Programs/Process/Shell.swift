// SPDX-License-Identifier: MIT
@preconcurrency internal import Glibc
package import SmallWebCore

/// Command lines of the user.
package enum Shell {
    /// Signals of limits on file size and processor time (`ulimit -f`, `-t`): the command line
    /// ignores them, and the programs that it starts get the default actions.
    package static let limitSignals = [SIGXFSZ, SIGXCPU]

    /// Starts a command with sh. Blocks no signals in it, and shares our standard error.
    ///
    /// - Parameters:
    ///   - defaults: Signals to reset to their default actions, also if ignored here.
    ///   - hasGroup: True to make it the leader of a new process group.
    /// - Returns: Its process id.
    package static func start(
        _ command: String, input: Int32, output: Int32, defaults: [Int32], hasGroup: Bool
    ) throws(SystemError) -> Int32 {
        /// The posix_spawn functions return an error instead of setting `errno`.
        func check(_ number: Int32) throws(SystemError) {
            if number != 0 { throw SystemError(number: number) }
        }
        var actions = posix_spawn_file_actions_t()
        try check(posix_spawn_file_actions_init(&actions))
        // It only frees memory.
        defer { _ = posix_spawn_file_actions_destroy(&actions) }
        try check(posix_spawn_file_actions_adddup2(&actions, input, 0))
        try check(posix_spawn_file_actions_adddup2(&actions, output, 1))
        var attributes = posix_spawnattr_t()
        try check(posix_spawnattr_init(&attributes))
        // It only frees memory.
        defer { _ = posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        try check(posix_spawnattr_setsigmask(&attributes, &signals))
        for signal in defaults + limitSignals { sigaddset(&signals, signal) }
        try check(posix_spawnattr_setsigdefault(&attributes, &signals))
        let flags =
            POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK
            | (hasGroup ? POSIX_SPAWN_SETPGROUP : 0)
        try check(posix_spawnattr_setflags(&attributes, Int16(flags)))
        let line: [String] = ["sh", "-c", command]
        var words: [UnsafeMutablePointer<CChar>?] = line.map { strdup($0.systemName) } + [nil]
        defer { for word in words { free(word) } }
        var process: pid_t = 0
        try check(posix_spawn(&process, "/bin/sh", &actions, &attributes, &words, environ))
        return process
    }
}
