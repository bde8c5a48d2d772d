// SPDX-License-Identifier: MIT

/// Bytes that grow at their end, without what an array asks and counts for each of them: a record
/// is some two hundred pieces.
struct ByteBuilder: ~Copyable {
    private(set) var count = 0
    /// Owned; the first ``count`` bytes are initialised.
    private var memory: UnsafeMutableBufferPointer<UInt8>

    init() {
        // A small page needs no more.
        memory = .allocate(capacity: 4096)
    }

    deinit { memory.deallocate() }

    /// A copy.
    var array: [UInt8] { Array(UnsafeBufferPointer(rebasing: memory[..<count])) }

    mutating func append(_ byte: UInt8) {
        if count == memory.count { grow(by: 1) }
        memory[count] = byte
        count += 1
    }

    mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let start = bytes.baseAddress else { return }
        if bytes.count > memory.count - count { grow(by: bytes.count) }
        // The memory of an allocation that is never empty.
        (memory.baseAddress! + count).update(from: start, count: bytes.count)
        count += bytes.count
    }

    mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { append($0) }
    }

    /// Forgets what comes after the first `count` bytes.
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
