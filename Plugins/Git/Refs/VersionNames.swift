// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Short names of branches and tags that a server has listed, as suggestions for a mistyped
/// version. Pure, and bounded.
struct VersionNames {
    static let prefixes = ["refs/heads/", "refs/tags/"]
    /// As many as ``Nearest`` looks at.
    private static let countMax = 10_000

    /// Objects of the references that were asked for, by full name.
    var wanted: [String: ObjectID] = [:]
    private(set) var names: [String] = []

    /// - Parameter name: A reference's full name.
    mutating func add(_ name: String) {
        guard names.count < Self.countMax, !name.hasSuffix("^{}"),
            let prefix = Self.prefixes.first(where: name.hasPrefix)
        else { return }
        names.append(String(name.dropFirst(prefix.count)))
    }
}
