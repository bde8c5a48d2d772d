// SPDX-License-Identifier: MIT
internal import Glibc

extension Request {
    /// A body to be stored. Redirects never send it again.
    public struct Upload: Sendable {
        /// Reads the next piece, at most 64 KiB; empty at the end.
        public typealias Next = @Sendable () throws(FetchError) -> [UInt8]

        /// The length of the body. A fetch of fewer or more bytes fails with `read`, before the
        /// server has as many. An empty body deletes the resource where
        /// ``Scheme/Uploads/deletesWhenEmpty``.
        public let byteCount: Int
        /// The media type of the body; empty for the scheme's usual one.
        public let mediaType: String
        /// The next piece, at most 64 KiB; empty at the end.
        public let next: Next
        /// Starts over, before each attempt of each fetch; `nil` for a body that is read once.
        public var rewind: (@Sendable () throws(FetchError) -> Void)?
        /// Begins a reading of its own for each fetch, so that several may run at the same time.
        private var begin: (@Sendable () -> Next)?
        /// Gets the length of each piece that a fetch has read.
        package var report: @Sendable (Int) -> Void = { _ in }

        private static let pieceBytes = 65_536

        /// A body that is read piece by piece, by one fetch at a time.
        public init(byteCount: Int, mediaType: String, next: @escaping Next) {
            (self.byteCount, self.mediaType, self.next) = (byteCount, mediaType, next)
        }

        /// Bytes in memory.
        public init(_ bytes: some Collection<UInt8>, mediaType: String = "") {
            let bytes = Array(bytes)
            self.init(bytes.count, mediaType) { offset in
                Array(bytes[offset...].prefix(Self.pieceBytes))
            }
        }

        /// A sequence of bytes, which each fetch iterates from its start.
        ///
        /// - Parameters:
        ///   - bytes: The bytes.
        ///   - byteCount: Their number.
        ///   - mediaType: Their media type; empty for the scheme's usual one.
        public init(
            _ bytes: some Sequence<UInt8> & Sendable, byteCount: Int, mediaType: String = ""
        ) {
            self.init(byteCount, mediaType) {
                // @unchecked: one fetch reads it, one piece after the other.
                nonisolated(unsafe) var rest = bytes.makeIterator()
                return {
                    var piece: [UInt8] = []
                    while piece.count < Self.pieceBytes, let byte = rest.next() {
                        piece.append(byte)
                    }
                    return piece
                }
            }
        }

        /// A regular file, as long as it is now.
        ///
        /// - Parameters:
        ///   - path: Its name.
        ///   - mediaType: Its media type; `nil` for that of its name, or the scheme's usual one.
        /// - Throws: `read` if it cannot be opened, or is not a regular file.
        public init(file path: String, mediaType: String? = nil) throws(FetchError) {
            do throws(SystemError) {
                let file = try Descriptor(opening: path, O_RDONLY | O_NONBLOCK)
                var facts = stat()
                _ = try systemCall { fstat(file.borrowed, &facts) }
                let isFile = facts.st_mode & S_IFMT == S_IFREG
                guard isFile else { throw SystemError(number: EINVAL) }
                let type = mediaType ?? MediaType(ofFile: path)?.essence ?? ""
                try self.init(reading: file, mediaType: type)
            } catch {
                throw FetchError(.read, .input, "cannot upload \(URI.display(path))", error)
            }
        }

        /// - Parameter file: A regular file, read from its present offset, which stays.
        package init(
            reading file: consuming Descriptor, mediaType: String
        ) throws(SystemError) {
            var facts = stat()
            _ = try systemCall { fstat(file.borrowed, &facts) }
            let start = try systemCall { lseek(file.borrowed, 0, SEEK_CUR) }
            let (byteCount, open) = (facts.st_size - start, OpenFile(file))
            self.init(byteCount, mediaType) { offset throws(FetchError) in
                do throws(SystemError) {
                    return try FileBytes.read(
                        open.file.borrowed, at: start + offset,
                        count: min(byteCount - offset, Self.pieceBytes))
                } catch {
                    throw FetchError(.read, .input, "cannot read the upload", error)
                }
            }
        }

        private final class OpenFile: Sendable {
            let file: Descriptor

            init(_ file: consuming Descriptor) { self.file = file }
        }

        /// - Parameter piece: Reads the piece at an offset.
        private init(
            _ byteCount: Int, _ mediaType: String,
            at piece: @escaping @Sendable (_ offset: Int) throws(FetchError) -> [UInt8]
        ) {
            self.init(byteCount, mediaType) {
                let place = Locked(0)
                return { () throws(FetchError) in
                    let piece = try piece(place.withLock { $0 })
                    place.withLock { $0 += piece.count }
                    return piece
                }
            }
        }

        private init(
            _ byteCount: Int, _ mediaType: String, beginning begin: @escaping @Sendable () -> Next
        ) {
            let own = Locked(begin())
            self.init(byteCount: byteCount, mediaType: mediaType) { () throws(FetchError) in
                try own.withLock { $0 }()
            }
            self.begin = begin
            rewind = { own.withLock { $0 = begin() } }
        }

        /// The body for one fetch, from its start.
        ///
        /// Its last piece is handed out once nothing follows it, so that a server never takes the
        /// beginning of a longer body for the whole.
        ///
        /// - Parameter usual: The media type of a body that names none.
        /// - Throws: `read` for bytes behind an empty body; errors of ``rewind``.
        package func begun(_ usual: String) throws(FetchError) -> Upload {
            if begin == nil { try rewind?() }
            let (byteCount, report, read) = (byteCount, report, begin?() ?? next)
            let more = FetchError(
                .read, .input, "the upload has more than its \(byteCount) bytes")
            if byteCount == 0, try !read().isEmpty { throw more }
            let taken = Locked(0)
            let type = mediaType.isEmpty ? usual : mediaType
            return Upload(byteCount: byteCount, mediaType: type) { () throws(FetchError) in
                let before = taken.withLock { $0 }
                if before == byteCount { return [] }
                let piece = try read()
                let count = before + piece.count
                if piece.isEmpty {
                    throw FetchError(
                        .read, .input, "the upload ended after \(count) of \(byteCount) bytes")
                }
                if count > byteCount { throw more }
                if count == byteCount, try !read().isEmpty { throw more }
                taken.withLock { $0 = count }
                report(piece.count)
                return piece
            }
        }
    }
}
