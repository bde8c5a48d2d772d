// SPDX-License-Identifier: MIT

extension DemoSites {
    /// Gemini: pages, every status, and every way a server can misbehave.
    ///
    /// - Parameter elsewhere: A URL of another scheme, for `/cross-scheme`.
    public static func gemini(
        elsewhere: String = "gopher://127.0.0.1/"
    ) -> @Sendable (Peer) -> Void {
        { peer in
            guard let line = peer.readLine() else { return }
            let (path, query) = location(line)
            if !serveBody(path, query, to: peer) && !misbehave(path, to: peer) {
                peer.write(header(path, query, elsewhere: elsewhere))
            }
        }
    }

    /// Path and query of a request line.
    static func location(_ line: [UInt8]) -> (path: String, query: String?) {
        let text = String(decoding: line.prefix { $0 != 0x0D && $0 != 0x0A }, as: UTF8.self)
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        // scheme: "" authority path…
        let path = (parts.first ?? "").split(
            separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        return (path.count > 3 ? "/" + path[3] : "/", parts.count > 1 ? String(parts[1]) : nil)
    }

    private static let index = """
        # A small capsule
        It is part of the tests of smallweb.
        => /about About this capsule
        => /input Ask me something
        => /redirect/2 Two redirects
        => /1k 1 KiB of text
        => /status/51 Nothing here

        """

    /// Every kind of link, and lines that only look like links.
    private static let links = """
        # Links\r
        =>/about\tAbout \t this capsule \r
        =>   1k\r
        =>
        => ../1k?q#part One more
        => gopher://127.0.0.1/1/menu A hole
        => mailto:ada@example.org
        ``` alt
        => /not-a-link in a block
        ```
        => https://example.org/a.png A picture
        => http://[broken Nowhere
         => /indented
        => https://b\u{FC}cher.example/\u{E4} Books
        """

    private static func serveBody(_ path: String, _ query: String?, to peer: Peer) -> Bool {
        switch path {
        case "/links/": peer.write("20 text/gemini\r\n" + links)
        case "/": peer.write("20 text/gemini\r\n" + index)
        case "/about": peer.write("20 text/gemini; lang=en\r\n# About\r\nNothing much.\r\n")
        case "/latin1":
            peer.write(Array("20 text/plain; charset=iso-8859-1\r\nna".utf8) + [0xEF, 0x76, 0x65])
        case "/1k", "/links/1k": peer.write(Array("20 text/plain\r\n".utf8) + page)
        case "/empty": peer.write("20 text/plain\r\n")
        case "/input" where query != nil, "/sensitive" where query != nil:
            peer.write("20 text/plain\r\nyou said: \(query ?? "")\r\n")
        case "/echo": peer.write("20 text/plain\r\n\(path)?\(query ?? "")\r\n")
        case "/slow": peer.writeSlowly(Array("20 text/plain\r\n".utf8) + page, pauseMilliseconds: 2)
        case "/split":
            // Like a careless server: two small writes, and the second one waits.
            peer.setNagle(true)
            peer.write("20 text/plain\r\n")
            peer.write(page)
        default:
            if let count = number(after: "/gather/", in: path), count > 0 {
                peer.write("20 text/plain\r\n")
                gather(count, at: "gemini", to: peer)
                return true
            }
            guard let count = number(after: "/big/", in: path) else { return false }
            peer.write("20 application/octet-stream\r\n")
            writeBlock(count, to: peer)
        }
        return true
    }

    private static func misbehave(_ path: String, to peer: Peer) -> Bool {
        switch path {
        case "/truncated":
            peer.write("20 text/plain\r\nthis ends without close_")
            peer.fin()
        case "/reset":
            peer.write("20 text/plain\r\nthis ends in a re")
            peer.reset()
        case "/silent": peer.hang()
        case "/silent-body":
            peer.write("20 text/plain\r\nand then nothing")
            peer.hang()
        case "/no-reply": break
        case "/endless-header":
            peer.write("20 ")
            while peer.write([UInt8](repeating: 0x61, count: 65_536)) {}
        case "/endless":
            peer.write("20 application/octet-stream\r\n")
            while peer.write(block) {}
        default: return false
        }
        return true
    }

    /// Replies that are a header alone.
    private static func header(_ path: String, _ query: String?, elsewhere: String) -> String {
        switch path {
        case "/input": return "10 What would you like to say?\r\n"
        case "/sensitive": return "11 And the password?\r\n"
        case "/loop": return "30 /loop/again\r\n"
        case "/loop/again": return "30 /loop\r\n"
        case "/cross-scheme": return "30 \(elsewhere)\r\n"
        case "/relative/dir/page": return "31 ../other\r\n"
        case "/relative/other": return "30 /about\r\n"
        case "/redirect/0": return "30 /about\r\n"
        case "/bad-redirect": return "30 //\r\n"
        case "/malformed": return "200 OK\r\n"
        default:
            if let count = number(after: "/redirect/", in: path), count > 0 {
                return count == 1 ? "30 /about\r\n" : "30 /redirect/\(count - 1)\r\n"
            }
            if let status = number(after: "/status/", in: path) {
                return statusHeader(status)
            }
            return "51 Nothing is called \(path)\r\n"
        }
    }

    private static func statusHeader(_ status: Int) -> String {
        switch status {
        case 20..<30: "\(status) text/plain\r\nstatus \(status)\r\n"
        case 30..<40: "\(status) /about\r\n"
        case 44: "44 5\r\n"
        default: "\(status) This is status \(status)\r\n"
        }
    }
}
