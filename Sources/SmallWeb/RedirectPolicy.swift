// SPDX-License-Identifier: MIT
public import SmallWebCore

/// Which redirects are followed. The counter is per fetch, across all schemes.
public struct RedirectPolicy: Sendable, Hashable {
    public var follows = true
    /// Most redirects in a row (the Gemini specification's figure).
    public var limit = 5
    /// Schemes that a redirect may lead to from another one; empty for none.
    public var otherSchemes: Set<String> = []

    public init() {}

    /// Whether a reply of one scheme may lead to another by itself: to the same, to its form over
    /// TLS, and to those that the user allows.
    public func allows(from: Scheme, to: String) -> Bool {
        from.name == to || from.secureForm == to || otherSchemes.contains(to)
    }
}
