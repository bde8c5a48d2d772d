// SPDX-License-Identifier: MIT
package import SmallWebCore

/// Which redirects are followed. The counter is per fetch, across all schemes.
public struct RedirectPolicy: Sendable, Hashable {
    /// Whether any redirect is followed.
    public var follows = true
    /// Most redirects in a row (the Gemini specification's figure).
    public var limit = 5
    /// Schemes that a redirect may lead to from another one; empty for none.
    public var otherSchemes: Set<String> = []

    /// Whether none leads to an address of this machine or of a private network, unless the URL
    /// that was asked for is at one itself.
    public var refusesPrivate = false

    /// Five redirects, within a scheme or to its form over TLS.
    public init() {}

    /// Whether a reply of one scheme may lead to another by itself: to the same, to its form over
    /// TLS, and to those that the user allows.
    package func allows(from: Scheme, to: String) -> Bool {
        from.name == to || from.secureForm == to || otherSchemes.contains(to)
    }
}
