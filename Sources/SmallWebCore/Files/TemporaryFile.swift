// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc

/// Files without a name: they disappear with the process.
package enum TemporaryFile {
    package static var directory: String { environmentVariable("TMPDIR") ?? "/var/tmp" }

    /// - Parameter preferred: Directory for the file, if it can have files without a name.
    /// - Returns: A descriptor for reading and writing, owned by the caller.
    package static func open(in preferred: String? = nil) throws(SystemError) -> Int32 {
        if let preferred {
            let file = swposix_unnamed_file(preferred.systemName)
            if file >= 0 { return file }
        }
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
