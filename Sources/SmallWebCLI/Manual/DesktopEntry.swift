// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebPlugins

/// The file by which a desktop knows that smallweb opens links: what it registers, a user still has
/// to choose.
enum DesktopEntry {
    static var text: String {
        """
        [Desktop Entry]
        Type=Application
        Version=1.1
        Name=smallweb
        Comment=Open small-web links in a terminal
        TryExec=smallweb
        Exec=smallweb open -- %u
        Terminal=true
        NoDisplay=true
        Categories=Network;ConsoleOnly;
        MimeType=\(types.map { $0 + ";" }.joined())

        """
    }

    /// Schemes for reading. A link to http is for a browser, one to a Git repository or to a place
    /// for uploads is not followed by a click.
    private static var types: [String] {
        let schemes = Registry.builtIn.schemes.filter {
            $0.transport != .own && !["git", "titan"].contains($0.name)
        }
        return schemes.map { "x-scheme-handler/" + $0.name } + ["text/gemini"]
    }
}
