// SPDX-License-Identifier: MIT
package import SmallWebCore

/// The redirects to follow. The counter is per fetch, across all schemes.
public struct RedirectPolicy: Sendable, Hashable {
    /// False to follow none.
    public var follows = true
    /// Most redirects in a row (the Gemini specification's figure).
    public var limit = 5
    /// Schemes that a redirect may lead to from another one; empty for none.
    public var otherSchemes: Set<String> = []

    /// True to refuse redirects to an address of this machine or of a private network, unless the
    /// URL that was asked for is at one itself.
    public var refusesPrivate = false

    /// Five redirects, within a scheme or to its form over TLS.
    public init() {}

    /// True if a reply of one scheme may lead to another by itself: to the same, to its form over
    /// TLS, and to those in ``otherSchemes``.
    package func allows(from: Scheme, to: String) -> Bool {
        from.name == to || from.secureForm == to || otherSchemes.contains(to)
    }
}
