// SPDX-License-Identifier: MIT
internal import SmallWebText

/// Reads the tokens of a page without a tree: knows the open lists, quotes, tables, headings and
/// preformatted texts, the hidden part that is open, and little more.
struct HTMLFlow: HTMLTokenSink {
    /// Deeper elements count as the last of these.
    static let scopesMax = 64
    static let titleBytesMax = 4096

    struct Scope: Sendable {
        let element: HTMLElement
        /// Boxes that are open directly within it, such as `div`.
        var boxes = 0
        /// The number of the next item, or of the item.
        var number: Int?
        /// True if a block of the item has been shown.
        var isMarked = false
    }

    /// An element whose content is not shown.
    struct Region: Sendable {
        let element: HTMLElement
        let name: [UInt8]
        /// Elements with its name that are open.
        var depth = 1
        /// Others that are open in it.
        var opened: [HTMLElement: Int] = [:]
        /// Open elements of SVG or MathML whose content is HTML.
        var integration = 0
    }

    var blocks = HTMLBlocks()
    /// The first is the page.
    var scopes = [Scope(element: .other)]
    /// Lists, quotes, tables and preformatted texts beyond ``scopesMax``.
    var overflow = 0
    var hidden: Region? { didSet { isShown = hidden == nil && foreign == nil } }
    var foreign: Region? { didSet { isShown = hidden == nil && foreign == nil } }
    private(set) var isShown = true
    /// The open element whose text has no tags.
    private var raw: HTMLElement?
    var (isRow, isHeader, isInRuby) = (false, true, false)
    var skipsLineFeed = false

    // Facts of the page.
    var (title, titleLine, hasTitle) = ([UInt8](), 1, false)
    var (base, hasBase, isNofollow) = ([UInt8]?.none, false, false)
    let robotNames: [String]

    init(robotNames: [String]) { self.robotNames = robotNames }

    var isForeign: Bool { foreign.map { $0.integration == 0 } ?? false }

    /// Ends the page and all that is open.
    mutating func finish() {
        blocks.endLink()
        endRuby()
        blocks.close(isEnd: true)
        blocks.endFence()
    }

    mutating func aside(_ text: UnsafeBufferPointer<UInt8>, isDoctype: Bool, isLast: Bool) {}

    // MARK: Text

    mutating func text(_ text: UnsafeBufferPointer<UInt8>, line: Int) {
        if raw == .title {
            if isShown && !hasTitle { title += text.prefix(Self.titleBytesMax - title.count) }
            return
        }
        let isRead = raw == nil || scopes[scopes.count - 1].element.isPreformatted
        guard isShown, isRead, !text.isEmpty else { return }
        if scopes[scopes.count - 1].element.isPreformatted { return lines(text, line: line) }
        var at = 0
        while at < text.count {
            let start = at
            while at < text.count, HTMLStops.isSpace(text[at]) { at += 1 }
            if at > start { blocks.blank() }
            guard at < text.count else { return }
            let begin = at
            at = HTMLStops.endOfWords(in: text, from: at)
            if !blocks.isOpen || isRow {
                open(line: line, text[..<begin])
            }
            blocks.words(UnsafeBufferPointer(rebasing: text[begin..<at]))
        }
    }

    private mutating func lines(_ text: UnsafeBufferPointer<UInt8>, line: Int) {
        var (line, rest) = (line, text[...])
        if skipsLineFeed {
            skipsLineFeed = false
            if rest.first == ASCII.lineFeed {
                line += 1
                rest.removeFirst()
            }
        }
        while !rest.isEmpty {
            let end = rest.firstIndex(of: ASCII.lineFeed) ?? rest.endIndex
            if !blocks.isOpen { open(line: line, rest[..<rest.startIndex]) }
            blocks.preformatted(UnsafeBufferPointer(rebasing: rest[..<end]))
            rest = rest[end...]
            if rest.isEmpty { return }
            blocks.close()
            line += 1
            rest.removeFirst()
        }
    }

    /// Adds words that the page does not have, or has in an attribute.
    mutating func add(_ words: StaticString, line: Int) {
        guard isShown else { return }
        if !blocks.isOpen || isRow { open(line: line, nil) }
        blocks.words(words)
    }

    /// Opens a block, if none is open, in the kind of the innermost scope.
    ///
    /// - Parameter skipped: The text before it, behind `line`.
    mutating func open(line: Int, _ skipped: Slice<UnsafeBufferPointer<UInt8>>?) {
        // Text between cells is in none.
        if isRow, !scopes[scopes.count - 1].element.isCell { endRow() }
        if blocks.isOpen { return }
        let line = line + (skipped?.count { $0 == ASCII.lineFeed } ?? 0)
        let index = scopes.lastIndex { $0.element != .caption } ?? 0
        let scope = scopes[index]
        let isFirst = !scope.isMarked
        let lists = scopes.count { $0.element.isList }
        if scope.element.isItem { scopes[index].isMarked = true }
        let kind: TextBlock.Kind =
            if let level = scope.element.level {
                .heading(level)
            } else if scope.element.isItem {
                .item(depth: max(1, lists), number: scope.number)
            } else if scope.element == .blockquote {
                .quote(depth: scopes.count { $0.element == .blockquote })
            } else if scope.element.isPreformatted {
                .preformatted
            } else {
                isRow ? .row(isHeader: isHeader) : .paragraph
            }
        blocks.open(kind, isFirst: isFirst, line: line)
    }

    // MARK: Tags

    mutating func start(_ tag: borrowing HTMLTag) -> HTMLTokenizerMode {
        let element = HTMLElement(tag.name)
        skipsLineFeed = false
        if !isShown {
            if let mode = startForeign(tag, element) { return mode }
            if startHidden(tag, element) {
                if follows { note(tag, element, isShown: false) }
                return mode(of: element, line: tag.line)
            }
        }
        switch element {
        case .rt, .rp, .rb, .rtc: endRuby()
        default: break
        }
        if element.isHidden && element.mode == .data {
            begin(tag, element)
        } else if tag.value("hidden") != nil, element != .body, element != .html {
            if element.isEnclosing || element.isBreak { breakBlock() }
            note(tag, element, isShown: false)
            if !element.isVoid { begin(tag, element) }
        } else {
            open(element, tag)
            note(tag, element, isShown: true)
        }
        return mode(of: element, line: tag.line)
    }

    private mutating func mode(
        of element: HTMLElement, line: Int
    ) -> HTMLTokenizerMode {
        let mode = element.mode
        if mode != .data { raw = element }
        if element == .title && !hasTitle { titleLine = line }
        return mode
    }

    /// True if the links in the hidden part are the page's.
    var follows: Bool {
        switch hidden?.element {
        case .template, .select, .datalist: false
        default: foreign == nil
        }
    }

    private mutating func begin(_ tag: borrowing HTMLTag, _ element: HTMLElement) {
        let region = Region(element: element, name: Array(tag.name))
        if element == .svg || element == .math {
            if !tag.isSelfClosing { foreign = region }
        } else if element.mode == .data {
            hidden = region
        }
    }

    mutating func end(_ tag: borrowing HTMLTag) {
        let element = HTMLElement(tag.name)
        skipsLineFeed = false
        if let ended = raw, ended == element {
            raw = nil
            if element == .title && isShown { hasTitle = true }
            if !element.isPreformatted { return }
        }
        if !isShown, Self.end(tag, element, &foreign) || Self.end(tag, element, &hidden) { return }
        close(element, tag)
    }

    // MARK: Hidden parts

    /// - Returns: The way to read what is behind the tag; `nil` for one that leaves SVG or MathML.
    private mutating func startForeign(
        _ tag: borrowing HTMLTag, _ element: HTMLElement
    ) -> HTMLTokenizerMode? {
        guard var region = foreign else { return nil }
        let isHTML = region.integration > 0
        if !isHTML && element.leavesForeign {
            foreign = nil
            return nil
        }
        if !tag.isSelfClosing || isHTML && !element.isVoid {
            region.open(tag, element)
            if element.isIntegration { region.integration += 1 }
        }
        foreign = region
        return isHTML ? element.mode : .data
    }

    /// - Returns: False for a tag that ends the hidden part.
    private mutating func startHidden(_ tag: borrowing HTMLTag, _ element: HTMLElement) -> Bool {
        guard var region = hidden else { return false }
        if region.isEnded(by: element) {
            hidden = nil
            return region.element == .select && element == .select
        }
        if element == .svg || element == .math {
            begin(tag, element)
        } else if !element.isVoid {
            region.open(tag, element)
            hidden = region
        }
        return true
    }

    /// - Returns: False for a tag that belongs to what is around the region, and ends it.
    private static func end(
        _ tag: borrowing HTMLTag, _ element: HTMLElement, _ open: inout Region?
    ) -> Bool {
        guard var region = open else { return false }
        if tag.name.elementsEqual(region.name) {
            region.depth -= 1
            open = region.depth == 0 ? nil : region
            return true
        }
        if element.isIntegration { region.integration = max(0, region.integration - 1) }
        if let count = region.opened[element], count > 0 {
            region.opened[element] = count - 1
        } else if element.isEnclosing && region.element != .template
            || element == .ruby && region.element == .rp
        {
            open = nil
            return false
        }
        open = region
        return true
    }
}

extension HTMLFlow.Region {
    mutating func open(_ tag: borrowing HTMLTag, _ element: HTMLElement) {
        if tag.name.elementsEqual(name) { depth += 1 } else { opened[element, default: 0] += 1 }
    }

    /// True for a start tag that ends the element.
    func isEnded(by next: HTMLElement) -> Bool {
        let hasList = opened.contains { $0.key.isList && $0.value > 0 }
        let hasTable = opened[.table] ?? 0 > 0
        return switch element {
        case .p:
            next.isBox || next.isBreak || next.isList || next.isItem || next.level != nil
                || next.isPreformatted || [.table, .blockquote, .hr].contains(next)
        case .li: next == .li && !hasList
        case .dd, .dt: (next == .dd || next == .dt) && !hasList
        case .td, .th: !hasTable && (next.isCell || next == .tr || next == .tbody)
        case .tr: !hasTable && (next == .tr || next == .tbody)
        case .option: next == .option || next == .optgroup
        case .select: [.input, .keygen, .textarea, .select].contains(next)
        case .rp: [.rt, .rp, .rb, .rtc].contains(next)
        default: false
        }
    }
}
