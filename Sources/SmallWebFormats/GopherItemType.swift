// SPDX-License-Identifier: MIT
package import SmallWebText

/// An item type: one character for the kind of a selector's target (RFC 1436 §3.8, and common use).
package struct GopherItemType: Sendable, Hashable {
    package let character: UInt8

    package enum Form {
        case menu, text, binary
    }

    package static let text = GopherItemType("0")
    package static let menu = GopherItemType("1")
    package static let search = GopherItemType("7")
    package static let error = GopherItemType("3")
    package static let info = GopherItemType("i")
    package static let html = GopherItemType("h")

    package init(_ character: Unicode.Scalar) { self.character = UInt8(ascii: character) }
    package init(byte: UInt8) { character = byte }

    package var name: String { String(decoding: [character], as: UTF8.self) }

    /// The framing of a reply's bytes.
    package var form: Form {
        switch Unicode.Scalar(character) {
        case "1", "7": .menu
        case "0", "4", "6", "h", "M", "c", "x", "3", "i": .text
        default: .binary
        }
    }

    /// True if a reply without even the terminating line is a failure: many servers close like this
    /// for an unknown selector.
    package var neverIsEmpty: Bool { form == .menu || self == .text }

    package var kind: Item.Kind {
        switch Unicode.Scalar(character) {
        case "1": .menu
        case "7": .search
        case "3": .error
        case "i": .info
        case "8", "T": .telnet
        case "2": .external
        case "g", "I", "p": .image
        default: form == .text ? .text : .binary
        }
    }

    /// The media type by item type, or by file name where the item type leaves it open.
    package func mediaType(path: String) -> MediaType {
        switch Unicode.Scalar(character) {
        case "1", "7": MediaType("application/gopher-menu")
        case "0", "3", "i": MediaType("text/plain")
        case "h": MediaType("text/html")
        case "4": MediaType("application/mac-binhex40")
        case "6": MediaType("text/x-uuencode")
        case "M": MediaType("multipart/mixed")
        case "c": MediaType("text/calendar")
        case "x": MediaType("application/xml")
        case "g": MediaType("image/gif")
        case "p": MediaType("image/png")
        default: Self.binaryType(path) ?? MediaType("application/octet-stream")
        }
    }

    /// True if ``mediaType(path:)`` uses the file name instead of the item type.
    package func isNamed(by path: String) -> Bool {
        let isVague = form == .binary && !"gp".utf8.contains(character)
        return isVague && Self.binaryType(path) != nil
    }

    /// The type by file name, unless it is text: text has item types of its own.
    private static func binaryType(_ path: String) -> MediaType? {
        MediaType(ofFile: path).flatMap { type in
            let isText = type.isText && !type.essence.hasPrefix("image/")
            return isText ? nil : type
        }
    }
}
