// SPDX-License-Identifier: MIT
internal import ExternalPlugin
internal import Glibc
internal import SmallWeb
internal import SmallWebRecords
internal import SmallWebTesting

/// The action that tests plugins, both programs and built-in ones.
extension PluginCommand {
    static let testing = Command.action(
        "test NAME|DIR|FILE", operands: [.plugin], options: ["json"]
    ) { settings, words throws(FetchError) in
        try test(word(words[0]), settings)
    }

    private static func test(_ word: String, _ settings: Settings) throws(FetchError) {
        let builtIn = Registry.builtIn.handlers.first { $0.schemes.first?.plugin == word }
        guard let builtIn else {
            let folder = try Settings.pluginFolder(word)
            guard try test(folder, isTrusted: Settings.isFolder(word), settings) > 0 else {
                throw .plugin("the plugin \(folder.path) has no fixtures")
            }
            return
        }
        let fixtures = try Fixtures(installedFixtures(of: word))
        guard try run(fixtures, of: builtIn, word, settings) > 0 else {
            throw .plugin("\(fixtures.folder) has no fixtures")
        }
    }

    /// Searches the installation prefix of the binary, then the system's data directories.
    private static func installedFixtures(of name: String) throws(FetchError) -> String {
        let prefix = directory(of: directory(of: resolvingLinks("/proc/self/exe")))
        var places: [String] = []
        for parent in ["\(prefix)/share"] + PluginFolders.sharedData {
            let place = parent + "/smallweb/fixtures"
            if !places.contains(place) { places.append(place) }
        }
        if let place = places.first(where: { access("\($0)/\(name)", F_OK) == 0 }) {
            return "\(place)/\(name)"
        }
        if let place = places.first(where: { access($0, F_OK) == 0 }) {
            throw .plugin("the plugin \(name) comes without fixtures: \(place) has none")
        }
        throw .plugin(
            "the fixtures of built-in plugins are not installed: neither "
                + places.joined(separator: " nor ")
                + " is there, where 'make install PREFIX=DIR' puts them",
            hint: "DIR/bin/smallweb plugin test \(name)")
    }

    /// - Parameter showsPassed: True to print passed fixtures, too.
    /// - Returns: The number of fixtures, all of them passed.
    /// - Throws: `plugin` if any failed.
    static func test(
        _ folder: PluginFolder, isTrusted: Bool, showsPassed: Bool = true, _ settings: Settings
    ) throws(FetchError) -> Int {
        let fixtures =
            if let script = try folder.script() {
                Fixtures(folder.path, script.parsed.fixtures)
            } else { try Fixtures(folder.path + "/fixtures") }
        return try run(
            fixtures, of: try folder.handler(isTrusted: isTrusted), folder.name,
            showsPassed: showsPassed, settings)
    }

    private static func run(
        _ fixtures: Fixtures, of handler: any ProtocolHandler, _ plugin: String,
        showsPassed: Bool = true, _ settings: Settings
    ) throws(FetchError) -> Int {
        let loop = try EventLoop()
        let failures = try loop.runToEnd { () async throws(FetchError) in
            var failures = 0
            try await fixtures.reports(of: handler, on: loop) { report throws(FetchError) in
                if report.failure != nil { failures += 1 }
                if settings.records.areWanted {
                    try writeRecord { $0.members(of: report, plugin) }
                } else if showsPassed || report.failure != nil {
                    try StandardStream.output.write(text(of: report))
                }
            }
            return failures
        }
        guard failures == 0 else {
            throw .plugin("\(failures) of \(fixtures.count) fixtures of \(plugin) failed")
        }
        return fixtures.count
    }

    private static func text(of report: FixtureTest.Report) -> String {
        guard let failure = report.failure else {
            return "ok      \(TerminalText.escapeLine(report.name))\n"
        }
        let lines = failure.lines.map { "  \(TerminalText.escapeLine($0))\n" }
        return "failed  \(TerminalText.escapeLine(report.name)), \(failure.play)\n"
            + lines.joined()
    }
}

extension JSONWriter {
    fileprivate mutating func members(of report: FixtureTest.Report, _ plugin: String) {
        begin("plugin-test")
        member("plugin", plugin)
        member("fixture", report.name)
        member("ok", report.failure == nil)
        member("play", report.failure?.play)
        member("report", array: report.failure?.lines ?? []) { $0.value($1) }
    }
}
