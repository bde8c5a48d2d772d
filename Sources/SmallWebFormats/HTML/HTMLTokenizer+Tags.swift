// SPDX-License-Identifier: MIT
internal import SmallWebText

extension HTMLTokenizer {
    /// Reads a tag as far as it goes: its name, its attributes and its end.
    mutating func readTag(_ input: inout Input) {
        while input.at < input.bytes.count {
            switch state {
            case .tagName: readName(&input, HTMLStops.space | .slash | .greaterThan | .nul)
            case .attributeName:
                readName(&input, HTMLStops.space | .slash | .greaterThan | .equals | .nul)
            case .valueInQuotes: readValue(&input, HTMLStops.quote | .ampersand | .nul)
            case .valueInApostrophes: readValue(&input, HTMLStops.apostrophe | .ampersand | .nul)
            case .valueUnquoted:
                readValue(&input, HTMLStops.space | .greaterThan | .ampersand | .nul)
            case .beforeAttribute, .afterAttributeName, .beforeValue, .afterValue, .selfClosing:
                if isTaken(input.bytes[input.at]) { input.at += 1 }
            default: return
            }
        }
    }

    /// The name of a tag or an attribute, in lower case.
    private mutating func readName(_ input: inout Input, _ stops: HTMLStops) {
        let end = stops.first(in: input.bytes, from: input.at)
        tag.append(lowercased: UnsafeBufferPointer(rebasing: input.bytes[input.at..<end]))
        input.at = end
        guard end < input.bytes.count else { return }
        let byte = input.bytes[end]
        if byte == ASCII.nul {
            append("\u{FFFD}")
            input.at += 1
        } else if state == .tagName {
            tag.finishAttribute()
            state = .beforeAttribute
        } else {
            state = .afterAttributeName
        }
    }

    private mutating func readValue(_ input: inout Input, _ stops: HTMLStops) {
        let end = stops.first(in: input.bytes, from: input.at)
        tag.append(UnsafeBufferPointer(rebasing: input.bytes[input.at..<end]))
        input.at = end
        guard end < input.bytes.count else { return }
        switch input.bytes[end] {
        case UInt8(ascii: "&"): beginReference()
        case ASCII.nul: append("\u{FFFD}")
        case UInt8(ascii: ">"):
            input.at += 1
            count(&input)
            return finishTag()
        case UInt8(ascii: "\""), UInt8(ascii: "'"): state = .afterValue
        default: state = .beforeAttribute
        }
        input.at += 1
    }

    private mutating func append(_ text: StaticString) {
        tag.append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// One step between names and values.
    ///
    /// - Returns: False to look at the byte again in the new state.
    private mutating func isTaken(_ byte: UInt8) -> Bool {
        if HTMLStops.isSpace(byte) {
            if state == .selfClosing || state == .afterValue { state = .beforeAttribute }
            return true
        }
        switch (byte, state) {
        case (UInt8(ascii: ">"), _):
            tag.isSelfClosing = state == .selfClosing
            finishTag()
        case (UInt8(ascii: "\""), .beforeValue): state = .valueInQuotes
        case (UInt8(ascii: "'"), .beforeValue): state = .valueInApostrophes
        case (_, .beforeValue): return reconsume(.valueUnquoted)
        case (ASCII.slash, _): state = .selfClosing
        case (UInt8(ascii: "="), .afterAttributeName):
            tag.beginValue()
            state = .beforeValue
        case (_, .beforeAttribute), (_, .afterAttributeName):
            // A name may begin with `=`, which ends it elsewhere.
            tag.beginAttribute()
            state = .attributeName
            guard byte == UInt8(ascii: "=") else { return false }
            append("=")
        default: return reconsume(.beforeAttribute)
        }
        return true
    }
}
