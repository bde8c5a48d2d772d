// SPDX-License-Identifier: MIT
package import SmallWebCore

/// Inflates the members of a gzip file one after the other and finds their boundaries.
package final class GzipMembers {
    private let inflater: Inflater
    private var hasBegun = false

    /// The beginning of a member (RFC 1952, section 2.3): magic number and method "deflate".
    package static let magic: [UInt8] = [0x1F, 0x8B, 0x08]

    package init() throws(FetchError) { inflater = try Inflater(.gzip) }

    /// True between members: following bytes belong to the next one.
    package var isBetweenMembers: Bool { !hasBegun || inflater.isFinished }

    /// The next inflated bytes of the current member: empty at its end, or if more input is needed.
    ///
    /// - Parameter input: Used bytes are removed from its front, never beyond the member.
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

    package func reset() {
        inflater.reset()
        hasBegun = false
    }
}
