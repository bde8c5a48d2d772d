// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc

/// A failed system call's `errno`.
package struct SystemError: Error, Sendable, Hashable {
    package let number: Int32

    package init(number: Int32) { self.number = number }

    /// Such as `ECONNREFUSED`; `errno N` for rare ones.
    package var name: String {
        swposix_error_name(number).map { String(cString: $0) } ?? "errno \(number)"
    }

    package var remedy: FetchError.Remedy? { number == EMFILE ? .raise(.openFiles) : nil }

    /// The system's message, beginning in lower case.
    package var sentence: String {
        let text = String(cString: strerror(number))
        return text.prefix(1).lowercased() + text.dropFirst()
    }
}

extension FetchError {
    /// The error of a failed system call: `message` followed by the system's message.
    package init(
        _ outcome: Outcome, _ phase: Phase, _ message: String, _ error: SystemError,
        hint: String? = nil, remedy: Remedy? = nil
    ) {
        self.init(
            outcome, phase, "\(message): \(error.sentence)", errnoName: error.name, hint: hint)
        if let remedy { self.remedy = remedy }
    }
}

/// Runs a call that returns -1 on failure, and repeats it after EINTR.
///
/// Every result of a system call is used. Where a failure does not break a promise, the code has
/// `_ = call(…)` with the reason above it; only calls that release something (`close`, `unlink`,
/// `rmdir`, `kill`) stand alone. `TidyTests` checks that.
package func systemCall(_ call: () -> Int32) throws(SystemError) -> Int32 {
    try repeating(call)
}

/// Same for calls that return a count.
package func systemCall(_ call: () -> Int) throws(SystemError) -> Int { try repeating(call) }

// Specialized for both types here; elsewhere it would request metadata at each call.
private func repeating<Value: SignedInteger>(_ call: () -> Value) throws(SystemError) -> Value {
    while true {
        let value = call()
        if value != -1 { return value }
        // errno belongs to the thread: no call may come between.
        let number = errno
        if number != EINTR { throw SystemError(number: number) }
    }
}

/// Writes all of `bytes` to a blocking descriptor.
///
/// - Parameter run: Makes each call, repeating it if needed.
package func writeAll(
    _ bytes: ArraySlice<UInt8>, to file: Int32,
    by run: (_ call: () -> Int) throws(SystemError) -> Int = systemCall
) throws(SystemError) {
    var rest = bytes
    while !rest.isEmpty {
        let count = try run { rest.withUnsafeBytes { write(file, $0.baseAddress, $0.count) } }
        // No file returns 0; if one did, the loop would not end.
        guard count > 0 else { throw SystemError(number: EIO) }
        rest = rest.dropFirst(count)
    }
}
