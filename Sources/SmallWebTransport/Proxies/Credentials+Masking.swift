// SPDX-License-Identifier: MIT
internal import SmallWebCore

extension Proxy.Credentials {
    /// As a field of HTTP has them (RFC 7617).
    var basic: String { "Basic " + Base64.encode(Array("\(user):\(password)".utf8)) }

    /// What a proxy says, with `***` for the password: as it is, percent-encoded in whole or in
    /// part, and in Base64, alone or behind the user.
    ///
    /// - Parameter masksUser: Whether the user alone is masked as well.
    func masked(_ text: [UInt8], masksUser: Bool = false) -> [UInt8] {
        guard !password.isEmpty || masksUser else { return text }
        let both = Array("\(user):\(password)".utf8)
        let encoded = [both, Array(password.utf8)].filter { !$0.isEmpty }.flatMap(Self.encodings)
        let plain = [Array(password.utf8)] + (masksUser ? [Array(user.utf8)] : [])
        var masked: [UInt8] = []
        var rest = text[...]
        while let byte = rest.first {
            if let end = encoded.lazy.compactMap({ Self.end(of: $0, in: rest) }).first {
                // Its end depends on what follows, and that is as secret.
                rest = rest[end...].drop { Self.isOfBase64($0) || $0 == UInt8(ascii: "=") }
                masked += "***".utf8
            } else if let end = plain.lazy.compactMap({ Self.end(of: $0, in: rest) }).max() {
                rest = rest[end...]
                masked += "***".utf8
            } else {
                masked.append(byte)
                rest = rest.dropFirst()
            }
        }
        return masked
    }

    func masked(_ text: String) -> String {
        String(decoding: masked(Array(text.utf8), masksUser: true), as: UTF8.self)
    }

    /// A line of a reply's header: what it means stays as it is.
    func masked(headerLine line: [UInt8]) -> [UInt8] {
        let isStatus = line.starts(with: "HTTP/".utf8)
        let parts = line.split(
            separator: isStatus ? ASCII.space : ASCII.colon, maxSplits: isStatus ? 2 : 1,
            omittingEmptySubsequences: false)
        guard parts.count > 1, let text = parts.last else { return masked(line) }
        if isStatus && parts.count < 3 { return line }
        return line[..<text.startIndex] + masked(Array(text), masksUser: isStatus)
    }

    /// In both alphabets: what is certain of `bytes`, whatever follows them.
    private static func encodings(_ bytes: [UInt8]) -> [[UInt8]] {
        let whole = Array(Base64.encode(bytes).utf8)
        let certain = bytes.count < 3 ? whole : Array(whole.prefix(bytes.count * 4 / 3))
        let forURLs = certain.map { byte in
            byte == UInt8(ascii: "+")
                ? UInt8(ascii: "-") : byte == ASCII.slash ? UInt8(ascii: "_") : byte
        }
        return [certain, forURLs]
    }

    /// Where `secret` ends if `text` begins with it, each byte as it is or as `%XX`.
    private static func end(of secret: [UInt8], in text: ArraySlice<UInt8>) -> Int? {
        guard !secret.isEmpty else { return nil }
        var rest = text
        for byte in secret {
            let escape = rest.prefix(3)
            if escape.count == 3, escape.first == ASCII.percent,
                let high = ASCII.hexValue(escape[escape.startIndex + 1]),
                let low = ASCII.hexValue(escape[escape.startIndex + 2]), high << 4 | low == byte
            {
                rest = rest.dropFirst(3)
            } else if rest.first == byte {
                rest = rest.dropFirst()
            } else {
                return nil
            }
        }
        return rest.startIndex
    }

    private static func isOfBase64(_ byte: UInt8) -> Bool {
        ASCII.isLetter(byte) || ASCII.isDigit(byte) || "+/-_".utf8.contains(byte)
    }
}
