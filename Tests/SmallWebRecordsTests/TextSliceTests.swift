// SPDX-License-Identifier: MIT
import SmallWeb
import SmallWebRecords
import SmallWebTestSupport
import Testing

/// Parts of texts, of any bytes and however they come.
@Suite struct TextSliceTests {
    /// Texts by name; all but the last two are UTF-8.
    private static let texts: [String: [UInt8]] = {
        var random = SeededGenerator(seed: 3)
        let mixed = (0..<700).map { _ in "aé€😀\n ".randomElement(using: &random) ?? "a" }
        let bytes: [UInt8] = [0xE9, 0xE2, 0x82, 0xAC, 0xF0, 0x9F, 0x98, 0x41, 0x0A, 0xC0]
        return [
            "empty": [], "one": [0x41],
            "lines": Array(String(repeating: "word\r\n", count: 99).utf8),
            "no lines": Array(String(repeating: "é€😀x", count: 120).utf8),
            "mixed": Array(String(mixed).utf8),
            "large": Array(String(repeating: "0123456789€", count: 20_000).utf8),
            "no UTF-8": (0..<900).map { _ in bytes.randomElement(using: &random) ?? 0 },
            "continuation": [UInt8](repeating: 0x82, count: 40),
        ]
    }()

    private func slice(
        _ text: [UInt8], _ start: Int, _ count: Int, pieces: Int = 7
    ) throws(FetchError) -> TextSlice {
        let slice = TextSlice(TextRange(start: start, count: count))
        for place in stride(from: 0, to: text.count, by: pieces) {
            try slice.add(text[place..<min(text.count, place + pieces)])
        }
        return slice
    }

    @Test(arguments: [1, 2, 3, 4, 5, 8, 63, 500, 70_000])
    func thePartsAreTheText(_ count: Int) throws {
        for (name, text) in Self.texts where text.count / count < 2000 {
            let isText = String(validating: text, as: UTF8.self) != nil
            var (joined, place): ([UInt8], Int?) = ([], 0)
            while let start = place {
                let slice = try slice(text, start, count, pieces: name == "large" ? 9000 : 7)
                #expect(slice.total == text.count)
                let part = try slice.cut(isCutOff: false)
                #expect(part.offset == start, "\(name)")
                #expect(part.bytes.count <= max(count, 4))
                if isText { #expect(String(validating: part.bytes, as: UTF8.self) != nil) }
                joined += part.bytes
                #expect(part.next == nil || part.next == joined.count && part.next ?? 0 > start)
                let end = start + count
                if part.next != nil, text[(end - count / 8)..<end].contains(ASCII.lineFeed) {
                    #expect(part.bytes.last == ASCII.lineFeed, "\(name)")
                }
                place = part.next
            }
            #expect(joined == text, "\(name)")
        }
    }

    /// A grid of offsets gives the text of a page without line ends, too.
    @Test func aStartWithinACharacterIsMovedToItsBeginning() throws {
        let text = try #require(Self.texts["no lines"])
        for count in [4, 5, 7, 100] {
            var joined: [UInt8] = []
            for start in stride(from: 0, to: text.count, by: count) {
                let part = try slice(text, start, count).cut(isCutOff: false)
                #expect(part.offset == joined.count && start - part.offset < 4)
                joined += part.bytes
            }
            #expect(joined == text)
        }
    }

    /// However the bytes come.
    @Test func piecesOfTheInputDecideNothing() throws {
        for (name, text) in Self.texts where name != "large" {
            let parts = try [1, 2, 5, 1000].map { pieces in
                let part = try slice(text, 11, 50, pieces: pieces).cut(isCutOff: false)
                return Array(part.bytes) + [UInt8(part.offset)]
            }
            #expect(Set(parts).count == 1, "\(name)")
        }
    }

    /// The rest of a text that is cut off is where its last whole character ends.
    @Test func aTextThatIsCutOffGoesOn() throws {
        let text = try #require(Self.texts["mixed"])
        for length in stride(from: 0, to: text.count, by: 3) {
            let part = try slice(Array(text[..<length]), 0, 5000).cut(isCutOff: true)
            let next = try #require(part.next)
            let rest = try slice(text, next, 5000).cut(isCutOff: false)
            #expect(part.bytes + rest.bytes == text[...] && rest.offset == next)
            let behind = try slice(Array(text[..<length]), length + 9, 5).cut(isCutOff: true)
            #expect(behind.bytes.isEmpty && behind.offset == length + 9)
            #expect(behind.next == length + 9)
        }
    }

    @Test func nothingIsBehindTheEnd() throws {
        for (start, count) in [(1, 1), (9, 5), (1 << 60, 1 << 60)] {
            let part = try slice([], start, count).cut(isCutOff: false)
            #expect(part.bytes.isEmpty && part.next == nil)
        }
    }
}
