// SPDX-License-Identifier: MIT
import SmallWeb
import Testing

@testable import SmallWebCLI

/// The entries of `Texts/*.txt`, held against the tables.
@Suite struct TextsTests {
    private static let commands = Command.all.filter { $0.verb == nil }
        .flatMap { [$0] + $0.actions }

    @Test func eachOptionHasItsEntryAndNoneIsLeftOver() {
        let names = Texts.entries(of: PackageResources.options_txt).map(\.name)
        #expect(Set(names) == Set(Option.own.map(\.long)) && names.count == Option.own.count)
        #expect(names == names.sorted())
        for option in Option.all {
            #expect(!option.summary.isEmpty && !option.example.isEmpty, "\(option.long)")
            #expect(option.isSecret || option.manual.hasSuffix("."), "\(option.long)")
        }
    }

    @Test func eachCommandHasItsEntryAndNoneIsLeftOver() {
        let names = Texts.entries(of: PackageResources.commands_txt).map(\.name)
        #expect(Set(names) == Set(Self.commands.map(\.name)))
        #expect(names.count == Self.commands.count && names == names.sorted())
        for command in Self.commands {
            #expect(!command.summary.isEmpty && !command.manual.isEmpty, "\(command.name)")
            for (line, use) in command.examples {
                #expect(line.contains("smallweb ") && !use.isEmpty, "\(command.name)")
            }
        }
    }

    private static let files = [
        PackageResources.options_txt, PackageResources.commands_txt, PackageResources.topics_txt,
    ]

    @Test(arguments: files)
    func linesAreNarrow(file: [UInt8]) {
        let entries = Texts.entries(of: file)
        #expect(entries.count > 5)
        for (name, texts) in entries {
            #expect(!texts.manual.contains("\n\n\n") && texts.manual.last != "\n", "\(name)")
        }
        for line in String(decoding: file, as: UTF8.self).split(separator: "\n") {
            let isTyped = line.hasPrefix("    ") || line.hasPrefix("= ")
            #expect(line.count <= 100 || isTyped, "\(line)")
            #expect(line.last != " " && !line.contains("\t"), "\(line)")
        }
    }

    @Test func eachWordForAListIsReplacedAndUsed() {
        let all = Self.files.flatMap(Texts.entries)
        let sources = Self.files.map { String(decoding: $0, as: UTF8.self) }
        for (word, _) in Texts.facts {
            #expect(sources.contains { $0.contains(word) }, "\(word)")
            #expect(!all.contains { $0.texts.page.contains(word) }, "\(word)")
        }
    }

    @Test func anEntryIsRead() throws {
        let file = """
            Words before the first entry.

            # a b
            the summary
            One sentence
            in two lines.

                a line to type

            The trust clients are {trust clients}.
            = smallweb a b
            = smallweb a b c
              A purpose

            # rest
            nothing else
            """ + "\n"
        let entries = Texts.entries(of: Array(file.utf8))
        #expect(entries.map(\.name) == ["a b", "rest"])
        let texts = try #require(entries.first?.texts)
        #expect(texts.summary == "the summary")
        #expect(
            texts.manual == "One sentence in two lines.\n\n    a line to type\n\n"
                + "The trust clients are \(TrustFormat.names).")
        #expect(texts.examples.map(\.line) == ["smallweb a b", "smallweb a b c"])
        #expect(texts.examples.map(\.use) == ["", "A purpose"])
        #expect(entries[1].texts.summary == "nothing else")
        #expect(entries[1].texts.manual.isEmpty && entries[1].texts.examples.isEmpty)
        for broken in ["", "\n", "#", "\n#", "\n# a", "\n#\n#\n# "] {
            for (_, texts) in Texts.entries(of: Array(broken.utf8)) {
                #expect(texts.summary.isEmpty && texts.manual.isEmpty && texts.examples.isEmpty)
            }
        }
    }
}
