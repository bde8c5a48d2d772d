// SPDX-License-Identifier: MIT

/// Suggestions for mistyped names. Pure.
package enum Nearest {
    /// The name that differs only by case; else the shortest that begins with `typed`, if that has
    /// at least 3 characters; else the one with the fewest edits, if these are at most one, or a
    /// third of the characters.
    ///
    /// - Parameter names: Only the first 10,000 are compared, and none if `typed` has more than 100
    ///   characters: a server may have chosen both.
    package static func name(to typed: String, among names: some Sequence<String>) -> String? {
        let wanted = Array(typed.lowercased().unicodeScalars)
        guard wanted.count <= typedMax else { return nil }
        let editsMax = max(1, wanted.count / 3)
        var nearest: (edits: Int, name: String)?
        var longer: String?
        for name in names.prefix(namesMax) {
            let letters = Array(name.lowercased().unicodeScalars)
            if letters == wanted { return name }
            if letters.starts(with: wanted), longer.map({ name.count < $0.count }) ?? true {
                longer = name
            }
            guard abs(letters.count - wanted.count) <= editsMax else { continue }
            let edits = distance(letters, wanted)
            if edits <= min(editsMax, nearest.map { $0.edits - 1 } ?? editsMax) {
                nearest = (edits, name)
            }
        }
        return wanted.count >= 3 ? longer ?? nearest?.name : nearest?.name
    }

    /// A hint with the nearest name.
    ///
    /// - Parameter sign: A prefix for the name.
    package static func question(
        _ typed: String, among names: some Sequence<String>, sign: String = ""
    ) -> String? {
        name(to: typed, among: names).map { "did you mean \(sign)\($0)?" }
    }

    private static let typedMax = 100
    private static let namesMax = 10_000

    /// Edit distance: letters to insert, delete or replace, or neighbours to swap.
    private static func distance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
        var before: [Int] = []
        var last = Array(0...right.count)
        for row in left.indices {
            var next = [row + 1]
            for column in right.indices {
                var edits = min(
                    last[column] + (left[row] == right[column] ? 0 : 1),
                    last[column + 1] + 1, next[column] + 1)
                if row > 0 && column > 0 && left[row] == right[column - 1]
                    && left[row - 1] == right[column]
                {
                    edits = min(edits, before[column - 1] + 1)
                }
                next.append(edits)
            }
            (before, last) = (last, next)
        }
        return last[right.count]
    }
}
