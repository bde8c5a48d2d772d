// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// The branches and tags that a server has listed, by the names that people type: what a version
/// that does not exist may have been meant to be. Pure, and bounded.
struct VersionNames {
    /// What their full names begin with.
    static let prefixes = ["refs/heads/", "refs/tags/"]
    /// As many as ``Nearest`` looks at.
    private static let countMax = 10_000

    /// What those stand for that were asked for, by their full names.
    var wanted: [String: ObjectID] = [:]
    private(set) var names: [String] = []

    /// - Parameter name: Of any reference, in full.
    mutating func add(_ name: String) {
        guard names.count < Self.countMax, !name.hasSuffix("^{}"),
            let prefix = Self.prefixes.first(where: name.hasPrefix)
        else { return }
        names.append(String(name.dropFirst(prefix.count)))
    }
}
