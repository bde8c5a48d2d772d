// SPDX-License-Identifier: MIT

/// Replaces secret values by `***` wherever they appear in a stream of bytes: as they are,
/// percent-encoded in whole or in part (a blank also as `+`), in Base64 at any alignment, and split
/// across pieces.
package struct SecretMask: Sendable {
    private struct Pattern: Sendable {
        let bytes: [UInt8]
        let isBase64: Bool
        /// True if the character before it has bits of the secret, too.
        let hasHead: Bool
    }

    private let patterns: [Pattern]
    /// Indexed by byte: true if a pattern may begin with it.
    private let begins: [Bool]
    /// The end of the stream so far, if it may be the beginning of a secret.
    private var held: [UInt8] = []
    /// True if the Base64 digits that come next belong to a secret.
    private var isInBase64 = false

    package static let mark = Array("***".utf8)

    package var isEmpty: Bool { patterns.isEmpty }
    package var heldCount: Int { held.count }
    /// True once a secret was found in the stream.
    package private(set) var hasFound = false

    /// An empty mask, which finds nothing.
    package init() { (patterns, begins) = ([], []) }

    /// - Parameter secrets: Empty ones are ignored.
    package init(_ secrets: [[UInt8]]) {
        let secrets = Set(secrets.filter { !$0.isEmpty }).sorted { $0.count > $1.count }
        var patterns = secrets.map { Pattern(bytes: $0, isBase64: false, hasHead: false) }
        for secret in secrets { patterns += Self.base64(secret) }
        self.patterns = patterns
        var begins = [Bool](repeating: false, count: patterns.isEmpty ? 0 : 256)
        for pattern in patterns { begins[Int(pattern.bytes[0])] = true }
        if !patterns.isEmpty {
            for mark in [ASCII.percent, UInt8(ascii: "+")] { begins[Int(mark)] = true }
        }
        self.begins = begins
    }

    /// `bytes`, a complete text, with its secrets masked.
    package func masked(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        let bytes = Array(bytes)
        return bytes.masking(ranges(in: bytes))
    }

    package func masked(_ text: String) -> String {
        isEmpty ? text : String(decoding: masked(text.utf8), as: UTF8.self)
    }

    /// Ranges of the secrets in `bytes`, a complete text; ascending, without overlaps.
    package func ranges(in bytes: [UInt8]) -> [Range<Int>] {
        isEmpty ? [] : scan(bytes, isWhole: true).found
    }

    /// Takes the next bytes of a stream.
    ///
    /// - Parameter isLast: True at the end of the stream: the beginning of a secret is shown then.
    /// - Returns: Bytes of the stream that are safe to show by now.
    package mutating func add(
        _ bytes: some Sequence<UInt8>, isLast: Bool = false
    ) -> [UInt8] {
        guard !isEmpty else { return Array(bytes) }
        let all = held + bytes
        let scan = scan(all, continuesBase64: isInBase64, isWhole: isLast)
        held = Array(all[scan.end...])
        if !scan.found.isEmpty { hasFound = true }
        isInBase64 = scan.isInBase64
        let shown = Array(all[..<scan.end]).masking(scan.found)
        return scan.skipped == 0 ? shown : Array(shown[scan.skipped...])
    }

    private struct Scan {
        var found: [Range<Int>] = []
        /// Number of leading bytes that belong to the preceding secret.
        var skipped = 0
        /// Offset of a possible beginning of a secret, or the end.
        var end: Int
        var isInBase64: Bool
    }

    /// - Parameter isWhole: True if nothing follows: the beginning of a secret alone is not one.
    private func scan(
        _ all: [UInt8], continuesBase64: Bool = false, isWhole: Bool
    ) -> Scan {
        var scan = Scan(end: all.count, isInBase64: continuesBase64)
        var index = 0
        while index < all.count {
            let byte = all[index]
            if scan.isInBase64 {
                if Self.isBase64(byte) || byte == UInt8(ascii: "=") {
                    index += 1
                    if scan.found.isEmpty {
                        scan.skipped = index
                    } else {
                        let last = scan.found.removeLast()
                        scan.found.append(last.lowerBound..<index)
                    }
                    continue
                }
                scan.isInBase64 = false
            }
            guard begins[Int(byte)] else {
                index += 1
                continue
            }
            switch match(all[index...], isWhole: isWhole) {
            case .none: index += 1
            case .partial:
                scan.end = index
                return scan
            case .whole(let end, let pattern):
                let free = scan.found.last?.upperBound ?? scan.skipped
                let hasHead = pattern.hasHead && index > free && Self.isBase64(all[index - 1])
                scan.found.append((hasHead ? index - 1 : index)..<end)
                index = end
                scan.isInBase64 = pattern.isBase64
            }
        }
        return scan
    }

    /// Ends the stream.
    ///
    /// - Returns: `***` for held bytes, which may be the beginning of a secret.
    package mutating func finish() -> [UInt8] {
        guard !held.isEmpty else { return [] }
        held = []
        return Self.mark
    }

    // MARK: Matching

    private enum Match {
        case none, partial
        case whole(end: Int, Pattern)
    }

    private func match(_ text: ArraySlice<UInt8>, isWhole: Bool) -> Match {
        var isPartial = false
        for pattern in patterns {
            switch pattern.isBase64 ? Self.encoded(pattern, in: text) : Self.plain(pattern, text) {
            case .none: break
            case .partial: isPartial = !isWhole
            case .whole(let end, _):
                // A longer secret may match once the rest has come.
                return isPartial ? .partial : .whole(end: end, pattern)
            }
        }
        return isPartial ? .partial : .none
    }

    /// Matches each byte as it is, or as `%XX`; a blank also as `+`, as in forms.
    private static func plain(_ pattern: Pattern, _ text: ArraySlice<UInt8>) -> Match {
        var index = text.startIndex
        for byte in pattern.bytes {
            guard index < text.endIndex else { return .partial }
            if text[index] == ASCII.percent, index + 2 < text.endIndex,
                let high = ASCII.hexValue(text[index + 1]),
                let low = ASCII.hexValue(text[index + 2]), high << 4 | low == byte
            {
                index += 3
            } else if text[index] == ASCII.percent, index + 2 >= text.endIndex,
                text[(index + 1)...].allSatisfy({ ASCII.hexValue($0) != nil })
            {
                return .partial
            } else if text[index] == byte
                || byte == ASCII.space && text[index] == UInt8(ascii: "+")
            {
                index += 1
            } else {
                return .none
            }
        }
        return .whole(end: index, pattern)
    }

    /// Matches Base64 digits, also across line ends.
    private static func encoded(_ pattern: Pattern, in text: ArraySlice<UInt8>) -> Match {
        var index = text.startIndex
        for byte in pattern.bytes {
            while index > text.startIndex, index < text.endIndex,
                ASCII.isLineEnd(text[index])
            { index += 1 }
            guard index < text.endIndex else { return .partial }
            guard text[index] == byte else { return .none }
            index += 1
        }
        return .whole(end: index, pattern)
    }

    /// The Base64 digits that do not depend on the neighbouring bytes, for each of the three
    /// alignments, in both alphabets.
    private static func base64(_ secret: [UInt8]) -> [Pattern] {
        var patterns: [Pattern] = []
        for before in 0...2 {
            let padded = [UInt8](repeating: 0, count: before) + secret
            let text = Array(Base64.encode(padded).utf8)
            let certain = text[[0, 2, 3][before]..<(padded.count * 8 / 6)]
            // Shorter ones occur in any text.
            guard certain.count >= 3 else { continue }
            let forURLs = certain.map { byte in
                byte == UInt8(ascii: "+")
                    ? UInt8(ascii: "-") : byte == ASCII.slash ? UInt8(ascii: "_") : byte
            }
            for bytes in Set([Array(certain), forURLs]) {
                patterns.append(Pattern(bytes: bytes, isBase64: true, hasHead: before > 0))
            }
        }
        // Too short for the patterns above: matches only the secret encoded alone.
        if secret.count < 3 {
            let whole = Array(Base64.encode(secret).utf8)
            patterns.append(Pattern(bytes: whole, isBase64: true, hasHead: false))
        }
        return patterns
    }

    private static func isBase64(_ byte: UInt8) -> Bool {
        ASCII.isLetter(byte) || ASCII.isDigit(byte) || "+/-_".utf8.contains(byte)
    }
}

extension Request {
    /// Values to mask in everything sent for this request: secret options, input typed without
    /// echo, the URL's password, and the secrets of a program that has this request made.
    package var secretValues: [[UInt8]] { secretsOfOptions + secretsOfURL + self.programSecrets }

    /// Secrets that are certainly sent, unlike the URL's password, which many protocols do not
    /// send.
    package var secretsOfOptions: [[UInt8]] {
        self.options.secrets + (self.isInputSecret ? [self.input].compactMap(\.self) : [])
    }

    private var secretsOfURL: [[UInt8]] {
        guard let userinfo = self.uri.userinfo, let colon = userinfo.firstIndex(of: ":") else {
            return []
        }
        let password = String(userinfo[colon...].dropFirst())
        return [Array(password.utf8), PercentEncoding.decode(password)]
    }
}

extension ProtocolHandler {
    /// The mask for the bytes sent for `request`. Empty for a built-in handler, which locates its
    /// secrets itself by ``secrets(in:)``; a program may send them in any form.
    package func mask(of request: Request) -> SecretMask {
        programVersion == nil ? SecretMask() : SecretMask(request.secretValues)
    }
}

/// Header fields with secret values, which are masked by `***` when shown or logged.
package enum SecretFields {
    private static let names: Set<String> = [
        "authorization", "cookie", "proxy-authorization", "set-cookie",
    ]

    /// One of HTTP's own, or a common name for a service's API key.
    private static func isSecret(_ name: ArraySlice<UInt8>) -> Bool {
        // Many servers ignore a blank before the colon.
        let bare = name.prefix { !ASCII.isBlank($0) }
        let text = String(decoding: bare, as: UTF8.self).lowercased()
        return names.contains(text) || text.hasSuffix("token") || text.hasSuffix("api-key")
    }

    /// Ranges of the secret values, without leading blanks.
    static func ranges(in header: [UInt8]) -> [Range<Int>] {
        guard header.contains(ASCII.colon) else { return [] }
        return header.split(separator: ASCII.lineFeed).compactMap { line in
            let name = line.prefix { $0 != ASCII.colon }
            guard name.count < line.count, isSecret(name) else { return nil }
            let value = line[(name.endIndex + 1)...].drop(while: ASCII.isBlank)
            return value.startIndex..<value.endIndex - (value.last == ASCII.carriageReturn ? 1 : 0)
        }
    }

    /// Fields that reveal nothing about the user. An allow list, because secrets have too many
    /// names.
    static let open: Set<String> = [
        "accept", "accept-charset", "accept-encoding", "accept-language", "user-agent", "range",
        "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since",
    ]

    /// A line as a header field of a request: only those that are ``open`` are shown.
    static func shown(_ line: String) -> String {
        guard let colon = line.firstIndex(of: ":") else { return line }
        return open.contains(line[..<colon].lowercased()) ? line : line[...colon] + " ***"
    }

    package static func masked(_ header: [UInt8]) -> [UInt8] { header.masking(ranges(in: header)) }

    package static func masked(_ header: String) -> String {
        String(decoding: masked(Array(header.utf8)), as: UTF8.self)
    }
}

extension [UInt8] {
    /// A copy with `***` for each of `ranges`, which ascend.
    package func masking(_ ranges: [Range<Int>]) -> [UInt8] {
        guard !ranges.isEmpty else { return self }
        var (masked, end) = ([UInt8](), 0)
        for range in ranges {
            masked += self[end..<range.lowerBound] + SecretMask.mark
            end = range.upperBound
        }
        return masked + self[end...]
    }
}

extension ProtocolHandler {
    /// Ranges of the values of header fields such as Authorization.
    public func secrets(in sent: [UInt8]) -> [Range<Int>] { SecretFields.ranges(in: sent) }

    /// Request bytes that are safe to show to others.
    package func redacted(_ sent: [UInt8]) -> [UInt8] { sent.masking(secrets(in: sent)) }
}
