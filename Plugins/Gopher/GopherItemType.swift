// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// An item type: one character that says what a selector leads to (RFC 1436 §3.8, and common use).
struct GopherItemType: Hashable {
    let character: UInt8

    enum Form {
        case menu, text, binary
    }

    static let menu = GopherItemType("1")
    static let search = GopherItemType("7")
    static let error = GopherItemType("3")
    static let info = GopherItemType("i")
    static let html = GopherItemType("h")

    init(_ character: Unicode.Scalar) { self.character = UInt8(ascii: character) }
    init(byte: UInt8) { character = byte }

    var name: String { String(decoding: [character], as: UTF8.self) }

    /// How the bytes of a reply are framed.
    var form: Form {
        switch character {
        case UInt8(ascii: "1"), UInt8(ascii: "7"): .menu
        case UInt8(ascii: "0"), UInt8(ascii: "4"), UInt8(ascii: "6"), UInt8(ascii: "h"),
            UInt8(ascii: "M"), UInt8(ascii: "c"), UInt8(ascii: "x"), UInt8(ascii: "3"),
            UInt8(ascii: "i"):
            .text
        default: .binary
        }
    }

    /// What a menu line of this type is for a person.
    var kind: Item.Kind {
        switch character {
        case UInt8(ascii: "1"): .menu
        case UInt8(ascii: "7"): .search
        case UInt8(ascii: "3"): .error
        case UInt8(ascii: "i"): .info
        case UInt8(ascii: "8"), UInt8(ascii: "T"): .telnet
        case UInt8(ascii: "2"): .external
        case UInt8(ascii: "g"), UInt8(ascii: "I"), UInt8(ascii: "p"): .image
        default: form == .text ? .text : .binary
        }
    }

    /// A media type by item type, by file name where the type only says "some image".
    func mediaType(path: String) -> MediaType {
        switch character {
        case UInt8(ascii: "1"), UInt8(ascii: "7"): MediaType("application/gopher-menu")
        case UInt8(ascii: "0"), UInt8(ascii: "3"), UInt8(ascii: "i"): MediaType("text/plain")
        case UInt8(ascii: "h"): MediaType("text/html")
        case UInt8(ascii: "4"): MediaType("application/mac-binhex40")
        case UInt8(ascii: "6"): MediaType("text/x-uuencode")
        case UInt8(ascii: "M"): MediaType("multipart/mixed")
        case UInt8(ascii: "c"): MediaType("text/calendar")
        case UInt8(ascii: "x"): MediaType("application/xml")
        case UInt8(ascii: "g"): MediaType("image/gif")
        case UInt8(ascii: "p"): MediaType("image/png")
        default: Self.binaryType(path) ?? MediaType("application/octet-stream")
        }
    }

    /// Whether ``mediaType(path:)`` found the type by the name rather than by the item type.
    func isNamed(by path: String) -> Bool {
        let isVague = form == .binary && !"gp".utf8.contains(character)
        return isVague && Self.binaryType(path) != nil
    }

    /// What the name says, unless that is text: an item type for text would have said so.
    private static func binaryType(_ path: String) -> MediaType? {
        MediaType(ofFile: path).flatMap { type in
            let isText = type.isText && !type.essence.hasPrefix("image/")
            return isText ? nil : type
        }
    }
}
