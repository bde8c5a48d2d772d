// SPDX-License-Identifier: MIT
import Foundation
import Testing

/// Rooms that can be found, and functions that can be read.
@Suite struct RoomTests {
    @Test func everyRoomIsInTheArchitecture() throws {
        let path = TidyTests.root + "/docs/ARCHITECTURE.md"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let start = try #require(text.range(of: "\n## The rooms\n")?.upperBound)
        let end = try #require(text.range(of: "\n## ", range: start..<text.endIndex)?.lowerBound)
        let words = Set(text[start..<end].split { !$0.isLetter && $0 != "-" }.map(String.init))
        let rooms = TidyTests.sources.filter { $0.isProduct && $0.path.hasSuffix(".swift") }
            .flatMap { $0.path.split(separator: "/").dropFirst().dropLast().map(String.init) }
        #expect(Set(rooms).count > 60)
        let plugins = try FileManager.default.contentsOfDirectory(
            atPath: TidyTests.root + "/Plugins")
        for room in Set(rooms).subtracting(plugins) {
            #expect(words.contains(room), "docs/ARCHITECTURE.md says nothing of \(room)")
        }
    }

    /// Code that fetches asks the plan, which has one answer.
    @Test(
        arguments: ["Run", "Output", "Commands/Fetching", "Crawl", "Subscriptions", "Terminal"],
        [
            ("records.areWanted", ["RunContext.swift", "URLPlan.swift"]),
            ("fetch.wantsHeadAlone", ["HeadCommand.swift", "URLPlan.swift"]),
            ("output.listing", ["URLPlan.swift"]),
        ])
    func thePlanAloneAsksSettings(_ room: String, _ question: (text: String, owners: [String])) {
        let files = TidyTests.sources.filter { $0.path.contains("SmallWebCLI/\(room)/") }
        #expect(!files.isEmpty)
        for file in files where !question.owners.contains(where: file.path.hasSuffix) {
            let asks = file.lines.contains { $0.contains(question.text) }
            #expect(!asks, "\(file.path) asks \(question.text)")
        }
    }

    /// Functions are at most 70 lines long, without the text between triple quotes.
    @Test(arguments: TidyTests.sources.filter { $0.isProduct && $0.path.hasSuffix(".swift") })
    func keepsFunctionsShort(_ source: TidyTests.Source) throws {
        let beginning = try Regex(
            #"^ *(?:(?:[a-z]+(?:\(\w+\))?|@\w+) )*(?:func .*|(?:init|subscript)\W.*|var [^=]*\{$)"#)
        for (number, line) in source.lines.enumerated()
        where line.prefixMatch(of: beginning) != nil && !line.hasSuffix("}") {
            let indent = String(line.prefix { $0 == " " })
            var (count, isText) = (1, false)
            for next in source.lines[(number + 1)...] {
                if !isText { count += 1 }
                if next.split(separator: "\"\"\"", omittingEmptySubsequences: false).count == 2 {
                    isText.toggle()
                }
                // Parameters and result may begin at the same indent as the function.
                let isInside = next.isEmpty || next.hasPrefix(indent + " ")
                if !isText && !isInside && !next.hasPrefix(indent + ")") { break }
            }
            #expect(count <= 70, "line \(number + 1): \(count) lines")
        }
    }
}
