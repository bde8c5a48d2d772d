// SPDX-License-Identifier: MIT
@preconcurrency internal import Glibc
internal import SmallWeb

extension Command {
    static let help: Command = Command(
        name: "help", synopsis: "help [COMMAND|TOPIC]",
        summary: "the manual of a command, or a topic",
        manual: "Shows the manual page of a command, through man(1) when standard output is a "
            + "terminal and the page is installed, and otherwise a text that the program "
            + "contains. Topics are exit-status and environment.",
        examples: [
            ("smallweb help get", "The manual page of get"),
            ("smallweb help exit-status", "What the exit statuses mean"),
        ],
        operands: [.topic], takes: { $0.group == .messages }
    ) { _, operands throws(FetchError) in
        guard operands.count <= 1 else { throw usageError("help takes one command or topic") }
        guard let name = operands.first else {
            try StandardStream.output.write(Help.summary)
            return 0
        }
        if let topic = Help.topics.first(where: { $0.name == name }) {
            try StandardStream.output.write(topic.text())
            return 0
        }
        guard let command = Command.all.first(where: { $0.name == name }) else {
            let names = Command.all.map(\.name) + Help.topics.map(\.name)
            throw usageError(
                "no help on \"\(name)\"",
                hint: Nearest.name(to: name, among: names).map { "did you mean '\($0)'?" }
                    ?? "topics: " + Help.topics.map(\.name).joined(separator: ", "))
        }
        let page = "smallweb-" + command.name
        if Environment.isTerminal(1), Program.run(["man", page], silencesErrors: true) == 0 {
            return 0
        }
        try StandardStream.output.write(Help.text(of: command))
        return 0
    }
}

/// Another program, found by PATH.
enum Program {
    /// Runs to the end, with our terminal.
    ///
    /// - Parameter input: For its standard input; `nil` for ours.
    /// - Returns: Its exit status; 127 when it cannot be started.
    static func run(
        _ words: [String], input: [UInt8]? = nil, silencesErrors: Bool = false
    ) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        var ends: [Int32] = [-1, -1]
        if input != nil {
            guard pipe(&ends) == 0 else { return 127 }
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            posix_spawn_file_actions_adddup2(&actions, ends[0], 0)
        }
        if silencesErrors {
            posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        }
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var process: pid_t = 0
        guard posix_spawnp(&process, words[0], &actions, nil, &arguments, environ) == 0 else {
            if input != nil { for end in ends { close(end) } }
            return 127
        }
        if let input {
            close(ends[0])
            // Whoever leaves the pager early wants no more of the text.
            let previous = signal(SIGPIPE, SIG_IGN)
            var rest = input[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { write(ends[1], $0.baseAddress, $0.count) }
                if count < 0 && errno == EINTR { continue }
                if count <= 0 { break }
                rest = rest.dropFirst(count)
            }
            close(ends[1])
            signal(SIGPIPE, previous)
        }
        var status: Int32 = 0
        while waitpid(process, &status, 0) == -1 && errno == EINTR {}
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + status & 0x7F
    }
}
