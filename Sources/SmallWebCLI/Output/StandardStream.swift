// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb

/// Standard output and standard error, written at once and in full.
struct StandardStream {
    let descriptor: Int32

    static let output = StandardStream(descriptor: 1)
    static let error = StandardStream(descriptor: 2)

    /// A reader that went away ends the process quietly, as SIGPIPE does.
    ///
    /// - Parameter isWhole: Whether half of it is of no use: the first signal does not stop it.
    /// - Throws: `write`, and `interrupted` when a signal asks to stop while the reader is slow.
    func write(_ bytes: ArraySlice<UInt8>, isWhole: Bool = false) throws(FetchError) {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            let number = errno
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if number == EPIPE {
                // SIGPIPE was inherited as ignored.
                swposix_die_of(SIGPIPE)
            } else if number == EINTR {
                if swposix_pending_signal() != 0 && !isWhole { throw .cancelled }
            } else if number == EAGAIN {
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&ready, 1, -1)
            } else {
                let error = SystemError(number: number)
                throw FetchError(
                    .write, .output, "cannot write to standard output: \(error.sentence)",
                    errnoName: error.name)
            }
        }
    }

    func write(_ text: String) throws(FetchError) { try write(Array(text.utf8)[...]) }

    /// Writes what a server said, or a file of the user's, which may hold what a server said:
    /// exactly to a pipe, made harmless to a terminal.
    func writeForeign(_ bytes: [UInt8]) throws(FetchError) {
        let isShown = Environment.isTerminal(descriptor)
        try write((isShown ? TerminalText.escape(bytes) : bytes)[...])
    }

    func writeForeign(_ text: String) throws(FetchError) { try writeForeign(Array(text.utf8)) }
}

/// Where the bytes for standard output go now.
enum BodyTarget {
    case standardOutput
    /// Held back, because an earlier URL of a parallel run is not finished.
    case held(Spool)

    func write(_ bytes: ArraySlice<UInt8>) throws(FetchError) {
        switch self {
        case .standardOutput: try StandardStream.output.write(bytes)
        case .held(let spool): try spool.append(bytes)
        }
    }

    func write(_ text: String) throws(FetchError) { try write(Array(text.utf8)[...]) }

    /// One line of JSON, with one call when the system takes it whole.
    func writeRecord(_ line: [UInt8]) throws(FetchError) {
        switch self {
        case .standardOutput: try StandardStream.output.write(line[...], isWhole: true)
        case .held(let spool): try spool.append(line[...])
        }
    }
}
