// SPDX-License-Identifier: MIT
internal import Glibc
package import SmallWeb

/// A file of terminal records, one per finished URL, to go on from after a stop of any kind.
///
/// A line counts once its line feed is there: the rest of a line that a kill has left is cut off.
/// Only one process at a time may use the file.
package final class Ledger {
    private let path: String
    private var file: Int32
    /// The last outcome of each URL, which is known by its hash: a million URLs are 40 MB.
    private var outcomes: [TwoHashKey: Outcome] = [:]

    /// Longest record: the largest body, every byte of it escaped.
    package static let lineBytesMax = 1 << 30

    package struct Result {
        package let key: TwoHashKey
        package let outcome: Outcome
        /// Unix seconds; `nil` when the record has none.
        package let start: Double?

        /// `nil` for other records and foreign lines, which are skipped.
        package init?(_ line: ArraySlice<UInt8>) {
            guard let members = Members(skimming: line) ?? Members(parsing: line),
                members.type == "response" || members.type == "error", let url = members.url,
                let outcome = members.outcome.flatMap(Outcome.init(rawValue:))
            else { return nil }
            // Before passwords were masked, they were written.
            key = TwoHashKey(URI.display(url))
            self.outcome = outcome
            start = members.start.flatMap(Double.init).flatMap { $0.isFinite ? $0 : nil }
        }
    }

    /// The members that are used of a record. The rest, mostly text, is skipped.
    private struct Members {
        var (type, url, outcome) = (String?.none, String?.none, String?.none)
        /// The number in `time`, as written.
        var start: String?

        init?(parsing line: ArraySlice<UInt8>) {
            guard let record = try? JSONValue.parse(line) else { return nil }
            (type, url) = (record["type"]?.string, record["url"]?.string)
            outcome = record["outcome"]?.string
            if case .number(let text)? = record["time"]?["start"] { start = text }
        }

        /// `nil` for a record in a form that no run writes.
        init?(skimming line: ArraySlice<UInt8>) {
            var isUsual = true
            let string = { (value: JSONSkimmer.Part, known: String?) -> String? in
                guard known == nil, let text = JSONSkimmer.string(value) else {
                    isUsual = false
                    return nil
                }
                return String(decoding: text, as: UTF8.self)
            }
            let isObject = line.withUnsafeBufferPointer { line in
                JSONSkimmer.skim(line) { name, value in
                    if JSONSkimmer.isEqual(name, "type") {
                        type = string(value, type)
                    } else if JSONSkimmer.isEqual(name, "url") {
                        url = string(value, url)
                    } else if JSONSkimmer.isEqual(name, "outcome") {
                        outcome = string(value, outcome)
                    } else if JSONSkimmer.isEqual(name, "time") {
                        isUsual =
                            JSONSkimmer.skim(value) { name, value in
                                guard JSONSkimmer.isEqual(name, "start") else { return }
                                if start != nil { isUsual = false }
                                start = String(decoding: value, as: UTF8.self)
                            } && isUsual
                    }
                }
            }
            guard isObject, isUsual else { return nil }
        }
    }

    /// The file of this process's ledger, once it is open.
    package static let own = Locked<FileIdentity?>(nil)

    /// - Throws: `write` when the file cannot be used, or another process uses it.
    package init(_ path: String) throws(FetchError) {
        self.path = path
        do throws(SystemError) {
            file = try systemCall { open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600) }
        } catch {
            throw FetchError(.write, .output, "cannot open the ledger \(path)", error)
        }
        // /dev/null can be used by any number of processes.
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return }
        if flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK {
            throw FetchError(.write, .output, "the ledger \(path) is in use: another run has it")
        }
        Self.own.withLock { $0 = FileIdentity(status) }
        try Self.cutTornLine(file, size: Int(status.st_size), path)
        try read()
    }

    deinit { close() }

    /// Frees the file for another run; nothing is added any more. Idempotent.
    package func close() {
        if file >= 0 { Glibc.close(file) }
        file = -1
    }

    /// The last outcome of a URL, by its record; `nil` when it has none.
    ///
    /// - Parameter request: The request made of the URL, if it is valid.
    package func outcome(_ request: Request?, _ url: String) -> Outcome? {
        outcomes[TwoHashKey(request?.uri.display ?? URI.display(url))]
    }

    /// Adds a record, with one call.
    ///
    /// - Throws: `write`.
    package func append(_ record: [UInt8]) throws(FetchError) {
        do throws(SystemError) {
            try writeAll(record[...], to: file)
        } catch {
            throw FetchError(.write, .output, "cannot write to the ledger \(path)", error)
        }
    }

    /// Removes the rest of a line that a kill has left at the end of a file of lines.
    package static func cutTornLine(
        _ file: Int32, size: Int, _ path: String
    ) throws(FetchError) {
        var (end, isOwn) = (size, true)
        do throws(SystemError) {
            while end > 0 {
                let start = max(0, end - 65_536)
                let piece = try FileBytes.read(file, at: start, count: end - start)
                if let last = piece.lastIndex(of: ASCII.lineFeed) {
                    end = start + last + 1
                    break
                }
                end = start
            }
            let rest = try FileBytes.read(file, at: end, count: 8)
            // A crash may leave zeros.
            isOwn = rest.first == 0 || zip(rest, "{\"type\":".utf8).allSatisfy(==)
            if end < size, isOwn { _ = try systemCall { ftruncate(file, off_t(end)) } }
        } catch {
            throw FetchError(
                .write, .output, "cannot remove the unfinished last line of \(path)", error)
        }
        guard isOwn else {
            throw FetchError(
                .usage, .input, "the unfinished last line of \(path) was not written here",
                hint: "name another file")
        }
    }

    /// - Throws: `timeout`. After a signal the rest does not matter: each URL gets a record of it.
    private func read() throws(FetchError) {
        let reader = try ListReader(path, lineBytesMax: Self.lineBytesMax)
        var bytes = 0
        while case .line(let line, _) = reader.take() {
            bytes += line.count + 64
            if bytes > 1 << 20 {
                bytes = 0
                do throws(FetchError) {
                    try LongWork.check()
                } catch  where error.outcome == .interrupted {
                    return
                }
            }
            if let result = Result(line) { outcomes[result.key] = result.outcome }
        }
    }

    /// True if a line is a record of smallweb, of any type.
    package static func isRecord(_ line: ArraySlice<UInt8>) -> Bool {
        let record = try? JSONValue.parse(line)
        return record?["type"]?.string != nil && record?["v"] != nil
    }
}
