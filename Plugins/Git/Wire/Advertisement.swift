// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// The server's first message: its protocol version and capabilities, and before version 2 also its
/// references (gitprotocol-v2(5), gitprotocol-pack(5)). Pure.
struct Advertisement: Sendable {
    private(set) var version = 0
    private(set) var format = ObjectFormat.sha1
    private(set) var capabilities: [Substring] = []
    /// Before version 2: the commits whose parents the server does not have.
    private(set) var shallow: Set<ObjectID> = []
    private var isFirst = true
    /// True from HTTP's preface to the flush that ends it.
    private var isPrefaced = false

    enum Step {
        case more
        /// Before version 2: `oid SP name`.
        case ref(ArraySlice<UInt8>)
        case end
    }

    /// - Throws: `protocol-error` for a malformed packet.
    mutating func take(_ packet: PktLine) throws(FetchError) -> Step {
        guard let text = packet.text else {
            guard packet == .flush else { throw Self.malformed("a packet without text") }
            defer { isPrefaced = false }
            return isPrefaced ? .more : .end
        }
        if isFirst && !isPrefaced && text.starts(with: "# service=".utf8) {
            isPrefaced = true
            return .more
        }
        let wasFirst = isFirst
        isFirst = false
        if wasFirst && text.elementsEqual("version 2".utf8) {
            version = 2
            return .more
        }
        if version == 2 {
            capabilities.append(Substring(decoding: text, as: UTF8.self))
            guard capabilities.count <= Self.capabilitiesMax else {
                throw Self.malformed("too many capabilities")
            }
            if text.starts(with: "object-format=".utf8) { try setFormat() }
            return .more
        }
        if wasFirst && text.elementsEqual("version 1".utf8) {
            version = 1
            isFirst = true
            return .more
        }
        if text.starts(with: "shallow ".utf8) {
            try FetchReply.add(shallow: text, to: &shallow)
            return .more
        }
        guard wasFirst, let nul = text.firstIndex(of: ASCII.nul) else { return .ref(text) }
        let list = Substring(decoding: text[(nul + 1)...], as: UTF8.self)
        capabilities = list.split(separator: " ", maxSplits: Self.capabilitiesMax)
        try setFormat()
        let line = text[..<nul]
        // A repository without references sends a line for its capabilities alone.
        return line.count > 15 && line.suffix(15).elementsEqual("capabilities^{}".utf8)
            ? .more : .ref(line)
    }

    private static let capabilitiesMax = 1000

    /// The value of the first `name=value`; empty for `name` alone; `nil` without it.
    func value(_ name: String) -> Substring? { values(name).first }

    func values(_ name: String) -> [Substring] {
        capabilities.compactMap { capability in
            if capability == name { return "" }
            return capability.hasPrefix(name + "=") ? capability.dropFirst(name.count + 1) : nil
        }
    }

    /// True if version 2's fetch has a feature.
    func canFetch(with feature: Substring) -> Bool {
        value("fetch")?.split(separator: " ").contains(feature) ?? false
    }

    static let agent = "agent=smallweb"

    /// The beginning of a request of version 2: the command and our capabilities, without
    /// arguments. Only capabilities that the server has offered: it would hang up silently at
    /// others.
    func command(_ name: String) throws(FetchError) -> [UInt8] {
        var bytes = try PktLine.encode("command=\(name)\n")
        if value("agent") != nil { bytes += try PktLine.encode("\(Self.agent)\n") }
        if value("object-format") != nil {
            bytes += try PktLine.encode("object-format=\(format.rawValue)\n")
        }
        return bytes + PktLine.delimPacket
    }

    var facts: Facts {
        [
            "git": .object([
                "protocol": .number(version), "object_format": .text(format.rawValue),
                "head": .none,
                "capabilities": .list(capabilities.map { .text(String($0)) }),
            ])
        ]
    }

    /// The head of a list of references or of files.
    func listHead(name: String) -> Head {
        var head = Head(.success, mediaType: MediaType("text/plain", ["charset": "utf-8"]))
        head.suggestedName = name
        head.facts = facts
        return head
    }

    private mutating func setFormat() throws(FetchError) {
        guard let name = value("object-format") else { return }
        guard let known = ObjectFormat(rawValue: String(name)) else {
            throw Self.malformed("the object format \(name)")
        }
        format = known
    }

    private static func malformed(_ what: String) -> FetchError {
        FetchError(.protocolError, .header, "malformed Git advertisement: \(what)")
    }
}
