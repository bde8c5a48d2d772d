// SPDX-License-Identifier: MIT
internal import Glibc

/// A file of this machine that is sent as a page: a regular one, or the pipe that the process was
/// given to read. No device is opened, and no FIFO is waited for.
package struct LocalFile: ~Copyable {
    /// The standard input, whatever it is.
    private static let standardInput = "/dev/stdin"
    /// Other pipes of the process, as `<(command)` of a shell names them.
    private static let pipes = "/dev/fd/"
    private static let pieceBytesMax = 65_536
    /// Milliseconds for which the event loop waits for a pipe without looking at the deadline.
    private static let waitMax: Int32 = 20

    private let file: Descriptor
    package let isDirectory: Bool
    /// Size when it was opened, at which it ends even if it grows; `nil` for a pipe, and for files
    /// of the kernel, which say 0.
    package let byteCount: Int?
    private var left: Int

    /// - Throws: `read`, also for a device, a socket and a FIFO.
    package init(opening path: String) throws(FetchError) {
        do throws(SystemError) {
            let isInput = path == Self.standardInput
            guard isInput || path.hasPrefix(Self.pipes) || isFileOrDirectory(path) != false else {
                throw SystemError(number: EINVAL)
            }
            // Opening a socket fails, but it may be the input.
            let opened =
                isInput
                ? Descriptor(owning: try systemCall { fcntl(0, F_DUPFD_CLOEXEC, 3) })
                : try Descriptor(opening: path, O_RDONLY | O_NONBLOCK | O_NOCTTY)
            let number = opened.borrowed
            var facts = stat()
            _ = try systemCall { fstat(number, &facts) }
            let kind = facts.st_mode & S_IFMT
            isDirectory = kind == S_IFDIR
            let size = kind == S_IFREG ? Int(facts.st_size) : 0
            // A shell may have read a part of the input.
            let start = size > 0 && isInput ? max(0, Int(lseek(number, 0, SEEK_CUR))) : 0
            byteCount = size > 0 ? max(0, size - start) : nil
            left = byteCount ?? .max
            file = opened
        } catch {
            throw Self.failure(error, path)
        }
    }

    private static func failure(_ error: SystemError, _ path: String) -> FetchError {
        let shown = path.withoutSystemEscapes
        guard error.number != EINVAL else {
            return FetchError(.read, .input, "\(shown) is neither a file nor a directory")
        }
        return FetchError(.read, .input, "cannot read \(shown)", error)
    }

    /// True if it ended before the size that it had.
    package var isCut: Bool { byteCount != nil && left > 0 }

    /// The next piece; empty at the end.
    ///
    /// - Throws: `read`; `timeout` and `interrupted` of ``LongWork``.
    package mutating func next() async throws(FetchError) -> ArraySlice<UInt8> {
        var piece = [UInt8](repeating: 0, count: min(left, Self.pieceBytesMax))
        while !piece.isEmpty {
            try await LongWork.pause()
            guard let count = try readSome(&piece) else { continue }
            if count > 0 || byteCount == nil { left = count > 0 ? left - count : 0 }
            return piece[..<count]
        }
        return []
    }

    /// - Returns: 0 at the end, `nil` if nothing has come yet.
    private func readSome(_ piece: inout [UInt8]) throws(FetchError) -> Int? {
        let number = file.borrowed
        var state = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
        guard poll(&state, 1, Self.waitMax) > 0 else { return nil }
        do throws(SystemError) {
            return try systemCall { read(number, &piece, piece.count) }
        } catch {
            if error.number == EAGAIN { return nil }
            throw FetchError(.read, .body, "cannot read the rest", error)
        }
    }

    /// The visible names in a directory, sorted, with a slash behind those of directories.
    ///
    /// - Throws: `read`.
    package static func names(in directory: String) throws(FetchError) -> [String] {
        do throws(SystemError) {
            return try directoryNames(directory).map { name in
                fileKind("\(directory)/\(name)") == S_IFDIR ? name + "/" : name
            }
        } catch {
            throw failure(error, directory)
        }
    }

    /// True for a regular file, also at the end of links.
    package static func isThere(_ path: String) -> Bool { fileKind(path) == S_IFREG }
}
