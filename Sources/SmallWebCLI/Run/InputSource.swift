// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb
internal import SmallWebRecords

enum InputSource {
    /// Limit: input is held in memory until it is sent.
    private static let bytesMax = 64 << 20

    /// The data of a request, or the file to read it from when it is sent.
    typealias Origin = RequestLine.Payload

    /// The text itself, or for `@FILE` the file's lines, without empty ones.
    static func lines(_ value: String) throws(FetchError) -> [String] {
        guard value.hasPrefix("@") else { return [value] }
        return String(decoding: try read(value), as: UTF8.self).split(whereSeparator: \.isNewline)
            .map(String.init)
    }

    /// The text itself, for `@FILE` the content of the file, for `@-` standard input.
    static func read(_ value: String) throws(FetchError) -> [UInt8] {
        guard value.hasPrefix("@") else { return value.systemBytes }
        return try readFile(String(value.dropFirst()), Patience())
    }

    static func name(of name: String) -> String { name == "-" ? "standard input" : name }

    fileprivate static func readFile(
        _ name: String, _ patience: Patience
    ) throws(FetchError) -> [UInt8] {
        do throws(SystemError) {
            // Opening may block until the other end of a FIFO opens.
            let file = Descriptor(
                owning: try patience.call {
                    name == "-" ? dup(0) : open(name, O_RDONLY | O_CLOEXEC)
                })
            return try FileBytes.read(file.borrowed, limit: bytesMax, by: patience.call)
        } catch {
            throw failure(error, of: name, "cannot read \(self.name(of: name))")
        }
    }

    /// - Parameter message: Message for errors other than a timeout or a signal.
    static func failure(_ error: SystemError, of name: String, _ message: String) -> FetchError {
        Patience.failure(error, "\(self.name(of: name)) did not come to its end in time")
            ?? FetchError(.read, .input, message, error)
    }

    /// Removes the line end that editors and `echo` add.
    static func withoutLineEnd(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        if bytes.last == ASCII.lineFeed { bytes.removeLast() }
        if bytes.last == ASCII.carriageReturn { bytes.removeLast() }
        return bytes
    }
}

extension RequestLine.Payload {
    /// True if the data comes from a file, so that it is not visible in the process list.
    var isSecret: Bool { if case .file = self { true } else { false } }

    /// - Parameter seconds: Timeout for the other end of a FIFO; 0 for no limit.
    func read(within seconds: Double) throws(FetchError) -> [UInt8] {
        switch self {
        case .bytes(let bytes): bytes
        case .file(let path): try InputSource.readFile(path, Patience(seconds: seconds))
        }
    }
}
