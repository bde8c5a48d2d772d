// SPDX-License-Identifier: MIT
internal import CSmallWebZlib

/// zlib, opened at the first use in the process.
enum ZlibLibrary {
    private static let loaded = Result { () throws(FetchError) -> swzlib_functions in
        var functions = swzlib_functions()
        if let problem = swzlib_load(&functions) {
            throw FetchError(
                .notBuiltIn, .input, "compression needs zlib: \(String(cString: problem))",
                hint: "install the package zlib1g")
        }
        return functions
    }

    /// - Throws: `not-built-in` when libz is not installed, or is an unknown version.
    static func shared() throws(FetchError) -> swzlib_functions { try loaded.get() }
}
