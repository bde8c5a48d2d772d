// SPDX-License-Identifier: MIT
internal import Glibc

/// The one owner of a file descriptor. To copy it, or to use it once consumed, does not compile.
package struct Descriptor: ~Copyable {
    private let number: Int32

    /// Takes ownership of `number`, which must be open.
    package init(owning number: Int32) {
        precondition(number >= 0)
        self.number = number
    }

    deinit { _ = Glibc.close(number) }

    /// The number, lent for a system call while the owner lives.
    package var borrowed: Int32 { number }
}
