// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWebCore

/// The lines of an index that are made from an archive, in memory until they are written.
struct IndexLines {
    /// A record whose end is not known yet, or whose exchange is not.
    private struct Record {
        let header: WarcHeader
        let offset: Int
        var end = 0
        var mime: String?
        var status: Int?
    }

    /// All lines, one after the other; `order` has where each is.
    private var text: [UInt8] = []
    private var order: [Range<Int>] = []
    /// Replies among the last records, which have one target in common.
    private var replies: [Record] = []
    private var (target, start, records) = ("", 0, 0)
    /// Offsets of certificates by server.
    private var chains: [String: [Int]] = [:]
    private let old: CaptureIndex?
    private var name = ""
    private var isCompressed = false

    private static let headBytesMax = 64 << 10
    /// Most records that are taken for one exchange, and certificates of a server.
    private static let (recordsMax, chainsMax) = (64, 8)

    init(_ old: CaptureIndex?) { self.old = old }

    var count: Int { order.count }

    /// Adds the replies of an archive behind an offset.
    ///
    /// - Returns: The end of its last whole record.
    mutating func read(_ archive: String, from offset: Int) throws(FetchError) -> Int {
        let reader = try WarcReader(archive)
        isCompressed = reader.isCompressed
        name = archive.split(separator: "/").last.map { String($0) } ?? archive
        reader.seek(to: offset)
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
            (target, start, records) = (header.target ?? "", offset, 0)
        }
        records += 1
        switch header.type {
        case "response", "revisit", "resource":
            guard header.target != nil else { return }
            var record = Record(header: header, offset: offset)
            if header.contentType == MessageHead.mediaType {
                let block = try reader.block(upTo: Self.headBytesMax)
                let head = HTTPReply(block[..<(HeaderText.end(of: block[...]) ?? block.count)])
                if head.status > 0 { record.status = head.status }
                record.mime = head["content-type"]
            } else if header.type == "resource" {
                record.mime = header["content-type"]
            }
            replies.append(record)
        case "metadata" where header.contentType == Certificates.mediaType:
            guard let place = Certificates.place(target) else { return }
            let known = chains(of: place)
            chains[place] = (known + [offset]).suffix(Self.chainsMax)
        default: break
        }
    }

    private mutating func chains(of place: String) -> [Int] {
        if let known = chains[place] { return known }
        let known = old?.chains(of: place, likeKey: SurtKey.key(of: target)) ?? []
        chains[place] = known
        return known
    }

    /// Ends the last record, which another one or the end of the file follows.
    private mutating func end(at offset: Int) {
        guard let last = replies.indices.last, replies[last].end == 0 else { return }
        // Without compression two line ends follow it.
        replies[last].end = offset - (isCompressed ? 0 : 4)
    }

    /// Makes the lines of the last exchange.
    private mutating func flush(at offset: Int) {
        guard let first = replies.first?.header.target else { return }
        let key = SurtKey.key(of: first)
        let certificates =
            Certificates.place(first).map { chains(of: $0) }?.map(String.init) ?? []
        for reply in replies {
            let header = reply.header
            let isRevisit = header.type == "revisit"
            let mime = isRevisit ? "warc/revisit" : reply.mime.map(Self.essence)
            let digest = header["warc-payload-digest"] ?? header["warc-block-digest"]
            let members: [(String, String?)] = [
                ("url", header.target), ("mime", mime), ("status", reply.status.map(String.init)),
                ("digest", digest), ("length", String(reply.end - reply.offset)),
                ("offset", String(reply.offset)), ("filename", name),
                ("exchange", "\(start)-\(offset)"),
                ("chains", certificates.isEmpty ? nil : certificates.joined(separator: ",")),
            ]
            let begin = text.count
            let time = (header["warc-date"] ?? "").utf8.filter(ASCII.isDigit).prefix(14)
            text.append(key + " " + String(decoding: time, as: UTF8.self) + " {")
            for case (let name, let value?) in members where !value.isEmpty {
                if text.last != UInt8(ascii: "{") { text.append(", ") }
                text.append("\"\(name)\": ")
                Self.append(value, to: &text)
            }
            text.append("}\n")
            order.append(begin..<text.count)
        }
        replies = []
    }

    private static func essence(_ type: String) -> String {
        String(type.prefix { $0 != ";" && !$0.isWhitespace })
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
            var (rest, position) = ([UInt8](), old.start)
            while true {
                let piece = try FileBytes.read(old.file, at: position, count: 1 << 20)
                if piece.isEmpty { break }
                position += piece.count
                rest += piece
                var lines = rest[...]
                while let feed = lines.firstLineFeed {
                    try addOwn(before: lines[...feed])
                    try add(lines[...feed])
                    lines = lines[(feed + 1)...]
                }
                rest = Array(lines)
            }
        }
        try addOwn(before: nil)
        try writeAll(pending[...], to: file)
    }
}
