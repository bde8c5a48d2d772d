// SPDX-License-Identifier: MIT
internal import SmallWebText

/// Makes blocks of words, links and breaks. Holds one block, at most ``partBytesMax`` of it.
struct HTMLBlocks: Sendable {
    /// Longer blocks come in parts; a link counts as much as its target and 64 bytes.
    static let partBytesMax = 65_536

    /// White space before the next word; each includes those before it.
    private enum Gap: Int, Sendable { case none, blank, line, lines }

    /// An `a`: its link goes to the first text in it, of one block.
    private enum Anchor: Sendable {
        case none, shown
        case waiting(TextBlock.Link)
    }

    private(set) var ready: [TextBlock] = []
    /// True if the block has text.
    private(set) var isOpen = false
    var kind = TextBlock.Kind.paragraph
    private var (isFirst, line) = (true, 1)
    private var runs: [TextBlock.Run] = []
    /// Links within an `a`, which come behind its own.
    private var later: [TextBlock.Run] = []
    private var (text, link) = ([UInt8](), TextBlock.Link?.none)
    private var (startsCell, hasLineText) = (false, false)
    private var gap = Gap.none
    private var anchor = Anchor.none
    private var bytes = 0
    private var isFenced = false

    mutating func takeReady() -> [TextBlock] {
        defer { ready = [] }
        return ready
    }

    // MARK: Words

    mutating func open(_ kind: TextBlock.Kind, isFirst: Bool, line: Int) {
        (self.kind, self.isFirst, self.line, isOpen) = (kind, isFirst, line, true)
    }

    mutating func blank() { if gap == .none { gap = .blank } }

    mutating func breakLine(isForced: Bool) {
        gap = isForced && gap.rawValue >= Gap.line.rawValue ? .lines : .line
    }

    /// Appends words with single blanks between them, to an open block.
    mutating func words(_ words: UnsafeBufferPointer<UInt8>) {
        if gap != .none && hasLineText {
            if case .shown = anchor {} else { endRunOfLink() }
            let count = gap == .lines ? 2 : 1
            for _ in 0..<count { text.append(gap == .blank ? ASCII.space : ASCII.lineFeed) }
            bytes += count
        }
        preformatted(words)
    }

    mutating func words(_ words: StaticString) {
        self.words(UnsafeBufferPointer(start: words.utf8Start, count: words.utf8CodeUnitCount))
    }

    /// Appends a text as it is, to an open block.
    mutating func preformatted(_ text: UnsafeBufferPointer<UInt8>) {
        (gap, hasLineText) = (.none, true)
        switch anchor {
        case .waiting(let new):
            if !self.text.isEmpty || link != nil { endRun() }
            link = new
            anchor = .shown
        case .none: endRunOfLink()
        case .shown: break
        }
        write(text)
    }

    private mutating func write(_ piece: UnsafeBufferPointer<UInt8>) {
        var rest = piece
        while bytes + rest.count > Self.partBytesMax {
            let room = max(0, Self.partBytesMax - bytes)
            text += rest.prefix(room)
            rest = UnsafeBufferPointer(rebasing: rest.dropFirst(room))
            let cut = text[...].cutCharacterCount
            let carry = text.suffix(cut)
            text.removeLast(cut)
            part()
            text += carry
            bytes = cut
        }
        text += rest
        bytes += rest.count
    }

    // MARK: Links

    mutating func beginLink(_ link: TextBlock.Link) {
        endLink()
        anchor = .waiting(link)
    }

    mutating func endLink() {
        switch anchor {
        case .waiting(let link):
            let within = later
            (anchor, later) = (.none, [])
            add(TextBlock.Run([], link: link))
            runs += within
        case .shown:
            anchor = .none
            endRunOfLink()
        case .none: break
        }
    }

    /// Adds a link that is not shown.
    mutating func add(_ link: TextBlock.Link) {
        let run = TextBlock.Run([], link: link)
        if case .none = anchor { return add(run) }
        later.append(run)
        bytes += 64 + link.target.count
    }

    /// Marks the links before the next block, such as those of a page's head: robots must not
    /// follow them.
    mutating func forbidLinks() {
        guard !isOpen else { return }
        for index in runs.indices { runs[index].link?.isNofollow = true }
    }

    /// Shows words in brackets.
    ///
    /// - Parameter link: The link of the words, unless they are in an `a`.
    mutating func bracketed(_ words: [UInt8], _ link: TextBlock.Link?) {
        let text = [UInt8(ascii: "[")] + words + [UInt8(ascii: "]")]
        if case .none = anchor, let link {
            beginLink(link)
            text.withUnsafeBufferPointer { self.words($0) }
            return endLink()
        }
        text.withUnsafeBufferPointer { self.words($0) }
        if let link { add(link) }
    }

    private mutating func add(_ run: TextBlock.Run) {
        endRun()
        runs.append(run)
        bytes += 64 + (run.link?.target.count ?? 0)
        guard bytes > Self.partBytesMax else { return }
        if isOpen { return part() }
        // Links alone: a block that shows nothing.
        (kind, isFirst) = (.paragraph, true)
        emit(isLast: true)
    }

    private mutating func endRunOfLink() { if link != nil { endRun() } }

    private mutating func endRun() {
        guard !text.isEmpty || link != nil || startsCell else { return }
        let run = TextBlock.Run(Array(text), link: link, startsCell: startsCell)
        runs.append(run)
        if link != nil || startsCell { bytes += 64 + (link?.target.count ?? 0) }
        text.removeAll(keepingCapacity: true)
        (link, startsCell) = (nil, false)
        if case .waiting = anchor {} else { addLater() }
    }

    private mutating func addLater() {
        if later.isEmpty { return }
        runs += later
        later = []
    }

    // MARK: Blocks

    /// Begins a cell. Many of them are a row in parts.
    mutating func beginCell() {
        endLink()
        endRun()
        (startsCell, hasLineText, gap) = (true, false, .none)
        guard bytes > Self.partBytesMax else { return }
        if isOpen { return part() }
        // Cells without text alone.
        runs.removeAll { $0.link == nil }
        bytes = 0
    }

    /// Ends the block. Links that are not shown wait for the next that has text.
    mutating func close(isEnd: Bool = false) {
        endRun()
        if case .shown = anchor { anchor = .none }
        (gap, hasLineText) = (.none, false)
        if isOpen {
            emit(isLast: true)
        } else {
            runs.removeAll { $0.link == nil }
            for index in runs.indices { runs[index].startsCell = false }
            if isEnd && !runs.isEmpty {
                (kind, isFirst) = (.paragraph, true)
                emit(isLast: true)
            }
        }
        isOpen = false
    }

    mutating func add(_ kind: TextBlock.Kind, line: Int) {
        close()
        endFence()
        ready.append(TextBlock(kind, [], line: line))
    }

    mutating func endFence() {
        if isFenced { ready.append(TextBlock(.fence, [], line: line)) }
        isFenced = false
    }

    private mutating func part() {
        endRun()
        if case .shown = anchor { anchor = .none }
        emit(isLast: false)
    }

    private mutating func emit(isLast: Bool) {
        if kind != .preformatted {
            endFence()
        } else if !isFenced {
            ready.append(TextBlock(.fence, [], line: line))
            isFenced = true
        }
        var block = TextBlock(kind, runs, line: line)
        (block.isFirst, block.isLast) = (isFirst, isLast)
        ready.append(block)
        (runs, bytes, isFirst) = ([], 0, isLast)
    }
}
