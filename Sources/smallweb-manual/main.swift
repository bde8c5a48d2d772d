// SPDX-License-Identifier: MIT
internal import Foundation
internal import SmallWeb
internal import SmallWebCLI

// Writes the files made from the tables, for `make generated`: the manual, the completion files and
// the desktop entry. A program of its own, to keep the installed one smaller.
guard CommandLine.arguments.count == 3 else {
    FileHandle.standardError.write(Data("usage: smallweb-manual DOCS TARGET\n".utf8))
    exit(2)
}
let (docs, target) = (CommandLine.arguments[1], CommandLine.arguments[2])
var files = try Manual.pages(docs: docs).map { ("man/" + $0.file, $0.text) }
files += Completion.scripts.map { ("completions/" + $0.file, $0.text()) }
files.append(("docs/packaging/smallweb.desktop", desktopEntry))
for (path, text) in files {
    let file = URL(filePath: target).appending(path: path)
    try FileManager.default.createDirectory(
        at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try text.write(to: file, atomically: true, encoding: .utf8)
}

/// Declares smallweb for opening links; the user chooses it. Schemes for reading that no other
/// program handles; web links belong to a browser.
private var desktopEntry: String {
    let schemes = Registry.builtIn.schemes.filter(\.opensOnDesktop)
    let types = schemes.map { "x-scheme-handler/" + $0.name } + ["text/gemini"]
    return """
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
