// SPDX-License-Identifier: MIT
package import SmallWeb

package protocol RecordTarget {
    func writeRecord(_ line: [UInt8]) throws(FetchError)
}

/// The request that records are about, in the user's own words.
package struct RecordSubject: Sendable {
    /// Index in the run, from 0.
    package var n = 0
    /// JSON text, echoed untouched.
    package var id = Self.null
    private static let null = Array("null".utf8)
    package var tag: [UInt8]?
    /// As written; `nil` when it has none that can be read.
    package var url: String?
    /// Its bytes, when they are not UTF-8.
    package var rawURL: [UInt8]?
    /// Line number in a list, from 1; `nil` for an operand.
    package var line: Int?

    package init(url: String? = nil) { self.url = url }
}

/// Writes the records of one URL that come before its terminal one.
package final class RecordStream {
    package let subject: RecordSubject
    /// `nil` for nowhere: a ledger keeps the terminal record alone.
    package let target: (any RecordTarget)?

    package init(subject: RecordSubject, target: (any RecordTarget)?) {
        (self.subject, self.target) = (subject, target)
    }

    package func write(_ type: String, _ members: (inout JSONWriter) -> Void) throws(FetchError) {
        try target?.writeRecord(line(type, members))
    }

    package func write(_ note: Note) throws(FetchError) {
        try write("notice") { $0.members(of: note) }
    }

    /// - Parameter wanted: The members to write; `nil` for all.
    package func line(
        _ type: String, wanted: Set<String>? = nil, _ members: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        JSONWriter.line(wanted: wanted) { writer in
            writer.begin(type, subject)
            members(&writer)
        }
    }
}

/// The records of `--events`.
package struct EventRecords: EventSink {
    let records: RecordStream
    let log: FetchLog

    package func take(_ event: Event) throws(FetchError) {
        switch event {
        case .sent(let bytes, let method):
            try records.write("request") { writer in
                writer.member("url", url: log.uri)
                writer.member("method", method)
                writer.member(named: "raw", bytes: bytes)
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

package final class RefRecords: EventSink {
    private let records: RecordStream
    package private(set) var count = 0

    package init(_ records: RecordStream) { self.records = records }

    package func take(_ event: Event) throws(FetchError) {
        guard case .item(let item) = event, item.kind == .reference else { return }
        try records.write("ref") { writer in
            writer.member("i", count)
            writer.member("name", item.text)
            writer.members(of: item.facts)
        }
        count += 1
    }
}

/// The records for lines of a reply, as they come.
package final class ItemRecords: EventSink {
    private let records: RecordStream
    package private(set) var count = 0

    package init(_ records: RecordStream) { self.records = records }

    package func take(_ event: Event) throws(FetchError) {
        guard case .item(let item) = event, let type = item.recordType else { return }
        try records.write(type) { writer in
            writer.member("i", count)
            writer.members(of: item.facts)
        }
        count += 1
    }
}

/// The records of a page's links, which are held until the page is done and go out in one piece.
package final class LinkRecords {
    private let records: RecordStream
    private let fields: Set<String>?
    private let bytesMax: Int
    private let spool = Spool(memoryMax: 65_536)
    package private(set) var count = 0

    /// - Parameters:
    ///   - fields: The members that are asked for; `nil` for all.
    ///   - bytesMax: Limit of all records: a few bytes of a page can make a kilobyte.
    package init(
        _ records: RecordStream, fields: Set<String>? = nil, bytesMax: Int = 256 << 20
    ) {
        (self.records, self.fields) = (records, RecordFields.wanted(fields))
        self.bytesMax = bytesMax
    }

    package func add(_ link: Link, base: URI) throws(FetchError) {
        let line = records.line("link", wanted: fields) { writer in
            writer.member("i", count)
            writer.members(of: link, base: base)
        }
        count += 1
        guard spool.count + line.count <= bytesMax else {
            throw FetchError(
                .tooLarge, .body,
                "the records of the page's links take more than \(bytesMax >> 20) MiB",
                remedy: .listWithoutRecords, expected: String(bytesMax))
        }
        try spool.append(line[...])
    }

    package func drain() async throws(FetchError) {
        try await spool.drain { bytes throws(FetchError) in
            try records.target?.writeRecord(Array(bytes))
        }
    }
}
