// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// A pointer to a file that is stored apart from the repository (Git LFS, docs/spec.md of git-lfs):
/// lines `key SP value LF`, the version first. Pure.
struct LFSPointer: Hashable, Sendable {
    /// SHA-256 of the file: 64 hexadecimal digits in lower case.
    let digits: String
    /// Size of the file.
    let byteCount: Int

    var id: String { Self.idPrefix + digits }

    /// Possible sizes of a pointer, in bytes.
    static let sizes = 100...1023

    private static let beginning = Array("version https://git-lfs.github.com/spec/v1\n".utf8)
    private static let idPrefix = "sha256:"

    init?(_ content: ArraySlice<UInt8>) {
        guard Self.sizes.contains(content.count), content.starts(with: Self.beginning),
            content.last == ASCII.lineFeed
        else { return nil }
        var (digits, byteCount): (String?, Int?)
        for line in content.split(separator: ASCII.lineFeed) {
            if line.starts(with: "oid ".utf8), digits == nil {
                let text = line.dropFirst(4)
                let hex = text.dropFirst(Self.idPrefix.utf8.count)
                guard text.starts(with: Self.idPrefix.utf8), hex.count == 64,
                    let bytes = ASCII.bytes(hex: hex), bytes.hex.utf8.elementsEqual(hex)
                else { return nil }
                digits = bytes.hex
            } else if line.starts(with: "size ".utf8), byteCount == nil {
                byteCount = ASCII.decimal(line.dropFirst(5), max: .max / 2)
            }
        }
        guard let digits, let byteCount else { return nil }
        (self.digits, self.byteCount) = (digits, byteCount)
    }
}
