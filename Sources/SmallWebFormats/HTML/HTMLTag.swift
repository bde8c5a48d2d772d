// SPDX-License-Identifier: MIT
internal import SmallWebText

/// A start or end tag, whose storage serves all tags of a page.
struct HTMLTag: Sendable {
    /// Limits of a tag: attributes, and bytes of its name and attributes. Others are left out.
    static let (attributesMax, bytesMax) = (64, 65_536)

    /// Offsets in ``bytes``; an attribute begins where the one before it ends.
    private struct Attribute { var start, nameEnd, end: Int }

    var isEnd = false
    var isSelfClosing = false
    /// Line of its `<`.
    var line = 1
    /// The name in lower case, then name and value of each attribute.
    private var bytes: [UInt8] = []
    private var nameEnd: Int?
    private var attributes: [Attribute] = []
    /// The attribute that is being read.
    private var start = 0
    private var valueStart: Int?
    private var isOverfull = false

    var name: ArraySlice<UInt8> { bytes[..<(nameEnd ?? bytes.count)] }
    var attributesCount: Int { attributes.count }

    func attribute(_ index: Int) -> (name: ArraySlice<UInt8>, value: ArraySlice<UInt8>) {
        let found = attributes[index]
        return (bytes[found.start..<found.nameEnd], bytes[found.nameEnd..<found.end])
    }

    /// The value of the attribute with this name in lower case; `nil` without one.
    func value(_ name: StaticString) -> ArraySlice<UInt8>? {
        let count = name.utf8CodeUnitCount
        let range = bytes.withUnsafeBufferPointer { bytes -> Range<Int>? in
            for found in attributes where found.nameEnd - found.start == count {
                var offset = 0
                while offset < count, bytes[found.start + offset] == name.utf8Start[offset] {
                    offset += 1
                }
                if offset == count { return found.nameEnd..<found.end }
            }
            return nil
        }
        return range.map { bytes[$0] }
    }

    // MARK: Reading

    mutating func begin(isEnd: Bool, line: Int) {
        bytes.removeAll(keepingCapacity: true)
        if !attributes.isEmpty { attributes.removeAll(keepingCapacity: true) }
        (self.isEnd, self.line, isSelfClosing, isOverfull) = (isEnd, line, false, false)
        (nameEnd, valueStart) = (nil, nil)
    }

    mutating func append(_ piece: UnsafeBufferPointer<UInt8>) {
        if bytes.count + piece.count > Self.bytesMax { isOverfull = true } else { bytes += piece }
    }

    mutating func append(lowercased piece: UnsafeBufferPointer<UInt8>) {
        let start = bytes.count
        append(piece)
        bytes.withUnsafeMutableBufferPointer { bytes in
            for index in start..<bytes.count { bytes[index] = ASCII.lowercased(bytes[index]) }
        }
    }

    mutating func beginAttribute() {
        finishAttribute()
        (start, isOverfull) = (bytes.count, false)
    }

    mutating func beginValue() { valueStart = bytes.count }

    /// Keeps the attribute that was read, unless one has its name already.
    mutating func finishAttribute() {
        guard nameEnd != nil else {
            (nameEnd, start) = (bytes.count, bytes.count)
            return
        }
        let new = Attribute(start: start, nameEnd: valueStart ?? bytes.count, end: bytes.count)
        valueStart = nil
        guard bytes.count > start || isOverfull else { return }
        let isKept = !isOverfull && attributes.count < Self.attributesMax && isNew(new)
        if isKept { attributes.append(new) } else { bytes.removeLast(bytes.count - start) }
        start = bytes.count
    }

    private func isNew(_ new: Attribute) -> Bool {
        bytes.withUnsafeBufferPointer { bytes in
            !attributes.contains { old in
                old.nameEnd - old.start == new.nameEnd - new.start
                    && bytes[old.start..<old.nameEnd].elementsEqual(bytes[new.start..<new.nameEnd])
            }
        }
    }
}

/// Receives the tokens of a page.
protocol HTMLTokenSink: Sendable {
    /// True within elements of SVG and MathML, which may have CDATA sections.
    var isForeign: Bool { get }
    /// Takes a text or a part of one, and the line where it begins.
    mutating func text(_ text: UnsafeBufferPointer<UInt8>, line: Int)
    /// - Returns: The way to read the text behind the tag.
    mutating func start(_ tag: borrowing HTMLTag) -> HTMLTokenizerMode
    mutating func end(_ tag: borrowing HTMLTag)
    /// Takes a part of a comment, or of a document type up to and with its `>`.
    mutating func aside(_ text: UnsafeBufferPointer<UInt8>, isDoctype: Bool, isLast: Bool)
}

/// The way to read a text.
enum HTMLTokenizerMode: UInt8, Sendable {
    case data, rcdata, rawtext, script, escapedScript, twiceEscapedScript, plaintext, cdata
}
