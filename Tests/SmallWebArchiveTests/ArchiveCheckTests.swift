// SPDX-License-Identifier: MIT
import SmallWeb
import Testing

@testable import SmallWebArchive

/// Demands of the standard on each record.
@Suite struct ArchiveCheckTests {
    private static let url = "http://h.test/"
    private static let page = "HTTP/1.1 200 OK\r\n\r\nhello"
    private static let profile =
        "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    private static let segment = ["WARC-Segment-Number: 2", "WARC-Segment-Origin-ID: <urn:x:1>"]

    private static func record(
        _ type: String, _ target: String? = url, _ fields: [String] = [], version: String = "1.1",
        date: String = "2026-01-01T00:00:00Z"
    ) -> String {
        TestArchive.record(
            type, target, page, fields, version: version, date: date, mediaType: "application/http")
    }

    @Test(arguments: [
        ("response", [], []), ("request", [], []), ("resource", [], []), ("conversion", [], []),
        ("revisit", [profile], []), ("revisit", [], ["WARC-Profile"]),
        ("continuation", segment, []), ("continuation", [segment[0]], ["WARC-Segment-Origin-ID"]),
        ("continuation", [segment[1]], ["WARC-Segment-Number"]),
    ])
    func needsWhatItsTypeDemands(_ type: String, _ fields: [String], _ missing: [String]) throws {
        let whole = try TestArchive(Self.record(type, Self.url, fields)).fault
        #expect(missing.isEmpty == (whole == nil), "\(whole ?? "")")
        for name in missing { #expect(whole?.hasSuffix("the record has no \(name)") ?? false) }
        guard missing.isEmpty else { return }
        let fault = try TestArchive(Self.record(type, nil, fields)).fault
        #expect(fault?.hasSuffix("at byte 0: the record has no WARC-Target-URI") ?? false)
    }

    @Test(arguments: ["warcinfo", "metadata", "unknown"])
    func othersNeedNoTarget(_ type: String) throws {
        #expect(try TestArchive(Self.record(type, nil)).fault == nil)
    }

    @Test(arguments: ["WARC-Type", "WARC-Record-ID", "WARC-Date"])
    func eachRecordHasTypeDateAndIdentifier(_ name: String) throws {
        let text = Self.record("response").replacing("\(name): ", with: "X-Other: ")
        #expect(try TestArchive(text).fault?.hasSuffix("the record has no \(name)") ?? false)
        let empty = Self.record("response").split(
            separator: "\r\n", omittingEmptySubsequences: false
        )
        .map { $0.hasPrefix(name + ":") ? "\(name):" : String($0) }
        #expect(try TestArchive(empty.joined(separator: "\r\n")).fault != nil)
    }

    @Test(arguments: [
        "WARC-Type: response", "WARC-Record-ID: <urn:uuid:1>", "WARC-Date: 2026-01-01T00:00:00Z",
        "WARC-Target-URI: http://h.test/", "content-type: application/http", "Content-Length: 24",
        "WARC-Truncated: length\r\nWARC-Truncated: length",
        "WARC-IP-Address: ::1\r\nWARC-IP-Address: ::1",
        "WARC-Refers-To: <urn:x:1>\r\nWARC-Refers-To: <urn:x:2>",
    ])
    func fieldsOfTheStandardStandOnce(_ field: String) throws {
        let fault = try TestArchive(Self.record("response", Self.url, [field])).fault
        #expect(fault?.contains("the record has two ") ?? false, "\(fault ?? "")")
    }

    /// Some hash a payload as it is sent, others without its transfer coding.
    @Test(arguments: [
        ("sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N", true),
        ("sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2O", false),
    ])
    func aPayloadMayBeHashedWithoutItsChunks(_ digest: String, _ isRight: Bool) throws {
        let page =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
        let text = TestArchive.record(
            "response", Self.url, page, ["WARC-Payload-Digest: \(digest)"],
            mediaType: "application/http")
        let fault = try TestArchive(text).fault
        #expect(isRight == (fault == nil), "\(fault ?? "")")
    }

    @Test func othersMayStandTwice() throws {
        let fields = ["WARC-Protocol: tls/1.3", "WARC-Protocol: h2", "X: 1", "X: 2"]
        #expect(try TestArchive(Self.record("response", Self.url, fields)).fault == nil)
        let partners = ["WARC-Concurrent-To: <urn:uuid:a>", "WARC-Concurrent-To: <urn:uuid:b>"]
        let text =
            ["a", "b"].map { TestArchive.record("metadata", Self.url, "x", id: $0) }.joined()
            + Self.record("request", Self.url, partners)
        #expect(try TestArchive(text).fault == nil)
    }

    @Test(arguments: [
        ("1.0", "2026-11-20T22:17:13Z", true), ("1.0", "2026-11-20T22:17:13.5Z", false),
        ("1.0", "2026", false), ("1.0", "2026-11-20", false), ("1.1", "2026", true),
        ("1.1", "2026-11", true), ("1.1", "2026-11-20", true), ("1.1", "2026-11-20T22:17Z", true),
        ("1.1", "2026-11-20T22:17:13Z", true), ("1.1", "2026-11-20T22:17:13.123456789Z", true),
        ("1.1", "2026-11-20T22:17:13.1234567890Z", false), ("1.1", "2026-11-20T22:17:13.Z", false),
        ("1.1", "2026-11-20T22:17:13.5", false), ("1.1", "2026-11-20T22:17:13", false),
        ("1.1", "2026-11-20T22:17:13+01:00", false), ("1.1", "2026-13-20", false),
        ("1.1", "2026-02-29", false), ("1.1", "2024-02-29", true), ("1.1", "2026-00-10", false),
        ("1.1", "2026-11-20T24:00:00Z", false), ("1.1", "2026-11-20T22:60:00Z", false),
        ("1.1", "2009-03-65T08:43:19-0800", false), ("1.1", "yesterday", false),
        ("1.1", "20261120221713", false), ("1.1", "2026-1-1", false), ("1.1", "2026Z", false),
        ("1.1", "2026.5Z", false), ("1.1", "+026-11-20T22:17:13Z", false),
    ])
    func datesAreThoseOfTheVersion(_ version: String, _ date: String, _ isOne: Bool) throws {
        let fault = try TestArchive(Self.record("response", version: version, date: date)).fault
        #expect((fault == nil) == isOne, "\(fault ?? "")")
        let revisit = Self.record(
            "revisit", Self.url, [Self.profile, "WARC-Refers-To-Date: \(date)"], version: version)
        #expect((try TestArchive(revisit).fault == nil) == isOne)
    }
}
