// SPDX-License-Identifier: MIT

/// Hashes of URLs, 8 bytes each and at most three quarters full; the lowest bit says that a URL is
/// done.
struct KnownURLs {
    private var slots = [UInt64](repeating: 0, count: 1 << 12)
    private var count = 0

    /// - Returns: False if the hash is there already; then it is done if either says so.
    mutating func insert(_ hash: UInt64, isDone: Bool) -> Bool {
        if count * 4 >= slots.count * 3 { grow() }
        let index = slot(of: hash)
        let isNew = slots[index] == 0
        if isNew { count += 1 }
        slots[index] = (hash | 2) & ~1 | slots[index] & 1 | (isDone ? 1 : 0)
        return isNew
    }

    /// Makes a URL that is there one that is not done.
    mutating func reopen(_ hash: UInt64) { slots[slot(of: hash)] &= ~1 }

    func contains(_ hash: UInt64) -> Bool { slots[slot(of: hash)] != 0 }

    func isDone(_ hash: UInt64) -> Bool { slots[slot(of: hash)] & 1 == 1 }

    /// The slot that has the hash, or the empty one for it. The second bit is set in all hashes, so
    /// that none is zero.
    private func slot(of hash: UInt64) -> Int {
        let (mask, wanted) = (slots.count - 1, (hash | 2) & ~1)
        var index = Int(truncatingIfNeeded: hash >> 2) & mask
        while slots[index] != 0, slots[index] & ~1 != wanted { index = (index + 1) & mask }
        return index
    }

    private mutating func grow() {
        let old = slots
        slots = [UInt64](repeating: 0, count: old.count * 2)
        for hash in old where hash != 0 { slots[slot(of: hash)] = hash }
    }
}
