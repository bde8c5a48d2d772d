// SPDX-License-Identifier: MIT
import CSmallWebTLS
internal import SmallWebCore

extension DemoSites {
    /// A Git repository over git://: a README, a directory, an annotated tag. Version 2 with
    /// filters where a client asks for it, else the old list of references and nothing more.
    public static func git(_ peer: Peer) { git(peer, DemoRepository()) }

    /// One whose names of people, files and tags, and whose texts end with `evil`.
    public static func git(saying evil: String) -> @Sendable (Peer) -> Void {
        let repository = DemoRepository(saying: evil)
        return { git($0, repository) }
    }

    private static func git(_ peer: Peer, _ repository: DemoRepository) {
        guard let request = packet({ peer.read($0) }) else { return }
        guard String(decoding: request, as: UTF8.self).contains(text: "/demo.git\0") else {
            _ = peer.write(line("ERR access denied or repository not exported\n"))
            return
        }
        guard String(decoding: request, as: UTF8.self).hasSuffix("\0version=2\0") else {
            _ = peer.write(repository.list + flush)
            // The client says goodbye.
            _ = packet { peer.read($0) }
            return
        }
        _ = peer.write(gitCapabilities)
        while let command = command({ peer.read($0) }), !command.isEmpty {
            guard peer.write(answer(command, repository)) else { return }
        }
    }

    /// The reply to `/info/refs`: the same repository over smart HTTP.
    static func gitReferences(isVersion2: Bool) -> [UInt8] {
        line("# service=git-upload-pack\n") + flush
            + (isVersion2 ? gitCapabilities : DemoRepository().list + flush)
    }

    /// The reply of `/git-upload-pack` to the one command in a request of version 2.
    static func gitAnswer(to body: [UInt8]) -> [UInt8] {
        var rest = body[...]
        let lines = command { count in
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        return answer(lines ?? [], DemoRepository())
    }

    private static let gitCapabilities =
        line("version 2\n") + line("agent=demo\n") + line("ls-refs\n")
        + line("fetch=shallow filter\n") + line("object-format=sha1\n") + flush

    private static func answer(_ command: [String], _ repository: DemoRepository) -> [UInt8] {
        if command.first == "command=ls-refs" { return repository.attributedList + flush }
        let wants = command.filter { $0.hasPrefix("want ") }.map { String($0.dropFirst(5)) }
        let filter = command.first { $0.hasPrefix("filter ") }.map { String($0.dropFirst(7)) }
        let objects = repository.answer(to: wants, filter: filter)
        guard !objects.isEmpty else { return line("ERR upload-pack: not our ref\n") }
        let pack = DemoRepository.pack(objects)
        // Some of it at a time: a pack need not be cut where packets are.
        return stride(from: 0, to: pack.count, by: 30).reduce(into: line("packfile\n")) {
            $0 += line([1] + pack[$1..<min($1 + 30, pack.count)])
        } + flush
    }

    private static let flush = Array("0000".utf8)

    static func line(_ text: String) -> [UInt8] { line(Array(text.utf8)) }

    static func line(_ payload: [UInt8]) -> [UInt8] {
        let digits = String(payload.count + 4, radix: 16)
        return Array((String(repeating: "0", count: 4 - digits.count) + digits).utf8) + payload
    }

    /// The lines up to a flush; `nil` where there is nothing more to read.
    private static func command(_ read: (Int) -> [UInt8]) -> [String]? {
        var lines: [String] = []
        while let payload = packet(read) {
            if payload.isEmpty { return lines }
            lines.append(String(decoding: payload.filter { $0 != ASCII.lineFeed }, as: UTF8.self))
        }
        return nil
    }

    /// A packet's payload, empty for a flush; a delimiter is skipped.
    private static func packet(_ read: (Int) -> [UInt8]) -> [UInt8]? {
        while true {
            let digits = String(decoding: read(4), as: UTF8.self)
            guard let length = Int(digits, radix: 16), digits.count == 4 else { return nil }
            if length == 1 { continue }
            return length < 4 ? [] : read(length - 4)
        }
    }
}

/// A few objects that lead from two references to three files.
struct DemoRepository {
    typealias Object = (type: UInt8, content: [UInt8])

    private var objects: [String: Object] = [:]
    /// Objects that one leads to.
    private var links: [String: [String]] = [:]
    private var commit = ""
    private var tag = ""
    private var parent = ""
    private var tagName = "v1"

    init(saying evil: String) {
        let old = add(3, Array("# Demo\nOld.\(evil)\n".utf8))
        let new = add(3, Array("# Demo\nNew.\(evil)\n".utf8))
        let first = add(2, entry("100644 a\(evil)", old) + entry("100644 b", old), [old])
        let second = add(2, entry("100644 b", new) + entry("100644 c\(evil)", new), [new])
        let who = "Ada\(evil) <ada\(evil)@example.org> 1700000000 +0000"
        let lines = "author \(who)\ncommitter \(who)\n\nSubject\(evil)\n\nBody\(evil)\n"
        parent = add(1, Array("tree \(first)\n\(lines)".utf8), [first])
        commit = add(
            1, Array("tree \(second)\nparent \(parent)\n\(lines)".utf8), [second, parent])
        // Git allows no others in names of references.
        let name = evil.unicodeScalars.filter { $0.value >= 0x80 }
        tagName = "v1" + String(String.UnicodeScalarView(name))
        tag = add(
            4,
            Array(
                "object \(parent)\ntype commit\ntag \(tagName)\ntagger \(who)\n\nVersion 1\n"
                    .utf8), [parent])
    }

    /// The objects that are asked for, and what they lead to but for what the filter leaves out:
    /// `blob:none` files, `tree:0` directories as well.
    func answer(to wants: [String], filter: String?) -> [Object] {
        let left: Set<UInt8> = filter == nil ? [] : filter == "blob:none" ? [3] : [2, 3]
        var found: Set<String> = []
        var ids = wants
        while let id = ids.popLast() {
            guard objects[id] != nil, found.insert(id).inserted else { continue }
            ids += (links[id] ?? []).filter { id in !left.contains(objects[id]?.type ?? 0) }
        }
        return found.compactMap { objects[$0] }
    }

    init() {
        let readme = add(3, Array("# Demo\nA repository of two files.\n".utf8))
        let guide = add(3, Array("How to use it: fetch it.\n".utf8))
        let docs = add(2, entry("100644 guide.md", guide), [guide])
        let root = add(
            2, entry("100644 README.md", readme) + entry("40000 docs", docs), [readme, docs])
        let who = "Ada <ada@example.org> 1700000000 +0000"
        commit = add(
            1, Array("tree \(root)\nauthor \(who)\ncommitter \(who)\n\nThe first\n".utf8), [root])
        tag = add(
            4, Array("object \(commit)\ntype commit\ntag v1\ntagger \(who)\n\nVersion 1\n".utf8),
            [commit])
    }

    /// The commit of the tag.
    private var tagged: String { parent.isEmpty ? commit : parent }

    var list: [UInt8] {
        let capabilities = "side-band-64k shallow symref=HEAD:refs/heads/main agent=demo"
        return DemoSites.line("\(commit) HEAD\0\(capabilities)\n")
            + DemoSites.line("\(commit) refs/heads/main\n")
            + DemoSites.line("\(tag) refs/tags/\(tagName)\n")
            + DemoSites.line("\(tagged) refs/tags/\(tagName)^{}\n")
    }

    var attributedList: [UInt8] {
        DemoSites.line("\(commit) HEAD symref-target:refs/heads/main\n")
            + DemoSites.line("\(commit) refs/heads/main\n")
            + DemoSites.line("\(tag) refs/tags/\(tagName) peeled:\(tagged)\n")
    }

    /// A pack of objects that are not compressed.
    static func pack(_ objects: [Object]) -> [UInt8] {
        let pack = objects.map(entry).reduce(
            Array("PACK\0\0\0\u{2}\0\0\0".utf8) + [UInt8(objects.count)], +)
        return pack + sha1(pack)
    }

    private static func entry(_ object: Object) -> [UInt8] {
        var size = object.content.count
        var header = [object.type << 4 | UInt8(size & 15)]
        size >>= 4
        while size > 0 {
            header[header.count - 1] |= 0x80
            header.append(UInt8(size & 0x7F))
            size >>= 7
        }
        let length = UInt16(object.content.count)
        let block =
            [1, UInt8(length & 255), UInt8(length >> 8)]
            + [UInt8(~length & 255), UInt8(~length >> 8)] + object.content
        var (low, high): (UInt32, UInt32) = (1, 0)
        for byte in object.content {
            low = (low + UInt32(byte)) % 65_521
            high = (high + low) % 65_521
        }
        let checksum = [high >> 8, high, low >> 8, low].map { UInt8($0 & 255) }
        return header + [0x78, 0x01] + block + checksum
    }

    private mutating func add(_ type: UInt8, _ content: [UInt8], _ leadsTo: [String] = [])
        -> String
    {
        let name = ["", "commit", "tree", "blob", "tag"][Int(type)]
        let id = Self.sha1(Array("\(name) \(content.count)\0".utf8) + content).hex
        objects[id] = (type, content)
        links[id] = leadsTo
        return id
    }

    private func entry(_ modeAndName: String, _ id: String) -> [UInt8] {
        let digits = Array(id.utf8)
        let bytes = stride(from: 0, to: digits.count, by: 2).map {
            (ASCII.hexValue(digits[$0]) ?? 0) << 4 | (ASCII.hexValue(digits[$0 + 1]) ?? 0)
        }
        return Array("\(modeAndName)\0".utf8) + bytes
    }

    private static func sha1(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 20)
        EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha1(), nil)
        return digest
    }
}
