// SPDX-License-Identifier: MIT

/// Splits bytes that arrive in arbitrary pieces into lines, and frames lines for sending.
///
/// A line ends with LF or CRLF; neither is delivered. Pure: no I/O, bounded by `lineBytesMax` per
/// line.
public struct LineFramer: Sendable {
    /// One line.
    public struct Line: Sendable, Hashable {
        /// Without its line end.
        public let bytes: ArraySlice<UInt8>
        /// False for a last line without a line feed.
        public let isTerminated: Bool
    }

    /// Limit of a line's length, without its line end.
    public let lineBytesMax: Int
    private var pending: [UInt8] = []

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
            try body(Line(bytes: line, isTerminated: true))
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
        return Line(bytes: pending[...], isTerminated: false)
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
