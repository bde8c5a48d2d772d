// SPDX-License-Identifier: MIT

/// Headers as text (RFC 9112 §5, WARC 1.1 §4): lines whose ends may lack the carriage return. Pure.
package enum HeaderText {
    /// Lines with their ends; the last one may lack its own.
    package static func lines(_ header: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        var (lines, rest) = ([ArraySlice<UInt8>](), header)
        while !rest.isEmpty {
            let end = rest.firstLineFeed.map { $0 + 1 } ?? rest.endIndex
            lines.append(rest[..<end])
            rest = rest[end...]
        }
        return lines
    }

    /// Index behind the empty line that ends a header; `nil` while it has not arrived.
    ///
    /// - Parameter isLine: Called with each line before it, without the line feed; false ends the
    ///   search, without an index.
    package static func end(
        of bytes: ArraySlice<UInt8>, isLine: (ArraySlice<UInt8>) -> Bool = { _ in true }
    ) -> Int? {
        var rest = bytes
        while let end = rest.firstLineFeed {
            let line = rest[..<end]
            rest = rest[(end + 1)...]
            if line.isEmpty || line.count == 1 && line.first == ASCII.carriageReturn {
                return end + 1
            }
            guard isLine(line) else { return nil }
        }
        return nil
    }

    /// True if the field in `line` has the name `lower`, which is in lower case.
    package static func isField(_ line: ArraySlice<UInt8>, _ lower: String) -> Bool {
        ASCII.isName(line.prefix { $0 != ASCII.colon }, lower)
    }
}
