// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// What a data packet carries once side-band-64k is in use: its first byte says which of three
/// streams the rest belongs to.
enum Sideband: Hashable, Sendable {
    /// The pack or archive. Empty in a packet that only keeps the connection alive.
    case data(ArraySlice<UInt8>)
    /// Text for people, cut anywhere, maybe empty.
    case progress(ArraySlice<UInt8>)
    /// Why the server gives up; nothing follows.
    case fatal(String)

    /// - Parameter payload: Of one packet.
    /// - Throws: `protocol-error` for no or another stream.
    init(_ payload: ArraySlice<UInt8>) throws(FetchError) {
        let rest = payload.dropFirst()
        switch payload.first {
        case 1: self = .data(rest)
        case 2: self = .progress(rest)
        case 3:
            let text = rest.last == ASCII.lineFeed ? rest.dropLast() : rest
            self = .fatal(String(decoding: text, as: UTF8.self))
        case let band?:
            throw FetchError(.protocolError, .body, "a packet of side band \(band)")
        case nil:
            throw FetchError(.protocolError, .body, "a packet without its side band")
        }
    }
}
