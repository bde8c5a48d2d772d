// SPDX-License-Identifier: MIT
import Foundation
import Glibc
internal import SmallWebCore
internal import SmallWebTestSupport
internal import Testing

@Suite struct UnifiedDiffTests {
    private func difference(_ old: String, _ new: String) -> String {
        func lines(_ text: String) -> [ArraySlice<UInt8>] {
            text.isEmpty ? [] : text.split(separator: " ").map { Array($0.utf8)[...] }
        }
        return String(
            decoding: (try? UnifiedDiff.text(old: lines(old), new: lines(new), name: "n")) ?? [],
            as: UTF8.self)
    }

    @Test func saysNothingOfTheSame() {
        #expect(difference("", "").isEmpty)
        #expect(difference("a b", "a b").isEmpty)
    }

    @Test func showsThreeLinesOfContext() {
        #expect(
            difference("1 2 3 4 5 6 7 8 9", "1 2 3 4 x 6 7 8 9") == """
                --- n
                +++ n
                @@ -2,7 +2,7 @@
                 2
                 3
                 4
                -5
                +x
                 6
                 7
                 8

                """)
        #expect(difference("", "a b").contains("@@ -0,0 +1,2 @@\n+a\n+b\n"))
        #expect(difference("a", "").contains("@@ -1 +0,0 @@\n-a\n"))
    }

    /// patch(1) makes the new text of the old one and the difference, whatever they are.
    @Test(.enabled(if: Programs.has("patch"), "patch is not installed"))
    func patchUnderstandsIt() throws {
        let directory = NSTemporaryDirectory() + "smallweb-diff-" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<40 {
            func text() -> [UInt8] {
                (0..<Int.random(in: 0...30, using: &generator)).flatMap { _ in
                    [UInt8.random(in: 0x61...0x64, using: &generator), 10]
                }
            }
            let (old, new) = (text(), text())
            func lines(_ text: [UInt8]) -> [ArraySlice<UInt8>] { text.split(separator: 10) }
            let difference = try UnifiedDiff.text(old: lines(old), new: lines(new), name: "text")
            if difference.isEmpty { #expect(old == new); continue }
            try Data(old).write(to: URL(fileURLWithPath: directory + "/text"))
            try Data(difference).write(to: URL(fileURLWithPath: directory + "/difference"))
            let patch = Process()
            patch.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            patch.arguments = [
                "patch", "-s", "-o", directory + "/result", directory + "/text",
                directory + "/difference",
            ]
            try patch.run()
            patch.waitUntilExit()
            #expect(patch.terminationStatus == 0)
            let result = try Data(contentsOf: URL(fileURLWithPath: directory + "/result"))
            #expect(Array(result) == new)
        }
    }

    @Test func whatHasNothingInCommonIsReplaced() throws {
        let old = (0..<5000).map { Array("a\($0)".utf8)[...] }
        let new = (0..<5000).map { Array("b\($0)".utf8)[...] }
        let text = try UnifiedDiff.text(old: old, new: new, name: "n")
        #expect(text.split(separator: 10).count == 10_003)
    }
}
