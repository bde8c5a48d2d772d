// SPDX-License-Identifier: MIT
internal import SmallWebText

/// Links, and what a page says of itself.
extension HTMLFlow {
    /// Reads the links of a tag.
    mutating func note(_ tag: borrowing HTMLTag, _ element: HTMLElement, isShown: Bool) {
        switch element {
        case .a, .area, .frame, .iframe: noteLink(tag, element, isShown: isShown)
        case .img, .source:
            noteImage(tag, element, isShown: isShown)
        case .input:
            let type = tag.value("type") ?? []
            if ASCII.isName(type, "image") { noteImage(tag, element, isShown: isShown) }
        case .script, .audio, .embed, .track: embed(tag, element, tag.value("src"))
        case .video:
            embed(tag, element, tag.value("src"))
            embed(tag, element, tag.value("poster"), kind: .image)
        case .object: embed(tag, element, tag.value("data"))
        case .link: noteRelation(tag)
        case .meta: noteMeta(tag)
        case .base:
            guard !hasBase, let target = tag.value("href") else { return }
            hasBase = true
            base = Self.target(target)
        default: break
        }
    }

    private mutating func noteLink(
        _ tag: borrowing HTMLTag, _ element: HTMLElement, isShown: Bool
    ) {
        let isFrame = element == .frame || element == .iframe
        if element == .a { blocks.endLink() }
        guard let value = isFrame ? tag.value("src") : tag.value("href"),
            var link = link(tag, element, value)
        else { return }
        link.rel = Array(tag.value("rel") ?? [])
        link.isNofollow = link.isNofollow || Self.has("nofollow", link.rel[...])
        guard isShown else { return blocks.add(link) }
        if element == .a { return blocks.beginLink(link) }
        if !isFrame { return show(tag.value("alt") ?? [], link) }
        let name = tag.value("title") ?? tag.value("name") ?? []
        show(name.isEmpty ? Array(element.rawValue.utf8)[...] : name, link)
    }

    private mutating func noteImage(
        _ tag: borrowing HTMLTag, _ element: HTMLElement, isShown: Bool
    ) {
        var link = tag.value("src").flatMap { $0.isEmpty ? nil : self.link(tag, element, $0) }
        link?.isEmbedded = true
        if element != .source { link?.kind = .image }
        let alt = element == .source || !isShown ? [] : tag.value("alt") ?? []
        show(alt, link)
        for target in Self.candidates(tag.value("srcset") ?? []) {
            embed(tag, element, target, kind: .image)
        }
    }

    /// Shows words for a link, in brackets; without words the link is not shown.
    private mutating func show(_ words: ArraySlice<UInt8>, _ link: TextBlock.Link?) {
        let words = Array(words.split(whereSeparator: HTMLStops.isSpace).joined(separator: [0x20]))
        if words.isEmpty {
            if let link { blocks.add(link) }
            return
        }
        if !blocks.isOpen || isRow { open(line: link?.line ?? 1, nil) }
        blocks.bracketed(words, link)
    }

    private mutating func embed(
        _ tag: borrowing HTMLTag, _ element: HTMLElement, _ target: ArraySlice<UInt8>?,
        kind: Item.Kind = .link, rel: ArraySlice<UInt8> = []
    ) {
        guard let target, !target.isEmpty, var link = link(tag, element, target) else { return }
        (link.isEmbedded, link.kind, link.rel) = (true, kind, Array(rel))
        blocks.add(link)
    }

    private func link(
        _ tag: borrowing HTMLTag, _ element: HTMLElement, _ value: ArraySlice<UInt8>
    ) -> TextBlock.Link? {
        guard let target = Self.target(value) else { return nil }
        var link = TextBlock.Link(target, line: tag.line)
        (link.element, link.isNofollow) = (element.rawValue, isNofollow)
        return link
    }

    private mutating func noteRelation(_ tag: borrowing HTMLTag) {
        guard let target = tag.value("href"), !target.isEmpty, let rel = tag.value("rel") else {
            return
        }
        if Self.has("stylesheet", rel) || Self.has("icon", rel) {
            return embed(
                tag, .link, target, kind: Self.has("icon", rel) ? .image : .link, rel: rel)
        }
        let names: [String] = ["alternate", "next", "prev", "up", "author", "license"]
        guard names.contains(where: { Self.has($0, rel) }), var link = link(tag, .link, target)
        else { return }
        (link.rel, link.type) = (Array(rel), Array(tag.value("type") ?? []))
        link.isNofollow = link.isNofollow || Self.has("nofollow", rel)
        blocks.add(link)
    }

    private mutating func noteMeta(_ tag: borrowing HTMLTag) {
        let content = tag.value("content") ?? []
        if ASCII.isName(tag.value("http-equiv") ?? [], "refresh") {
            guard let target = Self.refreshTarget(content), let link = link(tag, .meta, target)
            else { return }
            return blocks.add(link)
        }
        let name = tag.value("name") ?? []
        guard robotNames.contains(where: { ASCII.isName(name, $0) }) else { return }
        guard Self.has("nofollow", content) || Self.has("none", content) else { return }
        isNofollow = true
        blocks.forbidLinks()
    }

    // MARK: Values

    /// True for a word in lower case between white space or commas.
    private static func has(_ word: String, _ words: ArraySlice<UInt8>) -> Bool {
        words.split { HTMLStops.isSpace($0) || $0 == UInt8(ascii: ",") }.contains {
            ASCII.isName($0, word)
        }
    }

    /// A reference without the bytes that the URL standard removes; `nil` for one that leads
    /// nowhere: a script or data.
    static func target(_ value: ArraySlice<UInt8>) -> [UInt8]? {
        let isRemoved = { (byte: UInt8) in byte <= ASCII.space }
        var target = Array(value.drop(while: isRemoved).dropLast(while: isRemoved))
        target.removeAll { $0 == ASCII.tab || ASCII.isLineEnd($0) }
        let scheme = target.prefix(11).prefix { $0 != ASCII.colon }
        let leadsNowhere =
            scheme.count < target.count && target[scheme.count] == ASCII.colon
            && ["javascript", "data", "blob"].contains { ASCII.isName(scheme, $0) }
        return leadsNowhere ? nil : target
    }

    /// The URLs of `srcset`, without their sizes.
    private static func candidates(_ value: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        let comma = UInt8(ascii: ",")
        var (rest, found) = (value, [ArraySlice<UInt8>]())
        while true {
            rest = rest.drop { HTMLStops.isSpace($0) || $0 == comma }
            let url = rest.prefix { !HTMLStops.isSpace($0) }
            if url.isEmpty { return found }
            rest = rest[url.endIndex...]
            let bare = url.dropLast { $0 == comma }
            found.append(bare)
            if bare.count < url.count { continue }
            var depth = 0
            rest = rest.drop { byte in
                if byte == UInt8(ascii: "(") { depth += 1 }
                if byte == UInt8(ascii: ")") { depth -= 1 }
                return byte != comma || depth > 0
            }
        }
    }

    /// The URL of `content="5; url=…"`.
    private static func refreshTarget(_ content: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        var rest = content.drop(while: HTMLStops.isSpace)
        let time = rest.prefix { ASCII.isDigit($0) || $0 == ASCII.dot }
        rest = rest[time.endIndex...].drop(while: HTMLStops.isSpace)
        guard !time.isEmpty, let mark = rest.first, ";,".utf8.contains(mark) else { return nil }
        rest = rest.dropFirst().drop(while: HTMLStops.isSpace)
        if ASCII.isName(rest.prefix(3), "url") {
            let value = rest.dropFirst(3).drop(while: HTMLStops.isSpace)
            if value.first == UInt8(ascii: "=") {
                rest = value.dropFirst().drop(while: HTMLStops.isSpace)
            }
        }
        if let quote = rest.first, "\"'".utf8.contains(quote) {
            rest = rest.dropFirst().prefix { $0 != quote }
        }
        return rest.isEmpty ? nil : rest
    }
}
