// SPDX-License-Identifier: MIT

/// A reference of a Git repository, as the server lists it.
public struct Ref: Sendable, Hashable {
    /// `HEAD`, `refs/heads/main`; bytes that are not UTF-8 are replaced.
    public let name: String
    /// 40 or 64 lower-case hexadecimal digits.
    public let oid: String
    /// The reference that this one stands for.
    public let symref: String?
    /// What an annotated tag points to in the end.
    public let peeled: String?

    public init(name: String, oid: String, symref: String? = nil, peeled: String? = nil) {
        self.name = name
        self.oid = oid
        self.symref = symref
        self.peeled = peeled
    }
}

/// Which references of a repository are wanted.
public struct RefQuery: Sendable, Hashable {
    /// Of those below `refs/heads/` and `refs/tags/`; neither is all.
    public var onlyHeads = false
    public var onlyTags = false
    /// Shell patterns that match the last parts of a name (git-ls-remote(1)); none is all.
    public var patterns: [String] = []
    /// Whether the body says what `HEAD` stands for.
    public var showsSymrefs = false

    public init() {}

    public var isEmpty: Bool { self == RefQuery() }
}
