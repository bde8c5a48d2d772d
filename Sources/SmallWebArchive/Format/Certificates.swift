// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Certificate chains as records of an archive keep them.
enum Certificates {
    static let mediaType = "application/x-pem-file"

    private static let begin = "-----BEGIN CERTIFICATE-----"
    private static let end = "-----END CERTIFICATE-----"

    /// Encodes DER as PEM (RFC 7468).
    static func encode(_ chain: [[UInt8]]) -> [UInt8] {
        var text: [UInt8] = []
        for certificate in chain {
            text.append(begin + "\n")
            var rest = Array(Base64.encode(certificate).utf8)[...]
            while !rest.isEmpty {
                text += rest.prefix(64)
                text.append(ASCII.lineFeed)
                rest = rest.dropFirst(64)
            }
            text.append(end + "\n")
        }
        return text
    }

    /// Decodes the certificates of a PEM text to DER.
    static func decode(_ pem: [UInt8]) -> [[UInt8]] {
        var (chain, lines) = ([[UInt8]](), String?.none)
        for line in pem.split(whereSeparator: { $0 == 10 || $0 == 13 }) {
            let text = String(decoding: line, as: UTF8.self)
            if text == begin {
                lines = ""
            } else if text == end {
                if let der = lines.flatMap(Base64.decode) { chain.append(der) }
                lines = nil
            } else {
                lines?.append(text)
            }
        }
        return chain
    }

    /// `SCHEME HOST:PORT` of a URL, or `SCHEME HOST` without a port.
    static func place(_ target: String) -> String? { URI(recorded: target).flatMap(place) }

    static func place(_ uri: URI) -> String? { uri.hostAndPort.map { "\(uri.scheme) \($0)" } }
}
