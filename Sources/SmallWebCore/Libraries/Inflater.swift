// SPDX-License-Identifier: MIT
internal import CSmallWebZlib

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
    /// Allocated, because zlib keeps its address.
    private let stream: UnsafeMutablePointer<swzlib_stream>
    private var output = [UInt8](repeating: 0, count: outputBytesMax)

    /// - Throws: `not-built-in` when libz is not installed, or lacks a function.
    package init(_ format: Format) throws(FetchError) {
        var functions = try ZlibLibrary.shared()
        let stream = UnsafeMutablePointer<swzlib_stream>.allocate(capacity: 1)
        stream.initialize(to: swzlib_stream())
        guard swzlib_inflate_init(&functions, stream, Int32(format.windowBits)) == swzlib_ok
        else {
            stream.deallocate()
            let version = String(cString: functions.zlibVersion())
            throw FetchError(.notBuiltIn, .input, "zlib \(version) cannot be used")
        }
        self.functions = functions
        self.stream = stream
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
