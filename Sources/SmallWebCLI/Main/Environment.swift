// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb

/// The process's environment variables and standard descriptors.
package enum Environment {
    /// `nil` if unset or empty.
    static func variable(_ name: String) -> String? { environmentVariable(name) }

    /// True if set, even if empty.
    static func isSet(_ name: String) -> Bool { getenv(name) != nil }

    /// Cached: it does not change.
    static func isTerminal(_ descriptor: Int32) -> Bool { terminals[Int(descriptor)] }

    private static let terminals = (0...2).map {
        isatty($0) == 1 || $0 == 1 && forcedColumns != nil
    }

    /// For tests: treats standard output as a terminal of this width.
    private static let forcedColumns = variable("SMALLWEB_FORCE_TTY").flatMap { Int($0) }.map {
        min(max(1, $0), columnsMax)
    }

    /// Wider than any terminal; sums of widths cannot overflow.
    private static let columnsMax = 10_000

    /// Width of the terminal behind `descriptor`, else from COLUMNS, else 80.
    static func columns(_ descriptor: Int32) -> Int {
        if descriptor == 1, let forcedColumns { return forcedColumns }
        let columns = Int(swposix_columns(descriptor))
        if columns > 0 { return columns }
        let told = variable("COLUMNS").flatMap { Int($0) } ?? 0
        return 1...columnsMax ~= told ? told : 80
    }

    /// True to colour output to `descriptor`. `--color` takes precedence over the environment,
    /// `NO_COLOR` over `CLICOLOR_FORCE`.
    static func usesColor(_ when: Settings.When, on descriptor: Int32) -> Bool {
        guard when == .auto else { return when == .always }
        if variable("NO_COLOR") != nil { return false }
        if let force = variable("CLICOLOR_FORCE"), force != "0" { return true }
        return isTerminal(descriptor) && variable("TERM") != "dumb" && variable("CLICOLOR") != "0"
    }

    /// Opens descriptors 0 to 2 if the caller has closed them, so that sockets do not get these
    /// numbers and receive error messages. Writing to one of them still fails.
    ///
    /// - Returns: True if all three are open.
    static func reserveStandardDescriptors() -> Bool {
        (0...2).allSatisfy { descriptor in
            fcntl(descriptor, F_GETFD) != -1 || errno != EBADF
                || open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY) == descriptor
                // Fallback without /dev.
                || open("/", O_RDONLY) == descriptor
        }
    }

    /// Arguments without the program's name. Unlike `CommandLine.arguments` it needs no /proc,
    /// which a chroot may lack, and preserves bytes that are not UTF-8.
    package static var arguments: [String] {
        (1..<max(1, Int(swposix_argument_count()))).compactMap { index in
            swposix_arguments().map { String(systemName: $0[index]) }
        }
    }
}
