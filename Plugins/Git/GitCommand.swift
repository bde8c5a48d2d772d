// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Requests, and the frame of a reply that carries a pack. Pure.
enum GitCommand {
    private static let agent = "agent=smallweb"

    /// Version 2: the command and what it says about us, up to its arguments. Nothing that the
    /// server has not offered: it would hang up without a word.
    static func header(
        _ command: String, _ server: Advertisement
    ) throws(FetchError) -> [UInt8] {
        var bytes = try PktLine.encode("command=\(command)\n")
        if server.value("agent") != nil { bytes += try PktLine.encode("\(agent)\n") }
        if server.value("object-format") != nil {
            bytes += try PktLine.encode("object-format=\(server.format.rawValue)\n")
        }
        return bytes + PktLine.delimPacket
    }

    /// - Throws: `permanent-failure` when the server lacks what this needs.
    static func fetch(
        _ request: FetchRequest, _ server: Advertisement
    ) throws(FetchError) -> [UInt8] {
        guard server.version == 2 else { return try fetchPlain(request, server) }
        var bytes = try header("fetch", server)
        var lines = request.wants.map { "want \($0)" } + ["no-progress", "ofs-delta"]
        if server.canFetch(with: "shallow") { lines += request.deepening }
        if let filter = request.filter, server.canFetch(with: "filter") {
            lines.append("filter \(filter.rawValue)")
        }
        lines += request.haves.map { "have \($0)" }
        for line in lines + ["done"] { bytes += try PktLine.encode(line + "\n") }
        return bytes + PktLine.flushPacket
    }

    private static func fetchPlain(
        _ request: FetchRequest, _ server: Advertisement
    ) throws(FetchError) -> [UInt8] {
        guard server.value("side-band-64k") != nil, server.value("shallow") != nil else {
            throw FetchError(
                .permanentFailure, .body,
                "the server can send no single version: it lacks side-band-64k or shallow",
                hint: "clone the repository with git")
        }
        // In thin packs deltas may be to what the client has. dulwich, which names no agent,
        // insists on them, but makes none. PackSpool refuses a delta whose base never comes.
        let isThin = request.haves.isEmpty || server.value("agent") == nil
        // Some servers refuse clients that they cannot tell which of their objects they know.
        let acknowledgements =
            server.value("multi_ack_detailed") == nil ? "multi_ack" : "multi_ack_detailed"
        var offered = [
            acknowledgements, "side-band-64k", "thin-pack", "ofs-delta", "no-progress",
        ].filter {
            server.value($0) != nil && (isThin || $0 != "thin-pack")
        }
        // Without it everything comes, and what is too old is left out here.
        var request = request
        if server.value("deepen-since") == nil { request.since = nil }
        if request.since != nil { offered.append("deepen-since") }
        if server.value("object-format") != nil {
            offered.append("object-format=\(server.format.rawValue)")
        }
        if server.value("agent") != nil { offered.append(agent) }
        var bytes: [UInt8] = []
        for (index, id) in request.wants.enumerated() {
            let more = index == 0 ? " " + offered.joined(separator: " ") : ""
            bytes += try PktLine.encode("want \(id)\(more)\n")
        }
        for line in request.deepening { bytes += try PktLine.encode(line + "\n") }
        bytes += PktLine.flushPacket
        for id in request.haves { bytes += try PktLine.encode("have \(id)\n") }
        return bytes + (try PktLine.encode("done\n"))
    }
}

/// What is asked for in one exchange, in the words of gitprotocol-v2(5).
struct FetchRequest: Hashable, Sendable {
    /// What a server leaves out. Others know no more of these than the two.
    enum Filter: String, Sendable {
        case trees = "tree:0"
        case blobs = "blob:none"
    }

    var wants: [ObjectID]
    /// What is not needed, with all that it stands on.
    var haves: [ObjectID] = []
    /// So many commits deep; `nil` for all.
    var depth: Int?
    /// Commits from this moment on, in Unix seconds.
    var since: Int?
    var filter: Filter?

    fileprivate var deepening: [String] {
        (depth.map { ["deepen \($0)"] } ?? []) + (since.map { ["deepen-since \($0)"] } ?? [])
    }
}

/// Finds the pack in the reply to a fetch. Pure.
struct FetchReply {
    private let version: Int
    private var isPack = false
    private var emptyInARow = 0
    /// Commits whose parents the server does not send, for lack of depth or of the parents.
    private(set) var shallow: Set<ObjectID> = []
    private static let shallowMax = 1 << 20

    /// Servers send empty packets while they make the pack, one every five seconds by default: so
    /// many are days, or a server that will never come to an end.
    static let emptyInARowMax = 65_536

    enum Step: Hashable {
        case more
        /// Empty in a packet that only keeps the connection alive.
        case pack(ArraySlice<UInt8>)
        case end
        /// The server gives up, and says why.
        case fatal(String)
    }

    init(_ server: Advertisement) { version = server.version }

    mutating func take(_ packet: PktLine) throws(FetchError) -> Step {
        guard isPack else { return try takeSection(packet) }
        guard case .data(let payload) = packet else { return .end }
        // The side band's own byte is all that there is.
        emptyInARow = payload.count > 1 ? 0 : emptyInARow + 1
        guard emptyInARow <= Self.emptyInARowMax else {
            throw FetchError(
                .protocolError, .body,
                "the server sent more than \(Self.emptyInARowMax) empty packets in a row")
        }
        // Once side-band-64k is in use, the first byte says which of three streams the rest is of.
        switch payload.first {
        case 1: return .pack(payload.dropFirst())
        // Text for people, cut anywhere.
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

    /// What comes before the pack: sections by name in version 2, in any order; shallow lines, a
    /// flush and `NAK` before.
    private mutating func takeSection(_ packet: PktLine) throws(FetchError) -> Step {
        if let text = packet.text {
            if text.starts(with: "shallow ".utf8) {
                try Self.add(shallow: text, to: &shallow)
            }
            // Before version 2 an ACK comes for what we have, and a NAK for nothing. One that goes
            // on behind the id is not the last.
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
