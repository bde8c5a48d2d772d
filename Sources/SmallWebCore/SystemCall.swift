// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc

/// A failed system call's `errno`.
public struct SystemError: Error, Sendable, Hashable {
    public let number: Int32

    public init(number: Int32) { self.number = number }

    /// `ECONNREFUSED` and the like; `errno N` for the rare ones.
    public var name: String {
        swposix_error_name(number).map { String(cString: $0) } ?? "errno \(number)"
    }

    /// The system's sentence, beginning in lower case.
    public var sentence: String {
        let text = String(cString: strerror(number))
        return text.prefix(1).lowercased() + text.dropFirst()
    }
}

/// Runs a call that returns -1 on failure, again after each EINTR.
public func systemCall<Value: SignedInteger>(_ call: () -> Value) throws(SystemError) -> Value {
    while true {
        let value = call()
        if value != -1 { return value }
        // Nothing may come between the call and this line: errno belongs to the thread.
        let number = errno
        if number != EINTR { throw SystemError(number: number) }
    }
}
