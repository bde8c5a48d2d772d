// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb
internal import SmallWebRecords

/// Standard output and standard error, written at once and in full.
struct StandardStream {
    let descriptor: Int32

    static let output = StandardStream(descriptor: 1)
    static let error = StandardStream(descriptor: 2)

    /// Whether a record was given up on standard output: what came after it would be a part of it.
    private static let isTorn = Locked(false)

    /// A reader that went away ends the process quietly, as SIGPIPE does.
    ///
    /// - Parameters:
    ///   - isWhole: Whether half of it is useless: the first signal and the deadline stop it only
    ///     when the reader takes nothing for a while more.
    ///   - patience: How long the reader may take.
    /// - Throws: `write`, `timeout`, and `interrupted` when a signal asks to stop while the reader
    ///   is slow.
    func write(
        _ bytes: ArraySlice<UInt8>, isWhole: Bool = false, _ patience: Patience = Patience()
    ) throws(FetchError) {
        if Self.isTorn.withLock({ $0 }) && descriptor == 1 { throw .cancelled }
        var rest = bytes
        var graceEnd: Instant?
        while !rest.isEmpty {
            // A signal may come before a call, or end it with a part written.
            if graceEnd == nil, swposix_pending_signal() != 0 {
                guard isWhole || rest.count == bytes.count else { throw .cancelled }
                graceEnd = Patience.graceEnd
            }
            let (count, number) = patience.attempt(isUrgent: graceEnd != nil) {
                rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            }
            if count >= 0 {
                if count > 0 && graceEnd != nil { graceEnd = Patience.graceEnd }
                rest = rest.dropFirst(count)
            } else if number == EPIPE {
                // SIGPIPE was inherited as ignored, or a program runs that goes with us.
                TemporaryDirectory.removeAll()
                swposix_die_of(SIGPIPE)
            } else if number == EINTR {
                let hasSignal = swposix_pending_signal() != 0
                guard hasSignal || patience.deadline <= .now else { continue }
                if isWhole, graceEnd.map({ .now < $0 }) ?? true {
                    graceEnd = graceEnd ?? Patience.graceEnd
                    continue
                }
                if isWhole { Self.isTorn.withLock { $0 = true } }
                if hasSignal { throw .cancelled }
                throw FetchError(
                    .timeout, .output, "the program that reads standard output is too slow",
                    hint: "allow more time with --max-time")
            } else if number == EAGAIN {
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                // Without a wait, the next call says whether it can be written.
                _ = poll(&ready, 1, 100)
                // As above, what a wait of no end would never notice.
                guard ready.revents == 0 else { continue }
                if swposix_pending_signal() != 0 && !isWhole { throw .cancelled }
            } else {
                let error = SystemError(number: number)
                throw FetchError(.write, .output, "cannot write to standard output", error)
            }
        }
    }

    func write(_ text: String) throws(FetchError) { try write(Array(text.utf8)[...]) }

    /// Writes what a server said, or a file of the user's, which may hold what a server said:
    /// exactly to a pipe, made harmless to a terminal.
    func writeForeign(
        _ bytes: [UInt8], isWhole: Bool = false, _ patience: Patience = Patience()
    ) throws(FetchError) {
        let isShown = Environment.isTerminal(descriptor)
        try write(
            (isShown ? TerminalText.escape(bytes) : bytes)[...], isWhole: isWhole, patience)
    }

    func writeForeign(_ text: String) throws(FetchError) { try writeForeign(Array(text.utf8)) }
}

/// Where the bytes for standard output go now.
enum BodyTarget: RecordTarget {
    case standardOutput(Patience)
    /// Held back, because an earlier URL of a parallel run is not finished.
    case held(Spool)

    func write(_ bytes: ArraySlice<UInt8>) throws(FetchError) {
        switch self {
        case .standardOutput(let patience): try StandardStream.output.write(bytes, patience)
        case .held(let spool): try spool.append(bytes)
        }
    }

    func write(_ text: String) throws(FetchError) { try write(Array(text.utf8)[...]) }

    /// One line of JSON, with one call when the system takes it whole.
    func writeRecord(_ line: [UInt8]) throws(FetchError) {
        switch self {
        case .standardOutput(let patience):
            try StandardStream.output.write(line[...], isWhole: true, patience)
        case .held(let spool): try spool.append(line[...])
        }
    }
}
