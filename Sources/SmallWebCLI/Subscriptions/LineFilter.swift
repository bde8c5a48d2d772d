// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebFormats

/// Removes lines that match extended regular expressions.
struct LineFilter {
    private let expressions: [ExtendedExpression]

    /// - Throws: `usage` for an invalid expression, and for one that could take exponential time or
    ///   memory.
    init(_ patterns: [String]) throws(FetchError) {
        expressions = try patterns.map { pattern throws(FetchError) in try Self.parse(pattern) }
    }

    var isEmpty: Bool { expressions.isEmpty }

    /// True if no expression matches the line.
    ///
    /// - Throws: `interrupted`, `timeout`.
    func keeps(_ line: ArraySlice<UInt8>) throws(FetchError) -> Bool {
        for expression in expressions where try expression.matches(in: line) { return false }
        return true
    }

    /// - Throws: `usage`, as ``init(_:)``.
    static func parse(_ pattern: String) throws(FetchError) -> ExtendedExpression {
        func refuse(_ why: String) -> FetchError {
            usageError(
                "--ignore: \"\(pattern.prefix(80))\" \(why)", hint: "regex(7) describes them")
        }
        guard !pattern.isEmpty else { throw refuse("is empty, and would match every line") }
        do throws(ExtendedExpression.Problem) {
            return try ExtendedExpression(pattern)
        } catch {
            throw refuse(error.message)
        }
    }
}
