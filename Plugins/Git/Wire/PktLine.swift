// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// A packet of Git's wire format (gitprotocol-common(5)): four hexadecimal digits with the length
/// of payload and digits together, and the payload. Lengths below four have special meanings.
enum PktLine: Hashable, Sendable {
    /// Up to ``payloadBytesMax`` bytes; an empty one should not be sent, but is accepted.
    case data(ArraySlice<UInt8>)
    case flush, delim, responseEnd

    static let bytesMax = 65_520
    static let payloadBytesMax = bytesMax - 4
    static let flushPacket = Array("0000".utf8)
    static let delimPacket = Array("0001".utf8)

    /// A data packet, ready to send.
    ///
    /// - Throws: `bad-url` when the payload is too long: only parts of a URL can be.
    static func encode(_ payload: some Collection<UInt8>) throws(FetchError) -> [UInt8] {
        guard payload.count <= payloadBytesMax else {
            throw .badURL("the request is longer than \(payloadBytesMax) bytes")
        }
        let length = payload.count + 4
        let digits = [UInt8(length >> 8), UInt8(length & 0xFF)].hex
        return Array(digits.utf8) + payload
    }

    /// A data packet of a text in UTF-8. No line feed is added.
    static func encode(_ text: String) throws(FetchError) -> [UInt8] { try encode(text.utf8) }

    /// The payload of a data packet without its optional line feed.
    var text: ArraySlice<UInt8>? {
        guard case .data(let payload) = self else { return nil }
        return payload.last == ASCII.lineFeed ? payload.dropLast() : payload
    }

    /// The server's reason for a refusal, if this is an `ERR` packet. It may come in place of any
    /// text.
    var serverError: String? {
        guard let text, text.starts(with: "ERR ".utf8) else { return nil }
        return String(decoding: text.dropFirst(4), as: UTF8.self)
    }
}

/// Limits messages without an answer, as the limit of a body does not cover them.
struct Overhead: Sendable {
    var bytesLeft = 256 << 20

    /// - Throws: `too-large` beyond the limit.
    mutating func add(bytes count: Int) throws(FetchError) {
        bytesLeft -= count
        guard bytesLeft >= 0 else {
            throw FetchError(
                .tooLarge, .body,
                "the server sent 256 MiB of messages and no answer")
        }
    }

    /// Counts a packet; an empty one costs time as well.
    mutating func add(_ packet: PktLine) throws(FetchError) {
        try add(bytes: 64 + (packet.text?.count ?? 0))
    }
}

/// Splits bytes that arrive in any pieces into packets. Pure.
///
/// It buffers the added bytes and at most one packet. A packet that is whole within one piece is a
/// slice of it, without a copy.
struct PktLineDecoder: Framer {
    /// Bytes added but not parsed yet.
    private var input: ArraySlice<UInt8> = []
    /// Beginning of an incomplete packet.
    private var partial: [UInt8] = []

    /// Buffered bytes that belong to no returned packet.
    var heldBytes: Int { input.count + partial.count }

    /// Adds the next bytes; cheapest when ``next()`` has consumed all bytes before.
    mutating func add(_ bytes: ArraySlice<UInt8>) {
        if input.isEmpty { input = bytes } else { input += bytes }
    }

    /// The next packet; `nil` when it is incomplete.
    ///
    /// - Throws: `protocol-error` for an invalid length, every time from then on.
    mutating func next() throws(FetchError) -> PktLine? {
        if partial.isEmpty {
            guard let length = try Self.length(input) else { return hold() }
            guard input.count >= max(length, 4) else { return hold() }
            defer { input = input.dropFirst(max(length, 4)) }
            return Self.packet(input, length)
        }
        fill(upTo: 4)
        guard let length = try Self.length(partial[...]) else { return nil }
        fill(upTo: length)
        guard partial.count >= length else { return nil }
        defer { partial = [] }
        return Self.packet(partial[...], length)
    }

    func frame(_ packet: PktLine) throws(FetchError) -> [UInt8] {
        switch packet {
        case .data(let payload): try PktLine.encode(payload)
        case .flush: PktLine.flushPacket
        case .delim: PktLine.delimPacket
        case .responseEnd: Array("0002".utf8)
        }
    }

    func needs(_ bytes: ArraySlice<UInt8>) throws(FetchError) -> Int {
        max(4, try Self.length(bytes) ?? 4)
    }

    func unframe(_ frame: ArraySlice<UInt8>) throws(FetchError) -> PktLine {
        Self.packet(frame, try Self.length(frame) ?? 0)
    }

    private mutating func hold() -> PktLine? {
        partial += input
        input = []
        return nil
    }

    private mutating func fill(upTo count: Int) {
        let missing = max(count - partial.count, 0)
        partial += input.prefix(missing)
        input = input.dropFirst(missing)
    }

    /// The length field: 0, 1, 2 or 4 to 65520; `nil` for less than four bytes.
    private static func length(_ bytes: ArraySlice<UInt8>) throws(FetchError) -> Int? {
        guard bytes.count >= 4 else { return nil }
        var length = 0
        for byte in bytes.prefix(4) {
            guard let digit = ASCII.hexValue(byte) else { throw malformed(bytes) }
            length = length << 4 | Int(digit)
        }
        guard length != 3 && length <= PktLine.bytesMax else { throw malformed(bytes) }
        return length
    }

    private static func packet(_ bytes: ArraySlice<UInt8>, _ length: Int) -> PktLine {
        switch length {
        case 0: .flush
        case 1: .delim
        case 2: .responseEnd
        default: .data(bytes.prefix(length).dropFirst(4))
        }
    }

    private static func malformed(_ bytes: ArraySlice<UInt8>) -> FetchError {
        let length = Array(bytes.prefix(4))
        let isText = length.allSatisfy { 0x20..<0x7F ~= $0 }
        let shown = isText ? "\"\(String(decoding: length, as: UTF8.self))\"" : "0x\(length.hex)"
        return FetchError(
            .protocolError, .body, "not the Git protocol: \(shown) where a packet's length belongs")
    }
}
