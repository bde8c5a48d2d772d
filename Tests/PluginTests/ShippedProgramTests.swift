// SPDX-License-Identifier: MIT
import ExternalPlugin
import Foundation
import SmallWebCore
import Testing

/// The plugins that are external programs, in Plugins and in the documents.
@Suite struct ShippedProgramTests {
    static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
    static let folders: [URL] = ["Plugins", "docs/examples/plugins"].flatMap { parent in
        let folders = try? FileManager.default.contentsOfDirectory(
            at: root.appending(path: parent), includingPropertiesForKeys: nil)
        return (folders ?? []).filter {
            FileManager.default.fileExists(atPath: $0.appending(path: "plugin.json").path)
        }
    }

    @Test func thereAreSome() { #expect(Self.folders.count >= 6) }

    @Test(arguments: folders)
    func hasFactsAProgramAndFixtures(_ folder: URL) throws {
        let text = try Data(contentsOf: folder.appending(path: "plugin.json"))
        // A record has the body in `text`.
        let manifest = try Manifest(parsing: Array(text))
        #expect(!manifest.summary.isEmpty && !manifest.version.isEmpty)
        let program = folder.appending(path: try #require(manifest.program.first))
        #expect(FileManager.default.isExecutableFile(atPath: program.path))
        let fixtures = try FileManager.default.contentsOfDirectory(
            atPath: folder.appending(path: "fixtures").path)
        #expect(fixtures.contains { $0.hasSuffix(".wire") })
        #expect(fixtures.allSatisfy { $0.hasSuffix(".wire") })
    }
}
