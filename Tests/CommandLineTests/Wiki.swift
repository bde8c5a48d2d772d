// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport

/// A page that is read and replaced, as of a wiki: over Gemini and Titan, or over Spartan.
final class Wiki: Sendable {
    struct State {
        var pages: [String: [UInt8]] = ["/page": Array("# Old\n".utf8)]
        var type = "text/gemini"
        var knowsEdit = false
        /// Instead of the page, or to an upload.
        var (reading, storing) = (String?.none, String?.none)
        /// Each nth request is refused for now; 0 for none.
        var failEvery = 0
        /// Another has replaced the page once it has been read.
        var changesMeanwhile: [UInt8]?
        var hangs = false
        var requests: [String] = []
    }

    let state = Monitor(State())
    let server: LoopbackServer

    init(isSpartan: Bool = false, _ change: (inout State) -> Void = { _ in }) throws {
        let state = state
        state.update { change(&$0) }
        server = try LoopbackServer(tls: isSpartan ? nil : .make()) { peer in
            let line = String(decoding: peer.readLine() ?? [], as: UTF8.self)
                .trimmingCharacters(in: .newlines)
            let now = state.update {
                $0.requests.append(line)
                return $0
            }
            if now.failEvery > 0, now.requests.count % now.failEvery == 0 {
                peer.write(isSpartan ? "5 busy\r\n" : "41 busy\r\n")
                return
            }
            isSpartan
                ? Self.serveSpartan(line, now, state, peer) : Self.serve(line, now, state, peer)
        }
    }

    private static func serve(
        _ line: String, _ now: State, _ state: Monitor<State>, _ peer: Peer
    ) {
        var words = line.components(separatedBy: ";")
        let parts = words.removeFirst().split(
            separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        let path = "/" + (parts.count > 3 ? parts[3] : "")
        let size = words.first.flatMap { Int($0.replacingOccurrences(of: "size=", with: "")) }
        if line.hasPrefix("titan:"), let size {
            store(peer.read(size), path, now, state, peer, "20 text/gemini\r\nstored\n")
        } else if line.hasPrefix("titan:"), !now.knowsEdit {
            peer.write("59 no size\r\n")
        } else {
            read(path, now, state, peer, found: "20 \(now.type)\r\n", missing: "51 none\r\n")
        }
    }

    private static func serveSpartan(
        _ line: String, _ now: State, _ state: Monitor<State>, _ peer: Peer
    ) {
        let words = line.split(separator: " ").map(String.init)
        guard words.count == 3, let size = Int(words[2]) else { return }
        if size > 0 {
            store(peer.read(size), words[1], now, state, peer, "2 text/plain\r\nstored\n")
        } else {
            read(words[1], now, state, peer, found: "2 \(now.type)\r\n", missing: "4 none\r\n")
        }
    }

    private static func store(
        _ bytes: [UInt8], _ path: String, _ now: State, _ state: Monitor<State>, _ peer: Peer,
        _ reply: String
    ) {
        if now.hangs { return peer.hang() }
        if now.storing == nil { state.update { $0.pages[path] = bytes } }
        peer.write(now.storing ?? reply)
    }

    private static func read(
        _ path: String, _ now: State, _ state: Monitor<State>, _ peer: Peer, found: String,
        missing: String
    ) {
        if let reading = now.reading {
            peer.write(reading)
        } else if let page = now.pages[path] {
            peer.write(Array(found.utf8) + page)
        } else {
            peer.write(missing)
        }
        if let other = now.changesMeanwhile { state.update { $0.pages[path] = other } }
    }

    var page: String? {
        state.update { $0.pages["/page"] }.map { String(decoding: $0, as: UTF8.self) }
    }
    var requests: [String] { state.update { $0.requests } }
    var uploads: [String] {
        requests.filter { $0.contains(";size=") || !$0.contains(":") && !$0.hasSuffix(" 0") }
    }
    func url(_ scheme: String = "titan", _ path: String = "/page") -> String {
        "\(scheme)://127.0.0.1:\(server.port)\(path)"
    }
}
