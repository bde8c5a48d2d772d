// SPDX-License-Identifier: MIT

/// Which references of a repository are wanted.
public struct RefQuery: Sendable, Hashable {
    /// Of those below `refs/heads/` and `refs/tags/`; neither is all.
    public var onlyHeads = false
    public var onlyTags = false
    /// Shell patterns that match the last parts of a name (git-ls-remote(1)); none is all.
    public var patterns: [String] = []
    /// Whether anything but a list of references is refused.
    public var isRequired = false
    /// Whether the body says what `HEAD` stands for.
    public var showsSymrefs = false

    public init() {}

    public var isEmpty: Bool { self == RefQuery() }
}
