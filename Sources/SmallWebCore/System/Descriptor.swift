// SPDX-License-Identifier: MIT
package import Glibc

/// The only owner of a file descriptor. Copies, and uses after consumption, do not compile.
package struct Descriptor: ~Copyable {
    private let number: Int32

    /// Takes ownership of `number`, which must be open.
    package init(owning number: Int32) {
        precondition(number >= 0)
        self.number = number
    }

    /// Opens a file, with O_CLOEXEC: child programs do not inherit it.
    package init(opening path: String, _ flags: Int32, mode: mode_t = 0) throws(SystemError) {
        self.init(owning: try systemCall { open(path, flags | O_CLOEXEC, mode) })
    }

    deinit { _ = Glibc.close(number) }

    /// The number, lent for a system call while the owner lives.
    package var borrowed: Int32 { number }
}
