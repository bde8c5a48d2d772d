// SPDX-License-Identifier: MIT
// The references of a Git repository, as `git ls-remote` prints them: ls-remote git://HOST/PATH
import Glibc
import SmallWeb

/// Git's packets (gitprotocol-common(5)): the length with its own four hexadecimal digits, and a
/// text; `nil` is a flush packet.
struct PktLine: Framer {
    func frame(_ text: String?) throws(FetchError) -> [UInt8] {
        guard let text else { return Array("0000".utf8) }
        let digits = String(text.utf8.count + 4, radix: 16)
        guard digits.count <= 4 else { throw FetchError(.usage, .input, "the path is too long") }
        return Array((String(repeating: "0", count: 4 - digits.count) + digits + text).utf8)
    }

    func needs(_ bytes: ArraySlice<UInt8>) throws(FetchError) -> Int {
        guard bytes.count >= 4 else { return 4 }
        let digits = String(decoding: bytes.prefix(4), as: UTF8.self)
        guard let length = Int(digits, radix: 16), length == 0 || 4...65_520 ~= length else {
            throw FetchError(.protocolError, .body, "no length of a packet: \(digits)")
        }
        return max(4, length)
    }

    func unframe(_ frame: ArraySlice<UInt8>) -> String? {
        frame.elementsEqual("0000".utf8) ? nil : String(decoding: frame.dropFirst(4), as: UTF8.self)
    }
}

let arguments = CommandLine.arguments.dropFirst()
do {
    let uri = try URI(parsing: arguments.first ?? "git://git.kernel.org/pub/scm/git/git.git")
    let server = Endpoint(host: uri.host ?? "", port: uri.port ?? 9418, security: .none)
    let web = try Client()
    let references = try await web.withStream(to: server) { stream in
        let framer = PktLine()
        let request = "git-upload-pack \(uri.path)\0host=\(server.host)\0"
        try await stream.writeAll(try framer.frame(request))
        var references: [String] = []
        while true {
            guard let packet = try await stream.readMessage(by: framer) else {
                throw stream.endedTooSoon
            }
            guard let text = packet else { break }
            if text.hasPrefix("ERR ") { throw FetchError(.permanentFailure, .header, text) }
            // The capabilities of the server are behind a NUL.
            let reference = text.prefix { $0 != "\0" && !$0.isNewline }
            let words = reference.split(separator: " ", maxSplits: 1).map(String.init)
            references.append(words.map(TerminalText.escapeLine).joined(separator: "\t"))
        }
        try await stream.writeAll(try framer.frame(nil))
        return references
    }
    for reference in references { print(reference) }
} catch {
    print("ls-remote: \(error)")
    exit(1)
}
