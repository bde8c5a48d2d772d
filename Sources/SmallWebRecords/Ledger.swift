// SPDX-License-Identifier: MIT
internal import Glibc
package import SmallWeb

/// A file of terminal records, one per finished URL, to go on from after a stop of any kind.
///
/// A line counts once its line feed is there: the rest of a line that a kill has left is cut off.
/// Only one process at a time may use the file.
package final class Ledger {
    private let file: LineFile
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
            func take(_ value: JSONSkimmer.Part, as member: inout String?) {
                let text = JSONSkimmer.string(value)
                isUsual = isUsual && member == nil && text != nil
                member = text.map { String(decoding: $0, as: UTF8.self) }
            }
            let isObject = line.withUnsafeBufferPointer { line in
                JSONSkimmer.skim(line) { name, value in
                    if JSONSkimmer.isEqual(name, "type") {
                        take(value, as: &type)
                    } else if JSONSkimmer.isEqual(name, "url") {
                        take(value, as: &url)
                    } else if JSONSkimmer.isEqual(name, "outcome") {
                        take(value, as: &outcome)
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
        file = try LineFile.open(path, title: "ledger", O_APPEND)
        // /dev/null can be used by any number of processes.
        guard file.isRegular else { return }
        Self.own.withLock { $0 = FileIdentity(file.status) }
        try file.cutTornLine()
        do throws(FetchError) {
            try file.forEachLine { line, _ in
                if let result = Result(line) { outcomes[result.key] = result.outcome }
            }
        } catch  where error.outcome == .interrupted {
            // After a signal the rest does not matter: each URL gets a record of it.
        }
    }

    /// Frees the file for another run; nothing is added any more. Idempotent.
    package func close() { file.close() }

    /// The last outcome of a URL, by its record; `nil` when it has none.
    ///
    /// - Parameter request: The request made of the URL, if it is valid.
    package func outcome(_ request: Request?, _ url: String) -> Outcome? {
        outcomes[TwoHashKey(request?.uri.display ?? URI.display(url))]
    }

    /// Adds a record, with one call.
    ///
    /// - Throws: `write`.
    package func append(_ record: [UInt8]) throws(FetchError) { try file.append(record) }

    /// True if a line is a record of smallweb, of any type.
    package static func isRecord(_ line: ArraySlice<UInt8>) -> Bool {
        let record = try? JSONValue.parse(line)
        return record?["type"]?.string != nil && record?["v"] != nil
    }
}
