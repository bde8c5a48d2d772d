// SPDX-License-Identifier: MIT
@testable internal import GitPlugin
internal import SmallWebCore

/// Any URL of any of the schemes: its request has the fields it should have and no other, and its
/// path can be written as a URL again.
func gitAddress(_ input: [UInt8]) {
    guard let text = String(validating: input, as: UTF8.self) else { return }
    for scheme in ["git", "git+https"] {
        guard let uri = try? URI(parsing: scheme + "://h.test/" + text),
            let address = try? GitAddress(uri)
        else { continue }
        check(address.repository.host == "h.test" && address.repository.query == nil, "\(uri)")
        check(address.repository.scheme != "git+https", "\(address.repository)")
        for version in [0, 2] {
            guard let request = try? address.daemonRequest(version) else { continue }
            let fields = request.split(separator: 0, omittingEmptySubsequences: false)
            check(fields.count == (version == 0 ? 3 : 5), "\(fields.count) fields")
            check(fields[1].elementsEqual("host=h.test".utf8), "another host")
            let end = version == 0 ? "" : "version=2"
            check(fields[2].isEmpty && fields.dropFirst(3).first ?? [] == Array(end.utf8)[...], end)
            check(fields[0].allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "a control character")
        }
        for name in address.path ?? [] {
            check(!name.isEmpty && !name.contains(ASCII.slash) && !name.contains(0), "\(name)")
            check(![".", ".."].contains(String(decoding: name, as: UTF8.self)), "dots")
        }
        guard let path = address.path else { continue }
        for names in [path, path + [Array("a b%/".utf8.dropLast()) + [0xFF, 0x0A]]] {
            guard let again = try? GitAddress(URI(parsing: address.url(of: names))) else {
                fatalError("\(uri): its URL cannot be parsed")
            }
            check(again.path == names && again.version == address.version, "\(uri) changes")
            check(again.repository == address.repository, "\(uri) moves")
        }
    }
}

/// Packets between bytes that no text has; an empty one is a flush, and `\u{1}` alone a delim.
/// Other such bytes stand for words that no fuzzer would find.
func packets(_ input: ArraySlice<UInt8>) -> [PktLine] {
    input.split(separator: 0xFE, omittingEmptySubsequences: false).map { bytes in
        let payload = bytes.flatMap { words[$0].map { Array($0.utf8) } ?? [$0] }
        return payload.isEmpty ? .flush : payload == [1] ? .delim : .data(payload[...])
    }
}

let words: [UInt8: String] = [
    0xF8: "version 2", 0xF9: "symref=HEAD:", 0xFA: "peeled:", 0xFB: "symref-target:",
    0xFC: String(repeating: "1a", count: 20), 0xFD: String(repeating: "2B", count: 32),
    0xF7: "object-format=sha256", 0xF6: "packfile\n", 0xF5: "NAK",
]

/// A list of references by every version: whole lines come out, as many as were understood.
func gitRefs(_ input: [UInt8]) {
    guard let flags = input.first else { return }
    var query = RefQuery()
    query.showsSymrefs = flags & 1 != 0
    query.onlyTags = flags & 2 != 0
    query.onlyHeads = flags & 4 != 0
    if flags & 8 != 0 { query.patterns = ["v*", "[!a-m]*"] }
    var server = Advertisement()
    var list: RefList?
    var (given, isGreeted) = (0, false)
    for packet in packets(input.dropFirst()) {
        given += 1
        do throws(FetchError) {
            if isGreeted && server.version == 2 {
                guard let text = packet.text else { break }
                list = list ?? RefList(query, wantsRefs: true, server)
                list?.add(try RefLine(attributed: text, server.format))
                continue
            }
            switch try server.take(packet) {
            case .more: break
            case .end: isGreeted = true
            case .ref(let line):
                check(server.version < 2, "a reference in the greeting of version 2")
                list = list ?? RefList(query, wantsRefs: true, server)
                try list?.add(plain: line)
            }
        } catch {
            check(error.outcome == .protocolError, "\(error)")
            break
        }
        if isGreeted && server.version < 2 { break }
    }
    list?.finish()
    guard let (lines, refs) = list?.take() else { return }
    check(refs.count <= given, "more references than packets")
    checkLines(lines, refs, server.format, query)
}

private func checkLines(
    _ lines: [UInt8], _ refs: [Ref], _ format: ObjectFormat, _ query: RefQuery
) {
    check(lines.isEmpty == refs.isEmpty, "lines without references")
    check(lines.isEmpty || lines.last == ASCII.lineFeed, "a line without its end")
    var expected = 0
    for ref in refs {
        check(ObjectID(hex: ref.oid)?.format == format, "the id \(ref.oid)")
        check(ref.oid == ref.oid.lowercased(), "the id \(ref.oid)")
        check(ref.peeled.map { ObjectID(hex: $0)?.format == format } ?? true, "peeled")
        for text in [ref.name, ref.symref ?? "x"] {
            check(!text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }, "\(text)")
        }
        expected += 1 + (ref.peeled == nil ? 0 : 1)
        expected += query.showsSymrefs && ref.symref != nil ? 1 : 0
    }
    let rows = lines.split(separator: ASCII.lineFeed)
    check(rows.count <= expected, "\(rows.count) lines of \(expected)")
    if query.patterns.isEmpty { check(rows.count == expected, "\(rows.count) of \(expected)") }
    for row in rows {
        let columns = row.split(separator: ASCII.tab, omittingEmptySubsequences: false)
        check(columns.count == 2 && !columns[1].isEmpty, "another number of columns")
        let isSymref = columns[0].starts(with: "ref: ".utf8)
        check(isSymref || ObjectID(hex: columns[0]) != nil, "no id in a line")
    }
}

/// The pack out of a reply, by us and by something simpler.
func gitFetch(_ input: [UInt8]) {
    guard let flags = input.first else { return }
    var server = Advertisement()
    let greeting = flags & 1 == 0 ? "version 2" : "version 1"
    _ = try? server.take(.data(Array(greeting.utf8)[...]))
    let packets = packets(input.dropFirst())
    var reply = FetchReply(server)
    var pack: [UInt8] = []
    var end = "cut"
    for packet in packets where end == "cut" {
        do throws(FetchError) {
            switch try reply.take(packet) {
            case .more: break
            case .pack(let bytes): pack += bytes
            case .end: end = "end"
            case .fatal: end = "fatal"
            }
        } catch {
            check(error.outcome == .protocolError, "\(error)")
            end = "error"
        }
    }
    let (plain, plainEnd) = plainPack(packets, server.version)
    check(pack == plain && end == plainEnd, "\(end) is not \(plainEnd)")
}

private func plainPack(_ packets: [PktLine], _ version: Int) -> ([UInt8], String) {
    var pack: [UInt8] = []
    var isPack = false
    for packet in packets {
        switch (packet, isPack) {
        case (.data(let bytes), false):
            let text = bytes.last == ASCII.lineFeed ? bytes.dropLast() : bytes
            let isShallow = text.starts(with: "shallow ".utf8)
            if isShallow && ObjectID(hex: text.dropFirst(8)) == nil { return (pack, "error") }
            isPack =
                text.elementsEqual((version == 2 ? "packfile" : "NAK").utf8)
                || version != 2 && text.starts(with: "ACK ".utf8)
        case (.delim, false): break
        case (_, false):
            if version == 2 { return (pack, "error") }
        case (.data(let bytes), true):
            switch bytes.first {
            case 1: pack += bytes.dropFirst()
            case 2: break
            case 3: return (pack, "fatal")
            default: return (pack, "error")
            }
        case (_, true): return (pack, "end")
        }
    }
    return (pack, "cut")
}

/// A pattern and a name. Without wildcards it is the name's last parts.
func refPattern(_ input: [UInt8]) {
    let parts = input.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let text = String(validating: parts[0], as: UTF8.self) else { return }
    let name = Array(parts[1])
    let isMatch = RefPattern(text).matches(name)
    if text.utf8.contains(where: { "*?[\\".utf8.contains($0) }) {
        if isMatch { check(RefPattern("*" + text).matches(name), "a star takes nothing") }
        return
    }
    let path = Array("/".utf8) + name
    check(isMatch == path.reversed().starts(with: ("/" + text).utf8.reversed()), "\(text)")
    let escaped = text.unicodeScalars.map { $0.isASCII ? "\\\($0)" : "\($0)" }.joined()
    check(RefPattern(escaped).matches(name) == isMatch, "\(escaped)")
}
