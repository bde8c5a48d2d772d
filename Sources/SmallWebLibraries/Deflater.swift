// SPDX-License-Identifier: MIT
internal import CSmallWebZlib
public import SmallWebCore

/// Compresses streams, one after the other, each to one member of a gzip file (RFC 1952), by zlib.
public final class Deflater {
    private let functions: swzlib_functions
    /// Allocated, because zlib keeps its address.
    private let stream: UnsafeMutablePointer<swzlib_stream>

    /// zlib's own default is 6, which takes three times as long for a tenth less.
    private static let level: Int32 = 2
    /// zlib's default of its memory, and as much as small streams need: it is cleared for each.
    private static let memoryLevels: (usual: Int32, small: Int32) = (8, 5)

    /// - Parameter isForSmallStreams: Whether they are a few kilobytes each.
    /// - Throws: `not-built-in` when libz is not installed, or is an unknown version.
    public init(isForSmallStreams: Bool = false) throws(FetchError) {
        var functions = try ZlibLibrary.shared()
        let stream = UnsafeMutablePointer<swzlib_stream>.allocate(capacity: 1)
        stream.initialize(to: swzlib_stream())
        let code = swzlib_deflate_init(
            &functions, stream, Self.level, Int32(swzlib_gzip),
            isForSmallStreams ? Self.memoryLevels.small : Self.memoryLevels.usual)
        guard code == swzlib_ok else {
            stream.deallocate()
            let version = String(cString: functions.zlibVersion())
            throw FetchError(.notBuiltIn, .input, "zlib \(version) cannot be used")
        }
        self.functions = functions
        self.stream = stream
    }

    deinit {
        _ = functions.deflateEnd(stream)
        stream.deallocate()
    }

    /// Adds the compressed form of `bytes` to `output`, as far as it is there.
    ///
    /// - Parameter isLast: Whether the member ends with them: all of it is in `output` then, and
    ///   what is compressed next begins another.
    public func deflate(_ bytes: UnsafeRawBufferPointer, to output: inout [UInt8], isLast: Bool) {
        var rest = bytes
        repeat {
            let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(1 << 30))
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(piece.count))
            deflatePiece(piece, to: &output, isLast: isLast && rest.isEmpty)
        } while !rest.isEmpty
        guard isLast else { return }
        let code = functions.deflateReset(stream)
        precondition(code == swzlib_ok)
    }

    private func deflatePiece(
        _ bytes: UnsafeRawBufferPointer, to output: inout [UInt8], isLast: Bool
    ) {
        stream.pointee.next_in = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_in = UInt32(bytes.count)
        let room = 16_384
        while true {
            var code: Int32 = 0
            output.append(addingCapacity: room) { buffer in
                stream.pointee.next_out = buffer.baseAddress
                stream.pointee.avail_out = UInt32(buffer.count)
                code = functions.deflate(stream, Int32(isLast ? swzlib_finish : swzlib_no_flush))
                return buffer.count - Int(stream.pointee.avail_out)
            }
            // Whatever it is given, only its state could make it fail.
            precondition(
                code == swzlib_ok || code == swzlib_stream_end || code == swzlib_buffer_error)
            if isLast ? code == swzlib_stream_end : stream.pointee.avail_out > 0 { return }
        }
    }
}

extension [UInt8] {
    /// Grows by what `body` writes into room of `count` bytes.
    fileprivate mutating func append(
        addingCapacity count: Int, _ body: (UnsafeMutableBufferPointer<UInt8>) -> Int
    ) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: count) { room in
            let written = body(room)
            append(contentsOf: UnsafeBufferPointer(rebasing: room[..<written]))
        }
    }
}
