// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb

/// What the process was started with, beside its arguments.
package enum Environment {
    /// `nil` when unset or empty.
    static func variable(_ name: String) -> String? { environmentVariable(name) }

    /// Whether it is there at all, empty or not.
    static func isSet(_ name: String) -> Bool { getenv(name) != nil }

    /// Asked once: it does not change.
    static func isTerminal(_ descriptor: Int32) -> Bool { terminals[Int(descriptor)] }

    private static let terminals = (0...2).map {
        isatty($0) == 1 || $0 == 1 && forcedColumns != nil
    }

    /// Set for tests: standard output counts as a terminal of that width.
    private static let forcedColumns = variable("SMALLWEB_FORCE_TTY").flatMap { Int($0) }.map {
        min(max(1, $0), columnsMax)
    }

    /// Wider than any terminal; the sums of widths stay far from overflow.
    private static let columnsMax = 10_000

    /// Width of the terminal behind `descriptor`. Without a terminal COLUMNS may give it; 80 when
    /// it is not known.
    static func columns(_ descriptor: Int32) -> Int {
        if descriptor == 1, let forcedColumns { return forcedColumns }
        let columns = Int(swposix_columns(descriptor))
        if columns > 0 { return columns }
        let told = variable("COLUMNS").flatMap { Int($0) } ?? 0
        return 1...columnsMax ~= told ? told : 80
    }

    /// Whether to colour what goes to `descriptor`. `--color` beats the environment, `NO_COLOR`
    /// beats `CLICOLOR_FORCE`.
    static func usesColor(_ when: Settings.When, on descriptor: Int32) -> Bool {
        guard when == .auto else { return when == .always }
        if variable("NO_COLOR") != nil { return false }
        if let force = variable("CLICOLOR_FORCE"), force != "0" { return true }
        return isTerminal(descriptor) && variable("TERM") != "dumb" && variable("CLICOLOR") != "0"
    }

    /// Fills descriptors 0 to 2 if the caller closed them, so that no socket gets such a number and
    /// with it an error message. Writing to one of them still fails.
    ///
    /// - Returns: Whether none of them is free any more.
    static func reserveStandardDescriptors() -> Bool {
        (0...2).allSatisfy { descriptor in
            fcntl(descriptor, F_GETFD) != -1 || errno != EBADF
                || open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY) == descriptor
                // Where there is no /dev.
                || open("/", O_RDONLY) == descriptor
        }
    }
}

/// The words that the program was called with, exactly.
package enum Arguments {
    /// Without the program's own name. Not `CommandLine.arguments`: that reads /proc, which a
    /// chroot may lack, and replaces what is not UTF-8.
    package static var words: [String] {
        (1..<max(1, Int(swposix_argument_count()))).compactMap { index in
            swposix_arguments().map { String(systemName: $0[index]) }
        }
    }
}
