// SPDX-License-Identifier: MIT
package import Glibc

/// Names of files, arguments and variables as the system has them: bytes, usually UTF-8.
///
/// A `String` represents all of them exactly. A byte that is not part of UTF-8 becomes one of 128
/// private characters (U+10FE80 to U+10FEFF, by its value); a name that contains such a character
/// itself has it escaped byte by byte. The calls below undo that, so a name returns to the system
/// unchanged.
extension String {
    private static let firstEscape: UInt32 = 0x10FE00

    package init(systemBytes bytes: some Collection<UInt8>) {
        if let text = String(validating: bytes, as: UTF8.self), !text.hasSystemEscapes {
            self = text
            return
        }
        var scalars = UnicodeScalarView()
        var rest = bytes[...]
        var parser = Unicode.UTF8.ForwardParser()
        var iterator = bytes.makeIterator()
        while true {
            let count: Int
            switch parser.parseScalar(from: &iterator) {
            case .valid(let encoded):
                count = encoded.count
                let scalar = Unicode.UTF8.decode(encoded)
                if !scalar.isSystemEscape {
                    scalars.append(scalar)
                    rest = rest.dropFirst(count)
                    continue
                }
            case .error(let length): count = length
            case .emptyInput:
                self.init(scalars)
                return
            }
            for byte in rest.prefix(count) {
                // Invalid and private sequences consist of bytes above 0x7F.
                Unicode.Scalar(Self.firstEscape + UInt32(byte)).map { scalars.append($0) }
            }
            rest = rest.dropFirst(count)
        }
    }

    /// - Parameter name: Terminated by NUL.
    package init(systemName name: UnsafePointer<CChar>) {
        // Specialized for C strings; the generic check requests metadata at run time.
        if let text = String(validatingCString: name), !text.hasSystemEscapes {
            self = text
            return
        }
        let bytes = UnsafeRawBufferPointer(start: name, count: strlen(name))
        self.init(systemBytes: bytes)
    }

    /// Text that a C function has written into a buffer, up to its NUL.
    package init(buffer: [CChar]) {
        let bytes = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        self.init(decoding: bytes, as: UTF8.self)
    }

    package var systemBytes: [UInt8] {
        guard hasSystemEscapes else { return Array(utf8) }
        return unicodeScalars.flatMap { scalar -> [UInt8] in
            scalar.isSystemEscape
                ? [UInt8(truncatingIfNeeded: scalar.value)] : Array(String(scalar).utf8)
        }
    }

    /// NUL-terminated, for system calls.
    package var systemName: [CChar] { systemBytes.map { CChar(bitPattern: $0) } + [0] }
}

/// An environment variable; `nil` when unset or empty.
package func environmentVariable(_ name: String) -> String? {
    guard let value = getenv(name), value.pointee != 0 else { return nil }
    return String(systemName: value)
}

// System calls for names in a String. Overload resolution prefers these to the C library's, which
// would get wrong bytes for names that are not UTF-8.

package func open(_ path: String, _ flags: Int32) -> Int32 { Glibc.open(path.systemName, flags) }

package func open(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 {
    Glibc.open(path.systemName, flags, mode)
}

package func stat(_ path: String, _ status: UnsafeMutablePointer<stat>) -> Int32 {
    stat(path.systemName, status)
}

package func lstat(_ path: String, _ status: UnsafeMutablePointer<stat>) -> Int32 {
    Glibc.lstat(path.systemName, status)
}

package func access(_ path: String, _ mode: Int32) -> Int32 {
    Glibc.access(path.systemName, mode)
}

package func mkdir(_ path: String, _ mode: mode_t) -> Int32 { Glibc.mkdir(path.systemName, mode) }

@discardableResult
package func unlink(_ path: String) -> Int32 { Glibc.unlink(path.systemName) }

package func link(_ path: String, _ other: String) -> Int32 {
    Glibc.link(path.systemName, other.systemName)
}

package func rename(_ path: String, _ other: String) -> Int32 {
    Glibc.rename(path.systemName, other.systemName)
}

package func readlink(
    _ path: String, _ target: UnsafeMutablePointer<CChar>, _ count: Int
) -> Int {
    Glibc.readlink(path.systemName, target, count)
}

/// The caller frees the result.
package func realpath(
    _ path: String, _ resolved: UnsafeMutablePointer<CChar>?
) -> UnsafeMutablePointer<CChar>? {
    Glibc.realpath(path.systemName, resolved)
}

package func opendir(_ path: String) -> OpaquePointer? { Glibc.opendir(path.systemName) }
