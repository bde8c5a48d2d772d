// SPDX-License-Identifier: MIT
internal import SmallWebText

/// Splits a page into tokens (WHATWG HTML §13.2.5), which do not depend on how its bytes are cut.
/// Pure, in linear time; holds a tag, a name, and no text. Reports no errors: there are none.
struct HTMLTokenizer<Sink: HTMLTokenSink>: Sendable {
    typealias Mode = HTMLTokenizerMode

    /// States of the standard; those that differ in errors alone are one.
    enum State: UInt8, Sendable {
        case text, tagOpen, endTagOpen, tagName
        case beforeAttribute, attributeName, afterAttributeName, beforeValue
        case valueInQuotes, valueInApostrophes, valueUnquoted, afterValue, selfClosing
        /// Within texts that only their own end tag ends; `held` has its letters.
        case rawLess, rawEndTag, scriptEscapeStart, scriptWord, cdataEnd
        case declaration, commentStart, commentStartDash, comment, commentDashes, commentBang
        case bogusComment, doctype
        case reference, named, numberSign, hexSign, decimal, hex
    }

    /// A part of the page, with line feeds alone.
    struct Input {
        let bytes: UnsafeBufferPointer<UInt8>
        var at = 0
        /// Offset of the first line feed that is not in `line`.
        var lineFeed: Int

        init(bytes: UnsafeBufferPointer<UInt8>) {
            self.bytes = bytes
            lineFeed = bytes.firstLineFeed(from: 0) ?? bytes.count
        }
    }

    /// Bytes that are processed at once.
    private static var windowBytes: Int { 16_384 }

    var sink: Sink
    var mode: Mode
    var state = State.text
    /// The state behind a character reference.
    var returnState = State.text
    var tag = HTMLTag()
    /// Letters that may be a reference, an end tag or a declaration; at most 32 or those of a tag.
    var held: [UInt8] = []
    /// The number of a reference, at most 0x110000; of dashes or brackets, at most 2.
    var (number, marks) = (UInt32(0), 0)
    /// The element whose text is read as `mode` says.
    var rawName: [UInt8]
    private(set) var line = 1
    private var isAfterReturn = false

    init(_ sink: Sink, mode: Mode = .data, rawName: [UInt8] = []) {
        (self.sink, self.mode, self.rawName) = (sink, mode, rawName)
    }

    /// Passes the tokens that end within the next bytes to `sink`.
    mutating func add(_ bytes: ArraySlice<UInt8>) {
        bytes.withUnsafeBufferPointer { bytes in
            var start = 0
            while start < bytes.count {
                let end = min(start + Self.windowBytes, bytes.count)
                let window = UnsafeBufferPointer(rebasing: bytes[start..<end])
                start = end
                if isAfterReturn || window.first(ASCII.carriageReturn, from: 0) != nil {
                    lineFeeds(of: window).withUnsafeBufferPointer { read(Input(bytes: $0)) }
                } else {
                    read(Input(bytes: window))
                }
            }
        }
    }

    /// Replaces CR LF and CR by LF.
    private mutating func lineFeeds(of window: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(window.count)
        for byte in window {
            if byte == ASCII.carriageReturn {
                bytes.append(ASCII.lineFeed)
            } else if byte != ASCII.lineFeed || !isAfterReturn {
                bytes.append(byte)
            }
            isAfterReturn = byte == ASCII.carriageReturn
        }
        return bytes
    }

    private mutating func read(_ input: Input) {
        var input = input
        while input.at < input.bytes.count {
            switch state {
            case .text: readText(&input)
            case .tagName, .beforeAttribute, .attributeName, .afterAttributeName, .beforeValue,
                .valueInQuotes, .valueInApostrophes, .valueUnquoted, .afterValue, .selfClosing:
                readTag(&input)
            case .comment, .bogusComment, .doctype: readAside(&input)
            default:
                let byte = input.bytes[input.at]
                count(&input)
                if isConsumed(byte, input) { input.at += 1 }
            }
        }
        count(&input)
    }

    /// Ends the page: what was held is text or a comment; a tag that lacks its end is dropped.
    mutating func finish() {
        if isReference { endReference(next: nil) }
        switch state {
        case .tagOpen, .rawLess: text("<")
        case .endTagOpen: text("</")
        case .rawEndTag: endRawTag()
        case .cdataEnd: text(marks == 1 ? "]" : "]]")
        case .declaration:
            held.withUnsafeBufferPointer {
                sink.aside($0, isDoctype: false, isLast: true)
            }
        case .commentStart, .commentStartDash, .comment, .commentDashes, .commentBang,
            .bogusComment, .doctype:
            aside("", isLast: true)
        default: break
        }
        state = .text
    }

    // MARK: Steps

    /// One step in a state without a loop of its own.
    ///
    /// - Returns: False to look at the byte again in the new state.
    private mutating func isConsumed(_ byte: UInt8, _ input: Input) -> Bool {
        switch state {
        case .tagOpen: openTag(byte)
        case .endTagOpen: openEndTag(byte)
        case .rawLess: rawLess(byte)
        case .rawEndTag: rawEndTag(byte)
        case .scriptEscapeStart: scriptEscape(byte)
        case .scriptWord: scriptWord(byte)
        case .cdataEnd: endCDATA(byte)
        case .declaration: declaration(byte)
        case .commentStart, .commentStartDash: commentStart(byte)
        case .commentDashes, .commentBang: commentEnd(byte)
        default: reference(byte)
        }
    }

    private mutating func openTag(_ byte: UInt8) -> Bool {
        if byte == UInt8(ascii: "!") {
            held = []
            return enter(.declaration)
        }
        if byte == ASCII.slash { return enter(.endTagOpen) }
        if ASCII.isLetter(byte) {
            tag.begin(isEnd: false, line: line)
            return reconsume(.tagName)
        }
        if byte == ASCII.questionMark { return reconsume(.bogusComment) }
        text("<")
        return reconsume(.text)
    }

    private mutating func openEndTag(_ byte: UInt8) -> Bool {
        if ASCII.isLetter(byte) {
            tag.begin(isEnd: true, line: line)
            return reconsume(.tagName)
        }
        return byte == UInt8(ascii: ">") ? enter(.text) : reconsume(.bogusComment)
    }

    /// Takes the byte and goes on in another state.
    mutating func enter(_ next: State) -> Bool {
        state = next
        return true
    }

    /// Looks at the byte again in another state.
    mutating func reconsume(_ next: State) -> Bool {
        state = next
        return false
    }

    // MARK: Output

    /// Counts the line feeds before the present byte.
    mutating func count(_ input: inout Input) {
        while input.lineFeed < input.at {
            line += 1
            input.lineFeed =
                input.bytes.firstLineFeed(from: input.lineFeed + 1) ?? input.bytes.count
        }
    }

    mutating func text(_ text: StaticString) {
        let bytes = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        sink.text(bytes, line: line)
    }

    mutating func text(_ bytes: [UInt8]) {
        bytes.withUnsafeBufferPointer { sink.text($0, line: line) }
    }

    mutating func aside(_ text: StaticString, isLast: Bool = false) {
        let bytes = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        sink.aside(bytes, isDoctype: state == .doctype, isLast: isLast)
    }

    /// Hands the tag on; the text behind it is read as the sink says.
    mutating func finishTag() {
        tag.finishAttribute()
        state = .text
        marks = 0
        if tag.isEnd {
            mode = .data
            return sink.end(tag)
        }
        mode = sink.start(tag)
        if mode != .data { rawName = Array(tag.name) }
    }
}
