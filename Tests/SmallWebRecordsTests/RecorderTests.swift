// SPDX-License-Identifier: MIT
import SmallWeb
import SmallWebFormats
import SmallWebRecords
import Testing

/// Cases that the command line's tests do not cover: they compare all of its lines.
@Suite struct RecorderTests {
    @Test func theRecordsOfLinksAreBounded() throws {
        let base = try URI(parsing: "gemini://example.org/")
        let records = LinkRecords(
            RecordStream(subject: RecordSubject(url: base.description), target: nil),
            bytesMax: 5_000)
        var reader = GemtextReader()
        let run = try #require(reader.add(Array("=> a\n".utf8)[...]).first?.runs.first)
        let link = Link(
            try #require(run.link), text: run.text, base: base, registry: .builtIn)
        var outcome: Outcome?
        for _ in 0..<100 where outcome == nil {
            do throws(FetchError) {
                try records.add(link, base: base)
            } catch {
                outcome = error.outcome
            }
        }
        #expect(outcome == .tooLarge)
    }

    /// Only the command line knows the option that helps.
    @Test func aRefusalNamesNoOption() throws {
        let error = FetchError(
            .timeout, .body, "the server is silent", remedy: .raise(.silence), expected: "5")
        func line(_ wording: ErrorWording) -> String {
            let recorder = Recorder(
                RecordSubject(url: "gemini://example.org/"), nil, RecordOptions(), RecordScope(),
                wording: wording)
            return String(decoding: recorder.refusal(error), as: UTF8.self)
        }
        #expect(line(.plain).contains(#""hint":null,"expected":"5""#))
        let own = ErrorWording { _ in
            "wait longer"
        } expected: { _ in
            nil
        }
        #expect(line(own).contains(#""hint":"wait longer","expected":null"#))
    }
}
