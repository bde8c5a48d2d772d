// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import SmallWebFormats

/// The differences of a file between two versions, in the form of git-diff(1) that git-apply(1)
/// accepts. Pure.
struct FilePatch {
    /// Larger files are treated as binary.
    static let textBytesMax = 16 << 20
    /// So are files with more lines, both versions together: a line takes some hundred bytes of
    /// memory.
    static let linesMax = 1 << 20

    private let change: TreeChange
    private let old: [UInt8]?
    private let new: [UInt8]?

    /// - Parameters:
    ///   - old: The content; `nil` if it is not text.
    ///   - new: The same.
    init(_ change: TreeChange, _ old: [UInt8]?, _ new: [UInt8]?) {
        (self.change, self.old, self.new) = (change, old, new)
    }

    /// The patch with its header. A change of type is shown as a removal and an addition.
    ///
    /// - Throws: `interrupted`, `timeout`.
    func text() throws(FetchError) -> [UInt8] {
        if change.status == "T" {
            let gone = TreeChange(path: change.path, old: change.old, new: nil)
            let come = TreeChange(path: change.path, old: nil, new: change.new)
            return try FilePatch(gone, old, []).text() + FilePatch(come, [], new).text()
        }
        var text = Array("diff --git ".utf8) + name("a/") + [ASCII.space] + name("b/")
        text.append(ASCII.lineFeed)
        text += modes.utf8
        guard change.old?.id != change.new?.id else { return text }
        text += "index \(change.ids.old)..\(change.ids.new)".utf8
        if let old = change.old, let new = change.new, old.mode == new.mode {
            text += " \(old.modeText)".utf8
        }
        text.append(ASCII.lineFeed)
        let before = change.old == nil ? Array("/dev/null".utf8) : name("a/")
        let after = change.new == nil ? Array("/dev/null".utf8) : name("b/")
        guard let old, let new, Self.lineEnds(old) + Self.lineEnds(new) <= Self.linesMax else {
            text += "Binary files ".utf8
            return text + before + Array(" and ".utf8) + after + Array(" differ\n".utf8)
        }
        let hunks = try UnifiedDiff.text(
            old: Self.lines(old), new: Self.lines(new), name: "", showsFunctions: true)
        // The first two lines are the diff's own names.
        guard let first = hunks.firstIndex(of: ASCII.lineFeed),
            let end = hunks[(first + 1)...].firstIndex(of: ASCII.lineFeed)
        else { return text }
        text += Self.mark("-") + before + Self.nameEnd(before)
        text += Self.mark("+") + after + Self.nameEnd(after)
        return text + hunks[(end + 1)...]
    }

    /// The start of a line with the name of a side.
    private static func mark(_ sign: Character) -> [UInt8] {
        Array(String(repeating: sign, count: 3).utf8) + [ASCII.space]
    }

    /// A name with a blank in it ends with a tab, for programs that expect a date after it.
    private static func nameEnd(_ name: [UInt8]) -> [UInt8] {
        name.contains(ASCII.space) && name.first != UInt8(ascii: "\"")
            ? [ASCII.tab, ASCII.lineFeed] : [ASCII.lineFeed]
    }

    private func name(_ prefix: String) -> [UInt8] {
        TreeEntry.quoted((Array(prefix.utf8) + change.path)[...])
    }

    private var modes: String {
        guard let old = change.old else {
            return change.new.map { "new file mode \($0.modeText)\n" } ?? ""
        }
        guard let new = change.new else { return "deleted file mode \(old.modeText)\n" }
        return old.mode == new.mode ? "" : "old mode \(old.modeText)\nnew mode \(new.modeText)\n"
    }

    private static func lineEnds(_ text: [UInt8]) -> Int {
        text.count { $0 == ASCII.lineFeed }
    }

    /// A last line without a line end gets a remark after it, as in diff(1).
    private static func lines(_ text: [UInt8]) -> [ArraySlice<UInt8>] {
        guard let last = text.last else { return [] }
        var lines = text.split(separator: ASCII.lineFeed, omittingEmptySubsequences: false)
        if last == ASCII.lineFeed {
            lines.removeLast()
        } else {
            lines[lines.count - 1] += "\n\\ No newline at end of file".utf8
        }
        return lines
    }
}
