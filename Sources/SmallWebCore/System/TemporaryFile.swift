// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc

/// Files without a name, which no end of the process can leave behind.
package enum TemporaryFile {
    package static var directory: String { environmentVariable("TMPDIR") ?? "/var/tmp" }

    /// - Returns: A file to be read and written, owned by the caller.
    package static func open() throws(SystemError) -> Int32 {
        let template = (directory + "/smallweb-XXXXXX").systemName
        var name = template
        let file = try systemCall {
            // An attempt that was interrupted has filled it in.
            name = template
            return swposix_temporary_file(&name)
        }
        unlink(name)
        return file
    }
}
