// SPDX-License-Identifier: MIT
internal import Foundation
internal import SmallWebCLI

// Writes the files made from the tables, for `make generated`: the manual, the completion files and
// the desktop entry. A program of its own, to keep the installed one smaller.
guard CommandLine.arguments.count == 3 else {
    FileHandle.standardError.write(Data("usage: smallweb-manual DOCS TARGET\n".utf8))
    exit(2)
}
let (docs, target) = (CommandLine.arguments[1], CommandLine.arguments[2])
var files = try Manual.pages(docs: docs).map { ("man/" + $0.file, $0.text) }
files += CompletionScripts.all.map { ("completions/" + $0.file, $0.text()) }
files.append(("docs/packaging/smallweb.desktop", DesktopEntry.text))
for (path, text) in files {
    let file = URL(filePath: target).appending(path: path)
    try FileManager.default.createDirectory(
        at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try text.write(to: file, atomically: true, encoding: .utf8)
}
