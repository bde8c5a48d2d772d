// SPDX-License-Identifier: MIT

/// 128-bit hash of a text, which stands for it among millions of others in this process.
package struct TwoHashKey: Sendable, Hashable {
    private let first, second: Int

    package init(_ text: String, _ digest: [UInt8] = []) {
        var (text, hasher) = (text, Hasher())
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // A separator byte that UTF-8 never contains.
        hasher.combine(UInt8.max)
        digest.withUnsafeBytes { hasher.combine(bytes: $0) }
        var other = hasher
        other.combine(UInt8.max)
        (first, second) = (hasher.finalize(), other.finalize())
    }
}

extension String {
    /// FNV-1a: the same in all processes, and another one for texts that differ in one byte.
    package var stableHash: UInt64 {
        utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}
