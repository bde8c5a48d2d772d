// SPDX-License-Identifier: MIT
// A client for Gemini, with a framer of its own in the place of smallweb's plugin: capsule URL
import Glibc
import SmallWeb

/// The lines of Gemini: a URL goes there, a status and a text come back.
struct GeminiFramer: Framer {
    let lines = LineFramer(lineBytesMax: 1024)

    func frame(_ line: String) throws(FetchError) -> [UInt8] { try LineFramer.frame(line.utf8) }

    func needs(_ bytes: ArraySlice<UInt8>) throws(FetchError) -> Int { try lines.needs(bytes) }

    func unframe(_ frame: ArraySlice<UInt8>) throws(FetchError) -> String {
        guard let line = String(validating: lines.unframe(frame), as: UTF8.self) else {
            throw FetchError(.protocolError, .header, "the reply does not begin with UTF-8")
        }
        return line
    }
}

struct Reply {
    let status: Int
    let text: String

    init(_ line: String) throws(FetchError) {
        let words = line.split(separator: " ", maxSplits: 1)
        guard let first = words.first, let status = Int(first), 10...69 ~= status else {
            throw FetchError(.protocolError, .header, "no status in \"\(line)\"")
        }
        (self.status, text) = (status, words.count > 1 ? String(words[1]) : "")
    }
}

let arguments = CommandLine.arguments.dropFirst()
let url = arguments.first ?? "gemini://geminiprotocol.net/"
do {
    let uri = try URI(parsing: url)
    let server = Endpoint(host: uri.host ?? "", port: uri.port ?? 1965, security: .tls)
    let web = try Client()
    let body = try await web.withStream(to: server, limits: .page) { stream in
        let framer = GeminiFramer()
        try await stream.writeAll(try framer.frame(url))
        guard let line = try await stream.readMessage(by: framer) else { throw stream.endedTooSoon }
        let reply = try Reply(line)
        guard reply.status / 10 == 2 else { return "\(reply.status): \(reply.text)\n" }
        var body: [UInt8] = []
        let ending = try await stream.readToEnd { body += $0 }
        guard ending == .closeNotify else {
            throw FetchError(.truncated, .body, "the page may be cut off")
        }
        return String(decoding: body, as: UTF8.self)
    }
    print(body, terminator: "")
} catch {
    print("capsule: \(error)")
    exit(1)
}
