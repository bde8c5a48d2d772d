// SPDX-License-Identifier: MIT

/// Small sites for tests, `make demo` and `make bench`: each function serves one connection.
public enum DemoSites {
    /// Any body of any size, the same each time: `/big/N` is the first N bytes of this block,
    /// repeated.
    public static let block: [UInt8] = {
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        return [UInt8](unsafeUninitializedCapacity: 1 << 20) { buffer, count in
            for index in buffer.indices {
                state ^= state << 13
                state ^= state >> 7
                state ^= state << 17
                buffer.initializeElement(at: index, to: UInt8(truncatingIfNeeded: state >> 32))
            }
            count = buffer.count
        }
    }()

    /// True if `bytes` are the content of `/big/N` at `offset`.
    public static func isBlock(_ bytes: ArraySlice<UInt8>, at offset: Int) -> Bool {
        var rest = bytes
        var position = offset % block.count
        while !rest.isEmpty {
            let count = min(rest.count, block.count - position)
            guard rest.prefix(count).elementsEqual(block[position..<(position + count)]) else {
                return false
            }
            rest = rest.dropFirst(count)
            position = 0
        }
        return true
    }

    /// 1024 bytes of text lines.
    public static let page: [UInt8] = Array(
        String(
            repeating: "The quick brown fox jumps over the lazy dogs, 64 bytes a line.\r\n",
            count: 16
        )
        .utf8)

    static func writeBlock(_ count: Int, to peer: Peer) {
        block.withUnsafeBytes { block in
            var rest = count
            while rest > 0 {
                let size = min(rest, block.count)
                guard peer.write(UnsafeRawBufferPointer(rebasing: block[..<size])) else { return }
                rest -= size
            }
        }
    }

    private static let gathered = Monitor([String: Int]())

    /// A page whose second half comes when `count` connections to the same site wait for it: all of
    /// them are open then.
    static func gather(_ count: Int, at site: String, to peer: Peer) {
        peer.write(Array(page[..<512]))
        let wanted = gathered.update { arrivals in
            let number = arrivals[site, default: 0]
            arrivals[site] = number + 1
            return (number / count + 1) * count
        }
        try? gathered.wait(for: "all of a gathering are there") {
            ($0[site] ?? 0) >= wanted ? () : nil
        }
        peer.write(Array(page[512...]))
    }

    // MARK: Finger

    /// Finger: two users, and a list of them for an empty query.
    public static func finger(_ peer: Peer) {
        guard let line = peer.readLine() else { return }
        switch String(decoding: line.prefix { $0 != 0x0D && $0 != 0x0A }, as: UTF8.self) {
        case "":
            peer.write("Login     Name\r\nada       Ada Lovelace\r\ngrace     Grace Hopper\r\n")
        case "ada": peer.write("Login: ada\r\nName: Ada Lovelace\r\nPlan:\r\nNotes, up to G.\r\n")
        case "grace": peer.write("Login: grace\r\nName: Grace Hopper\r\nNo plan.\r\n")
        case "1k": peer.write(page)
        case "slow": peer.writeSlowly(page, pauseMilliseconds: 2)
        case "silent": peer.hang()
        case "reset": peer.reset()
        case let name: peer.write("finger: \(name): no such user\r\n")
        }
    }

    // MARK: Nex

    /// Nex: a directory with a directory and a page in it.
    public static func nex(_ peer: Peer) {
        guard let line = peer.readLine() else { return }
        switch String(decoding: line.prefix { $0 != 0x0D && $0 != 0x0A }, as: UTF8.self) {
        case "/", "": peer.write("A nex station.\n=> notes/ Notes\n=> about.txt\n")
        case "/notes/": peer.write("=> today.txt Today\n=> ../about.txt About\n")
        case "/about.txt": peer.write("About this station.\n")
        case "/1k": peer.write(page)
        case "/silent": peer.hang()
        case "/reset": peer.reset()
        default: peer.write("document not found\n")
        }
    }

    // MARK: Titan

    /// Titan: says how much it got, and keeps nothing.
    public static func titan(_ peer: Peer) {
        guard let line = peer.readLine() else { return }
        let words = String(decoding: line.prefix { $0 != 0x0D && $0 != 0x0A }, as: UTF8.self)
            .split(separator: ";")
        guard let size = words.first(where: { $0.hasPrefix("size=") }),
            let count = Int(size.dropFirst(5))
        else {
            peer.write("59 Not an upload\r\n")
            return
        }
        peer.write("20 text/gemini\r\n# Thank you\nfor \(peer.read(count).count) bytes.\n")
    }

    // MARK: Spartan

    /// Spartan: a guestbook, an echo, every status.
    public static func spartan(_ peer: Peer) {
        guard let line = peer.readLine() else { return }
        let words = String(decoding: line.prefix { $0 != 0x0D && $0 != 0x0A }, as: UTF8.self)
            .split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, let count = Int(words[2]) else {
            peer.write("4 Not a request\r\n")
            return
        }
        let path = String(words[1])
        if path == "/refused-early" {
            peer.write("4 That is too much\r\n")
            return peer.hangWithoutReading()
        }
        let data = peer.read(count)
        switch path {
        case "/":
            peer.write(
                "2 text/gemini\r\n# A small camp\n=> /about About this camp\n"
                    + "=: /guestbook Sign the guestbook\n=: gopher://127.0.0.1/7/s Elsewhere\n"
                    + "=: /echo?draft\n")
        case "/about": peer.write("2 text/plain\r\nThis camp is part of the tests of smallweb.\n")
        case "/echo": peer.write(Array("2 application/octet-stream\r\n".utf8) + data)
        case "/guestbook":
            // Signing the guestbook redirects to it.
            peer.write(
                data.isEmpty ? "2 text/gemini\r\n# Guestbook\n" : "3 /guestbook\r\n")
        case "/elsewhere": peer.write("3 spartan://127.0.0.1:\(peer.localPort)/about\r\n")
        case "/loop": peer.write("3 /loop\r\n")
        case "/status/4": peer.write("4 No such page\r\n")
        case "/status/5": peer.write("5 Busy\r\n")
        case "/malformed": peer.write("20 text/gemini\r\n")
        case "/1k": peer.write(Array("2 text/plain\r\n".utf8) + page)
        case "/silent": peer.hang()
        case "/reset":
            peer.write("2 text/plain\r\nThis page ends in a reset.\n")
            peer.reset()
        default:
            if let count = number(after: "/redirect/", in: path) {
                peer.write("3 \(count > 1 ? "/redirect/\(count - 1)" : "/about")\r\n")
            } else if let count = number(after: "/big/", in: path) {
                peer.write("2 application/octet-stream\r\n")
                writeBlock(count, to: peer)
            } else {
                peer.write("4 No such page\r\n")
            }
        }
    }

    // MARK: Gopher

    /// Gopher; over TLS it is gophers.
    public static func gopher(_ peer: Peer) {
        guard let line = peer.readLine() else { return }
        let text = String(decoding: line.prefix { $0 != 0x0D && $0 != 0x0A }, as: UTF8.self)
        let parts = text.split(separator: "\t", maxSplits: 1, omittingEmptySubsequences: false)
        let selector = parts.first.map(String.init) ?? ""
        let place = "127.0.0.1\t\(peer.localPort)\r\n"
        switch selector {
        case "", "/":
            let entries = [
                "iA small gopher hole\tfake\t", "0About\t/about.txt\t", "0Dots\t/dots.txt\t",
                "1The same again\t/\t", "7Search\t/search\t", "91 MiB\t/big/1048576\t",
                "01 KiB\t/1k\t", "3An error line in a menu\tfake\t",
                "hA link\tURL:https://example.org/\t", "0Missing\t/missing\t",
            ]
            peer.write(entries.map { $0 + place }.joined() + ".\r\n")
        case "/about.txt": peer.write("This hole is part of the tests of smallweb.\r\n.\r\n")
        case "/dots.txt": peer.write("one\r\n..two begins with a dot\r\n...\r\nthree\r\n.\r\n")
        case "/no-terminator": peer.write("one\r\n.two keeps its dot\r\n")
        case "/search":
            let words = parts.count > 1 ? parts[1] : ""
            peer.write("iYou looked for: \(words)\tfake\t\(place)0Found\t/about.txt\t\(place).\r\n")
        case "/1k": peer.write(page)
        case "/slow": peer.writeSlowly(page, pauseMilliseconds: 2)
        case "/silent": peer.hang()
        case "/reset":
            peer.write("iThis menu ends in a reset\tfake\t\(place)")
            peer.reset()
        case "/endless-line":
            while peer.write([UInt8](repeating: 0x69, count: 65_536)) {}
        default:
            if let count = number(after: "/big/", in: selector) {
                writeBlock(count, to: peer)
            } else if let count = number(after: "/gather/", in: selector), count > 0 {
                gather(count, at: "gopher", to: peer)
            } else if selector.hasPrefix("URL:") {
                peer.write("<html><a href=\"\(selector.dropFirst(4))\">there</a></html>\r\n")
            } else {
                peer.write("3'\(selector)' does not exist\tfake\t\(place).\r\n")
            }
        }
    }

    /// The whole decimal number behind `prefix`.
    static func number(after prefix: String, in text: String) -> Int? {
        text.hasPrefix(prefix) ? Int(text.dropFirst(prefix.count)) : nil
    }
}
