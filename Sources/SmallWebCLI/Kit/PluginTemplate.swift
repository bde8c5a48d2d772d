// SPDX-License-Identifier: MIT
internal import ExternalPlugin
internal import SmallWebCore
internal import SmallWebPlugins

/// Template of `plugin new`. The files are the sections of a text in `Templates`, each after a line
/// `== PATH`, or `== PATH program`; `@NAME@` is replaced by the plugin's name.
struct PluginTemplate {
    enum Language: String, Sendable, CaseIterable { case sh, python, swift }

    struct File {
        let path: String
        let isProgram: Bool
        var text = ""
    }

    let name: String
    private let language: Language
    private(set) var files: [File] = []

    /// - Throws: `usage` for a name that plugins must not have.
    init(_ name: String, _ language: Language) throws(FetchError) {
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
                let words = line.dropFirst(3).split(separator: " ")
                files.append(File(path: String(words[0]), isProgram: words.count > 1))
            } else {
                files[files.count - 1].text += line + "\n"
            }
        }
        do throws(FetchError) {
            _ = try Manifest(parsing: Array(files[0].text.utf8))
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
