// SPDX-License-Identifier: MIT
internal import SmallWebText

/// Elements that begin and end blocks.
extension HTMLFlow {
    private var last: Scope { scopes[scopes.count - 1] }

    /// Opens an element that is shown.
    mutating func open(_ element: HTMLElement, _ tag: borrowing HTMLTag) {
        if element.isBox {
            breakBlock()
            scopes[scopes.count - 1].boxes += 1
        } else if element.isBreak {
            breakBlock()
            if element == .dt, last.element == .dd { pop(to: scopes.count - 1) }
        } else if element.isList {
            openList(element, tag)
        } else if element.isItem {
            openItem(element, tag)
        } else if element.isCell {
            openCell(element, tag)
        } else if element.level != nil {
            endBlock()
            if last.element.level != nil { pop(to: scopes.count - 1) }
            push(Scope(element: element), isCounted: false)
        } else if element.isPreformatted || element == .blockquote || element == .table {
            endBlock()
            push(Scope(element: element), isCounted: true)
            if element.isPreformatted { skipsLineFeed = true }
        } else {
            openInline(element, tag)
        }
    }

    private mutating func openInline(_ element: HTMLElement, _ tag: borrowing HTMLTag) {
        switch element {
        case .tr, .tbody, .thead, .tfoot, .caption: openRow()
        case .hr:
            endBlock()
            blocks.add(.rule, line: tag.line)
        case .br:
            if last.element.isPreformatted {
                if !blocks.isOpen { open(line: tag.line, nil) }
                blocks.close()
            } else {
                blocks.breakLine(isForced: true)
            }
        case .button: blocks.blank()
        case .q: add("\u{201C}", line: tag.line)
        case .sup: add("^", line: tag.line)
        case .rt:
            add("(", line: tag.line)
            isInRuby = true
        default: break
        }
    }

    /// Closes an element that is shown, whether it is open or not.
    mutating func close(_ element: HTMLElement, _ tag: borrowing HTMLTag) {
        if element.isBox {
            breakBlock()
            closeBox()
        } else if element.isBreak {
            breakBlock()
        } else if element.isList || element.isPreformatted || element == .blockquote {
            close(isCounted: true) { $0 == element }
        } else if element.isItem {
            let index = scopes.lastIndex { $0.element.isList || Self.isBarrier($0.element) } ?? 0
            if let item = scopes.lastIndex(where: { $0.element == element }), item > index {
                endBlock()
                pop(to: item)
            }
        } else if element.isCell || element.level != nil {
            let level = element.level
            close(isCounted: false) { level == nil ? $0 == element : $0.level != nil }
        } else {
            closeInline(element, tag)
        }
    }

    private mutating func closeInline(_ element: HTMLElement, _ tag: borrowing HTMLTag) {
        switch element {
        case .table:
            guard let table = scopes.lastIndex(where: { $0.element == .table }) else { return }
            if overflow > 0 { return overflow -= 1 }
            endRow()
            endBlock()
            pop(to: table)
        case .tr, .tbody, .thead, .tfoot, .caption: openRow()
        case .a: blocks.endLink()
        case .button: blocks.blank()
        case .q: add("\u{201D}", line: tag.line)
        case .rt, .ruby: endRuby()
        default: break
        }
    }

    // MARK: Scopes

    private static func isBarrier(_ element: HTMLElement) -> Bool {
        element.isCell || element == .table
    }

    /// - Parameter isCounted: True for elements that nest beyond the limit.
    private mutating func push(_ scope: Scope, isCounted: Bool) {
        if scopes.count < Self.scopesMax {
            scopes.append(scope)
        } else if isCounted {
            overflow += 1
        }
    }

    private mutating func pop(to index: Int) {
        if scopes[index...].contains(where: \.element.isPreformatted) { blocks.endFence() }
        scopes.removeLast(scopes.count - index)
    }

    /// Closes the innermost element of a kind; those around the cell of a table stay open.
    private mutating func close(isCounted: Bool, _ isKind: (HTMLElement) -> Bool) {
        if isCounted && overflow > 0 {
            overflow -= 1
            return breakBlock()
        }
        guard let index = scopes.lastIndex(where: { isKind($0.element) }),
            !scopes[(index + 1)...].contains(where: { Self.isBarrier($0.element) })
        else { return breakBlock() }
        if scopes[index].element.isCell && isRow { blocks.endLink() } else { endBlock() }
        pop(to: index)
    }

    /// Closes a box; with it all that was left open in it.
    private mutating func closeBox() {
        for index in scopes.indices.reversed() {
            if scopes[index].boxes > 0 {
                if index + 1 < scopes.count { endBlock() }
                pop(to: index + 1)
                scopes[index].boxes -= 1
                return
            }
            if Self.isBarrier(scopes[index].element) { return }
        }
    }

    // MARK: Blocks

    /// Ends the block; within a cell, the line.
    mutating func breakBlock() {
        endRuby()
        if isRow { return blocks.breakLine(isForced: false) }
        if !last.element.isPreformatted || blocks.isOpen { blocks.close() }
    }

    /// Ends the block before something that no cell has in a line.
    private mutating func endBlock() {
        endRuby()
        if isRow { endRow() } else { blocks.close() }
    }

    mutating func endRow() {
        guard isRow else { return }
        blocks.close()
        isRow = false
    }

    mutating func endRuby() {
        guard isInRuby else { return }
        isInRuby = false
        add(")", line: 1)
    }

    private mutating func openList(_ element: HTMLElement, _ tag: borrowing HTMLTag) {
        endBlock()
        var list = Scope(element: element)
        if element == .ol, tag.value("reversed") == nil {
            list.number = tag.value("start").flatMap { Self.number($0) } ?? 1
        }
        push(list, isCounted: true)
    }

    private mutating func openItem(_ element: HTMLElement, _ tag: borrowing HTMLTag) {
        endBlock()
        if last.element.isItem { pop(to: scopes.count - 1) }
        var item = Scope(element: element)
        let list = scopes.count - 1
        if let next = scopes[list].number, scopes[list].element == .ol, element == .li {
            item.number = tag.value("value").flatMap { Self.number($0) } ?? next
            scopes[list].number = (item.number ?? next) + 1
        }
        if overflow == 0 { push(item, isCounted: false) }
    }

    private mutating func openRow() {
        guard overflow == 0, let table = scopes.lastIndex(where: { $0.element == .table }) else {
            return breakBlock()
        }
        endBlock()
        pop(to: table + 1)
        isHeader = true
    }

    /// A cell; outside of a table its tag is ignored, as the standard does it.
    private mutating func openCell(_ element: HTMLElement, _ tag: borrowing HTMLTag) {
        guard overflow == 0, let table = scopes.lastIndex(where: { $0.element == .table }) else {
            return blocks.blank()
        }
        if !isRow { blocks.close() }
        pop(to: table + 1)
        if !isRow { isHeader = true }
        isRow = true
        isHeader = isHeader && element == .th
        if blocks.isOpen { blocks.kind = .row(isHeader: isHeader) }
        blocks.beginCell()
        push(Scope(element: element), isCounted: false)
        if scopes.count == Self.scopesMax { endRow() }
    }

    /// A number of an item; `nil` for anything else.
    private static func number(_ text: ArraySlice<UInt8>) -> Int? {
        ASCII.decimal(text.trimmed, max: 999_999_999)
    }
}
