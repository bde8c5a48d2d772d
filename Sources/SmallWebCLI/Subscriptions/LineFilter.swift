// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb
internal import SmallWebFormats

/// Leaves out lines that match extended regular expressions.
struct LineFilter {
    private let expressions: [ExtendedExpression]

    /// - Throws: `usage` for an expression that regcomp(3) refuses, and for one that could take
    ///   exponential time or memory.
    init(_ patterns: [String]) throws(FetchError) {
        expressions = try patterns.map { pattern throws(FetchError) in try Self.parse(pattern) }
    }

    var isEmpty: Bool { expressions.isEmpty }

    /// Whether a line stays.
    func keeps(_ line: ArraySlice<UInt8>) -> Bool {
        !expressions.contains { $0.matches(in: line) }
    }

    /// - Throws: as ``init(_:)``.
    static func parse(_ pattern: String) throws(FetchError) -> ExtendedExpression {
        func refuse(_ why: String) -> FetchError {
            usageError(
                "--ignore: \"\(pattern.prefix(80))\" \(why)", hint: "regex(7) describes them")
        }
        guard !pattern.isEmpty else { throw refuse("is empty, and would match every line") }
        let expression: ExtendedExpression
        do throws(ExtendedExpression.Problem) {
            expression = try ExtendedExpression(pattern)
        } catch {
            throw refuse(error.message)
        }
        // The system's own judgement.
        var compiled = regex_t()
        let status = regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB)
        guard status == 0 else {
            var text = [CChar](repeating: 0, count: 200)
            regerror(status, &compiled, &text, text.count)
            throw refuse("cannot be used: \(String(buffer: text))")
        }
        regfree(&compiled)
        return expression
    }
}
