// SPDX-License-Identifier: MIT
internal import ExternalPlugin
internal import SmallWebCore
internal import SmallWebPlugins

/// Template of `plugin new`. The files are the sections of a text in `Templates`, each after a line
/// `== PATH`, or `== PATH program`; the one that has no path is the plugin in one file. `@NAME@` is
/// replaced by the plugin's name.
struct PluginTemplate {
    enum Language: String, Sendable, CaseIterable {
        case sh, python, swift

        /// Of a plugin in one file; `nil` for a program that has to be compiled.
        var fileEnding: String? { self == .sh ? ".sh" : self == .python ? ".py" : nil }
    }

    struct File {
        let path: String
        let isProgram: Bool
        var text = ""
    }

    let name: String
    /// The path of the file or folder.
    let place: String
    let isFolder: Bool
    private let language: Language
    private(set) var files: [File] = []

    /// - Parameter word: The name; with its ending for a file of that language, with a slash for a
    ///   folder.
    /// - Throws: `usage` for a name that plugins must not have.
    init(_ word: String, _ language: Language) throws(FetchError) {
        let named = Language.allCases.first { $0.fileEnding.map(word.hasSuffix) ?? false }
        let language = named ?? language
        isFolder = word.hasSuffix("/") || language.fileEnding == nil
        let end = named?.fileEnding ?? (word.hasSuffix("/") ? "/" : "")
        let name = String(word.dropLast(end.count))
        place = name + (isFolder ? "" : language.fileEnding ?? "")
        guard name != "fixtures" else {
            throw usageError(
                "a plugin cannot be called \"fixtures\": its program would have the name of their "
                    + "folder", hint: "smallweb plugin new dict")
        }
        try Self.refuseBuiltIn(name)
        (self.name, self.language) = (name, language)
        for line in String(decoding: Self.text(language), as: UTF8.self)
            .replacing(text: "@NAME@", with: name).split(
                separator: "\n", omittingEmptySubsequences: false
            ).dropLast()
        {
            if line.hasPrefix("== ") {
                let path = line.dropFirst(3).prefix { $0 != " " }
                files.append(File(path: String(path), isProgram: line.hasSuffix(" program")))
            } else {
                files[files.count - 1].text += line + "\n"
            }
        }
        let alone = files.filter { $0.path.isEmpty }
        files.removeAll { $0.path.isEmpty }
        let manifest = Array(files[0].text.utf8)
        if !isFolder { files = alone }
        do throws(FetchError) {
            _ = try Manifest(parsing: manifest)
        } catch {
            throw usageError(
                "a plugin cannot be called \"\(name)\": its manifest "
                    + error.message.replacing(text: "plugin.json ", with: ""),
                hint: "smallweb plugin new dict")
        }
    }

    /// - Throws: `usage` for the name of a built-in plugin, as the name would select that one.
    static func refuseBuiltIn(_ name: String) throws(FetchError) {
        guard Registry.builtIn.hasPlugin(name) else { return }
        throw usageError(
            "the plugin \(name) is built in and stays: another one needs another \"name\" in its "
                + "plugin.json, may have the same schemes, and is chosen with --plugin",
            hint: "smallweb plugin new my-\(name)")
    }

    /// Command that builds the program; `nil` if it needs no build.
    var compiling: String? { language == .swift ? "make -C \(name)" : nil }

    private static func text(_ language: Language) -> [UInt8] {
        switch language {
        case .sh: PackageResources.sh_txt
        case .python: PackageResources.python_txt
        case .swift: PackageResources.swift_txt
        }
    }
}
