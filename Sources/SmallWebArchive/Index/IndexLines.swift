// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWebCore

/// The lines of an index that are made from an archive, in memory until they are written.
struct IndexLines {
    /// A reply, or a note that the page was changed, as its line says.
    struct Reply {
        let offset: Int
        /// 0 while its end is not known.
        var bytes = 0
        var date = ""
        var isChange = false
        var digest: String?
        /// Beginning of the request, if it is one of HTTP.
        var request: ArraySlice<UInt8> = []
        private(set) var mime: String?
        private(set) var status: Int?

        init(offset: Int, date: String = "", isChange: Bool = false) {
            (self.offset, self.date, self.isChange) = (offset, date, isChange)
        }

        /// True if a request for the URL alone gets something else.
        fileprivate var isAside: Bool {
            isChange || !request.isEmpty && !request.starts(with: "GET ".utf8)
        }

        mutating func note(_ head: HTTPReply, isRevisit: Bool) {
            if head.status > 0 { status = head.status }
            mime = isRevisit ? "warc/revisit" : head["content-type"].map(Self.essence)
        }

        mutating func note(type: String?) { mime = type.map(Self.essence) }

        private static func essence(_ type: String) -> String {
            String(type.prefix { $0 != ";" && !$0.isWhitespace })
        }
    }

    /// All lines, one after the other; `order` has where each is.
    private var text: [UInt8] = []
    private var order: [Range<Int>] = []
    /// Replies among the last records, which have one target in common.
    private var replies: [Reply] = []
    private var (target, start, records) = ("", 0, 0)
    /// Beginning of the last request.
    private var request: [UInt8] = []
    /// Offsets of certificates by server.
    private var chains: [String: [Int]] = [:]
    let old: CaptureIndex?
    private let name: String
    private let isCompressed: Bool
    /// Lines, and their bytes, that are kept.
    private var kept = (lines: 0, bytes: 0)

    /// Kind of the metadata record which says that a page was changed.
    static let change = "changed"
    private static let headBytesMax = 64 << 10
    /// Most records that are taken for one exchange, and certificates of a server.
    private static let (recordsMax, chainsMax) = (64, 8)

    init(of archive: String, isCompressed: Bool, behind old: CaptureIndex?) {
        (self.isCompressed, self.old) = (isCompressed, old)
        name = archive.split(separator: "/").last.map { String($0) } ?? archive
    }

    /// Keeps the lines so far, of exchanges that are in the archive.
    mutating func keep() { kept = (order.count, text.count) }

    /// Drops the lines since ``keep()``.
    mutating func drop() {
        order.removeLast(order.count - kept.lines)
        text.removeLast(text.count - kept.bytes)
    }

    var count: Int { order.count }
    var isEmpty: Bool { order.isEmpty }

    /// Removes the lines, and keeps what is known of servers.
    mutating func takeLines() -> [ArraySlice<UInt8>] {
        defer { (text, order) = ([], []) }
        return order.map { text[$0] }
    }

    /// Adds the replies of the archive behind an offset.
    ///
    /// - Returns: The end of its last whole record.
    mutating func read(_ reader: WarcReader, from offset: Int) throws(FetchError) -> Int {
        reader.seek(to: offset)
        reader.skipsPadding = true
        (target, start, records) = ("", offset, 0)
        do throws(FetchError) {
            while let header = try reader.next() { try note(header, reader) }
        } catch {
            // The record is torn, or is being written.
            guard let fault = reader.fault, fault.isTorn, reader.offset > 0 else { throw error }
        }
        end(at: reader.offset)
        flush(at: reader.offset)
        return reader.offset
    }

    private mutating func note(_ header: WarcHeader, _ reader: WarcReader) throws(FetchError) {
        let offset = reader.offset
        end(at: offset)
        if header.target ?? "" != target || records >= Self.recordsMax {
            flush(at: offset)
            (target, start, records, request) = (header.target ?? "", offset, 0, [])
        }
        records += 1
        switch header.type {
        case "request" where header.contentType == MessageHead.mediaType:
            request = try reader.block(upTo: 32)
        case "response", "revisit", "resource":
            guard header.target != nil else { return }
            let digest = header["warc-payload-digest"] ?? header["warc-block-digest"]
            var reply = Reply(offset: offset)
            (reply.date, reply.digest) = (header["warc-date"] ?? "", digest)
            reply.request = request[...]
            let isRevisit = header.type == "revisit"
            if header.contentType == MessageHead.mediaType {
                let block = try reader.block(upTo: Self.headBytesMax)
                let end = HeaderText.end(of: block[...]) ?? block.count
                reply.note(HTTPReply(block[..<end]), isRevisit: isRevisit)
            } else if isRevisit || header.type == "resource" {
                reply.note(type: isRevisit ? "warc/revisit" : header["content-type"])
            }
            replies.append(reply)
        case "metadata" where header.kind == Certificates.kind:
            if let place = Certificates.place(target) { note(certificates: offset, of: place) }
        case "metadata" where header.kind == Self.change:
            replies.append(Reply(offset: offset, date: header["warc-date"] ?? "", isChange: true))
        default: break
        }
    }

    mutating func note(certificates offset: Int, of place: String) {
        chains[place] = (chains(of: place) + [offset]).suffix(Self.chainsMax)
    }

    private mutating func chains(of place: String) -> [Int] {
        if let known = chains[place] { return known }
        // `SCHEME HOST:PORT`
        let words = place.split(separator: " ", maxSplits: 1).joined(separator: "://")
        let known = old?.chains(of: place, likeKey: SurtKey.key(of: words + "/")) ?? []
        chains[place] = known
        return known
    }

    /// Ends the last record, which another one or the end of the file follows.
    private mutating func end(at offset: Int) {
        guard let last = replies.indices.last, replies[last].bytes == 0 else { return }
        replies[last].bytes = offset - replies[last].offset
    }

    /// Makes the lines of the last exchange.
    private mutating func flush(at offset: Int) {
        for reply in replies { add(reply, exchange: start..<offset, of: target) }
        replies = []
    }

    mutating func add(_ reply: Reply, exchange: Range<Int>, of target: String) {
        let certificates =
            Certificates.place(target).map { chains(of: $0) }?.map(String.init) ?? []
        // Without compression two line ends follow a record.
        let bytes = reply.bytes - (isCompressed ? 0 : 4)
        let time = String(decoding: reply.date.utf8.filter(ASCII.isDigit), as: UTF8.self)
        let members: [(String, String?)] = [
            ("url", target), ("mime", reply.isChange ? Self.change : reply.mime),
            ("status", reply.status.map(String.init)),
            ("digest", reply.digest), ("length", String(bytes)),
            ("offset", String(reply.offset)), ("filename", name),
            ("fraction", String(time.dropFirst(14))),
            ("exchange", "\(exchange.lowerBound)-\(exchange.upperBound)"),
            ("chains", certificates.isEmpty ? nil : certificates.joined(separator: ",")),
        ]
        let begin = text.count
        if reply.isAside { text.append(CaptureIndex.aside) }
        text.append(SurtKey.key(of: target) + " " + time.prefix(14) + " {")
        for case (let name, let value?) in members where !value.isEmpty {
            if text.last != UInt8(ascii: "{") { text.append(", ") }
            text.append("\"\(name)\": ")
            Self.append(value, to: &text)
        }
        text.append("}\n")
        order.append(begin..<text.count)
    }

    /// Appends a string of JSON in ASCII alone, as Python's json module writes it.
    private static func append(_ value: String, to text: inout [UInt8]) {
        text.append(UInt8(ascii: "\""))
        for unit in value.utf16 {
            switch unit {
            case 0x22, 0x5C: text += [UInt8(ascii: "\\"), UInt8(unit)]
            case 0x20..<0x7F: text.append(UInt8(unit))
            default:
                let digits = String(unit, radix: 16)
                text.append("\\u" + String(repeating: "0", count: 4 - digits.count) + digits)
            }
        }
        text.append(UInt8(ascii: "\""))
    }

    // MARK: Writing

    /// Writes all lines in their order, with those of an index, behind a line about them.
    ///
    /// - Parameter old: The file, and where its lines begin.
    mutating func write(
        to file: Int32, _ about: String, merging old: (file: Int32, start: Int)?
    ) throws(SystemError) {
        order = text.withUnsafeBufferPointer { bytes in
            order.sorted { bytes[$0].lexicographicallyPrecedes(bytes[$1]) }
        }
        var pending = Array(about.utf8)
        var next = order.startIndex
        func add(_ line: ArraySlice<UInt8>) throws(SystemError) {
            pending += line
            guard pending.count >= 1 << 20 else { return }
            try writeAll(pending[...], to: file)
            pending = []
        }
        func addOwn(before line: ArraySlice<UInt8>?) throws(SystemError) {
            while next < order.endIndex,
                line.map({ text[order[next]].lexicographicallyPrecedes($0) }) ?? true
            {
                try add(text[order[next]])
                next += 1
            }
        }
        if let old {
            var lines = LineFile.Lines(old.file, from: old.start)
            while let line = try lines.next() {
                try addOwn(before: line)
                try add(line + [ASCII.lineFeed])
            }
        }
        try addOwn(before: nil)
        try writeAll(pending[...], to: file)
    }
}
