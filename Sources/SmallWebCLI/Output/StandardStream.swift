// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb
internal import SmallWebRecords

/// Unbuffered standard output and standard error.
struct StandardStream {
    let descriptor: Int32

    static let output = StandardStream(descriptor: 1)
    static let error = StandardStream(descriptor: 2)

    /// True after a record was written to standard output in part: anything behind it would become
    /// a part of the record.
    private static let isTorn = Locked(false)

    /// Writes all bytes. If the reader has closed the pipe, the process ends quietly as by SIGPIPE.
    ///
    /// - Parameters:
    ///   - isWhole: True for a record: after a signal or the deadline a reader gets a grace period,
    ///     as long as it goes on reading.
    ///   - patience: Timeout for the reader.
    /// - Throws: `write`, `timeout`, and `interrupted` after a signal while the reader is slow.
    func write(
        _ bytes: ArraySlice<UInt8>, isWhole: Bool = false, _ patience: Patience = Patience()
    ) throws(FetchError) {
        if Self.isTorn.withLock({ $0 }) && descriptor == 1 { throw .cancelled }
        var rest = bytes
        var graceEnd: Instant?
        while !rest.isEmpty {
            // A signal may arrive before a call, or end it after a partial write.
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
                // SIGPIPE was inherited as ignored, or is ignored while another program runs.
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
                    hint: Advice.moreTime)
            } else if number == EAGAIN {
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                // If polling fails, the next write reports the error.
                _ = poll(&ready, 1, 100)
                // The timeout of 100 ms lets signals be noticed here.
                guard ready.revents == 0 else { continue }
                if swposix_pending_signal() != 0 && !isWhole { throw .cancelled }
            } else {
                let error = SystemError(number: number)
                throw FetchError(.write, .output, "cannot write to standard output", error)
            }
        }
    }

    func write(_ text: String) throws(FetchError) { try write(Array(text.utf8)[...]) }

    /// Writes text that may come from a server: unchanged to a pipe, escaped for a terminal.
    func writeForeign(
        _ bytes: [UInt8], isWhole: Bool = false, _ patience: Patience = Patience()
    ) throws(FetchError) {
        let isShown = Environment.isTerminal(descriptor)
        try write(
            (isShown ? TerminalText.escape(bytes) : bytes)[...], isWhole: isWhole, patience)
    }

    func writeForeign(_ text: String) throws(FetchError) { try writeForeign(Array(text.utf8)) }
}

/// Destination of a URL's standard output.
enum BodyTarget: RecordTarget {
    case standardOutput(Patience)
    /// Buffered until all earlier URLs of a parallel run are finished.
    case held(Spool)
    /// A file, for a page that is laid out.
    case file(BodySink)
    /// A record, for a page that is laid out.
    case record(RecordedBody)

    func write(_ bytes: ArraySlice<UInt8>) throws(FetchError) {
        switch self {
        case .standardOutput(let patience): try StandardStream.output.write(bytes, patience)
        case .held(let spool): try spool.append(bytes)
        case .file(let sink): try sink.write(bytes)
        case .record(let body): try body.add(rendered: bytes)
        }
    }

    func write(_ text: String) throws(FetchError) { try write(Array(text.utf8)[...]) }

    /// Writes one line of JSON, with a single system call if possible.
    func writeRecord(_ line: [UInt8]) throws(FetchError) {
        switch self {
        case .standardOutput(let patience):
            try StandardStream.output.write(line[...], isWhole: true, patience)
        case .held(let spool): try spool.append(line[...])
        case .file, .record: try write(line[...])
        }
    }
}
