// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import SmallWebFormats

/// Reads the lines of a gopher menu that came by another scheme.
struct MenuItems {
    /// Limit of items that are held; more are dropped.
    static let heldMax = 10_000

    private var reader: MenuReader
    private var held: [Item] = []
    private let isHeld: Bool
    /// True once lines were dropped.
    private(set) var isCut = false

    /// - Parameter isHeld: True to hold the items until the end: a program may send its own.
    /// - Returns: `nil` for a reply that is not such a menu.
    init?(_ head: Head, of request: Request, isHeld: Bool) {
        guard head.mediaType?.essence == "application/gopher-menu", head.replyClass == .success,
            !request.scheme.readsMenus, request.wantsItems, !request.wantsRawBody
        else { return nil }
        self.isHeld = isHeld
        reader = MenuReader(base: request.uri, lineBytesMax: request.limits.lineBytesMax)
    }

    /// A line that is too long ends the menu here; the bytes are delivered all the same.
    mutating func add(_ bytes: ArraySlice<UInt8>) -> [Item] {
        let items = reader.add(bytes).items
        if isHeld {
            isCut = isCut || items.count > Self.heldMax - held.count
            held += items.prefix(Self.heldMax - held.count)
        }
        return isHeld ? [] : items
    }

    mutating func finish() -> [Item] { held + (reader.finish().map { [$0] } ?? []) }
}
