// SPDX-License-Identifier: MIT
package import Glibc

/// The only owner of a file descriptor. Copies, and uses after consumption, do not compile.
package struct Descriptor: ~Copyable {
    private let number: Int32
    private var isLocked = false

    /// Takes ownership of `number`, which must be open.
    package init(owning number: Int32) {
        precondition(number >= 0)
        self.number = number
    }

    /// Opens a file, with O_CLOEXEC: child programs do not inherit it.
    package init(opening path: String, _ flags: Int32, mode: mode_t = 0) throws(SystemError) {
        self.init(owning: try systemCall { open(path, flags | O_CLOEXEC, mode) })
    }

    deinit {
        unlock()
        _ = Glibc.close(number)
    }

    /// Closes it. A full network disk may be reported only here.
    package consuming func close() throws(SystemError) {
        unlock()
        let status = Glibc.close(number)
        let error = SystemError(number: errno)
        discard self
        if status != 0 { throw error }
    }

    /// Takes the exclusive lock of the file (flock), which ends with the descriptor.
    ///
    /// - Parameter waits: True to wait for another process that has it.
    /// - Returns: False if another process has it.
    package mutating func lock(waits: Bool = false) throws(SystemError) -> Bool {
        let number = number
        do throws(SystemError) {
            _ = try systemCall { flock(number, waits ? LOCK_EX : LOCK_EX | LOCK_NB) }
            isLocked = true
        } catch {
            guard error.number == EWOULDBLOCK else { throw error }
        }
        return isLocked
    }

    /// Closing alone would leave the lock to a program that another thread is just starting.
    private func unlock() { if isLocked { _ = flock(number, LOCK_UN) } }

    /// The number, lent for a system call while the owner lives.
    package var borrowed: Int32 { number }
}
