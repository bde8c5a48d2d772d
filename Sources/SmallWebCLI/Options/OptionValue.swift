// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

/// Parsers for option values. Each throws `usage` with the option's name.
enum OptionValue {
    /// An integer from 0 to 1,000,000.
    static func count(_ text: String, _ option: String) throws(FetchError) -> Int {
        guard let value = ASCII.decimal(text.utf8, max: 1_000_000) else {
            throw usageError("\(option) wants a whole number up to 1000000, not \"\(text)\"")
        }
        return value
    }

    /// An integer from 1 to 1,000,000.
    static func positive(_ text: String, _ option: String) throws(FetchError) -> Int {
        let value = try count(text, option)
        guard value > 0 else { throw usageError("\(option) wants 1 or more, not \"\(text)\"") }
        return value
    }

    /// A time in seconds, not negative: a number, optionally with `ms`, `s`, `m`, `h`, `d`,
    /// `w` or `y` (365 days).
    static func duration(_ text: String, _ option: String) throws(FetchError) -> Double {
        let units = [
            ("ms", 0.001), ("s", 1), ("m", 60), ("h", 3600), ("d", 86_400), ("w", 604_800),
            ("y", 31_536_000), ("", 1),
        ]
        guard let (unit, seconds) = units.first(where: { text.hasSuffix($0.0) }),
            let number = Double(text.dropLast(unit.count)), number >= 0, number * seconds <= 1e9
        else {
            throw usageError("\(option) wants a time such as 10, 500ms or 2m, not \"\(text)\"")
        }
        // Not by 0.001, which would make 700 ms 0.7000000000000001 s.
        return unit == "ms" ? number / 1000 : number * seconds
    }

    /// An interval in seconds from a rate: `N`, `N/s`, `N/m` or `N/h`.
    static func interval(_ text: String, _ option: String) throws(FetchError) -> Double {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        let units = ["s": 1.0, "m": 60, "h": 3600]
        guard let count = Double(parts[0]), count > 0, count <= 1e9, parts.count <= 2,
            let unit = parts.count == 2 ? units[String(parts[1])] : 1
        else { throw usageError("\(option) wants N, N/s, N/m or N/h, not \"\(text)\"") }
        return unit / count
    }

    static func outcomes(_ text: String, _ option: String) throws(FetchError) -> Set<Outcome> {
        var outcomes: Set<Outcome> = []
        for word in text.split(separator: ",") {
            guard let outcome = Outcome(rawValue: String(word)) else {
                throw usageError(
                    "\(option): no outcome is called \"\(word)\"",
                    hint: Nearest.question(String(word), among: Outcome.allCases.map(\.rawValue))
                        ?? "'smallweb help exit-status' lists them")
            }
            outcomes.insert(outcome)
        }
        return outcomes
    }

    /// `I/N` with I counted from 0.
    static func shard(_ text: String, _ option: String) throws(FetchError) -> Shard {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let count = ASCII.decimal(parts[1].utf8, max: Shard.countMax),
            let index = ASCII.decimal(parts[0].utf8, max: Shard.countMax), index < count
        else {
            throw usageError(
                "\(option) wants I/N with I from 0 to N-1, not \"\(text)\"")
        }
        return Shard(index: index, count: count)
    }

    /// A size in bytes; k, M and G are powers of 1024.
    static func size(_ text: String, _ option: String) throws(FetchError) -> Int {
        let shifts: [Character: Int] = ["k": 10, "K": 10, "M": 20, "m": 20, "G": 30, "g": 30]
        let shift = text.last.flatMap { shifts[$0] }
        let digits = text.utf8.dropLast(shift == nil ? 0 : 1)
        guard let number = ASCII.decimal(digits, max: Int.max >> 32) else {
            throw usageError("\(option) wants a size such as 500k or 10M, not \"\(text)\"")
        }
        return number << (shift ?? 0)
    }

    /// `START:COUNT` in bytes, perhaps with the beginning of a page's SHA-256.
    static func slice(_ text: String, _ option: String) throws(FetchError) -> TextRange {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        if 2...3 ~= parts.count, let start = try? size(parts[0], option),
            let count = try? size(parts[1], option), count > 0
        {
            let hash = parts.count == 3 ? parts[2].lowercased() : nil
            let isHash = hash?.utf8.allSatisfy { ASCII.hexValue($0) != nil } ?? true
            if isHash && 8...64 ~= hash?.utf8.count ?? 8 {
                return TextRange(start: start, count: count, hash: hash)
            }
        }
        throw usageError(
            "\(option) wants START:COUNT in bytes, such as 0:8000, not \"\(text)\"",
            hint: "START:COUNT:HASH is of a page with this SHA-256, or its first 8 digits or more")
    }

    /// `sha256:` and 64 hexadecimal digits.
    static func sha256(_ text: String, _ option: String) throws(FetchError) -> [UInt8] {
        guard text.hasPrefix("sha256:"),
            let bytes = ASCII.bytes(hex: text.utf8.dropFirst("sha256:".utf8.count)),
            bytes.count == 32
        else { throw usageError("\(option) wants sha256: and 64 hexadecimal digits") }
        return bytes
    }

    static func choice<Choice: RawRepresentable & CaseIterable>(
        _ text: String, _ option: String
    ) throws(FetchError) -> Choice where Choice.RawValue == String {
        guard let choice = Choice(rawValue: text) else {
            throw unknown(text, option, among: Choice.allCases.map(\.rawValue))
        }
        return choice
    }

    static func unknown(_ text: String, _ option: String, among names: [String]) -> FetchError {
        usageError(
            "\(option) wants one of \(names.joined(separator: ", ")), not \"\(text)\"",
            hint: Nearest.question(text, among: names))
    }

    /// A list of schemes: `a,b` or `=a,b` replaces `start`, `+a` adds to it, `-a` removes from it.
    static func schemes(
        _ text: String, from start: Set<String>, _ registry: Registry
    ) throws(FetchError) -> Set<String> {
        var schemes = start
        var isFirst = true
        for part in text.lowercased().split(separator: ",") {
            var name = part
            let sign = "=+-".contains(name.first ?? " ") ? name.removeFirst() : "="
            guard registry[String(name)] != nil else {
                throw usageError(
                    "no plugin handles the scheme \"\(name)\"",
                    hint: Nearest.question(String(name), among: registry.schemes.map(\.name))
                        ?? "'smallweb schemes' lists those that work")
            }
            if sign == "=" && isFirst { schemes = [] }
            if sign == "-" { schemes.remove(String(name)) } else { schemes.insert(String(name)) }
            isFirst = false
        }
        guard !isFirst else { throw usageError("an empty list of schemes") }
        return schemes
    }

    /// `HOST:PORT:ADDRESS[,ADDRESS…]`; addresses and an IPv6 host may be in brackets.
    static func resolve(
        _ text: String, _ option: String
    ) throws(FetchError) -> (place: String, addresses: [String]) {
        let malformed = usageError("\(option) wants HOST:PORT:ADDRESS, not \"\(text)\"")
        let isLiteral = text.hasPrefix("[")
        let hostEnd = isLiteral ? text.range(ofText: "]:")?.lowerBound : text.firstIndex(of: ":")
        guard let hostEnd else { throw malformed }
        let host = isLiteral ? text[...hostEnd] : text[..<hostEnd]
        let rest = text[hostEnd...].dropFirst(isLiteral ? 2 : 1)
        guard let colon = rest.firstIndex(of: ":"), !host.isEmpty,
            ASCII.decimal(rest[..<colon].utf8, max: 65_535) != nil
        else { throw malformed }
        let addresses = rest[rest.index(after: colon)...].split(separator: ",").map {
            String($0.drop { $0 == "[" }.prefix { $0 != "]" })
        }
        guard !addresses.isEmpty else { throw malformed }
        if let bad = addresses.first(where: { !isAddress($0) }) {
            throw usageError("\(option): \"\(bad)\" is not an IP address")
        }
        let ascii = try InternationalHostName.toASCII(String(host))
        return ("\(ascii.lowercased()):\(rest[..<colon])", addresses)
    }

    private static func isAddress(_ text: String) -> Bool {
        // An IPv6 address may have a zone: `%` and the name of an interface.
        addressBytes(text) != nil || addressBytes(String(text.prefix { $0 != "%" }))?.count == 16
    }
}

extension Option.Action {
    /// - Parameter placeholder: FILE, PATH and DIR also select the shell's completion.
    static func value(
        _ placeholder: String,
        _ set: @escaping @Sendable (inout Settings, String) throws(FetchError) -> Void
    ) -> Self {
        let values: Option.Values =
            ["FILE", "PATH"].contains(placeholder)
            ? .files : placeholder == "DIR" ? .directories : .none
        return .value(placeholder, values) { settings, text, _ throws(FetchError) in
            try set(&settings, text)
        }
    }

    static func value<Value>(
        _ placeholder: String,
        _ parse: @escaping @Sendable (String, _ option: String) throws(FetchError) -> Value,
        _ set: @escaping @Sendable (inout Settings, Value) -> Void
    ) -> Self {
        .value(placeholder, .none) { settings, text, option throws(FetchError) in
            set(&settings, try parse(text, option))
        }
    }

    static func choice<Choice: RawRepresentable & CaseIterable & Sendable>(
        _ placeholder: String, _ set: @escaping @Sendable (inout Settings, Choice) -> Void
    ) -> Self where Choice.RawValue == String {
        let words = Option.Values.oneOf { Choice.allCases.map(\.rawValue) }
        return .value(placeholder, words) { settings, text, option throws(FetchError) in
            set(&settings, try OptionValue.choice(text, option))
        }
    }
}
