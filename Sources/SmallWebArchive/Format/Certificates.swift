// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Certificate chains as records of an archive keep them.
enum Certificates {
    static let kind = "certificates"

    private static let begin = "-----BEGIN CERTIFICATE-----"
    private static let end = "-----END CERTIFICATE-----"

    /// Encodes DER in Base64, as JSON.
    static func encode(_ chain: [[UInt8]]) -> [UInt8] {
        Array("[\"\(chain.map(Base64.encode).joined(separator: "\",\""))\"]".utf8)
    }

    /// Decodes the certificates of a record to DER. Up to version 0.2 they were PEM (RFC 7468).
    static func decode(_ pem: [UInt8]) -> [[UInt8]] {
        if case .array(let chain)? = try? JSONValue.parse(WarcHeader.json(of: pem)) {
            return chain.compactMap { $0.string.flatMap(Base64.decode) }
        }
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
