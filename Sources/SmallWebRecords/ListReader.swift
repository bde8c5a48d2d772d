// SPDX-License-Identifier: MIT
internal import Glibc
package import SmallWeb

/// The lines of a file that may be a pipe, with memory for one buffer and one line. Blank lines and
/// lines that begin with `#` are left out.
package final class ListReader {
    package enum Taken {
        /// Without white space around it; `number` counts from 1.
        case line(ArraySlice<UInt8>, number: Int)
        case tooLong(number: Int)
        case nothing
        /// Reading failed, so the list is over.
        case failed(FetchError)
        case end
    }

    /// Limit of one line; a longer one is refused.
    package static let lineBytesMax = 1 << 20

    package static func tooLong(_ number: Int) -> FetchError {
        usageError(
            "line \(number): longer than \(lineBytesMax) bytes",
            hint: "give large data by its path")
    }

    package let descriptor: Int32
    private let name: String
    private var framer: LineFramer
    private var lines: ArraySlice<LineFramer.Line> = []
    private var isAtEnd = false
    /// True if the last line has no line feed.
    package private(set) var isTorn = false

    /// - Parameter name: A file, or `-` for standard input.
    /// - Throws: `read`.
    package init(_ name: String, lineBytesMax: Int = ListReader.lineBytesMax) throws(FetchError) {
        self.name = name
        framer = LineFramer(lineBytesMax: lineBytesMax)
        do throws(SystemError) {
            // Without O_NONBLOCK, opening a pipe waits for its writer and holds up everything.
            descriptor = try systemCall {
                name == "-"
                    ? fcntl(0, F_DUPFD_CLOEXEC, 3) : open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            }
        } catch {
            throw Self.failure(name, error)
        }
    }

    deinit { close(descriptor) }

    package func take() -> Taken {
        while true {
            while let line = lines.popFirst() {
                if let taken = Self.taken(line) { return taken }
            }
            if isAtEnd { return .end }
            do throws(SystemError) {
                guard try fill() else { return .nothing }
            } catch {
                return .failed(Self.failure(name, error))
            }
        }
    }

    /// Reads the available bytes; false if there are none yet.
    private func fill() throws(SystemError) -> Bool {
        var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        // After a signal the result is -1, and a read would block.
        guard poll(&event, 1, 0) > 0 else { return false }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        do throws(SystemError) {
            let count = try systemCall { read(descriptor, &buffer, buffer.count) }
            isAtEnd = count == 0
            isTorn = isAtEnd && framer.isWithinLine
            lines = framer.split(buffer[..<count], isLast: isAtEnd)[...]
            return true
        } catch {
            if error.number == EAGAIN { return false }
            throw error
        }
    }

    /// `nil` for a line with nothing in it, and for the rest of one that is too long.
    private static func taken(_ line: LineFramer.Line) -> Taken? {
        let (bytes, number) = (line.bytes, line.number)
        guard line.isWhole else { return line.isBeginning ? .tooLong(number: number) : nil }
        guard let first = bytes.firstIndex(where: { !ASCII.isSpace($0) }),
            let last = bytes.lastIndex(where: { !ASCII.isSpace($0) }),
            bytes[first] != UInt8(ascii: "#")
        else { return nil }
        return .line(Array(bytes[first...last])[...], number: number)
    }

    private static func failure(_ name: String, _ error: SystemError) -> FetchError {
        FetchError(
            .read, .input, "cannot read the list \(name == "-" ? "standard input" : name)", error)
    }
}
