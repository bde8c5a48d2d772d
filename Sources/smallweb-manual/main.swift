// SPDX-License-Identifier: MIT
internal import Foundation
internal import SmallWebCLI

// What is made of the tables, for `make generated`: the manual, the completion files and the entry
// of the desktop. It has a program of its own, so that the installed one is smaller.
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
