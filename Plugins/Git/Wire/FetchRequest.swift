// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// The arguments of one fetch, in the words of gitprotocol-v2(5).
struct FetchRequest: Hashable, Sendable {
    /// Objects that the server leaves out. Servers other than Git's support only these two.
    enum Filter: String, Sendable {
        case trees = "tree:0"
        case blobs = "blob:none"
    }

    var wants: [ObjectID]
    /// Commits that are not needed, with all their ancestors.
    var haves: [ObjectID] = []
    /// Number of generations of commits; `nil` for all.
    var depth: Int?
    /// Earliest commit date, in Unix seconds.
    var since: Int?
    var filter: Filter?

    /// The depth for the next try, when a part of the history was not enough; `nil` for all.
    static func deeper(_ depth: Int) -> Int? {
        depth > GitQuestion.countMax / 4 ? nil : depth * 4
    }

    private func deepening(_ since: Int?) -> [String] {
        (depth.map { ["deepen \($0)"] } ?? []) + (since.map { ["deepen-since \($0)"] } ?? [])
    }

    /// - Throws: `permanent-failure` when the server lacks a required capability.
    func encoded(for server: Advertisement) throws(FetchError) -> [UInt8] {
        guard server.version == 2 else { return try encodedPlain(for: server) }
        var bytes = try server.command("fetch")
        var lines = wants.map { "want \($0)" } + ["no-progress", "ofs-delta"]
        if server.canFetch(with: "shallow") { lines += deepening(since) }
        if let filter, server.canFetch(with: "filter") {
            lines.append("filter \(filter.rawValue)")
        }
        lines += haves.map { "have \($0)" }
        for line in lines + ["done"] { bytes += try PktLine.encode(line + "\n") }
        return bytes + PktLine.flushPacket
    }

    private func encodedPlain(for server: Advertisement) throws(FetchError) -> [UInt8] {
        guard server.value("side-band-64k") != nil, server.value("shallow") != nil else {
            throw FetchError(
                .permanentFailure, .body,
                "the server can send no single version: it lacks side-band-64k or shallow",
                hint: "clone the repository with git")
        }
        // In thin packs deltas may be against objects of the client. dulwich, which names no agent,
        // insists on thin-pack, but makes no such deltas. PackSpool refuses one without its base.
        let isThin = haves.isEmpty || server.value("agent") == nil
        // Some servers refuse clients without a way to acknowledge common objects.
        let acknowledgements =
            server.value("multi_ack_detailed") == nil ? "multi_ack" : "multi_ack_detailed"
        var offered = [
            acknowledgements, "side-band-64k", "thin-pack", "ofs-delta", "no-progress",
        ].filter {
            server.value($0) != nil && (isThin || $0 != "thin-pack")
        }
        // Without deepen-since the server sends everything, and old commits are dropped here.
        let since = server.value("deepen-since") == nil ? nil : since
        if since != nil { offered.append("deepen-since") }
        if server.value("object-format") != nil {
            offered.append("object-format=\(server.format.rawValue)")
        }
        if server.value("agent") != nil { offered.append(Advertisement.agent) }
        var bytes: [UInt8] = []
        for (index, id) in wants.enumerated() {
            let more = index == 0 ? " " + offered.joined(separator: " ") : ""
            bytes += try PktLine.encode("want \(id)\(more)\n")
        }
        for line in deepening(since) { bytes += try PktLine.encode(line + "\n") }
        bytes += PktLine.flushPacket
        for id in haves { bytes += try PktLine.encode("have \(id)\n") }
        return bytes + (try PktLine.encode("done\n"))
    }
}

/// Finds the pack in the reply to a fetch. Pure.
struct FetchReply {
    private let version: Int
    private var isPack = false
    private var emptyInARow = 0
    /// Commits without parents in the pack, because of the depth, or because the server lacks them.
    private(set) var shallow: Set<ObjectID> = []
    private static let shallowMax = 1 << 20

    /// Servers send empty packets while they make the pack, by default one every five seconds. This
    /// many last for days, or the server will never come to an end.
    static let emptyInARowMax = 65_536

    enum Step: Hashable {
        case more
        /// Empty for a packet that only keeps the connection alive.
        case pack(ArraySlice<UInt8>)
        case end
        /// The server gives up; with its reason.
        case fatal(String)
    }

    init(_ server: Advertisement) { version = server.version }

    mutating func take(_ packet: PktLine) throws(FetchError) -> Step {
        guard isPack else { return try takeSection(packet) }
        guard case .data(let payload) = packet else { return .end }
        // An empty packet holds only the byte of the side band.
        emptyInARow = payload.count > 1 ? 0 : emptyInARow + 1
        guard emptyInARow <= Self.emptyInARowMax else {
            throw FetchError(
                .protocolError, .body,
                "the server sent more than \(Self.emptyInARowMax) empty packets in a row")
        }
        // With side-band-64k, the first byte is the number of the stream.
        switch payload.first {
        case 1: return .pack(payload.dropFirst())
        // Progress messages, truncated anywhere.
        case 2: return .more
        case 3:
            let text = payload.last == ASCII.lineFeed ? payload.dropLast() : payload
            return .fatal(String(decoding: text.dropFirst(), as: UTF8.self))
        case let band?:
            throw FetchError(.protocolError, .body, "a packet of side band \(band)")
        case nil:
            throw FetchError(.protocolError, .body, "a packet without its side band")
        }
    }

    /// Reads `shallow SP oid` (gitprotocol-pack(5)).
    ///
    /// - Throws: `protocol-error` for another line, and for more than 2^20 of them.
    static func add(
        shallow line: ArraySlice<UInt8>, to known: inout Set<ObjectID>
    ) throws(FetchError) {
        guard let id = ObjectID(hex: line.dropFirst(8)), known.count < shallowMax else {
            throw FetchError(.protocolError, .body, "malformed shallow line")
        }
        known.insert(id)
    }

    /// Reads the part before the pack: in version 2, named sections in any order; before, shallow
    /// lines, a flush and `NAK`.
    private mutating func takeSection(_ packet: PktLine) throws(FetchError) -> Step {
        if let text = packet.text {
            if text.starts(with: "shallow ".utf8) {
                try Self.add(shallow: text, to: &shallow)
            }
            // Before version 2, an ACK names a common commit, and a NAK means none. An ACK with a
            // word after its id is not the last one.
            isPack =
                version == 2
                ? text.elementsEqual("packfile".utf8)
                : text.elementsEqual("NAK".utf8)
                    || text.starts(with: "ACK ".utf8)
                        && !text.dropFirst(4).contains(ASCII.space)
        } else if version == 2 && packet != .delim {
            throw FetchError(.protocolError, .body, "the server's reply has no pack")
        }
        return .more
    }
}
