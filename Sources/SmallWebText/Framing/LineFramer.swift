// SPDX-License-Identifier: MIT

/// Splits bytes that arrive in arbitrary pieces into lines, and frames lines for sending.
///
/// A line ends with LF or CRLF; neither is delivered. Pure: no I/O, bounded by `lineBytesMax` per
/// line.
public struct LineFramer: Sendable {
    /// One line, or with `split` a piece of a long one.
    public struct Line: Sendable, Hashable {
        /// Without its line end.
        public let bytes: ArraySlice<UInt8>
        /// False for a last line without a line feed, and for a piece that another one follows.
        public let isTerminated: Bool
        /// Line number from 1; pieces of one line have the same.
        package let number: Int
        /// False for a piece that continues a line.
        package let isBeginning: Bool
        package var isWhole: Bool { isBeginning && isTerminated }
    }

    /// Limit of a line's length, without its line end.
    public let lineBytesMax: Int
    private var pending: [UInt8] = []
    private var number = 1
    private var isBeginning = true
    package var isWithinLine: Bool { !pending.isEmpty }

    /// A framer without input.
    public init(lineBytesMax: Int) { self.lineBytesMax = lineBytesMax }

    /// Takes the next bytes and passes the lines they complete to `body`, in order.
    ///
    /// - Throws: `protocol-error` for a line that is too long, after all lines before it.
    public mutating func add(
        _ bytes: ArraySlice<UInt8>, _ body: (Line) throws(FetchError) -> Void
    ) throws(FetchError) {
        var rest = bytes
        while let lineFeed = rest.firstLineFeed {
            var line = rest[..<lineFeed]
            if !pending.isEmpty {
                pending += line
                line = pending[...]
                pending = []
            }
            if line.last == ASCII.carriageReturn { line.removeLast() }
            try check(line.count)
            try body(Line(bytes: line, isTerminated: true, number: number, isBeginning: true))
            number += 1
            rest = rest[(lineFeed + 1)...]
        }
        pending += rest
        // One more byte may be the carriage return of a line that just fits.
        try check(pending.count - (pending.last == ASCII.carriageReturn ? 1 : 0))
    }

    /// The bytes after the last line feed, at the end of the input; `nil` when there are none.
    public mutating func finish() -> Line? {
        guard !pending.isEmpty else { return nil }
        defer { pending = [] }
        return Line(
            bytes: pending[...], isTerminated: false, number: number, isBeginning: isBeginning)
    }

    /// The lines that end within the next bytes, without a byte order mark at the very beginning. A
    /// longer line comes in pieces of at most `lineBytesMax`, or 4, and none of them ends within a
    /// UTF-8 character. The lines do not depend on how the bytes are cut.
    ///
    /// - Parameter isLast: True to end a last line that has no line feed.
    package mutating func split(_ bytes: ArraySlice<UInt8>, isLast: Bool = false) -> [Line] {
        var lines: [Line] = []
        var rest = bytes
        // A character of UTF-8 has up to 4 bytes: shorter pieces would be empty, without end.
        let pieceBytes = max(lineBytesMax, 4)
        while !rest.isEmpty {
            let end = rest.firstLineFeed
            var line = rest[..<(end ?? rest.endIndex)]
            rest = end.map { rest[($0 + 1)...] } ?? []
            while pending.count + line.count > pieceBytes {
                let room = pieceBytes - pending.count
                pending += line.prefix(room)
                line = line.dropFirst(room)
                let kept = pending.count - pending[...].cutCharacterCount
                lines.append(piece(pending[..<kept], isTerminated: false))
                pending = Array(pending[kept...])
            }
            guard end != nil else {
                pending += line
                break
            }
            if let whole = endLine(line) { lines.append(whole) }
        }
        if isLast, !pending.isEmpty, let last = endLine([]) { lines.append(last) }
        return lines
    }

    private mutating func endLine(_ bytes: ArraySlice<UInt8>) -> Line? {
        var line = bytes
        if !pending.isEmpty {
            line = (pending + bytes)[...]
            pending = []
        }
        if line.last == ASCII.carriageReturn { line.removeLast() }
        defer { (isBeginning, number) = (true, number + 1) }
        // A line that exactly filled its pieces has an empty rest.
        return isBeginning || !line.isEmpty ? piece(line, isTerminated: true) : nil
    }

    private mutating func piece(_ bytes: ArraySlice<UInt8>, isTerminated: Bool) -> Line {
        defer { isBeginning = false }
        return Line(
            bytes: number == 1 && isBeginning ? bytes.withoutByteOrderMark : bytes,
            isTerminated: isTerminated, number: number, isBeginning: isBeginning)
    }

    /// A line with its end, ready to send.
    ///
    /// - Throws: `bad-url` when the line holds CR, LF or NUL, which would end it early.
    @inlinable public static func frame(
        _ line: some Collection<UInt8>, end: [UInt8] = [0x0D, 0x0A]
    ) throws(FetchError) -> [UInt8] {
        for byte in line {
            guard byte != 0x0D && byte != 0x0A && byte != 0 else { throw unsafeLine }
        }
        return Array(line) + end
    }

    @usableFromInline static let unsafeLine = FetchError.badURL(
        "the request would contain a line break or NUL",
        hint: "remove %0D, %0A and %00 from the URL")

    private func check(_ count: Int) throws(FetchError) {
        guard count <= lineBytesMax else {
            throw FetchError(.protocolError, .body, "line longer than \(lineBytesMax) bytes")
        }
    }
}

extension LineFramer: Framer {
    /// A line with CRLF, ready to send.
    ///
    /// - Throws: `bad-url` when the line holds CR, LF or NUL, which would end it early.
    public func frame(_ line: ArraySlice<UInt8>) throws(FetchError) -> [UInt8] {
        try Self.frame(line)
    }

    /// Bytes of the first line with its line feed; one more than there are without one.
    ///
    /// - Throws: `protocol-error` for a line that is too long.
    public func needs(_ bytes: ArraySlice<UInt8>) throws(FetchError) -> Int {
        let line = bytes[..<(bytes.firstLineFeed ?? bytes.endIndex)]
        try check(line.count - (line.last == ASCII.carriageReturn ? 1 : 0))
        return line.count + 1
    }

    /// A line without its LF or CRLF.
    public func unframe(_ frame: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let line = frame.dropLast()
        return line.last == ASCII.carriageReturn ? line.dropLast() : line
    }
}
