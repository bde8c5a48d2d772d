// SPDX-License-Identifier: MIT
internal import SmallWeb

/// Opens a URL with the desktop's program for it.
enum HandOver {
    /// Runs `xdg-open` without a shell and waits for its end.
    ///
    /// - Throws: `usage` for a URL that must not be passed to other programs, `write` if it fails.
    static func open(_ url: String) throws(FetchError) {
        let word = try word(for: url)
        guard let status = Program.run(["xdg-open", word]) else {
            throw FetchError(
                .write, .output, "cannot open \(word): xdg-open is not installed",
                hint: "install the package xdg-utils, or copy the URL to another program")
        }
        guard status == 0 else {
            throw FetchError(
                .write, .output, "xdg-open could not open \(word) (exit status \(status))",
                hint: status >= 128
                    ? nil
                    : "'xdg-mime query default x-scheme-handler/\(URI.scheme(of: word) ?? "")' "
                        + "says which program is for it")
        }
    }

    /// The argument of `xdg-open`: an absolute URL of printable ASCII. It begins with its scheme,
    /// so it is neither an option nor a file name.
    ///
    /// - Throws: `bad-url`, `usage`.
    static func word(for url: String) throws(FetchError) -> String {
        let uri = try URI(parsing: url).withASCIIHost()
        // A page must not reach local files.
        guard uri.scheme != "file" else {
            throw usageError("\(uri.display) is a file of this machine: open it yourself")
        }
        guard !(uri.userinfo?.contains(":") ?? false) else {
            throw usageError(
                "\(uri.display) has a password, which the list of processes would show")
        }
        return uri.description
    }
}
