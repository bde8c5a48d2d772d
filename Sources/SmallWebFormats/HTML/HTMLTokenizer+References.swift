// SPDX-License-Identifier: MIT
internal import SmallWebText

/// The references with names (WHATWG HTML §13.5). Nothing is made of the resource: it is searched.
enum HTMLReferences {
    /// Bytes of the longest name, and of the longest one that needs no `;`.
    static let (nameBytesMax, openNameBytesMax) = (31, 6)

    /// The characters of a name.
    ///
    /// - Parameter isOpen: True for a name without `;`, which most need.
    static func characters(_ name: ArraySlice<UInt8>, isOpen: Bool) -> ArraySlice<UInt8>? {
        // A line is a name, `=` if it needs no `;`, otherwise a blank, and its characters; those of
        // NewLine are left out. Lines are in the order of their bytes.
        let text = PackageResources.references_txt
        var (low, high) = (0, text.count)
        while low < high {
            var start = low + (high - low) / 2
            while start > low, text[start - 1] != ASCII.lineFeed { start -= 1 }
            let end = text[start...].firstIndex(of: ASCII.lineFeed) ?? text.count
            let line = text[start..<end]
            let other = line.prefix { $0 != ASCII.space && $0 != UInt8(ascii: "=") }
            if other.elementsEqual(name) {
                if isOpen && line[other.endIndex] == ASCII.space { return nil }
                let found = line[(other.endIndex + 1)...]
                return found.isEmpty ? [ASCII.lineFeed] : found
            }
            if other.lexicographicallyPrecedes(name) { low = end + 1 } else { high = start }
        }
        return nil
    }

    /// Characters of the numbers 128 to 159, as in windows-1252 where they differ.
    private static let windows: StaticString =
        "€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ"

    /// The character that a number stands for.
    static func character(_ number: UInt32) -> [UInt8] {
        var scalar = number == 0 ? nil : Unicode.Scalar(number)
        if 0x80..<0xA0 ~= number {
            let text = String(describing: windows).unicodeScalars
            let found = text[text.index(text.startIndex, offsetBy: Int(number - 0x80))]
            if found != " " { scalar = found }
        }
        return Array(String(Character(scalar ?? "\u{FFFD}")).utf8)
    }
}

extension HTMLTokenizer {
    mutating func beginReference() {
        (returnState, state, held) = (state, .reference, [])
    }

    var isReference: Bool { state.rawValue >= State.reference.rawValue }

    /// One step of a reference, whose letters are held without the `&`.
    mutating func reference(_ byte: UInt8) -> Bool {
        let isDigit = ASCII.isDigit(byte)
        switch state {
        case .reference where byte == UInt8(ascii: "#"): state = .numberSign
        case .reference, .named:
            guard held.count <= HTMLReferences.nameBytesMax, isDigit || ASCII.isLetter(byte)
            else { return endReference(next: byte) }
            state = .named
            held.append(byte)
            return true
        case .numberSign where byte | 0x20 == UInt8(ascii: "x"): state = .hexSign
        case .numberSign where isDigit, .decimal where isDigit:
            add(byte, radix: 10)
            state = .decimal
        case .hexSign, .hex:
            guard ASCII.hexValue(byte) != nil else { return endReference(next: byte) }
            add(byte, radix: 16)
            state = .hex
        default: return endReference(next: byte)
        }
        if state == .numberSign || state == .hexSign { held.append(byte) }
        return true
    }

    private mutating func add(_ digit: UInt8, radix: UInt32) {
        if state == .numberSign || state == .hexSign { number = 0 }
        number = min(number * radix + UInt32(ASCII.hexValue(digit) ?? 0), 0x110000)
    }

    /// Replaces the reference, or leaves it as it is written.
    ///
    /// - Parameter next: The byte behind it; `nil` at the end of the page.
    /// - Returns: True if the byte belongs to it.
    @discardableResult
    mutating func endReference(next: UInt8?) -> Bool {
        let isClosed = next == UInt8(ascii: ";")
        let last = state
        state = returnState
        if last == .decimal || last == .hex {
            put(HTMLReferences.character(number))
            return isClosed
        }
        guard last == .named else {
            put([UInt8(ascii: "&")] + held)
            return false
        }
        if isClosed, let found = HTMLReferences.characters(held[...], isOpen: false) {
            put(Array(found))
            return true
        }
        let lengths = (0...min(held.count, HTMLReferences.openNameBytesMax)).reversed()
        for length in lengths where length > 1 {
            let name = held[..<length]
            guard let found = HTMLReferences.characters(name, isOpen: true) else { continue }
            let behind = length < held.count ? held[length] : next
            // `?a=b&copy=c` in an attribute has no reference.
            let isParameter = behind.map {
                $0 == UInt8(ascii: "=") || ASCII.isDigit($0) || ASCII.isLetter($0)
            }
            if returnState != .text && isParameter ?? false { break }
            put(found + held[length...])
            return false
        }
        put([UInt8(ascii: "&")] + held)
        return false
    }

    private mutating func put(_ bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        if returnState == .text { return text(bytes) }
        bytes.withUnsafeBufferPointer { tag.append($0) }
    }
}
