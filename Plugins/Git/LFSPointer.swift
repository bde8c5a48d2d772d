// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// A file that stands for another one, which is kept apart from the repository (Git LFS,
/// docs/spec.md of git-lfs): lines `key SP value LF`, the version first. Pure.
struct LFSPointer: Hashable, Sendable {
    /// `sha256:` and 64 hexadecimal digits.
    let id: String
    /// Of the file that it stands for.
    let byteCount: Int

    /// How long a pointer can be, in bytes.
    static let sizes = 100...1023

    private static let beginning = Array("version https://git-lfs.github.com/spec/v1\n".utf8)
    private static let idPrefix = "sha256:"

    /// `nil` for anything else.
    init?(_ content: ArraySlice<UInt8>) {
        guard Self.sizes.contains(content.count), content.starts(with: Self.beginning),
            content.last == ASCII.lineFeed
        else { return nil }
        var (id, byteCount): (String?, Int?)
        for line in content.split(separator: ASCII.lineFeed) {
            if line.starts(with: "oid ".utf8), id == nil {
                let text = String(decoding: line.dropFirst(4), as: UTF8.self)
                let digits = text.utf8.dropFirst(Self.idPrefix.utf8.count)
                guard text.hasPrefix(Self.idPrefix), digits.count == 64,
                    ASCII.bytes(hex: digits) != nil
                else { return nil }
                id = text
            } else if line.starts(with: "size ".utf8), byteCount == nil {
                byteCount = ASCII.decimal(line.dropFirst(5), max: .max / 2)
            }
        }
        guard let id, let byteCount else { return nil }
        (self.id, self.byteCount) = (id, byteCount)
    }
}
