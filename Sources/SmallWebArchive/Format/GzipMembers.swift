// SPDX-License-Identifier: MIT
package import SmallWebCore

/// Inflates the members of a gzip file one after the other, and says where each begins.
package final class GzipMembers {
    private let inflater: Inflater
    private var hasBegun = false

    /// What begins a member (RFC 1952, section 2.3): its mark, and that it is deflated.
    package static let magic: [UInt8] = [0x1F, 0x8B, 0x08]

    package init() throws(FetchError) { inflater = try Inflater(.gzip) }

    /// Whether the present member has ended; what follows belongs to the next.
    package var isBetweenMembers: Bool { !hasBegun || inflater.isFinished }

    /// The next inflated bytes of the present member: empty at its end, or when more is needed.
    ///
    /// - Parameter input: What is used is removed from its front, never beyond the member.
    package func inflate(
        _ input: inout ArraySlice<UInt8>
    ) throws(Malformed) -> ArraySlice<UInt8> {
        hasBegun = true
        do throws(FetchError) {
            return try inflater.inflate(&input)
        } catch {
            throw Malformed(why: error.message)
        }
    }

    /// Another member begins.
    package func reset() {
        inflater.reset()
        hasBegun = false
    }
}
