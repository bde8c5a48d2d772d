// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import SmallWebFormats

/// The beginning of a reply, buffered until it is clear whether it is a refusal: gopher has no
/// status, only error lines of type 3. A menu with only error and information lines is a refusal,
/// and so is a text or binary with only one error line. Pure, bounded by ``bytesMax``.
struct GopherOpening {
    enum Verdict: Hashable {
        case content
        /// With the text of the error line.
        case refusal(String)
    }

    /// A refusal is short. A longer reply is content.
    static let bytesMax = 4096

    private(set) var bytes: [UInt8] = []
    /// `nil` while more bytes are needed.
    private(set) var verdict: Verdict?
    private let type: GopherItemType

    init(type: GopherItemType) { self.type = type }

    /// Adds bytes; an empty piece is the end of the reply.
    mutating func add(_ piece: ArraySlice<UInt8>) {
        bytes += piece
        verdict = judge(isAtEnd: piece.isEmpty)
    }

    /// True if the bytes so far end with a lone dot, after which some servers do not close.
    var isTerminated: Bool {
        guard type.form != .binary, bytes.last == ASCII.lineFeed else { return false }
        let before = bytes.dropLast().lastIndex(of: ASCII.lineFeed)
        let line = bytes[(before.map { $0 + 1 } ?? 0)...].dropLast()
        return GopherMenu.fields(of: line) == [[ASCII.dot]]
    }

    private func judge(isAtEnd: Bool) -> Verdict? {
        // The first line of a text or binary decides, even if incomplete.
        let isContent = type.form != .menu && beginsAsContent
        if isContent || bytes.count > Self.bytesMax { return .content }
        var message: String?
        var rest = bytes[...]
        while true {
            let lineFeed = rest.firstLineFeed
            // A line without a line feed counts only at the end of the reply.
            if lineFeed == nil && !isAtEnd { break }
            let line = rest[..<(lineFeed ?? rest.endIndex)]
            rest = rest[line.endIndex...].dropFirst()
            let fields = GopherMenu.fields(of: line)
            switch GopherItemType(byte: line.first ?? 0) {
            case .error where type.form == .menu || message == nil && isErrorLine(fields):
                message = message ?? GopherMenu.text(fields[0].dropFirst())
            case .info where type.form == .menu: break
            default:
                let isEnd = fields == [[]] || fields == [[ASCII.dot]]
                // With a text or binary, the error must be the first line.
                let isBefore = type.form != .menu && message == nil
                if !isEnd || isBefore { return .content }
            }
            if lineFeed == nil { break }
        }
        // Only a whole reply can be a refusal; other replies are recognised before their end.
        if isAtEnd { return message.map(Verdict.refusal) ?? .content }
        return nil
    }

    /// True if a line of a text or binary has all fields of a menu line, and does not just begin
    /// with 3. Error lines lead nowhere, so servers write any number or word for a port, or none.
    private func isErrorLine(_ fields: [ArraySlice<UInt8>]) -> Bool {
        fields.count >= 4 && !fields[3].trimmed.contains(where: ASCII.isSpace)
    }

    private var beginsAsContent: Bool {
        bytes.first.map { GopherItemType(byte: $0) != .error } ?? false
    }
}
