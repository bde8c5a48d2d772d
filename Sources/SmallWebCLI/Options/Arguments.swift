// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import SmallWeb

/// The words that the program was called with, exactly.
package enum Arguments {
    /// Without the program's own name. Not `CommandLine.arguments`: that reads /proc, which a
    /// chroot may lack, and replaces what is not UTF-8.
    package static var words: [String] {
        (1..<max(1, Int(swposix_argument_count()))).compactMap { index in
            swposix_arguments().map { String(systemName: $0[index]) }
        }
    }
}
