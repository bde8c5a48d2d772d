// SPDX-License-Identifier: MIT
internal import ExternalPlugin
internal import Glibc
internal import SmallWebCore
internal import SmallWebPlugins

extension PluginCommand {
    static let kit: [Command] = [
        testing,
        .action(
            "new NAME", operands: [.text], options: ["lang"]
        ) { settings, words throws(FetchError) in
            try make(PluginTemplate(words[0], settings.stores.language))
        },
        .action(
            "add DIR|FILE", operands: [.file], options: ["force"]
        ) { settings, words throws(FetchError) in
            try add(PluginFolder(words[0]), settings)
        },
        .action(
            "remove NAME", operands: [.ownPlugin], options: ["force"]
        ) { settings, words throws(FetchError) in
            try remove(words[0], settings)
        },
    ]

    private static func make(_ template: PluginTemplate) throws(FetchError) {
        let (name, place) = (template.name, template.place)
        guard access(place, F_OK) != 0 else {
            throw FetchError(.write, .output, "\(place) is there already", hint: "take a new name")
        }
        if template.isFolder {
            try PluginTree.makeDirectory(place)
            try PluginTree.makeDirectory(place + "/fixtures")
        }
        for file in template.files {
            let path = template.isFolder ? "\(place)/\(file.path)" : place
            try PluginTree.write(Array(file.text.utf8), to: path, isProgram: file.isProgram)
        }
        let slash = template.isFolder ? "/" : ""
        var text = "\(place)\(slash) is a plugin that works. Change it, and try it:\n"
        if let command = template.compiling { text += "  \(command)\n" }
        text += "  smallweb plugin test ./\(place)\n"
        text += "Fetch from a server of the protocol with:\n"
        text += "  smallweb get --plugin ./\(place) \(name)://localhost/\n"
        text += "Install it with:\n  smallweb plugin add ./\(place)\n"
        text += noteOnBuiltIn([name], name, at: "./\(place)")
        try StandardStream.output.write(text)
    }

    /// A line about the built-in ones among `schemes`; empty if there are none.
    private static func noteOnBuiltIn(
        _ schemes: [String], _ name: String, at place: String
    ) -> String {
        let taken = schemes.filter { Registry.builtIn[$0] != nil }.joined(separator: ", ")
        guard !taken.isEmpty else { return "" }
        return "\(taken): the built-in plugin stays in use. Choose this one with "
            + "--plugin \(place), or with plugin = \(name) in a section of the config file.\n"
    }

    private static func place(of name: String) throws(FetchError) -> (parent: String, path: String)
    {
        guard let parent = PluginFolders.ofUser else {
            throw FetchError(.write, .output, "no home directory", hint: "set HOME")
        }
        return (parent, "\(parent)/\(name)")
    }

    private static func add(
        _ folder: PluginFolder, _ settings: Settings
    ) throws(FetchError) {
        let manifest = try folder.manifest.get()
        try PluginTemplate.refuseBuiltIn(manifest.name)
        let (parent, path) = try place(of: manifest.name)
        let isThere = access(path, F_OK) == 0
        guard folder.path != resolvingLinks(path) else {
            throw usageError("\(folder.path) is where your plugins are already")
        }
        try show(folder)
        // Ask before the plugin runs for the first time, and again if it wants to read more.
        let known = PluginFolder(path)
        let isConsented =
            manifest.reads.isEmpty
            || (try? known.manifest.get().reads).map(Set.init)?.isSuperset(of: manifest.reads)
                == true
                && (try? known.handler()) != nil
        if !isConsented {
            let places = manifest.reads.joined(separator: ", ")
            guard try settings.confirms("Let the plugin \(manifest.name) read \(places)?") else {
                throw usageError("the plugin was not added")
            }
        }
        let count = try test(folder, isTrusted: true, showsPassed: false, settings)
        if count == 0 {
            Messages(settings.messages).warning("the plugin has no fixtures: nothing was tested")
        }
        if isThere {
            guard try settings.confirms("Replace the plugin \(manifest.name), \(path)?") else {
                throw usageError("\(path) was kept")
            }
        }
        do throws(SystemError) {
            try makeDirectories(parent, mode: 0o755)
        } catch {
            throw FetchError(.write, .output, "cannot make \(parent): \(error.sentence)")
        }
        // Hidden name: plugin look-ups ignore it until the copy is complete.
        let new = "\(parent)/.new.\(getpid())"
        let old = "\(parent)/.old.\(getpid())"
        do throws(FetchError) {
            if let (script, bytes) = try folder.script() {
                try PluginTree.unpack(script, bytes, to: new)
            } else {
                try PluginTree.copy(folder.path, to: new)
            }
            _ = try PluginFolder(new).manifest.get()
            if isThere { try PluginTree.call("cannot replace", path) { rename(path, old) } }
            try PluginTree.call("cannot make", path) { rename(new, path) }
            try writeConsent(manifest.reads, of: path)
        } catch {
            try? PluginTree.remove(new)
            // Restore the old plugin; fails unless it was moved away.
            if isThere { _ = rename(old, path) }
            throw error
        }
        if isThere { try PluginTree.remove(old) }
        let passed = count == 0 ? "" : ", fixtures passed: \(count)"
        try StandardStream.output.write(
            "added as \(TerminalText.escapeLine(path))\(passed)\n"
                + noteOnBuiltIn(manifest.schemes.map(\.name), manifest.name, at: manifest.name))
    }

    /// Stores the user's consent to the program's reads; removes it if there are none.
    private static func writeConsent(_ reads: [String], of folder: String) throws(FetchError) {
        let file = PluginFolder.consent(of: folder)
        if access(file, F_OK) == 0 { try PluginTree.call("cannot replace", file) { unlink(file) } }
        guard !reads.isEmpty else { return }
        let lines = reads.map { $0 + "\n" }.joined()
        try PluginTree.write(Array(lines.utf8), to: file, isProgram: false)
    }

    private static func remove(_ name: String, _ settings: Settings) throws(FetchError) {
        // A folder may have another name than its plugin.
        let folders = PluginFolders.ofUserAlone
        guard let folder = folders.first(where: { $0.name == name }) else {
            throw usageError(
                "none of your plugins is called \"\(name)\"",
                hint: Nearest.question(name, among: folders.map(\.name))
                    ?? "'smallweb plugin list' shows where each one is")
        }
        guard try settings.confirms("remove the plugin \(name), \(folder.path)?") else {
            throw usageError("\(folder.path) was kept")
        }
        try PluginTree.remove(folder.path)
        try writeConsent([], of: folder.path)
    }
}
