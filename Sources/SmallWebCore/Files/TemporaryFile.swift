// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc

/// Files without a name: they disappear with the process.
package enum TemporaryFile {
    package static var directory: String { environmentVariable("TMPDIR") ?? "/var/tmp" }

    /// - Returns: A descriptor for reading and writing, owned by the caller.
    package static func open() throws(SystemError) -> Int32 {
        let template = (directory + "/smallweb-XXXXXX").systemName
        var name = template
        let file = try systemCall {
            // An interrupted attempt has filled in the name.
            name = template
            return swposix_temporary_file(&name)
        }
        unlink(name)
        return file
    }
}
