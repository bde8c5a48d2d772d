// SPDX-License-Identifier: MIT

extension PluginTemplate {
    /// A program that has to be compiled first. With the runtime in it, it runs where no Swift is,
    /// and where Swift lies below the home directory, which a plugin does not read.
    var swift: [File] {
        [
            File(
                path: "Makefile",
                text: """
                    # Others must not be able to write it.
                    \(name): \(name).swift
                    \tswiftc -O -static-stdlib -o $@ $<
                    \tchmod go-w $@

                    """),
            File(path: "\(name).swift", text: "// \(name): \(source)"),
        ]
    }

    private var source: String {
        ##"""
        a path on a line; the reply is a line with 20 and a type, or with 40 and
        // a reason, and then the page, up to its end. `make` compiles it.
        \##(note("//"))
        import Glibc

        func write(_ bytes: some Collection<UInt8>, to descriptor: Int32) {
            var rest = Array(bytes)[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { piece in
                    Glibc.write(descriptor, piece.baseAddress, piece.count)
                }
                guard count > 0 else { exit(1) }
                rest = rest.dropFirst(count)
            }
        }

        /// What the server has sent, at least a byte; nothing at its end.
        func receive() -> ArraySlice<UInt8> {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = read(0, &buffer, buffer.count)
            return buffer.prefix(max(0, count))
        }

        /// A text as JSON has it.
        func quoted(_ text: String) -> String {
            var json = "\""
            for scalar in text.unicodeScalars {
                if scalar.value < 0x20 {
                    let digits = String(scalar.value, radix: 16)
                    json += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                } else {
                    if scalar == "\"" || scalar == "\\" { json += "\\" }
                    json.unicodeScalars.append(scalar)
                }
            }
            return json + "\""
        }

        func say(_ event: String) { write((event + "\n").utf8, to: 3) }

        func fail(_ outcome: String, _ message: String) -> Never {
            say(#"{"type":"fail","outcome":"\#(outcome)","message":\#(quoted(message))}"#)
            exit(0)
        }

        let path = getenv("SMALLWEB_PATH").map { String(cString: $0) } ?? ""
        write("\(path.isEmpty ? "/" : path)\r\n".utf8, to: 1)

        var reply: [UInt8] = []
        while reply.count < 1024 && !reply.contains(10) {
            let piece = receive()
            if piece.isEmpty { break }
            reply += piece
        }
        if reply.isEmpty { fail("empty-reply", "the server sent nothing") }
        guard let end = reply.firstIndex(of: 10) else {
            fail("protocol-error", "the reply has no line")
        }
        let line = String(decoding: reply[..<end].filter { $0 != 13 }, as: UTF8.self)
        let text = quoted(String(line.dropFirst(3)))
        switch line.prefix(3) {
        case "20 ":
            say(#"{"type":"head","class":"success","status":20,"mime":\#(text)}"#)
        case "40 ":
            say(#"{"type":"head","class":"permanent-failure","status":40,"meta":\#(text)}"#)
            exit(0)
        default: fail("protocol-error", "the reply does not begin with 20 or 40")
        }
        write(reply[(end + 1)...], to: 4)
        while case let piece = receive(), !piece.isEmpty { write(piece, to: 4) }

        """##
    }
}
