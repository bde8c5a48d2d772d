// SPDX-License-Identifier: MIT

/// Divides the bytes of a stream into messages, and makes the bytes of one. Pure: it holds nothing,
/// so a protocol may change from one framer to another between two messages.
///
/// `ByteStream.readMessage(by:)` reads by it. ``LineFramer`` and ``LengthFramer`` are two.
public protocol Framer<Message>: Sendable {
    /// The content of one frame.
    associatedtype Message

    /// The bytes of a message, ready to send.
    ///
    /// - Throws: For a message that would not arrive as it is.
    func frame(_ message: Message) throws(FetchError) -> [UInt8]

    /// The number of bytes of the first frame, as far as it can be known: if there are as many, the
    /// frame is whole.
    ///
    /// - Parameter bytes: All that has come of the frame, and perhaps more; empty at first.
    /// - Returns: 1 or more; more than there are if the frame is not whole.
    /// - Throws: `protocol-error` for bytes that begin no frame, or one beyond the framer's limit.
    func needs(_ bytes: ArraySlice<UInt8>) throws(FetchError) -> Int

    /// The message of one frame.
    ///
    /// - Parameter frame: As many bytes as it ``needs(_:)``.
    /// - Throws: `protocol-error` for a frame with another content.
    func unframe(_ frame: ArraySlice<UInt8>) throws(FetchError) -> Message
}

/// Messages that follow their length, an integer of one to eight bytes, the most significant first.
public struct LengthFramer: Framer {
    /// Size of the length, in bytes.
    public let prefixBytes: Int
    /// Limit of a message's size, in bytes, without its length.
    public let messageBytesMax: Int

    /// - Parameters:
    ///   - prefixBytes: Size of the length, in bytes, 1 to 8.
    ///   - messageBytesMax: Limit of a message's size, in bytes, 0 or more.
    public init(prefixBytes: Int, messageBytesMax: Int = 1 << 20) {
        precondition(1...8 ~= prefixBytes && 0...(Int.max - 8) ~= messageBytesMax)
        (self.prefixBytes, self.messageBytesMax) = (prefixBytes, messageBytesMax)
    }

    /// The length of a message, and the message.
    ///
    /// - Throws: `usage` for a message beyond the limit, or longer than the prefix can say.
    public func frame(_ message: ArraySlice<UInt8>) throws(FetchError) -> [UInt8] {
        let length = UInt64(message.count)
        guard message.count <= messageBytesMax, prefixBytes == 8 || length >> (8 * prefixBytes) == 0
        else { throw usageError("a message of \(length) bytes is too long to send") }
        return (1...prefixBytes).map {
            UInt8(truncatingIfNeeded: length >> (8 * (prefixBytes - $0)))
        }
            + message
    }

    /// Bytes of the length, or of length and message.
    ///
    /// - Throws: `protocol-error` for a message beyond the limit.
    public func needs(_ bytes: ArraySlice<UInt8>) throws(FetchError) -> Int {
        guard bytes.count >= prefixBytes else { return prefixBytes }
        let length = bytes.prefix(prefixBytes).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard length <= messageBytesMax else {
            throw FetchError(
                .protocolError, .body,
                "a message of \(length) bytes, where \(messageBytesMax) are allowed")
        }
        return prefixBytes + Int(length)
    }

    /// The message behind its length.
    public func unframe(_ frame: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        frame.dropFirst(prefixBytes)
    }
}
