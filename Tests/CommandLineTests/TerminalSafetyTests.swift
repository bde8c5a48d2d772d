// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebPlugins
import SmallWebTestSupport
import Testing

/// Every command that prints text of a server, times every scheme, on a pseudo-terminal: a server
/// that writes escapes everywhere drives none of them.
@Suite struct TerminalSafetyTests {
    /// A title, the clipboard, CSI of 8 bits, a line from right to left, hidden text, an empty
    /// screen.
    private static let evil =
        "\u{1B}]0;PWN\u{7}\u{1B}]52;c;cHdu\u{7}\u{9B}31m\u{202E}\u{1B}[8;7;6m\u{1B}[2J\u{2067}"
    /// The same for places that must not have a control character of ASCII.
    private static let high = "\u{9B}31m\u{202E}\u{2067}"

    private static func handler(_ scheme: String) -> @Sendable (Peer) -> Void {
        let (evil, high) = (evil, high)
        let page = "# T\(evil)\ntext\(evil)\n=> /a 2026-01-02 label\(evil)\n```\n\(evil)\n```\n"
        switch scheme {
        case "gemini", "titan", "spartan":
            let status = scheme == "spartan" ? "2" : "20"
            return { peer in
                let line = String(decoding: peer.readLine() ?? [], as: UTF8.self)
                if let size = line.firstRange(of: "size=") {
                    let digits = line[size.upperBound...].prefix { $0.isNumber }
                    _ = peer.read(Int(digits) ?? 0)
                } else if scheme == "spartan" {
                    _ = peer.read(Int(line.split(separator: " ").last?.prefix(1) ?? "") ?? 0)
                }
                if line.contains("refused") {
                    peer.write("\(scheme == "spartan" ? "4" : "51") no\(high)\r\n")
                } else {
                    let type = line.contains("plain") ? "text/plain" : "text/gemini"
                    peer.write("\(status) \(type)\(line.contains("odd") ? ";a=\(high)" : "")\r\n")
                    peer.write(page)
                }
            }
        case "gopher", "gophers":
            return { peer in
                _ = peer.readLine()
                peer.write(
                    "i\(evil)\t\t\t\r\n0a\(evil) 2026-01-02\t/\(evil)\tx.example\t70\r\n.\r\n")
            }
        case "http", "https":
            let html = """
                <!doctype html><title>T\(evil)</title><h2>2026-01-02 h\(evil)</h2><p>t\(evil)
                <a href="/a\(high)" title="\(evil)">2026-01-03 l\(evil)</a>
                <img src=b alt="i\(evil)"><pre>\(evil)\n&#27;]0;PWN&#7;&#x9b;31m&#x202e;</pre>
                <table><tr><th>\(evil)<td>\(evil)</table>
                """
            let isHTML = scheme == "http"
            let markdown = "# T\(evil)\n\n[l\(evil)](/a '\(evil)')\n\n    \(evil)\n\n\(html)"
            let page = isHTML ? html : markdown
            return { peer in
                while let request = WebRequest(from: peer) {
                    let status = request.target.contains("refused") ? "404 No\(high)" : "200 OK"
                    let length = page.utf8.count
                    peer.write(
                        "HTTP/1.1 \(status)\r\nX-Evil: \(evil)\r\nContent-Type: text/"
                            + (isHTML ? "html" : "markdown") + "; charset=utf-8\r\n"
                            + "Content-Length: \(length)\r\n\r\n\(page)")
                }
            }
        case "git", "git+http", "git+https": return DemoSites.git(saying: evil)
        default:
            return { peer in
                _ = peer.readLine()
                peer.write(page)
            }
        }
    }

    /// Commands for each scheme; `URL` is a page, `BAD` one that is refused.
    private static func commands(_ scheme: String) -> [[String]] {
        if scheme == "titan" {
            return [
                ["put", "URL", "up"], ["put", "BAD", "up"], ["put", "-v", "URL", "up"],
                ["edit", "URL"], ["edit", "BAD"], ["edit", "-v", "URL"],
            ]
        }
        var commands = [
            ["get", "URL"], ["get", "BAD"], ["get", "--raw", "URL"], ["get", "-i", "URL"],
            ["get", "-I", "URL"], ["head", "URL"], ["head", "BAD"], ["get", "-v", "URL"],
            ["get", "--json", "URL"], ["links", "URL"], ["links", "--json", "URL"],
            ["get", "-D", "/dev/stdout", "-o", "f", "URL"], ["get", "-D", "-", "URL"],
            ["get", "-D", "/dev/stderr", "-o", "f", "URL"], ["get", "-D", "/dev/fd/1", "URL"],
            ["get", "-D", "/dev/tty", "URL"], ["get", "-o", "/dev/stdout", "URL"],
            ["get", "-o", "/dev/tty", "URL"], ["links", "-o", "/dev/stdout", "URL"],
            ["get", "-j2", "URL", "BAD"], ["get", "-o", "f", "-w", "%{meta} %{json}\\n", "URL"],
            ["open", "URL"], ["feed", "--new", "URL"], ["feed", "--format", "gemtext", "URL"],
            ["watch", "--diff", "URL"], ["watch", "--links", "URL"], ["watch", "URL"],
            ["explain", "URL"], ["trust", "list"], ["history"],
            ["get", "--warc", "a.warc", "-o", "f", "URL"], ["warc", "list", "a.warc"],
            ["get", "--replay", "a.warc", "URL"], ["get", "--ledger", "l", "-o", "f", "URL"],
        ]
        commands += ["plain", "ansi", "html", "markdown"].map { ["get", "--render", $0, "URL"] }
        if scheme == "spartan" { commands.append(["put", "URL", "up"]) }
        if scheme.hasPrefix("git") {
            commands += [
                ["refs", "REPO"], ["refs", "--dates", "REPO"], ["refs", "--json", "REPO"],
                ["log", "URL"], ["log", "--format", "full", "URL"], ["log", "--json", "URL"],
                ["log", "-o", "/dev/stdout", "URL"],
                ["describe", "URL"], ["describe", "--tags", "URL"],
                ["diff", "URL", "PARENT..main"], ["diff", "--patch", "URL", "PARENT..main"],
                ["get", "BADFILE"], ["get", "--tar", "URL"],
            ]
        }
        return commands
    }

    @Test(arguments: Registry.builtIn.schemes.map(\.name).sorted())
    func nothingOfAServerDrivesTheTerminal(_ scheme: String) throws {
        let isTLS = ["gemini", "titan", "gophers", "https", "git+https"].contains(scheme)
        // Smart HTTP gives the same output as git://.
        guard !scheme.hasPrefix("git+") else { return }
        let handler = Self.handler(scheme)
        let server = try LoopbackServer(tls: isTLS ? .make() : nil, handler: handler)
        let place = "\(scheme)://127.0.0.1:\(server.port)"
        let isGit = scheme == "git"
        let names = [
            "URL": place + (isGit ? "/demo.git//" : scheme == "finger" ? "/ada" : "/odd"),
            "BAD": place + (isGit ? "/no.git" : scheme == "finger" ? "/no" : "/refused"),
            "BADFILE": place + "/demo.git//c" + Self.evil, "REPO": place + "/demo.git",
            "PARENT..main": "v1\(Self.high)..main",
        ]
        var smallweb = Smallweb()
        smallweb.environment = ["PAGER": "cat", "LC_ALL": "C.UTF-8"]
        try Data("x".utf8).write(to: URL(fileURLWithPath: smallweb.home.file("up")))
        for command in Self.commands(scheme) {
            let isInsecure =
                scheme == "https" && !["trust", "history", "warc"].contains(command[0])
            var words = command.map { names[$0] ?? $0 }
            if isInsecure { words.insert("-k", at: 1) }
            let screen = try Screen(isTerminal: true)
            let status = try smallweb.run(words, on: screen, output: true) { _ in }
            let found = Self.dangers(in: screen.shown)
            #expect(found.isEmpty, "\(command): \(found) in \(screen.shown.debugDescription)")
            #expect(status != 2, "\(command): \(screen.shown)")
        }
    }

    /// Into a pipe go the bytes, and `-o -` insists on them.
    @Test func rawIsAskedFor() throws {
        let server = try LoopbackServer(handler: DemoSites.git(saying: Self.evil))
        let url = "git://127.0.0.1:\(server.port)/demo.git"
        let smallweb = Smallweb()
        #expect(try smallweb.run(["log", url]).text.contains("\u{9B}31m\u{202E}"))
        let screen = try Screen(isTerminal: true)
        _ = try smallweb.run(["log", "-o", "-", url], on: screen, output: true) { _ in }
        #expect(screen.shown.contains("\u{9B}31m\u{202E}"))
    }

    /// Control characters that a server may have put there: all but our own colours, hyperlinks
    /// with a printable URL, erased lines and the shown cursor.
    private static func dangers(in shown: String) -> [String] {
        let own =
            #"\x1B\[(?!8;7;)[0-9;]*m|\x1B\[[0-3]?[JK]|\x1B\[\?(25|2004)[lh]"#
            + #"|\x1B\]8;[!-~]*;[!-~]*(\x1B\\|\x07)"#
        let text = shown.replacingOccurrences(of: own, with: "", options: .regularExpression)
        let pattern = #"[\x00-\x08\x0B\x0C\x0E-\x1F\x7F-\x{9F}\x{202A}-\x{202E}\x{2066}-\x{2069}]"#
        var found: [String] = []
        var rest = text[...]
        while let range = rest.range(of: pattern, options: .regularExpression), found.count < 5 {
            found.append(rest[range.lowerBound...].prefix(12).debugDescription)
            rest = rest[range.upperBound...]
        }
        return found
    }
}
