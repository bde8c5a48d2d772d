// SPDX-License-Identifier: MIT
import Testing

/// Repeats each test of a suite with so many event loops: nothing may depend on their number.
struct LoopsTrait: SuiteTrait, TestTrait, TestScoping {
    /// The value of `--loops` for concurrent fetches; `nil` without the option.
    @TaskLocal static var count: Int?

    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?,
        performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        for count in [1, 2, 5] { try await Self.$count.withValue(count, operation: function) }
    }
}

extension Trait where Self == LoopsTrait {
    static var anyNumberOfLoops: Self { LoopsTrait() }
}
