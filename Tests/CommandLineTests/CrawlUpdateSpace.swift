// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport

extension CrawlUpdateTests {
    enum Reply {
        /// Paths that it links to, and a text.
        case page([String], String = "")
        case gone, refused, later
        case moved(String)
    }

    /// A server of pages that change; over HTTP they have entity tags.
    final class Space: Sendable {
        static let schemes = ["http", "gemini", "gopher"]

        struct Request {
            let path: String
            let isConditional: Bool
        }

        let server: LoopbackServer
        let scheme: String
        private let pages: Monitor<[String: Reply]>
        private let asked = Monitor([Request]())

        init(_ scheme: String, _ pages: [String: Reply]) throws {
            let (all, asked, port) = (Monitor(pages), asked, Monitor(UInt16(0)))
            (self.scheme, self.pages) = (scheme, all)
            server = try LoopbackServer(tls: scheme == "gemini" ? .make() : nil) { peer in
                let line = String(decoding: peer.readLine() ?? [], as: UTF8.self)
                    .trimmingCharacters(in: .newlines)
                var fields: [String] = []
                while scheme == "http", let field = peer.readLine(), field.count > 2 {
                    fields.append(
                        String(decoding: field, as: UTF8.self).trimmingCharacters(in: .newlines))
                }
                var path =
                    scheme == "http"
                    ? String(line.split(separator: " ")[1])
                    : "/" + line.components(separatedBy: "/").dropFirst(3).joined(separator: "/")
                if scheme == "gopher" { path = line.hasPrefix("/") ? line : "/" + line }
                let tag = fields.first { $0.hasPrefix("If-None-Match: ") }?.dropFirst(15)
                asked.update {
                    $0.append(Request(path: path, isConditional: tag != nil))
                }
                let reply = path.hasSuffix("robots.txt") ? .gone : all.update { $0[path] } ?? .gone
                peer.write(Self.text(reply, scheme, port.update { $0 }, tag: tag.map(String.init)))
            }
            port.update { $0 = server.port }
        }

        private static func text(
            _ reply: Reply, _ scheme: String, _ port: UInt16, tag: String?
        ) -> String {
            switch (scheme, reply) {
            case ("http", .page(let links, let text)):
                let body = links.map { "<a href='\($0)'>a</a>\n" }.joined() + text
                let own = "\"\(body.utf8.reduce(into: 5381) { $0 = ($0 &* 33) ^ Int($1) })\""
                let isSame = tag == own
                return "HTTP/1.1 \(isSame ? 304 : 200) X\r\nETag: \(own)\r\nContent-Type: text/html"
                    + "\r\nConnection: close\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
                    + (isSame ? "" : body)
            case ("http", .moved(let path)):
                return "HTTP/1.1 302 X\r\nLocation: \(path)\r\nContent-Length: 0\r\n"
                    + "Connection: close\r\n\r\n"
            case ("http", _):
                let status =
                    if case .gone = reply { 404 } else if case .later = reply { 503 } else { 403 }
                return "HTTP/1.1 \(status) X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            case ("gemini", .page(let links, let text)):
                return "20 text/gemini\r\n" + links.map { "=> \($0)\n" }.joined() + text
            case ("gemini", .moved(let path)): return "30 \(path)\r\n"
            case ("gemini", .gone): return "51 no\r\n"
            case ("gemini", .later): return "41 later\r\n"
            case ("gemini", _): return "53 no\r\n"
            case (_, .page(let links, let text)):
                return links.isEmpty
                    ? text
                    : links.map { "0a\t\($0)\t127.0.0.1\t\(port)\r\n" }.joined()
                        + "i\(text)\t\t\t\r\n.\r\n"
            case (_, .gone): return "3no\t\terror.host\t1\r\n.\r\n"
            default: return ""
            }
        }

        /// The URL of a page; the front page is a menu of gopher, and others are texts.
        func url(_ path: String) -> String {
            let item = scheme == "gopher" && path != "/" ? "/0" : ""
            return "\(scheme)://127.0.0.1:\(server.port)\(item)\(path)"
        }

        func file(_ path: String) -> String {
            let name =
                path != "/"
                ? String(path.dropFirst())
                : ["http": "index.html", "gemini": "index.gmi", "gopher": "index@"][scheme] ?? ""
            return "m/\(scheme)/127.0.0.1:\(server.port)/\(name)"
        }

        func set(_ path: String, _ reply: Reply) { pages.update { $0[path] = reply } }
        func forgetRequests() { asked.update { $0 = [] } }
        var requests: [Request] { asked.update { $0 } }
        var paths: [String] {
            requests.map(\.path).filter { !$0.hasSuffix("robots.txt") }
        }
    }
}
