// SPDX-License-Identifier: MIT
// The part of swift-log that the example needs, so that it is built without a download. A
// program has `.package(url: "https://github.com/apple/swift-log.git", from: "1.6.0")`.

public struct Logger: Sendable {
    let label: String

    public init(label: String) { self.label = label }

    public func info(_ message: String, metadata: [String: String]) {
        print(label, message, metadata.sorted { $0.key < $1.key }.map { "\($0)=\($1)" })
    }
}
