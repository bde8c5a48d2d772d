// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Removes the dots of a text reply (RFC 1436 §3.9): the last line, a lone `.`, is dropped, and
/// lines that begin with `..` lose one dot, but only if the lone dot came. A server that sends no
/// terminator has not doubled dots either.
///
/// So everything streams until the first line that begins with a dot. The rest is held back, in
/// memory and then in a file, until the end decides.
struct GopherText: ~Copyable {
    private let held: Spool
    private var isHolding = false
    private var tail = LineTail()

    /// State of the line that the bytes so far end in.
    private struct LineTail {
        /// Bytes of the current line, or of the last one while nothing follows its line feed.
        var length = 0
        /// True if all bytes after the dot are a carriage return and a line feed.
        var isLoneDot = false
        var isEnded = true

        /// - Parameter piece: Of one line: a line feed is its last byte.
        mutating func add(_ piece: ArraySlice<UInt8>) {
            guard let first = piece.first else { return }
            if isEnded { self = LineTail(length: 0, isLoneDot: first == ASCII.dot) }
            // A lone dot with its line end has three bytes: a longer line fails within them.
            for (offset, byte) in piece.prefix(3).enumerated() where length + offset > 0 {
                let isReturn = byte == ASCII.carriageReturn && length + offset == 1
                if byte != ASCII.lineFeed && !isReturn { isLoneDot = false }
            }
            length += piece.count
            isEnded = piece.last == ASCII.lineFeed
        }
    }

    init(heldBytesMax: Int) { held = Spool(memoryMax: heldBytesMax) }

    var heldBytes: Int { held.count }

    /// True if the bytes so far end with the terminator.
    var isTerminated: Bool { tail.isLoneDot && tail.isEnded && tail.length > 0 }

    mutating func add(
        _ bytes: ArraySlice<UInt8>, _ deliver: (ArraySlice<UInt8>) async throws(FetchError) -> Void
    ) async throws(FetchError) {
        let firstHeld = scan(bytes)
        let streamed = bytes[..<firstHeld]
        if !streamed.isEmpty { try await deliver(streamed) }
        if firstHeld < bytes.endIndex { try held.append(bytes[firstHeld...]) }
    }

    /// Index from which `bytes` are held back; the end index for none.
    private mutating func scan(_ bytes: ArraySlice<UInt8>) -> Int {
        var firstHeld = bytes.startIndex
        if !isHolding {
            if !tail.isEnded || bytes.first != ASCII.dot {
                firstHeld = bytes.firstLineFeed(before: ASCII.dot).map { $0 + 1 } ?? bytes.endIndex
            }
            isHolding = firstHeld < bytes.endIndex
        }
        // The last line alone may be the terminator.
        if let lineFeed = bytes.dropLast().lastIndex(of: ASCII.lineFeed) {
            tail = LineTail()
            tail.add(bytes[(lineFeed + 1)...])
        } else {
            tail.add(bytes)
        }
        return firstHeld
    }

    /// Delivers the bytes that were held back, with or without their dots.
    mutating func finish(
        _ deliver: (ArraySlice<UInt8>) async throws(FetchError) -> Void
    ) async throws(FetchError) {
        guard isTerminated else {
            try await held.drain(deliver)
            return
        }
        var remaining = held.count - tail.length
        var isLineStart = true
        var isSecondByte = false
        try await held.drain { piece async throws(FetchError) in
            var plain: [UInt8] = []
            plain.reserveCapacity(piece.count)
            for byte in piece.prefix(remaining) {
                // The first of two dots was kept already, the second one is dropped.
                if !(isSecondByte && byte == ASCII.dot) { plain.append(byte) }
                isSecondByte = isLineStart && byte == ASCII.dot
                isLineStart = byte == ASCII.lineFeed
            }
            remaining -= min(remaining, piece.count)
            if !plain.isEmpty { try await deliver(plain[...]) }
        }
    }
}
