// SPDX-License-Identifier: MIT
internal import SmallWebText

/// Bytes below 64 at which a loop over a text stops, as bits.
struct HTMLStops {
    let bits: UInt64

    @inline(__always) init(_ bits: UInt64) { self.bits = bits }

    static var lessThan: Self { Self(1 << 0x3C) }
    static var greaterThan: Self { Self(1 << 0x3E) }
    static var ampersand: Self { Self(1 << 0x26) }
    static var dash: Self { Self(1 << 0x2D) }
    static var quote: Self { Self(1 << 0x22) }
    static var apostrophe: Self { Self(1 << 0x27) }
    static var slash: Self { Self(1 << 0x2F) }
    static var equals: Self { Self(1 << 0x3D) }
    static var nul: Self { Self(1) }
    /// White space of HTML.
    static var space: Self {
        Self(1 << 0x20 | 1 << 0x09 | 1 << 0x0A | 1 << 0x0C | 1 << 0x0D)
    }

    @inline(__always)
    static func | (one: Self, other: Self) -> Self { Self(one.bits | other.bits) }

    @inline(__always)
    private func holds(_ byte: UInt8) -> Bool { byte < 64 && bits >> UInt64(byte) & 1 != 0 }

    /// True for white space of HTML.
    @inline(__always)
    static func isSpace(_ byte: UInt8) -> Bool { space.holds(byte) }

    /// Offset of the first of them from `start` on; the count of bytes without one.
    @inline(__always)
    func first(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        var at = start
        while at < bytes.count, !holds(bytes[at]) { at += 1 }
        return at
    }

    // MARK: Eight bytes at once, since most of a page is text

    /// Offset of the first `<` or `&` from `start` on; the count of bytes without one.
    static func endOfText(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        var at = start
        while let word = word(in: bytes, at: at) {
            let found = zeros(word ^ 0x3C * ones) | zeros(word ^ 0x26 * ones)
            if found != 0 { return at + found.trailingZeroBitCount / 8 }
            at += 8
        }
        return (lessThan | ampersand).first(in: bytes, from: at)
    }

    /// Offset of the first white space from `start` on but for single spaces between words.
    static func endOfWords(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        var at = start
        while at < bytes.count {
            if let word = word(in: bytes, at: at), let next = self.word(in: bytes, at: at + 1) {
                let found = controls(word) & (~zeros(word ^ 0x20 * ones) | controls(next))
                at += found.trailingZeroBitCount / 8
                if found == 0 { continue }
            }
            let isSingle =
                bytes[at] == ASCII.space && at + 1 < bytes.count && bytes[at + 1] > ASCII.space
            if isSpace(bytes[at]) && !isSingle { return at }
            at += 1
        }
        return at
    }

    private static var ones: UInt64 { 0x0101_0101_0101_0101 }
    private static var low: UInt64 { 0x7F * ones }

    @inline(__always)
    private static func word(in bytes: UnsafeBufferPointer<UInt8>, at offset: Int) -> UInt64? {
        guard offset + 8 <= bytes.count else { return nil }
        return UnsafeRawBufferPointer(bytes).loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            .littleEndian
    }

    /// The highest bit of each byte that is 0.
    @inline(__always)
    private static func zeros(_ word: UInt64) -> UInt64 {
        ~((word & low) &+ low | word) & ~low
    }

    /// The highest bit of each byte up to 0x20.
    @inline(__always)
    private static func controls(_ word: UInt64) -> UInt64 {
        ~((word & low) &+ 0x5F * ones | word) & ~low
    }
}

extension HTMLTokenizer {
    /// Reads a text up to a byte that may end it.
    mutating func readText(_ input: inout Input) {
        let start = input.at
        count(&input)
        switch mode {
        case .data: input.at = HTMLStops.endOfText(in: input.bytes, from: start)
        case .rcdata:
            input.at = (HTMLStops.lessThan | .ampersand | .nul).first(in: input.bytes, from: start)
        case .rawtext, .script:
            input.at = (HTMLStops.lessThan | .nul).first(in: input.bytes, from: start)
        case .plaintext: input.at = HTMLStops.nul.first(in: input.bytes, from: start)
        case .escapedScript, .twiceEscapedScript:
            input.at = (HTMLStops.lessThan | .dash | .greaterThan | .nul).first(
                in: input.bytes, from: start)
        case .cdata:
            let rest = input.bytes[start...]
            input.at = rest.firstIndex(of: UInt8(ascii: "]")) ?? input.bytes.count
        }
        if input.at > start {
            marks = 0
            sink.text(UnsafeBufferPointer(rebasing: input.bytes[start..<input.at]), line: line)
        }
        guard input.at < input.bytes.count else { return }
        count(&input)
        stop(at: input.bytes[input.at])
        input.at += 1
    }

    private mutating func stop(at byte: UInt8) {
        switch byte {
        case UInt8(ascii: "<"): state = mode == .data ? .tagOpen : .rawLess
        case UInt8(ascii: "&"): beginReference()
        case ASCII.nul:
            marks = 0
            text("\u{FFFD}")
        case UInt8(ascii: "-"):
            marks = min(marks + 1, 2)
            text("-")
        case UInt8(ascii: ">"):
            if marks == 2 { mode = .script }
            marks = 0
            text(">")
        default: (state, marks) = (.cdataEnd, 1)
        }
    }

    // MARK: Texts that only their own end tag ends

    mutating func rawLess(_ byte: UInt8) -> Bool {
        marks = 0
        switch byte {
        case ASCII.slash where mode == .twiceEscapedScript:
            text("</")
            held = []
            return enter(.scriptWord)
        case ASCII.slash:
            held = []
            return enter(.rawEndTag)
        case UInt8(ascii: "!") where mode == .script:
            text("<!")
            return enter(.scriptEscapeStart)
        case _ where mode == .escapedScript && ASCII.isLetter(byte):
            text("<")
            held = []
            return reconsume(.scriptWord)
        default:
            text("<")
            return reconsume(.text)
        }
    }

    mutating func rawEndTag(_ byte: UInt8) -> Bool {
        if held.count < rawName.count, ASCII.lowercased(byte) == rawName[held.count] {
            held.append(byte)
            return true
        }
        let endsName = HTMLStops.isSpace(byte) || byte == ASCII.slash || byte == UInt8(ascii: ">")
        guard endsName, !held.isEmpty, held.count == rawName.count else {
            endRawTag()
            return reconsume(.text)
        }
        tag.begin(isEnd: true, line: line)
        held.withUnsafeBufferPointer { tag.append(lowercased: $0) }
        return reconsume(.tagName)
    }

    mutating func endRawTag() {
        text("</")
        text(held)
    }

    /// The two dashes behind `<!` in a script.
    mutating func scriptEscape(_ byte: UInt8) -> Bool {
        guard byte == UInt8(ascii: "-") else {
            marks = 0
            return reconsume(.text)
        }
        text("-")
        marks += 1
        if marks == 2 { (mode, state) = (.escapedScript, .text) }
        return true
    }

    /// The word behind `<` or `</` in an escaped script: `script` begins or ends a second level.
    mutating func scriptWord(_ byte: UInt8) -> Bool {
        let isLetter = ASCII.isLetter(byte)
        guard
            isLetter || HTMLStops.isSpace(byte) || byte == ASCII.slash || byte == UInt8(ascii: ">")
        else { return reconsume(.text) }
        text([byte])
        if isLetter {
            if held.count < 7 { held.append(ASCII.lowercased(byte)) }
            return true
        }
        if held.elementsEqual("script".utf8) {
            mode = mode == .escapedScript ? .twiceEscapedScript : .escapedScript
        }
        return enter(.text)
    }

    mutating func endCDATA(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "]"):
            if marks == 2 { text("]") }
            marks = 2
            return true
        case UInt8(ascii: ">") where marks == 2:
            (mode, marks) = (.data, 0)
            return enter(.text)
        default:
            text(marks == 1 ? "]" : "]]")
            marks = 0
            return reconsume(.text)
        }
    }

    // MARK: Comments

    /// Tells a comment, a document type and a CDATA section by the letters behind `<!`.
    mutating func declaration(_ byte: UInt8) -> Bool {
        held.append(byte)
        for word in ["--", "DOCTYPE", "[CDATA["] as [StaticString] {
            let count = word.utf8CodeUnitCount
            guard held.count <= count else { continue }
            let isBeginning = held.indices.allSatisfy {
                held[$0] == word.utf8Start[$0]
                    || count == 7 && ASCII.isLetter(held[0])
                        && held[$0] & 0xDF == word.utf8Start[$0]
            }
            guard isBeginning else { continue }
            guard held.count == count else { return true }
            if count == 2 { return enter(.commentStart) }
            if ASCII.isLetter(held[0]) { return enter(.doctype) }
            guard !sink.isForeign else {
                mode = .cdata
                return enter(.text)
            }
            held.withUnsafeBufferPointer { sink.aside($0, isDoctype: false, isLast: false) }
            return enter(.bogusComment)
        }
        held.removeLast()
        held.withUnsafeBufferPointer { sink.aside($0, isDoctype: false, isLast: false) }
        return reconsume(.bogusComment)
    }

    mutating func commentStart(_ byte: UInt8) -> Bool {
        if byte == UInt8(ascii: "-") {
            marks = 2
            return enter(state == .commentStart ? .commentStartDash : .commentDashes)
        }
        if byte == UInt8(ascii: ">") {
            aside("", isLast: true)
            return enter(.text)
        }
        if state == .commentStartDash { aside("-") }
        return reconsume(.comment)
    }

    /// Behind one dash, two of them, or `--!` in a comment.
    mutating func commentEnd(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: ">") where marks == 2:
            aside("", isLast: true)
            marks = 0
            return enter(.text)
        case UInt8(ascii: "-") where state == .commentBang:
            aside("--!")
            marks = 1
            return enter(.commentDashes)
        case UInt8(ascii: "-"):
            if marks == 2 { aside("-") }
            marks = 2
            return true
        case UInt8(ascii: "!") where marks == 2 && state == .commentDashes:
            return enter(.commentBang)
        default:
            aside(state == .commentBang ? "--!" : marks == 2 ? "--" : "-")
            return reconsume(.comment)
        }
    }

    /// Reads a comment up to a byte that may end it, or to the end of another declaration.
    mutating func readAside(_ input: inout Input) {
        let stops =
            state == .comment
            ? HTMLStops.dash | .nul : state == .doctype ? .greaterThan : .greaterThan | .nul
        var end = stops.first(in: input.bytes, from: input.at)
        let stop = end < input.bytes.count ? input.bytes[end] : nil
        if state == .doctype, stop != nil { end += 1 }
        if end > input.at {
            let piece = UnsafeBufferPointer(rebasing: input.bytes[input.at..<end])
            sink.aside(piece, isDoctype: state == .doctype, isLast: false)
        }
        input.at = end
        guard let stop else { return }
        if state != .doctype { input.at += 1 }
        switch stop {
        case ASCII.nul: aside("\u{FFFD}")
        case UInt8(ascii: "-"): (state, marks) = (.commentDashes, 1)
        default:
            aside("", isLast: true)
            state = .text
        }
    }
}
