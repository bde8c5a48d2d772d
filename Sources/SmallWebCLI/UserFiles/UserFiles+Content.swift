// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb

extension UserFiles {
    /// Expands `~/` to the home directory.
    static func withHome(_ path: String) -> String {
        guard path.hasPrefix("~/"), let home = Environment.variable("HOME") else { return path }
        return home + path.dropFirst()
    }

    /// Reads a required file completely; blocks on a FIFO.
    ///
    /// - Parameter what: The kind of file for the message, such as `the history`.
    /// - Throws: `read`.
    static func content(
        of path: String, _ what: String, _ patience: Patience = Patience()
    ) throws(FetchError) -> [UInt8] {
        do throws(SystemError) {
            let file = Descriptor(
                owning: try patience.call { open(path, O_RDONLY | O_CLOEXEC) })
            return try FileBytes.read(file.borrowed, limit: 4 << 20)
        } catch {
            if let failure = Patience.failure(error, "no program opens \(path) to write it") {
                throw failure
            }
            throw FetchError(.read, .input, "cannot read \(what) \(path)", error)
        }
    }
}
