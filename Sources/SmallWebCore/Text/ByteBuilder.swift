// SPDX-License-Identifier: MIT

/// Append-only bytes, without an array's uniqueness checks at each append: a record is made of some
/// two hundred pieces.
struct ByteBuilder: ~Copyable {
    private(set) var count = 0
    /// Owned; the first ``count`` bytes are initialised.
    private var memory: UnsafeMutableBufferPointer<UInt8>

    init() {
        // Enough for a small page.
        memory = .allocate(capacity: 4096)
    }

    deinit { memory.deallocate() }

    var array: [UInt8] { Array(UnsafeBufferPointer(rebasing: memory[..<count])) }

    mutating func append(_ byte: UInt8) {
        if count == memory.count { grow(by: 1) }
        memory[count] = byte
        count += 1
    }

    mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let start = bytes.baseAddress else { return }
        if bytes.count > memory.count - count { grow(by: bytes.count) }
        // Not nil, because the allocation is never empty.
        (memory.baseAddress! + count).update(from: start, count: bytes.count)
        count += bytes.count
    }

    mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { append($0) }
    }

    mutating func truncate(to count: Int) {
        precondition(count <= self.count)
        self.count = count
    }

    private mutating func grow(by more: Int) {
        let larger = UnsafeMutableBufferPointer<UInt8>.allocate(
            capacity: max(2 * memory.count, count + more))
        larger.baseAddress!.update(from: memory.baseAddress!, count: count)
        memory.deallocate()
        memory = larger
    }
}
