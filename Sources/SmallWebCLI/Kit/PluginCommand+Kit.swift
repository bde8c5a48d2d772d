// SPDX-License-Identifier: MIT
internal import ExternalPlugin
internal import Glibc
internal import SmallWebCore
internal import SmallWebPlugins
internal import SmallWebTransport

/// Making, testing, adding and removing plugins that are programs.
extension PluginCommand {
    static let kit: [Command] = [
        Command.action(
            "test NAME|DIR", "replay its fixtures",
            manual: "Runs the program of a plugin against each file fixtures/*.wire of its folder: "
                + "the reply as a whole, byte by byte, in two pieces, and cut off. Says for each "
                + "whether it did what the file says, or what was expected and what was seen; when "
                + "one fails the exit status is 110. smallweb-wire(5) says what such a file holds.",
            examples: [("smallweb plugin test ./dict", "Test a plugin that is being written")],
            operands: [.text]
        ) { _, words throws(FetchError) in
            guard !Settings.plugins.schemes.contains(where: { $0.plugin == words[0] }) else {
                throw usageError("\"\(words[0])\" is built in: it has no program to test")
            }
            let folder = try Settings.pluginFolder(words[0])
            guard try test(folder) > 0 else {
                throw FetchError(
                    .plugin, .plugin, "the plugin \(folder.path) has no fixtures/*.wire")
            }
            return 0
        }
    ]

    /// - Returns: How many fixtures there are, all of which passed.
    /// - Throws: `plugin` when one did not.
    static func test(_ folder: PluginFolder) throws(FetchError) -> Int {
        let test = FixtureTest(plugin: try folder.handler())
        let place = folder.path + "/fixtures"
        var fixtures: [(name: String, text: [UInt8])] = []
        for name in DirectoryListing.names(in: place) where name.hasSuffix(".wire") {
            fixtures.append((name, try InputSource.read("@\(place)/\(name)")))
        }
        let (loop, all) = (try EventLoop(), fixtures)
        let result = loop.runToCompletion { () async -> Result<Int, FetchError> in
            var failures = 0
            do throws(FetchError) {
                try await test.run(all, on: loop) { report throws(FetchError) in
                    if report.failure != nil { failures += 1 }
                    try StandardStream.output.write(text(of: report))
                }
            } catch {
                return .failure(error)
            }
            return .success(failures)
        }
        let failures = try result.get()
        guard failures == 0 else {
            throw FetchError(
                .plugin, .plugin,
                "\(failures) of \(all.count) fixtures of \(folder.name) failed")
        }
        return all.count
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

/// Names in a directory.
enum DirectoryListing {
    /// In order, without those that begin with a dot; none when it cannot be read.
    static func names(in path: String) -> [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(systemName: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }
}
