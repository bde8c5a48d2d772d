// SPDX-License-Identifier: MIT
internal import SmallWeb

/// A desktop entry that declares smallweb for opening links; the user chooses it.
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

    /// Schemes for reading that no other program handles; web links belong to a browser.
    private static var types: [String] {
        let schemes = Registry.builtIn.schemes.filter(\.opensOnDesktop)
        return schemes.map { "x-scheme-handler/" + $0.name } + ["text/gemini"]
    }
}
