// SPDX-License-Identifier: MIT
internal import CSmallWebZlib

/// Compresses successive streams, each to one member of a gzip file (RFC 1952), by zlib.
package final class Deflater {
    private let functions: swzlib_functions
    /// Allocated, because zlib keeps its address.
    private let stream: UnsafeMutablePointer<swzlib_stream>
    private let room: UnsafeMutableBufferPointer<UInt8>

    /// The expected size of the streams. zlib clears its memory for each, so more memory takes
    /// longer.
    package enum StreamSize: Sendable {
        /// Shorter than ``tinyMax``. Repetitions are not searched for, which saves a quarter of the
        /// time, and makes headers of records longer by an eighth.
        case tiny
        /// Some kilobytes.
        case small
        case any

        /// zlib's "memLevel", from 1 to 9.
        fileprivate var memoryLevel: Int32 {
            switch self {
            case .tiny: 4
            case .small: 5
            case .any: 8
            }
        }
    }

    /// Exclusive limit of a tiny stream, in bytes; such a stream is a single block.
    package static let tinyMax = 1023

    /// zlib's default, 6, takes three times as long to save another tenth.
    private static let level: Int32 = 2

    /// - Throws: `not-built-in` when libz is not installed, or is an unknown version.
    package init(for size: StreamSize = .any) throws(FetchError) {
        var functions = try ZlibLibrary.shared()
        let stream = UnsafeMutablePointer<swzlib_stream>.allocate(capacity: 1)
        stream.initialize(to: swzlib_stream())
        let strategy = size == .tiny ? swzlib_huffman_only : swzlib_default_strategy
        let code = swzlib_deflate_init(
            &functions, stream, Self.level, size.memoryLevel, Int32(strategy))
        guard code == swzlib_ok else {
            stream.deallocate()
            let version = String(cString: functions.zlibVersion())
            throw FetchError(.notBuiltIn, .input, "zlib \(version) cannot be used")
        }
        self.functions = functions
        self.stream = stream
        room = .allocate(capacity: 16_384)
    }

    deinit {
        _ = functions.deflateEnd(stream)
        stream.deallocate()
        room.deallocate()
    }

    /// Appends compressed bytes to `output`, as far as zlib has produced them.
    ///
    /// - Parameter isLast: True to end the member: all of it is in `output` afterwards, and the
    ///   next call begins another.
    package func deflate(_ bytes: UnsafeRawBufferPointer, to output: inout [UInt8], isLast: Bool) {
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
        while true {
            stream.pointee.next_out = room.baseAddress
            stream.pointee.avail_out = UInt32(room.count)
            let code = functions.deflate(stream, Int32(isLast ? swzlib_finish : swzlib_no_flush))
            let written = room.count - Int(stream.pointee.avail_out)
            output += UnsafeBufferPointer(rebasing: room[..<written])
            // Input cannot make it fail; only a corrupt state could.
            precondition(
                code == swzlib_ok || code == swzlib_stream_end || code == swzlib_buffer_error)
            if isLast ? code == swzlib_stream_end : stream.pointee.avail_out > 0 { return }
        }
    }
}
