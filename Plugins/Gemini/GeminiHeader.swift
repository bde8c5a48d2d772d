// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// A reply header: `DIGIT DIGIT [SP META] CRLF`. Pure.
struct GeminiHeader: Hashable {
    /// 10 to 69.
    let status: Int
    /// Valid UTF-8 without control characters; may be empty.
    let meta: String

    /// The specification sets no limit since 0.24; before, META had 1024 bytes.
    static let bytesMax = 4096

    /// - Parameter line: Up to and including the line feed.
    /// - Throws: `protocol-error` for a malformed header.
    init(parsing line: ArraySlice<UInt8>) throws(FetchError) {
        guard line.suffix(2).elementsEqual(ASCII.crlf) else {
            throw Self.malformed("it does not end with CR LF")
        }
        let text = line.dropLast(2)
        let digits = text.prefix(2)
        guard digits.count == 2, let status = ASCII.decimal(digits, max: 99) else {
            throw Self.malformed("it does not begin with two digits")
        }
        guard 10...69 ~= status else { throw Self.malformed("the status \(status) is not defined") }
        let rest = text.dropFirst(2)
        guard rest.isEmpty || rest.first == ASCII.space else {
            throw Self.malformed("no space after the status")
        }
        guard let meta = String(validating: rest.dropFirst(), as: UTF8.self) else {
            throw Self.malformed("it is not UTF-8")
        }
        guard !meta.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else { throw Self.malformed("it contains a control character") }
        // Before 0.24, a success without META meant text/gemini. It still occurs.
        if meta.trimmed.isEmpty && (status / 10 == 3 || status / 10 == 1 && rest.isEmpty) {
            throw Self.malformed("\(status) without the text that it needs")
        }
        self.status = status
        self.meta = meta
    }

    /// The header as an event; unknown codes count as the first of their class.
    func head(_ line: ArraySlice<UInt8>) -> Head {
        var head = Head(status: status, Self.classes[status / 10 - 1], meta: meta)
        head.header = Array(line)
        switch status / 10 {
        case 1:
            head.wantsSensitiveInput = status == 11
        case 2:
            head.mediaType =
                meta.isEmpty ? MediaType("text/gemini") : MediaType(parsing: meta)
        case 3:
            head.redirectTarget = meta
            head.isPermanentRedirect = status == 31
        case 5: (head.isGone, head.isMissing) = (status == 52, status == 51)
        default:
            // Seconds until specification 0.16, free text since: used if it is a number.
            let isNumber = !meta.isEmpty && meta.utf8.allSatisfy(ASCII.isDigit)
            head.isRateLimited = status == 44
            if status == 44 && isNumber {
                head.retryAfter = .seconds(ASCII.decimal(meta.utf8, max: 86_400) ?? 86_400)
            }
        }
        return head
    }

    /// By the first digit of the status, from 1.
    private static let classes: [Head.Class] = [
        .input, .success, .redirect, .temporaryFailure, .permanentFailure, .needsIdentity,
    ]

    private static func malformed(_ why: String) -> FetchError {
        FetchError(.protocolError, .header, "malformed Gemini header: \(why)")
    }
}
