// SPDX-License-Identifier: MIT
internal import CSmallWebZlib
internal import Glibc

/// Compresses successive streams, each to one member of a gzip file (RFC 1952), by zlib.
package final class Deflater {
    private let functions: swzlib_functions
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
        let strategy = size == .tiny ? swzlib_huffman_only : swzlib_default_strategy
        (functions, stream) = try makeStream {
            swzlib_deflate_init(&$0, $1, Self.level, size.memoryLevel, Int32(strategy))
        }
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

/// Decompresses a stream that arrives in arbitrary pieces, by zlib.
///
/// The stream marks its own end, so other bytes may follow it.
package final class Inflater {
    package enum Format: Sendable {
        /// A zlib stream (RFC 1950).
        case zlib
        /// One member of a gzip file (RFC 1952).
        case gzip

        fileprivate var windowBits: Int {
            switch self {
            case .zlib: swzlib_zlib
            case .gzip: swzlib_gzip
            }
        }
    }

    /// Limit of the output of one call, in bytes.
    package static let outputBytesMax = 65_536

    /// True once the stream has ended with a correct checksum.
    package private(set) var isFinished = false
    private var hasBegun = false
    private let functions: swzlib_functions
    private let stream: UnsafeMutablePointer<swzlib_stream>
    private var output = [UInt8](repeating: 0, count: outputBytesMax)

    /// - Throws: `not-built-in` when libz is not installed, or lacks a function.
    package init(_ format: Format) throws(FetchError) {
        (functions, stream) = try makeStream {
            swzlib_inflate_init(&$0, $1, Int32(format.windowBits))
        }
    }

    deinit {
        _ = functions.inflateEnd(stream)
        stream.deallocate()
    }

    /// True between streams: the next byte begins one.
    package var isBetweenStreams: Bool { !hasBegun || isFinished }

    /// Prepares for another stream, reusing the memory.
    package func reset() {
        (isFinished, hasBegun) = (false, false)
        let code = functions.inflateReset(stream)
        precondition(code == swzlib_ok)
    }

    /// Returns the next output, at most ``outputBytesMax`` bytes.
    ///
    /// Empty when the stream has ended (see ``isFinished``), or when it has consumed `input` and
    /// needs more: call it until then. Releasing the output before the next call saves a copy.
    ///
    /// - Parameter input: The stream's next bytes. Consumed bytes are removed from its front, but
    ///   none after the end of the stream.
    /// - Throws: `protocol-error` for corrupt data.
    package func inflate(_ input: inout ArraySlice<UInt8>) throws(FetchError) -> ArraySlice<UInt8> {
        guard !isFinished else { return [] }
        hasBegun = true
        let code = input.prefix(Int(Int32.max)).withUnsafeBytes { from in
            output.withUnsafeMutableBytes { to in
                stream.pointee.next_in = from.baseAddress?.assumingMemoryBound(to: UInt8.self)
                stream.pointee.avail_in = UInt32(from.count)
                stream.pointee.next_out = to.baseAddress?.assumingMemoryBound(to: UInt8.self)
                stream.pointee.avail_out = UInt32(to.count)
                let code = functions.inflate(stream, Int32(swzlib_no_flush))
                input = input.dropFirst(from.count - Int(stream.pointee.avail_in))
                return code
            }
        }
        switch code {
        case Int32(swzlib_stream_end): isFinished = true
        // A buffer error only means that no progress was possible.
        case Int32(swzlib_ok), Int32(swzlib_buffer_error): break
        case Int32(swzlib_data_error), Int32(swzlib_need_dictionary):
            let reason = stream.pointee.msg.map { String(cString: $0) } ?? "it needs a dictionary"
            throw FetchError(.protocolError, .body, "corrupt compressed data: \(reason)")
        default: throw FetchError(.internal, .body, "zlib failed with \(code)")
        }
        return output[..<(output.count - Int(stream.pointee.avail_out))]
    }
}

/// zlib, opened at the first use in the process.
private let zlib = Result { () throws(FetchError) -> swzlib_functions in
    var functions = swzlib_functions()
    try SystemLibrary.open(
        [["libz.so.1"]], RTLD_LAZY | RTLD_LOCAL, for: "compression needs zlib", in: "zlib1g"
    ) { swzlib_load($0, &functions) }
    return functions
}

/// A stream of zlib in memory of its own, because zlib keeps its address.
///
/// - Throws: `not-built-in` when libz is not installed, or is an unknown version.
private func makeStream(
    _ open: (inout swzlib_functions, UnsafeMutablePointer<swzlib_stream>) -> Int32
) throws(FetchError) -> (swzlib_functions, UnsafeMutablePointer<swzlib_stream>) {
    var functions = try zlib.get()
    let stream = UnsafeMutablePointer<swzlib_stream>.allocate(capacity: 1)
    stream.initialize(to: swzlib_stream())
    guard open(&functions, stream) == swzlib_ok else {
        stream.deallocate()
        let version = String(cString: functions.zlibVersion())
        throw FetchError(.notBuiltIn, .input, "zlib \(version) cannot be used")
    }
    return (functions, stream)
}
