// SPDX-License-Identifier: MIT
public import SmallWebCore

/// A request as the server of ``DemoSites/web(_:)`` has read it.
public struct WebRequest: Sendable, Hashable {
    public let method: String
    /// As sent: a path with its query, or a whole URL when we are a proxy.
    public let target: String
    public let fields: [HTTPField]
    public let body: [UInt8]

    /// The next request of a connection; `nil` when the client sends none.
    public init?(from peer: Peer) {
        guard let line = peer.readLine() else { return nil }
        let words = Self.text(line).split(separator: " ")
        guard words.count == 3 else { return nil }
        method = String(words[0])
        target = String(words[1])
        var fields: [HTTPField] = []
        while let line = peer.readLine().map(Self.text), !line.isEmpty {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count > 1 ? parts[1].drop { $0 == " " } : ""
            fields.append(HTTPField(String(parts[0]), String(value)))
        }
        self.fields = fields
        let length = fields.first { $0.name.lowercased() == "content-length" }?.value
        body = peer.read(length.flatMap { Int($0) } ?? 0)
    }

    /// The values of a field, by its name in lower case.
    public subscript(name: String) -> [String] {
        fields.filter { $0.name.lowercased() == name }.map(\.value)
    }

    private static func text(_ line: [UInt8]) -> String {
        String(decoding: line.prefix { $0 != 0x0D && $0 != 0x0A }, as: UTF8.self)
    }
}

extension DemoSites {
    /// HTTP/1.1 with connections that stay open: pages, every status, and every way a server can
    /// misbehave. Over TLS it is https.
    public static func web(_ peer: Peer) {
        while let request = WebRequest(from: peer), WebReply(request, peer).serve() {}
    }

    /// The same site, which records its requests.
    public static func web(noting requests: Recorder<WebRequest>) -> @Sendable (Peer) -> Void {
        { peer in
            while let request = WebRequest(from: peer) {
                requests.add(request)
                guard WebReply(request, peer).serve() else { return }
            }
        }
    }

    /// The decoded body of `/gzip`.
    public static let gzipText = String(repeating: "smallweb", count: 200)

    /// ``gzipText``, compressed.
    public static let gzipBytes: [UInt8] = [
        0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, 0x02, 0x03, 0x2B, 0xCE, 0x4D, 0xCC, 0xC9, 0x29, 0x4F, 0x4D,
        0x2A, 0x1E, 0xA5, 0x47, 0xE9, 0x51, 0x7A, 0x94, 0x1E, 0xA5, 0x47, 0x69, 0x12, 0x68, 0x00,
        0xB1, 0x20, 0x85, 0xFA, 0x40, 0x06, 0, 0,
    ]

    /// 4 MiB of zeros, compressed so that it may be repeated behind ``gzipStart``.
    static let gzipZeros: [UInt8] =
        [0xEC, 0xC1, 0x01, 0x01, 0, 0, 0, 0x82, 0x20, 0xFF, 0xAF, 0x6E, 0x48, 0x40, 0x01]
        + [UInt8](repeating: 0, count: 4063) + [0x7C, 0x1B, 0, 0, 0, 0xFF, 0xFF]

    static let gzipStart: [UInt8] = [0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, 0, 0xFF]
}

/// The answer to one request.
private struct WebReply {
    private let request: WebRequest
    private let peer: Peer
    private let path: String
    private let query: String

    init(_ request: WebRequest, _ peer: Peer) {
        self.request = request
        self.peer = peer
        let parts = request.target.split(
            separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        path = parts.first.map(String.init) ?? ""
        query = parts.count > 1 ? String(parts[1]) : ""
    }

    /// - Returns: True if the connection is good for another request.
    func serve() -> Bool {
        page() || redirect() || status() || oddity() || misbehave()
    }

    private static let reasons = [
        200: "OK", 204: "No Content", 206: "Partial Content", 301: "Moved Permanently",
        302: "Found", 303: "See Other", 304: "Not Modified", 307: "Temporary Redirect",
        308: "Permanent Redirect", 404: "Not Found", 410: "Gone", 416: "Range Not Satisfiable",
        429: "Too Many Requests", 500: "Internal Server Error", 503: "Service Unavailable",
    ]

    private static let index = """
        <!doctype html><title>A small site</title>
        <p>It is part of the tests of smallweb.
        <ul><li><a href="/about">About</a><li><a href="/redirect/2">Two redirects</a></ul>

        """

    /// The header and, unless HEAD was asked for, the body with its length.
    @discardableResult
    private func send(
        _ status: Int = 200, _ fields: [String] = [], type: String = "text/plain",
        _ body: [UInt8] = [], length: Int? = nil
    ) -> Bool {
        let hasBody = status != 204 && status != 304
        var lines = ["HTTP/1.1 \(status) \(Self.reasons[status] ?? "Status")"] + fields
        if hasBody { lines.append("Content-Length: \(length ?? body.count)") }
        if hasBody && !body.isEmpty { lines.append("Content-Type: \(type)") }
        let header = Array(lines.joined(separator: "\r\n").utf8) + Array("\r\n\r\n".utf8)
        return peer.write(hasBody && request.method != "HEAD" ? header + body : header)
    }

    private func send(_ text: String, type: String = "text/plain") -> Bool {
        send(200, [], type: type, Array(text.utf8))
    }

    private func number(after prefix: String) -> Int? {
        DemoSites.number(after: prefix, in: path)
    }

    // MARK: Pages

    private func page() -> Bool {
        switch path {
        case "/": return send(Self.index, type: "text/html")
        case "/about": return send("This site is part of the tests of smallweb.\n")
        case "/1k": return send(200, [], DemoSites.page)
        case "/empty": return send()
        case "/echo": return echo()
        case "/gzip", "/gzip-unknown":
            let coding = path == "/gzip" ? "gzip" : "nosuch"
            return send(200, ["Content-Encoding: \(coding)"], DemoSites.gzipBytes)
        case "/demo.git/info/refs":
            let isVersion2 = request["git-protocol"] == ["version=2"]
            return send(
                200, [], type: "application/x-git-upload-pack-advertisement",
                DemoSites.gitReferences(isVersion2: isVersion2))
        case "/demo.git/git-upload-pack":
            return send(
                200, [], type: "application/x-git-upload-pack-result",
                DemoSites.gitAnswer(to: request.body))
        case "/headers":
            return send(
                200, ["Set-Cookie: a=1", "X-Between: yes", "set-cookie: b=2", "Set-Cookie: a=3"])
        default:
            guard let count = number(after: "/big/") else { return false }
            return big(count)
        }
    }

    private func echo() -> Bool {
        let lines =
            ["\(request.method) \(request.target)"]
            + request.fields.map { "\($0.name): \($0.value)" } + ["", ""]
        return send(200, [], Array(lines.joined(separator: "\n").utf8) + request.body)
    }

    /// Any number of bytes, or a range of them.
    private func big(_ count: Int) -> Bool {
        let type = "Content-Type: application/octet-stream"
        var range = 0..<count
        var status = 200
        var fields = [type, "Accept-Ranges: bytes"]
        if let wanted = request["range"].first, wanted.hasPrefix("bytes=") {
            let ends = wanted.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
            let first = ends.first.flatMap { Int($0) } ?? 0
            let last = ends.count > 1 ? Int(ends[1]) ?? count - 1 : count - 1
            guard first < count, first <= last else {
                return send(416, ["Content-Range: bytes */\(count)"])
            }
            range = first..<min(last + 1, count)
            status = 206
            fields.append("Content-Range: bytes \(first)-\(range.upperBound - 1)/\(count)")
        }
        guard send(status, fields, length: range.count) else { return false }
        guard request.method != "HEAD" else { return true }
        let block = DemoSites.block
        var position = range.lowerBound
        while position < range.upperBound {
            let start = position % block.count
            let size = min(block.count - start, range.upperBound - position)
            guard peer.write(Array(block[start..<(start + size)])) else { return false }
            position += size
        }
        return true
    }

    // MARK: Redirects and statuses

    private func redirect() -> Bool {
        // A browser would show it for a moment; other clients ignore it.
        let note = Array("<p>It is elsewhere.\n".utf8)
        switch path {
        case "/loop": return send(302, ["Location: /loop/again"], note)
        case "/loop/again": return send(302, ["Location: /loop"], note)
        case "/moved": return send(301, ["Location: /echo"], note)
        case "/found": return send(302, ["Location: /echo"], note)
        case "/see-other": return send(303, ["Location: /echo"], note)
        case "/307": return send(307, ["Location: /echo"], note)
        case "/308": return send(308, ["Location: /echo"], note)
        case "/no-location": return send(302, [], note)
        case "/bad-redirect": return send(302, ["Location: http://[/"], note)
        default: break
        }
        if path.hasPrefix("/to/") {
            let target = PercentEncoding.decode(String(path.dropFirst(4)))
            let location = Array("Location: ".utf8) + target
            return send(302, [String(decoding: location, as: UTF8.self)], note)
        }
        guard let count = number(after: "/redirect/") else { return false }
        let next = count < 2 ? "/about" : "/redirect/\(count - 1)"
        return send(302, ["Location: \(next)"], note)
    }

    /// `/status/NNN`; `?date` for a Retry-After that is a date, 90 seconds after the reply's own.
    private func status() -> Bool {
        guard let status = number(after: "/status/") else { return false }
        var fields: [String] = []
        if [429, 503].contains(status) {
            fields =
                query == "date"
                ? [
                    "Date: Sun, 06 Nov 1994 08:49:37 GMT",
                    "Retry-After: Sun, 06 Nov 1994 08:51:07 GMT",
                ] : ["Retry-After: 7"]
        }
        return send(status, fields, Array("This is status \(status).\n".utf8))
    }

    // MARK: Allowed, but unusual

    private func oddity() -> Bool {
        switch path {
        case "/chunked":
            peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n")
            for start in stride(from: 0, to: DemoSites.page.count, by: 100) {
                let piece = DemoSites.page[start..<min(start + 100, DemoSites.page.count)]
                peer.write("\(String(piece.count, radix: 16))\r\n")
                peer.write(Array(piece) + [0x0D, 0x0A])
            }
            return peer.write("0\r\nX-Sum: 1\r\n\r\n")
        case "/1xx":
            peer.write("HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n")
            return send("after the hints\n")
        case "/slow":
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: \(DemoSites.page.count)\r\n\r\n")
            return peer.writeSlowly(DemoSites.page, step: 16, pauseMilliseconds: 1)
        case "/trickle":
            // Every byte of the header in a segment of its own.
            return peer.writeSlowly(
                Array("HTTP/1.1 200 OK\r\nX-Slow: yes\r\nContent-Length: 3\r\n\r\nhey".utf8))
        default: return false
        }
    }

    // MARK: Misbehaviour, after which the connection is over

    private func misbehave() -> Bool {
        let ok = "HTTP/1.1 200 OK\r\n"
        switch path {
        case "/close-delimited":
            peer.write("HTTP/1.0 200 OK\r\n\r\n")
            peer.write(DemoSites.page)
        case "/close-delimited-cut":
            peer.write("HTTP/1.0 200 OK\r\n\r\n")
            peer.write(DemoSites.page)
            peer.fin()
        case "/truncated":
            peer.write(ok + "Content-Length: 2000\r\n\r\n")
            peer.write(DemoSites.page)
            peer.fin()
        case "/truncated-chunks":
            peer.write(ok + "Transfer-Encoding: chunked\r\n\r\n10\r\nonly these")
        case "/reset":
            peer.write(ok + "Content-Length: 2000\r\n\r\n")
            peer.reset()
        case "/reset-header":
            peer.write("HTTP/1.1 200")
            peer.reset()
        case "/no-reply": break
        case "/silent": peer.hang()
        case "/silent-header":
            peer.write(ok + "X-Then: ")
            peer.hang()
        case "/silent-body":
            peer.write(ok + "Content-Length: 2000\r\n\r\nand then nothing")
            peer.hang()
        case "/endless":
            peer.write(ok + "\r\n")
            while peer.write(DemoSites.block) {}
        default: breakRules(ok)
        }
        return false
    }

    private func breakRules(_ ok: String) {
        switch path {
        case "/garbage": peer.write("20 text/plain\r\nthis is another protocol\r\n")
        case "/bad-status": peer.write("HTTP/1.1 abc OK\r\n\r\n")
        case "/bad-chunk": peer.write(ok + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n")
        case "/bad-length": peer.write(ok + "Content-Length: many\r\n\r\n")
        case "/bad-gzip":
            send(200, ["Content-Encoding: gzip"], Array("this is not compressed".utf8))
        case "/nul-in-header": peer.write(ok + "X-Nul: a\0b\r\nContent-Length: 0\r\n\r\n")
        case "/endless-header":
            peer.write(ok + "X-Long: ")
            while peer.write([UInt8](repeating: 0x61, count: 65_536)) {}
        case "/endless-headers":
            peer.write(ok)
            let line = "X-Field: " + String(repeating: "a", count: 4096) + "\r\n"
            while peer.write(line) {}
        case "/many-headers":
            peer.write(ok + (0..<2000).map { "X-\($0): \($0)\r\n" }.joined())
            peer.write("Content-Length: 0\r\n\r\n")
        case "/endless-1xx":
            while peer.write("HTTP/1.1 103 Early Hints\r\nX-More: yes\r\n\r\n") {}
        case "/head-with-body":
            // A body, whatever was asked for.
            peer.write(ok + "Content-Length: \(DemoSites.page.count)\r\n\r\n")
            peer.write(DemoSites.page)
        case "/gzip-zeros":
            // 80 MiB: an empty last block, the checksum and the size follow.
            peer.write(ok + "Content-Encoding: gzip\r\n\r\n")
            peer.write(DemoSites.gzipStart)
            for _ in 0..<20 { peer.write(DemoSites.gzipZeros) }
            peer.write([0x03, 0, 0xF7, 0x86, 0x8B, 0x2A, 0, 0, 0, 0x05])
        case "/gzip-bomb":
            peer.write(ok + "Content-Encoding: gzip\r\n\r\n")
            peer.write(DemoSites.gzipStart)
            while peer.write(DemoSites.gzipZeros) {}
        default: send(404, [], Array("Nothing is called \(path)\n".utf8))
        }
    }
}
