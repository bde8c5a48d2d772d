// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import SmallWebFormats
internal import SmallWebTestSupport
internal import Testing

@Suite struct DatedTextTests {
    private func shown(_ text: DatedText?) -> String? {
        text.map { "\($0.day)|\(String(decoding: $0.rest, as: UTF8.self))" }
    }

    @Test(arguments: [
        ("2024-04-06", "2024-04-06|"), ("2024-04-06 A post", "2024-04-06|A post"),
        ("2024-04-06: A post", "2024-04-06|A post"), ("2024-04-06 - A", "2024-04-06|A"),
        ("2024-04-06 -- A", "2024-04-06|A"), ("2024-04-06 — A", "2024-04-06|A"),
        ("2024-04-06 – A", "2024-04-06|A"), ("2024-04-06 | A", "2024-04-06|A"),
        ("2024-04-06 · A", "2024-04-06|A"), ("2024-04-06/A", "2024-04-06|A"),
        ("2024-04-06, A", "2024-04-06|A"), ("2024-04-06\tA", "2024-04-06|A"),
        ("2024-04-06-A", "2024-04-06|A"), ("2024-04-06 * A", "2024-04-06|* A"),
        ("2024-04-06 (A)", "2024-04-06|(A)"), ("2024-04-06. A", "2024-04-06|. A"),
        ("2024-04-06 » A", "2024-04-06|» A"), ("2024-04-06 ---", "2024-04-06|"),
        ("2024-04-06\u{A0}A", "2024-04-06|\u{A0}A"), ("2024-04-06🙂", "2024-04-06|🙂"),
        ("0001-01-01 A", "0001-01-01|A"), ("9999-12-31 A", "9999-12-31|A"),
        ("2024-02-29 A", "2024-02-29|A"),
    ])
    func readsTheLabelOfALink(_ label: String, _ expected: String) {
        #expect(shown(DatedText(label: Array(label.utf8)[...])) == expected)
    }

    @Test(arguments: [
        "", "2024", "2024-04", "2024-04-0", "2024-4-06 A", "2024-04-6 A", " 2024-04-06 A",
        "A 2024-04-06", "[2024-04-06] A", "2024-04-061", "2024-04-06A", "2024-04-06_A",
        "2024-04-06é", "2024-04-06ب", "2024-04-06٤", "2024-02-30 A", "2023-02-29 A",
        "2024-00-01 A", "2024-13-01 A", "2024-04-00 A", "2024-04-31 A", "0000-01-01 A",
        "10000-01-01 A", "٢٠٢٤-٠٤-٠٦ A", "2024/04/06 A", "2024.04.06 A", "6 Apr 2024 A",
        "2024\u{2010}04\u{2010}06 A", "-2024-04-06 A", "\u{FF12}024-04-06",
    ])
    func findsNoDateInTheLabel(_ label: String) {
        #expect(DatedText(label: Array(label.utf8)[...]) == nil)
    }

    @Test(arguments: [
        ("2024-04-06 A", "2024-04-06|A"), ("A 2024-04-06", "2024-04-06|A"),
        ("A (2024-04-06)", "2024-04-06|A"), ("[2024-04-06] A", "2024-04-06|A"),
        ("A [2024-04-06] B", "2024-04-06|A B"), ("A - 2024-04-06", "2024-04-06|A"),
        ("2024/04/04 A", "2024-04-04|A"), ("A 2024/04/04", "2024-04-04|A"),
        ("2024.04.05 A", "2024-04-05|A"), ("A (2024.04.05)", "2024-04-05|A"),
        ("02 Apr 2024 A", "2024-04-02|A"), ("2 April 2024: A", "2024-04-02|A"),
        ("A, 02 apr 2024", "2024-04-02|A"), ("Apr 03, 2024 A", "2024-04-03|A"),
        ("April 6, 2024 - A", "2024-04-06|A"), ("A [April 6, 2024]", "2024-04-06|A"),
        ("A September 30, 2024", "2024-09-30|A"), ("A....2024-04-06", "2024-04-06|A"),
        ("A etc. 2024-04-06", "2024-04-06|A etc."), ("  2024-04-06 A", "2024-04-06|A"),
        ("2024-04-06", "2024-04-06|"), ("2024-04-06.txt", "2024-04-06|2024-04-06.txt"),
        ("2024-04-06-a.txt", "2024-04-06|a.txt"), ("12 May 2024", "2024-05-12|"),
        ("A (draft) (2024-04-06)", "2024-04-06|A (draft)"), ("é 2024-04-06", "2024-04-06|é"),
        ("2024-04-06 A 2023-01-01", "2024-04-06|A 2023-01-01"),
        ("a.zip          2026-Oct-27 14:22    97.7 KB", "2026-10-27|a.zip"),
        ("dir      2026-Oct-27 14:22     -", "2026-10-27|dir"),
        ("A 2026-10-27 14:22 1234", "2026-10-27|A"),
        ("A 1,2 MiB 2026-10-27", "2026-10-27|A 1,2 MiB"),
        ("a.txt (2026-10-27 14:22)", "2026-10-27|a.txt"), ("A 27-Oct-2026 14:22", "2026-10-27|A"),
        ("[2026-10-27T14:22:00Z] A", "2026-10-27|A"), ("2026-10-27T14:22Z A", "2026-10-27|A"),
        ("A 2026-10-27T14:22:33.123456+02:00", "2026-10-27|A"),
        ("2026-10-27 14:22 - A", "2026-10-27|A"), ("2026-10-27 14:22 CET A", "2026-10-27|A"),
        ("2026-10-27 14:22 CETERA", "2026-10-27|CETERA"), ("Wed, 25 Nov 2026", "2026-11-25|"),
        ("Wed, 25 Nov 2026: A", "2026-11-25|A"), ("A, Wed, 25 Nov 2026", "2026-11-25|A"),
        ("sub      2026-Oct-27 09:10   --------", "2026-10-27|sub"),
        ("a.txt (2026-10-27 14:22, 1.0 KB)", "2026-10-27|a.txt"),
        ("a.txt [1.0 KB, 27-Oct-2026 14:22] B", "2026-10-27|a.txt B"),
        ("a.txt (2026-10-27, -)", "2026-10-27|a.txt"),
        ("A [Wednesday 25 November 2026 10:00:00 +0100]", "2026-11-25|A"),
        ("Sat, Apr 6, 2024 A", "2024-04-06|A"), ("Wed 2026-11-25 A", "2026-11-25|A"),
    ])
    func readsTheTextOfAnItem(_ text: String, _ expected: String) {
        #expect(shown(DatedText(item: Array(text.utf8)[...])) == expected)
    }

    @Test(arguments: [
        "", "A", "A 2024-04-06 B", "v2024.04.06", "A v2024.04.06", "2024.04.06.1", "1.2024.04.06",
        "A 12024-04-06", "2024-02-30", "A 31 Jun 2024", "0 Apr 2024", "Foo 6, 2024", "Ma 6, 2024",
        "A 6 Apr 24", "Apr 6 2024", "32 Apr 2024", "A (2024-04-06", "A [2024-04-06)", "6 Apr 20245",
        "A 2024-4-6", "é2024-04-06", "6\nApr\n2024", "٢٠٢٤/٠٤/٠٦ A", "April 06, 10000",
        "A 2024-04-06 7", "A 2024-04-06 7 C", "A 2026-10-27T99:99", "Wed, 25", "Wed, ",
        "A (2024-04-06, 7)", "A (2024-04-06, notes)", "A (v1.2, 2024-04-06)",
        "A 2026-10-27T14", "2026-Okt-27 A", "40-Oct-2026 A",
    ])
    func findsNoDateInTheItem(_ text: String) {
        #expect(DatedText(item: Array(text.utf8)[...]) == nil)
    }
}

@Suite struct PlainHeadingTests {
    private func headings(_ pieces: [ArraySlice<UInt8>]) -> [String] {
        var (framer, reader) = (LineFramer(lineBytesMax: 3000), PlainHeadingReader())
        let lines = pieces.flatMap { framer.split($0) } + framer.split([], isLast: true)
        return lines.compactMap { reader.add($0.bytes, number: $0.number) }.map { heading in
            let text = String(decoding: heading.text, as: UTF8.self)
            let rest = String(decoding: heading.dated.rest, as: UTF8.self)
            return "\(heading.number) \(heading.dated.day) [\(text)] \(rest)"
        }
    }

    private static let page = """
        A log of 2024-04-05

        2024-04-06 Two
        text of 2024-01-01
        # 2024-04-05: One ##
        == A, 4 Apr 2024 ==
        *2024-04-03
        The third (2024-04-03)\r
        ----------\r
        no date
        ----------
         2024-04-02 is text
        2024-04-01
        ===
        ---
        2024-03-31
        """

    @Test func findsDatedHeadings() {
        #expect(
            headings([Array(Self.page.utf8)[...]]) == [
                "3 2024-04-06 [2024-04-06 Two] Two", "5 2024-04-05 [2024-04-05: One] One",
                "6 2024-04-04 [A, 4 Apr 2024] A", "8 2024-04-03 [The third (2024-04-03)] The third",
                "13 2024-04-01 [2024-04-01] ", "16 2024-03-31 [2024-03-31] ",
            ])
    }

    @Test func doesNotDependOnThePieces() {
        let page = Array(Self.page.utf8)
        let whole = headings([page[...]])
        #expect(headings(page.indices.map { page[$0...$0] }) == whole)
        for cut in page.indices {
            #expect(headings([page[..<cut], page[cut...]]) == whole, "cut at \(cut)")
        }
    }

    @Test func skipsLongLines() {
        let long = "2024-04-06 " + String(repeating: "a", count: 2000)
        #expect(headings([Array((long + "\n---\n2024-04-05\n").utf8)[...]]).count == 1)
        // Nor is the rest of one that comes in pieces a heading.
        let longer = String(repeating: "a", count: 3000) + "2024-04-06\n---\n"
        #expect(headings([Array(longer.utf8)[...]]) == [])
    }
}

@Suite struct FeedSnifferTests {
    @Test(arguments: [
        ("<feed xmlns='http://www.w3.org/2005/Atom'>", FeedSniffer.Kind?.some(.xmlFeed)),
        ("\u{FEFF}<?xml version=\"1.0\"?>\n<!-- a > b -->\r\n<rss version='2.0'>", .xmlFeed),
        ("<?xml version='1.0'?><!DOCTYPE rss SYSTEM 'a'><rss>", .xmlFeed),
        ("<rdf:RDF>", .xmlFeed), ("<atom:feed>", .xmlFeed),
        ("{\"version\": \"https://jsonfeed.org/version/1.1\"}", .jsonFeed),
        ("{\"version\": \"https:\\/\\/jsonfeed.org\\/version\\/1\"}", .jsonFeed),
        ("\n<html><feed>", .html), ("<HTML>", .html),
        ("{\"a\": 1}", nil), ("", nil), ("<", nil), ("<?xml", nil), ("<!--", nil),
        ("<!-- -->\n<", nil),
        ("\u{FEFF}", nil), ("\n\n\n", nil), ("<rs", nil), ("<rss", nil),
        ("<svg><feed>", .other), ("text <feed>", .other), ("<feeder>", .other),
    ])
    func tellsWhatADocumentIs(_ text: String, _ kind: FeedSniffer.Kind?) {
        #expect(FeedSniffer.kind(of: Array(text.utf8)[...]) == kind)
        // More bytes change no answer.
        for more in ["", ">", "\n<rss>", " -->\n<feed>", "jsonfeed.org/version/1\"}"] {
            let bytes = Array((text + more).utf8)
            let kinds = (0...bytes.count).map { FeedSniffer.kind(of: bytes[..<$0]) }
            let known = kinds.drop { $0 == nil }
            #expect(known.allSatisfy { $0 == known.first }, "\(text)\(more)")
        }
    }
}
