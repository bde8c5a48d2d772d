// SPDX-License-Identifier: MIT
internal import SmallWeb

/// Where the records of one URL go that come before its terminal one.
struct RecordStream {
    let order: Order
    /// `nil` for nowhere: a ledger keeps the terminal record alone.
    let target: BodyTarget?

    func write(_ type: String, _ members: (inout JSONWriter) -> Void) throws(FetchError) {
        try target?.writeRecord(line(type, members))
    }

    func write(_ note: Note) throws(FetchError) { try write("notice") { $0.members(of: note) } }

    func line(_ type: String, _ members: (inout JSONWriter) -> Void) -> [UInt8] {
        JSONWriter.line { writer in
            writer.begin(type, order)
            members(&writer)
        }
    }
}

/// The records of `--events`.
struct EventRecords: Output {
    let records: RecordStream
    let log: FetchLog
    /// Whether the request line must not be shown.
    let hidesInput: Bool

    func take(_ event: Event) throws(FetchError) {
        switch event {
        case .sent(let bytes, let method):
            try records.write("request") { writer in
                writer.member("url", url: log.uri)
                writer.member("method", method)
                writer.member(named: "raw", bytes: hidesInput ? Array("***".utf8) : bytes)
                let identity = log.connection?.tls?.shownIdentity
                writer.member("identity", identity.map { "sha256:" + $0.hex })
            }
        case .redirect(let redirect):
            try records.write("redirect") { writer in
                writer.members(of: redirect)
                writer.member("followed", true)
                writer.member("reason", String?.none)
            }
        case .note(let note): try records.write(note)
        default: break
        }
    }
}

/// The records of references, as they come.
final class RefRecords: Output {
    private let records: RecordStream
    private(set) var count = 0

    init(_ records: RecordStream) { self.records = records }

    func take(_ event: Event) throws(FetchError) {
        guard case .item(let item) = event, item.kind == .reference else { return }
        try records.write("ref") { writer in
            writer.member("i", count)
            writer.member("name", item.text)
            writer.members(of: item.facts)
        }
        count += 1
    }
}

/// The records of a page's links, which are held until the page is done and go out in one piece.
final class LinkRecords {
    private let records: RecordStream
    private let bytesMax: Int
    private let spool = Spool(memoryMax: Run.heldBytesMax)
    private(set) var count = 0

    /// - Parameter bytesMax: What they may take in all. A few bytes of a page can make a record of
    ///   a kilobyte.
    init(_ records: RecordStream, bytesMax: Int = 256 << 20) {
        self.records = records
        self.bytesMax = bytesMax
    }

    /// - Parameter base: The page's own URI.
    func add(_ link: Link, base: URI) throws(FetchError) {
        let line = records.line("link") { writer in
            writer.member("i", count)
            writer.members(of: link, base: base)
        }
        count += 1
        guard spool.count + line.count <= bytesMax else {
            throw FetchError(
                .tooLarge, .body,
                "the records of the page's links take more than \(bytesMax >> 20) MiB",
                hint: "list them without --json, or set --max-filesize",
                expected: String(bytesMax))
        }
        try spool.append(line[...])
    }

    func drain() async throws(FetchError) {
        try await spool.drain { bytes throws(FetchError) in
            try records.target?.writeRecord(Array(bytes))
        }
    }
}
