// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Collects values from any thread, for the test that looks at them later.
public final class Recorder<Value: Sendable>: Sendable {
    private let contents = Locked<[Value]>([])

    public init() {}

    public var values: [Value] { contents.withLock { $0 } }

    public func add(_ value: Value) { contents.withLock { $0.append(value) } }
}
