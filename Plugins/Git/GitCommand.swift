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

    /// Asks for an object alone, or, where the server cannot filter, for a commit and all files of
    /// its version, without history.
    ///
    /// - Throws: `permanent-failure` when the server lacks what this needs.
    static func fetch(_ id: ObjectID, _ server: Advertisement) throws(FetchError) -> [UInt8] {
        guard server.version == 2 else { return try fetchPlain(id, server) }
        var bytes = try header("fetch", server)
        var lines = ["want \(id)", "no-progress", "ofs-delta"]
        if server.canFetch(with: "shallow") { lines.append("deepen 1") }
        if server.canFetch(with: "filter") { lines.append("filter tree:0") }
        for line in lines + ["done"] { bytes += try PktLine.encode(line + "\n") }
        return bytes + PktLine.flushPacket
    }

    private static func fetchPlain(
        _ id: ObjectID, _ server: Advertisement
    ) throws(FetchError) -> [UInt8] {
        guard server.value("side-band-64k") != nil, server.value("shallow") != nil else {
            throw FetchError(
                .permanentFailure, .body,
                "the server can send no single version: it lacks side-band-64k or shallow",
                hint: "clone the repository with git")
        }
        // dulwich insists on thin packs, whose deltas may be to what the client has. We name
        // nothing that we have, so none is sent; PackReader refuses one whose base never comes.
        var offered = ["side-band-64k", "thin-pack", "ofs-delta", "no-progress"].filter {
            server.value($0) != nil
        }
        if server.value("object-format") != nil {
            offered.append("object-format=\(server.format.rawValue)")
        }
        if server.value("agent") != nil { offered.append(agent) }
        var bytes = try PktLine.encode("want \(id) \(offered.joined(separator: " "))\n")
        bytes += try PktLine.encode("deepen 1\n")
        bytes += PktLine.flushPacket
        return bytes + (try PktLine.encode("done\n"))
    }
}

/// Finds the pack in the reply to a fetch. Pure.
struct FetchReply {
    private let version: Int
    private var isPack = false
    private var emptyInARow = 0

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

    /// What comes before the pack: sections by name in version 2, in any order; shallow lines, a
    /// flush and `NAK` before.
    private mutating func takeSection(_ packet: PktLine) throws(FetchError) -> Step {
        if let text = packet.text {
            let mark = version == 2 ? "packfile" : "NAK"
            isPack = text.elementsEqual(mark.utf8)
        } else if version == 2 && packet != .delim {
            throw FetchError(.protocolError, .body, "the server's reply has no pack")
        }
        return .more
    }
}
