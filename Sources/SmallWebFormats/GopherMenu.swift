// SPDX-License-Identifier: MIT
public import SmallWebText

/// Menu lines: `T display TAB selector TAB host TAB port [TAB …]` (RFC 1436 §2). Lenient: other
/// lines are text. Pure.
package enum GopherMenu {
    /// The fields, without the line end.
    package static func fields(of line: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        var line = line
        if line.last == ASCII.carriageReturn { line.removeLast() }
        return line.split(separator: ASCII.tab, omittingEmptySubsequences: false)
    }

    /// 1 to 65535; 70 for an empty field; `nil` for anything else. Ignores blanks around it.
    static func port(_ field: ArraySlice<UInt8>) -> UInt16? {
        let field = field.trimmed
        if field.isEmpty { return 70 }
        return ASCII.decimal(field, max: 65_535).flatMap { $0 > 0 ? UInt16($0) : nil }
    }

    /// UTF-8 if valid, else Latin-1, the protocol's encoding of 1993.
    package static func text(_ bytes: ArraySlice<UInt8>) -> String {
        String(validating: bytes, as: UTF8.self)
            ?? bytes.reduce(into: "") { $0.unicodeScalars.append(Unicode.Scalar($1)) }
    }

    /// Parses one line.
    ///
    /// - Parameters:
    ///   - base: The menu's own URI; links to the same server keep its scheme.
    ///   - previousType: The type of the preceding line, for a `+` line, which is a mirror of it.
    package static func item(
        _ line: ArraySlice<UInt8>, base: URI, previousType: GopherItemType?
    ) -> (item: Item, type: GopherItemType?) {
        let fields = fields(of: line)
        guard let first = fields[0].first else { return (Item(kind: .info, text: ""), nil) }
        var type = GopherItemType(byte: first)
        guard fields.count > 1 || type == .info || type == .error else {
            return (Item(kind: .info, text: text(fields[0])), nil)
        }
        if first == UInt8(ascii: "+"), let previousType { type = previousType }
        var item = Item(kind: type.kind, text: text(fields[0].dropFirst()), type: type.name)
        if fields.count >= 3, type != .info, type != .error {
            item.url = url(type, fields, base: base)
            let selector = Array(fields[1])
            let port = fields.count > 3 ? port(fields[3]) : 70
            item.target = selector
            item.facts = [
                "gopher": .object([
                    "type": .text(type.name), "selector": .bytes(selector),
                    "host": .text(text(host(fields[2]))), "port": Facts.Value(port.map(Int.init)),
                    "plus": Facts.Value(fields.count > 4 ? text(fields[4]) : nil),
                ])
            ]
        }
        if type == .html, item.url != nil, externalURL(fields[1]) != nil { item.kind = .external }
        return (item, type)
    }

    /// The URL in a selector `URL:…` or `/URL:…`, with its blanks escaped; `nil` for other
    /// selectors.
    package static func externalURL(_ selector: ArraySlice<UInt8>) -> String? {
        let path = selector.first == ASCII.slash ? selector.dropFirst() : selector
        guard path.starts(with: "URL:".utf8) else { return nil }
        let url = String(validating: path.dropFirst(4).trimmed, as: UTF8.self)?
            .replacing(text: " ", with: "%20")
        return url.flatMap { URI.scheme(of: $0) == nil ? nil : $0 }
    }

    /// Strips blanks around it, and the brackets of an IPv6 address.
    private static func host(_ field: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let host = field.trimmed
        let isBracketed = host.first == UInt8(ascii: "[") && host.last == UInt8(ascii: "]")
        return isBracketed ? host.dropFirst().dropLast() : host
    }

    private static func url(
        _ type: GopherItemType, _ fields: [ArraySlice<UInt8>], base: URI
    ) -> String? {
        if let target = externalURL(fields[1]) { return target }
        guard let port = fields.count > 3 ? port(fields[3]) : 70,
            let host = String(validating: host(fields[2]), as: UTF8.self), !host.isEmpty
        else { return nil }
        let authority = host.bracketedHost + (port == 70 ? "" : ":\(port)")
        if type.kind == .telnet {
            let login = PercentEncoding.encode(fields[1])
            let name = type.character == UInt8(ascii: "8") ? "telnet" : "tn3270"
            let place = host.bracketedHost + (port == 23 ? "" : ":\(port)")
            return usable("\(name)://\(login.isEmpty ? "" : login + "@")\(place)/", host: host)
        }
        let isSameServer = host.lowercased() == base.host && port == base.port ?? 70
        let scheme = isSameServer && base.scheme == "gophers" ? base.scheme : "gopher"
        let selector = PercentEncoding.encode(fields[1], also: "/:@!$&'()*+,;=~")
        return usable(
            "\(scheme)://\(authority)/\(PercentEncoding.encode([type.character]))\(selector)",
            host: host)
    }

    /// `url` if it leads to `host`: a field that no URL can hold, or that has a `/` or an `@`, may
    /// lead nowhere, or to another host than the one shown.
    private static func usable(_ url: String, host: String) -> String? {
        (try? URI(parsing: url))?.host == shortestIPv6(host) ?? host.lowercased() ? url : nil
    }
}

/// Parses a gopher menu (RFC 1436 §2), whose bytes arrive in arbitrary pieces, into items. Pure;
/// holds at most one line. Lenient: a line that is not a menu's is text.
public struct MenuReader: Sendable {
    private let base: URI
    private var framer: LineFramer
    private var previousType: GopherItemType?
    private var isAtStart = true
    private let hasTerminator: Bool
    private var isEnded = false

    /// - Parameters:
    ///   - base: The menu's own URI; links to the same server keep its scheme.
    ///   - lineBytesMax: A longer line ends the menu with an error.
    ///   - hasTerminator: True if the lone dot that ends a menu may occur in the bytes, as it does
    ///     in a file and over another protocol than gopher.
    public init(base: URI, lineBytesMax: Int = 65_536, hasTerminator: Bool = true) {
        self.hasTerminator = hasTerminator
        self.base = base
        framer = LineFramer(lineBytesMax: lineBytesMax)
    }

    /// The items of the lines that end within `bytes`, and an error after them for a line beyond
    /// the limit, `protocol-error`.
    public mutating func add(_ bytes: ArraySlice<UInt8>) -> (items: [Item], error: FetchError?) {
        guard !isEnded else { return ([], nil) }
        var lines: [LineFramer.Line] = []
        var problem: FetchError?
        do throws(FetchError) {
            try framer.add(bytes) { lines.append($0) }
        } catch {
            problem = error
        }
        if hasTerminator, let end = lines.firstIndex(where: { $0.bytes.elementsEqual([ASCII.dot]) })
        {
            isEnded = true
            return (lines[..<end].map { read($0.bytes) }, nil)
        }
        return (lines.map { read($0.bytes) }, problem)
    }

    /// The last line, if no line feed ended it. It has no target, because it may be truncated
    /// anywhere, even within its host or port.
    public mutating func finish() -> Item? {
        guard !isEnded, let line = framer.finish()?.bytes, line.first != ASCII.dot else {
            return nil
        }
        var item = read(line)
        item.url = nil
        item.target = nil
        item.facts = Facts()
        return item
    }

    private mutating func read(_ line: ArraySlice<UInt8>) -> Item {
        let line = isAtStart ? line.withoutByteOrderMark : line
        isAtStart = false
        let (item, type) = GopherMenu.item(line, base: base, previousType: previousType)
        if let type { previousType = type }
        return item
    }
}
