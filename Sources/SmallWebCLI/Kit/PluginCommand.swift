// SPDX-License-Identifier: MIT
internal import ExternalPlugin
internal import SmallWeb
internal import SmallWebRecords

extension Command {
    static let plugin = Command(
        "plugin [ACTION] …", actions: PluginCommand.actions + PluginCommand.kit
    ).with(\.aliases, ["plugins"])
}

struct PluginCommand {
    fileprivate static let actions: [Command] = [
        .action("list", options: ["json"]) { settings, _ throws(FetchError) in
            try list(settings)
        },
        .action("show NAME|DIR|FILE", operands: [.plugin]) { _, words throws(FetchError) in
            try show(word(words[0]))
        },
    ]

    /// The path of a file that is named without its directory: a plugin's name has no dots.
    static func word(_ word: String) -> String {
        word.contains(".") && !word.contains("/") ? "./" + word : word
    }

    struct Row {
        let name: String
        let isProgram: Bool
        var schemes: [String] = []
        var version: String?
        var place: String?
        var problem: String?
    }

    static func rows() -> [Row] {
        var rows: [Row] = []
        for handler in Registry.builtIn.handlers {
            let name = handler.schemes.first?.plugin ?? ""
            let schemes = handler.schemes.map(\.name)
            if let index = rows.firstIndex(where: { $0.name == name }) {
                rows[index].schemes += schemes
            } else {
                rows.append(Row(name: name, isProgram: false, schemes: schemes))
            }
        }
        let builtIn = Set(Registry.builtIn.schemes.map(\.name))
        var places: [String: String] = [:]
        for folder in PluginFolders.all() {
            var row = Row(name: folder.name, isProgram: true, place: folder.path)
            switch folder.manifest {
            case .success(let manifest):
                row.schemes = manifest.schemes.map(\.name)
                row.version = manifest.version
                let taken = row.schemes.filter(builtIn.contains)
                if !taken.isEmpty { row.problem = "\(taken.joined(separator: ", ")): built in" }
                do throws(FetchError) {
                    _ = try folder.handler()
                } catch {
                    row.problem = error.message
                }
            case .failure(let error): row.problem = error.message
            }
            if let first = places[row.name] { row.problem = "\(first) is used instead" }
            places[row.name] = places[row.name] ?? folder.path
            rows.append(row)
        }
        return rows
    }

    private static func list(_ settings: Settings) throws(FetchError) {
        if settings.records.areWanted {
            for row in rows() { try writeRecord { $0.members(of: row) } }
            return
        }
        var table = Columns(["NAME", "KIND", "SCHEMES", "VERSION", "PLACE", "PROBLEM"])
        table.rows = rows().map { row in
            [
                row.name, row.isProgram ? "program" : "built-in",
                row.schemes.joined(separator: " "), row.version ?? "", row.place ?? "",
                row.problem ?? "",
            ]
        }
        try table.write()
    }

    static func show(_ name: String) throws(FetchError) {
        let handlers = Registry.builtIn.handlers.filter { $0.schemes.first?.plugin == name }
        guard handlers.isEmpty else {
            return try write(name, "built-in", handlers, place: nil, manifest: nil)
        }
        let folder = try Settings.pluginFolder(name)
        try show(folder)
    }

    static func show(_ folder: PluginFolder) throws(FetchError) {
        try write(
            folder.name, "program", [try folder.handler(isTrusted: true)], place: folder.path,
            manifest: try folder.manifest.get())
    }

    private static func write(
        _ name: String, _ kind: String, _ handlers: [any ProtocolHandler], place: String?,
        manifest: Manifest?
    ) throws(FetchError) {
        var rows = [("kind", kind)]
        if let place { rows.append(("place", place)) }
        if let manifest {
            if !manifest.version.isEmpty { rows.append(("version", manifest.version)) }
            rows.append(("program", manifest.program.joined(separator: " ")))
        }
        for scheme in handlers.flatMap(\.schemes) {
            let facts = "\(scheme.transport.rawValue), trust \(scheme.trust.rawValue)"
            rows.append((scheme.name, "port \(scheme.defaultPort), \(facts): \(scheme.summary)"))
        }
        if let reads = manifest?.reads, !reads.isEmpty {
            rows.append(("reads", reads.joined(separator: ", ")))
        }
        if let opens = manifest?.opens, !opens.isEmpty {
            rows.append(("opens", opens.map(\.text).joined(separator: ", ")))
        }
        rows += handlers.flatMap(\.options).map { ("--" + $0.key, $0.summary) }
        if let limits = manifest?.limits {
            let (seconds, memory) = (limits.processorSeconds, limits.memoryBytes >> 20)
            let bounds = "\(seconds) s of processor time, \(memory) MiB of memory, "
            rows.append(("bounds", bounds + "\(limits.descriptors) descriptors"))
            rows += try Containment.here.get().facts
        }
        let lines = rows.map { "  \(Help.padded($0, 14))\(TerminalText.escapeLine($1))\n" }
        try StandardStream.output.write(TerminalText.escapeLine(name) + "\n" + lines.joined())
    }
}

extension JSONWriter {
    mutating func members(of row: PluginCommand.Row) {
        begin("plugin")
        member("name", row.name)
        member("kind", row.isProgram ? "program" : "built-in")
        member("schemes", array: row.schemes) { $0.value($1) }
        member("version", row.version)
        member("place", row.place)
        member("problem", row.problem)
    }
}
