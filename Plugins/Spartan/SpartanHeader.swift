// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// A reply header: `DIGIT SP META CRLF` (§3). Pure.
struct SpartanHeader: Hashable {
    /// 2 to 5.
    let status: Int
    /// Valid UTF-8 without control characters but tabs; may be empty.
    let meta: String

    /// The specification sets no limit.
    static let bytesMax = 1024

    /// - Parameter line: Up to and including the line feed.
    /// - Throws: `protocol-error` for a malformed header. The text may be empty or have letters
    ///   beyond ASCII, as servers send such headers.
    init(parsing line: ArraySlice<UInt8>) throws(FetchError) {
        guard line.suffix(2).elementsEqual(ASCII.crlf) else {
            throw Self.malformed("it does not end with CR LF")
        }
        let text = line.dropLast(2)
        guard let status = ASCII.decimal(text.prefix(1), max: 9) else {
            throw Self.malformed("it does not begin with a digit")
        }
        guard text.dropFirst().first == ASCII.space else {
            throw Self.malformed("no space after the first digit")
        }
        guard 2...5 ~= status else { throw Self.malformed("the status \(status) is not defined") }
        guard let meta = String(validating: text.dropFirst(2), as: UTF8.self) else {
            throw Self.malformed("it is not UTF-8")
        }
        let isControl = { (scalar: Unicode.Scalar) in
            scalar.properties.generalCategory == .control && scalar != "\t"
        }
        guard !meta.unicodeScalars.contains(where: isControl) else {
            throw Self.malformed("it contains a control character")
        }
        guard !meta.trimmed.isEmpty || status != 3 else {
            throw Self.malformed("a redirect to nowhere")
        }
        self.status = status
        self.meta = meta
    }

    func head(_ line: ArraySlice<UInt8>) -> Head {
        var head = Head(status: status, replyClass, meta: meta)
        head.header = Array(line)
        switch replyClass {
        case .success: head.mediaType = MediaType(parsing: meta)
        case .redirect: head.redirectTarget = target
        case .permanentFailure: head.isMissing = true
        default: break
        }
        return head
    }

    private var replyClass: Head.Class {
        switch status {
        case 2: .success
        case 3: .redirect
        // The request is wrong, or cannot be fulfilled.
        case 4: .permanentFailure
        // A valid request that the server is unable to fulfil, for example under heavy load.
        default: .temporaryFailure
        }
    }

    /// An absolute path of the same host and port. `nil` for other targets, and with a query, as it
    /// would be data that the server has chosen.
    private var target: String? {
        // By bytes: a combining character after a slash would change the Character.
        let bytes = meta.trimmed.utf8
        guard bytes.first == ASCII.slash, bytes.dropFirst().first != ASCII.slash,
            !bytes.contains(ASCII.questionMark), !bytes.contains(UInt8(ascii: "#"))
        else { return nil }
        return meta
    }

    private static func malformed(_ why: String) -> FetchError {
        FetchError(.protocolError, .header, "malformed Spartan header: \(why)")
    }
}
