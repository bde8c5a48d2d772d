// SPDX-License-Identifier: MIT

/// The difference of two texts in the unified format of diff(1), with three lines of context. Pure.
package enum UnifiedDiff {
    /// Limit of differing lines: beyond it, one text is shown as replaced by the other, to bound
    /// time and memory.
    private static let editsMax = 2000
    private static let contextLines = 3

    /// - Parameters:
    ///   - old: Lines without line ends, like `new`.
    ///   - name: The name of both texts, for the first two lines.
    ///   - showsFunctions: True to end the head of a hunk with the preceding line that looks like
    ///     the beginning of a function, as git-diff(1) does.
    /// - Returns: Empty without a difference.
    /// - Throws: `interrupted`, `timeout`: texts of a million lines take seconds.
    package static func text(
        old: [ArraySlice<UInt8>], new: [ArraySlice<UInt8>], name: String,
        showsFunctions: Bool = false
    ) throws(FetchError) -> [UInt8] {
        let kept = try commonLines(old, new)
        if kept.count == old.count && kept.count == new.count { return [] }
        var text: [UInt8] = []
        text.append("--- \(name)\n+++ \(name)\n")
        var (function, searched) = ([UInt8](), 0)
        for hunk in hunks(kept, old.count, new.count) {
            if showsFunctions {
                let before = old[searched..<max(searched, hunk.old.lowerBound)]
                function = before.last(where: isFunction).map(shown) ?? function
                searched = hunk.old.lowerBound
            }
            append(hunk, kept, old, new, function, to: &text)
            try LongWork.check()
        }
        return text
    }

    /// Git's default rule for the beginning of a function.
    private static func isFunction(_ line: ArraySlice<UInt8>) -> Bool {
        line.first.map { ASCII.isLetter($0) || $0 == 0x5F || $0 == 0x24 } ?? false
    }

    /// A space and the first 80 bytes of the line, without trailing white space.
    private static func shown(_ line: ArraySlice<UInt8>) -> [UInt8] {
        var line = line.prefix(80)
        while let last = line.last, [0x20, 0x09, 0x0D].contains(last) { line.removeLast() }
        return [ASCII.space] + line
    }

    /// Indices of a line that both texts have.
    private typealias Common = (old: Int, new: Int)

    // MARK: Common lines

    private static func commonLines(
        _ old: [ArraySlice<UInt8>], _ new: [ArraySlice<UInt8>]
    ) throws(FetchError) -> [Common] {
        // Numbers compare faster than lines.
        var numbers: [ArraySlice<UInt8>: Int] = [:]
        var bytes = 0
        func number(_ line: ArraySlice<UInt8>) throws(FetchError) -> Int {
            bytes += line.count + 64
            if bytes > 1 << 20 {
                bytes = 0
                try LongWork.check()
            }
            if let known = numbers[line] { return known }
            numbers[line] = numbers.count
            return numbers.count - 1
        }
        let (old, new) = (try old.map(number), try new.map(number))
        var start = 0
        while start < min(old.count, new.count), old[start] == new[start] { start += 1 }
        var end = 0
        while end < min(old.count, new.count) - start,
            old[old.count - 1 - end] == new[new.count - 1 - end]
        {
            end += 1
        }
        let middle = try path(
            Array(old[start..<(old.count - end)]), Array(new[start..<(new.count - end)]))
        return (0..<start).map { ($0, $0) }
            + middle.map { ($0.old + start, $0.new + start) }
            + (0..<end).map { (old.count - end + $0, new.count - end + $0) }
    }

    /// Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), the greedy form.
    private static func path(_ old: [Int], _ new: [Int]) throws(FetchError) -> [Common] {
        var steps = 0
        let bound = min(old.count + new.count, editsMax)
        // By number of edits: the furthest position on each diagonal.
        var traces: [[Int32]] = []
        var furthest: [Int32] = [0]
        for edits in 0...bound {
            try LongWork.check()
            var row = [Int32](repeating: 0, count: 2 * edits + 1)
            for diagonal in stride(from: -edits, through: edits, by: 2) {
                let index = diagonal + edits
                var x = 0
                if edits > 0 {
                    // The previous row begins with the diagonal 1 - edits.
                    let below = diagonal < edits ? Int(at(furthest, diagonal + 1, edits - 1)) : -1
                    let left = diagonal > -edits ? Int(at(furthest, diagonal - 1, edits - 1)) : -1
                    x = diagonal == -edits || diagonal != edits && left < below ? below : left + 1
                }
                var y = x - diagonal
                while x < old.count, y < new.count, old[x] == new[y] {
                    (x, y) = (x + 1, y + 1)
                    steps += 1
                    if steps & 0xFFFF == 0 { try LongWork.check() }
                }
                row[index] = Int32(x)
                if x >= old.count && y >= new.count {
                    traces.append(row)
                    return walk(traces, old.count, new.count)
                }
            }
            traces.append(row)
            furthest = row
        }
        return []
    }

    /// The position on a diagonal, in the row of `edits`.
    private static func at(_ row: [Int32], _ diagonal: Int, _ edits: Int) -> Int32 {
        row[diagonal + edits]
    }

    private static func walk(_ traces: [[Int32]], _ oldCount: Int, _ newCount: Int) -> [Common] {
        var common: [Common] = []
        var (x, y) = (oldCount, newCount)
        for edits in stride(from: traces.count - 1, through: 0, by: -1) {
            let diagonal = x - y
            var (startX, startY) = (0, 0)
            if edits > 0 {
                let row = traces[edits - 1]
                let below = diagonal < edits ? at(row, diagonal + 1, edits - 1) : -1
                let left = diagonal > -edits ? at(row, diagonal - 1, edits - 1) : -1
                let isDown = diagonal == -edits || diagonal != edits && left < below
                (startX, startY) =
                    isDown
                    ? (Int(below), Int(below) - diagonal - 1)
                    : (Int(left), Int(left) - diagonal + 1)
                let first = isDown ? (startX, startY + 1) : (startX + 1, startY)
                while x > first.0 && y > first.1 {
                    (x, y) = (x - 1, y - 1)
                    common.append((x, y))
                }
            } else {
                while x > 0 && y > 0 {
                    (x, y) = (x - 1, y - 1)
                    common.append((x, y))
                }
            }
            (x, y) = (startX, startY)
        }
        return common.reversed()
    }

    // MARK: Hunks

    /// Ranges of lines of both texts that are shown together.
    private struct Hunk {
        var old: Range<Int>
        var new: Range<Int>
    }

    private static func hunks(_ kept: [Common], _ oldCount: Int, _ newCount: Int) -> [Hunk] {
        var hunks: [Hunk] = []
        var (x, y) = (0, 0)
        for next in kept + [(oldCount, newCount)] {
            if next.old > x || next.new > y {
                let before = min(contextLines, min(x, y))
                let after = min(contextLines, min(oldCount - next.old, newCount - next.new))
                let hunk = Hunk(
                    old: (x - before)..<(next.old + after), new: (y - before)..<(next.new + after))
                if let last = hunks.last, last.old.upperBound >= hunk.old.lowerBound,
                    last.new.upperBound >= hunk.new.lowerBound
                {
                    hunks[hunks.count - 1] = Hunk(
                        old: last.old.lowerBound..<hunk.old.upperBound,
                        new: last.new.lowerBound..<hunk.new.upperBound)
                } else {
                    hunks.append(hunk)
                }
            }
            (x, y) = (next.old + 1, next.new + 1)
        }
        return hunks
    }

    private static func append(
        _ hunk: Hunk, _ kept: [Common], _ old: [ArraySlice<UInt8>], _ new: [ArraySlice<UInt8>],
        _ function: [UInt8], to text: inout [UInt8]
    ) {
        text.append("@@ -\(place(hunk.old)) +\(place(hunk.new)) @@")
        text += function
        text.append(ASCII.lineFeed)
        func add(_ mark: Character, _ line: ArraySlice<UInt8>) {
            text.append(String(mark))
            text += line
            text.append(ASCII.lineFeed)
        }
        var (x, y) = (hunk.old.lowerBound, hunk.new.lowerBound)
        var first = kept.partitioningIndex { $0.old >= x && $0.new >= y }
        while x < hunk.old.upperBound || y < hunk.new.upperBound {
            let next =
                first < kept.count
                ? kept[first] : (old: hunk.old.upperBound, new: hunk.new.upperBound)
            while x < min(next.old, hunk.old.upperBound) {
                add("-", old[x])
                x += 1
            }
            while y < min(next.new, hunk.new.upperBound) {
                add("+", new[y])
                y += 1
            }
            guard x < hunk.old.upperBound, y < hunk.new.upperBound, first < kept.count else {
                break
            }
            add(" ", old[x])
            (x, y, first) = (x + 1, y + 1, first + 1)
        }
    }

    /// `3,7`, and `3` for one line; an empty range has the number of the line before it.
    private static func place(_ range: Range<Int>) -> String {
        let first = range.isEmpty ? range.lowerBound : range.lowerBound + 1
        return range.count == 1 ? "\(first)" : "\(first),\(range.count)"
    }
}

extension [(old: Int, new: Int)] {
    /// The first index from which `predicate` is true.
    fileprivate func partitioningIndex(where predicate: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if predicate(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
