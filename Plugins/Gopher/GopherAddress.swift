// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import SmallWebFormats

/// The parts of a gopher URL (RFC 4266 §2): item type, selector, search words. Pure.
struct GopherAddress: Hashable {
    let type: GopherItemType
    /// Decoded; exactly the bytes that the server gets.
    let selector: [UInt8]
    /// Search words; `nil` when there are none.
    let search: [UInt8]?
    /// The gopher+ string; `nil` when there is none.
    let plus: [UInt8]?

    /// `/1/docs` is a menu with the selector `/docs`; nothing is normalised. `%09` begins the
    /// search words; a `?` does so for type 7 alone, because other selectors may contain one.
    ///
    /// - Throws: `bad-url`, and `usage` for input that this item type does not take.
    init(_ uri: URI, input: [UInt8]?) throws(FetchError) {
        guard uri.userinfo == nil else {
            throw .badURL("gopher has no user@ in a URL", hint: "remove it")
        }
        var bytes = PercentEncoding.decode(uri.path.dropFirst())[...]
        type = bytes.popFirst().map(GopherItemType.init(byte:)) ?? .menu
        let isSearch = type == .search
        var fields = bytes.split(
            separator: ASCII.tab, maxSplits: 2, omittingEmptySubsequences: false)
        if let query = uri.query {
            let words = PercentEncoding.decode(query)
            if isSearch && fields.count == 1 {
                fields.append(words[...])
            } else {
                fields[fields.count - 1] += [ASCII.questionMark] + words
            }
        }
        if let input {
            guard isSearch else {
                throw FetchError(
                    .usage, .input, "item type \(type.name) takes no input",
                    remedy: .inputOnly(for: "a search", example: "gopher://host/7…"))
            }
            if fields.count == 1 { fields.append([]) }
            fields[1] = input[...]
        }
        for field in fields {
            if field.contains(ASCII.tab) {
                throw .badURL("a TAB too many in the selector")
            }
            // Throws for bytes that would end the line early.
            _ = try LineFramer.frame(field)
        }
        selector = Array(fields[0])
        search = fields.count > 1 ? Array(fields[1]) : nil
        plus = fields.count > 2 ? Array(fields[2]) : nil
    }

    /// True for a path such as `/about.txt`, whose first letter is hardly meant as the item type.
    var maybeLacksType: Bool {
        ASCII.isLetter(type.character) && (selector.first.map { $0 != ASCII.slash } ?? false)
    }

    func requestLine() throws(FetchError) -> [UInt8] {
        var line = selector
        if let search { line += [ASCII.tab] + search }
        if let plus { line += [ASCII.tab] + plus }
        return try LineFramer.frame(line)
    }

    /// The answer to an address that needs no server.
    ///
    /// - Throws: `unsupported-scheme` for interactive sessions.
    func replyWithoutServer() throws(FetchError) -> Head? {
        if let target = GopherMenu.externalURL(selector[...]) {
            var head = Head(.redirect, meta: target)
            head.redirectTarget = target
            return head
        }
        if type == .search && search == nil {
            return Head(.input, meta: "search words")
        }
        if type.kind == .telnet || type.kind == .external {
            throw FetchError(
                .unsupportedScheme, .input, "item type \(type.name) is an interactive session",
                hint: "use telnet or the like")
        }
        return nil
    }
}
