// SPDX-License-Identifier: MIT
// The part of swift-metrics that the example needs, so that it is built without a download. A
// program has `.package(url: "https://github.com/apple/swift-metrics.git", from: "2.5.0")`.

public struct Counter: Sendable {
    let label: String
    let dimensions: [(String, String)]

    public init(label: String, dimensions: [(String, String)] = []) {
        (self.label, self.dimensions) = (label, dimensions)
    }

    public func increment(by amount: Int = 1) {
        print(label, dimensions.map { "\($0)=\($1)" }, amount)
    }
}

public struct Timer: Sendable {
    let label: String

    public init(label: String) { self.label = label }

    public func recordMilliseconds(_ duration: Int) { print(label, duration >= 0) }
}
