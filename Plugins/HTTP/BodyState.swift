// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// The state of the resource from which a file's bytes were received. Bytes of another state must
/// not be appended (RFC 9110 §8.8, §13.1.5). Pure.
struct BodyState: Hashable {
    /// Values of ETag, Last-Modified and Date, unchanged.
    private(set) var (tag, modified, date): (String?, String?, String?)
    /// Size of the whole body in bytes.
    private(set) var total: Int?
    /// Content codings that the bytes still have.
    private(set) var coding = ""

    /// - Parameters:
    ///   - total: Size of the reply's whole body, encoded.
    ///   - keepsCoding: True if its bytes are kept encoded. The decoded body has another tag and
    ///     length.
    init(_ reply: HTTPReply, total: Int?, keepsCoding: Bool) {
        (modified, date) = (reply["last-modified"], reply["date"])
        let coding = reply.codings("content-encoding").joined(separator: ", ")
        guard keepsCoding || coding.isEmpty else { return }
        (tag, self.total, self.coding) = (reply["etag"], total, coding)
    }

    /// Parses ``text``. Ignores other lines.
    init(parsing text: String) {
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: " ", maxSplits: 1)
            guard parts.count == 2 else { continue }
            let value = String(parts[1])
            switch parts[0] {
            case "etag": tag = value
            case "modified": modified = value
            case "date": date = value
            case "bytes": total = ASCII.decimal(value.utf8, max: ContentRange.positionMax)
            case "coding": coding = value
            default: break
            }
        }
    }

    /// `nil` without anything to compare.
    var text: String? {
        guard tag != nil || modified != nil || total != nil else { return nil }
        return [
            tag.map { "etag " + $0 }, modified.map { "modified " + $0 }, date.map { "date " + $0 },
            total.map { "bytes \($0)" }, coding.isEmpty ? nil : "coding " + coding,
        ].compactMap(\.self).joined(separator: "\n")
    }

    /// The value of `If-Range`: a strong tag, or without any tag a date at least a second before
    /// the reply (§8.8.2.2, §13.1.5).
    var condition: String? {
        if let tag { return HTTPValidator.isTag(tag) && !tag.hasPrefix("W/") ? tag : nil }
        guard let modified, HTTPValidator.isValue(modified),
            HTTPValidator.isStrong(modified, sent: date.flatMap { HTTPDate.unixSeconds($0) })
        else { return nil }
        return modified
    }

    /// True if both differ in a value that both have.
    func differs(from other: BodyState) -> Bool {
        if let total, let its = other.total, total != its { return true }
        let bare = { (tag: String) in tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }
        if let tag, let its = other.tag { return bare(tag) != bare(its) }
        guard let modified, let its = other.modified else { return false }
        return modified != its
    }
}
