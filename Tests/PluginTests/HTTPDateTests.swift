// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import Testing

/// Dates of HTTP in all three forms, and waits.
@Suite struct HTTPDateTests {
    private static let now = 1_790_000_000
    private static let sent = "Sun, 06 Nov 1994 08:49:37 GMT"

    @Test(
        arguments: [
            (sent, 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Thu Nov 26 08:49:37 2026", 1_795_682_977),
            ("Thursday, 26-Nov-26 08:49:37 GMT", 1_795_682_977),
            // At most 50 years from now.
            ("Monday, 06-Nov-75 08:49:37 GMT", 3_340_255_777),
            ("Sunday, 06-Nov-77 08:49:37 GMT", 247_654_177),
            ("Thu, 29 Feb 2024 00:00:00 GMT", 1_709_164_800),
            ("", nil), ("Sun", nil), ("Sun, 06 Nov 1994 08:49:37", nil),
            ("Sun Nov 6 08:49:37", nil),
            ("Sunday, 06-Nov-94 08:49:37 CET", nil), ("Sun, 06 Mov 1994 08:49:37 GMT", nil),
            ("Sun, 06 Nov 1994 08:49 GMT", nil), ("Sun Nov 99 08:49:37 1994", nil),
            ("Thu, 31 Feb 2024 00:00:00 GMT", nil), ("Sun, 00 Nov 1994 08:49:37 GMT", nil),
            ("Sun, 06 Nov 1994 24:00:00 GMT", nil), ("Sun, 06 Nov 1994 08:60:00 GMT", nil),
            ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
        ] as [(String, Int?)])
    func readsADate(_ text: String, _ seconds: Int?) {
        #expect(HTTPDate.unixSeconds(text, now: Self.now) == seconds)
    }

    @Test(
        arguments: [
            ("120", sent, 120), (" 7 ", nil, 7), ("0", nil, 0), ("86401", nil, 86_400),
            ("99999999999999999999", nil, 86_400), ("00000000000000000000005", nil, 5),
            ("Sun, 06 Nov 1994 08:50:37 GMT", sent, 60),
            ("Sunday, 06-Nov-94 08:50:37 GMT", sent, 60), ("Sun Nov  6 08:50:37 1994", sent, 60),
            ("Sun Nov  6 08:50:37 1994", "Sunday, 06-Nov-94 08:49:37 GMT", 60),
            ("Sun, 06 Nov 1994 08:48:37 GMT", sent, 0),
            // By our own clock, 2026-09-21 14:13:20.
            ("Mon, 21 Sep 2026 14:14:20 GMT", nil, 60),
            ("Mon Sep 21 14:14:20 2026", "nonsense", 60),
            ("", nil, nil), ("-5", nil, nil), ("1.5", nil, nil), ("soon", sent, nil),
            ("5 minutes", nil, 5),
        ] as [(String, String?, Int?)])
    func readsAWait(_ text: String, _ date: String?, _ seconds: Int?) {
        let wait = HTTPDate.wait(retryAfter: text, date: date, now: Self.now)
        #expect(wait == seconds.map { .seconds($0) })
    }

    @Test(
        arguments: [
            ("\"default\";r=0;t=30", 30), ("\"a\"; r=0 ; t=30", 30), ("default;r=0;t=30", 30),
            ("\"a\";r=1;t=30", nil), ("\"a\";r=0", nil), ("\"a\";t=30", nil),
            ("\"a\";r=0;t=5, \"b\";r=0;t=60, \"c\";r=9;t=900", 60),
            ("\"a\";r=9;t=5, \"b\";r=0", nil), ("\"a\";r=0;t=99999999999999999999", 86_400),
            ("\"a, b=c\";r=0;t=9", 9), ("\"a\";r=0;t=30;pk=:AAAA:", 30),
            ("\"a\";r=-1;t=30", nil), ("\"a\";r=0;t=-30", nil), ("\"a\";r=0;t=1e99", nil),
            ("\"a\";r=0;t=1.5", nil), ("\"a\";r=;t=", nil), ("\"a", nil), ("", nil),
            (";;;,,,===", nil), ("r=0;t=7", 7), ("limit=9, remaining=0, reset=30", 30),
            ("limit=9, remaining=1, reset=30", nil), ("remaining=0, reset=soon", nil),
            ("remaining=0", nil), ("remaining=-0, reset=5", nil),
        ] as [(String, Int?)])
    func readsALimit(_ text: String, _ seconds: Int?) {
        #expect(HTTPDate.wait(rateLimit: text) == seconds.map { .seconds($0) })
    }

    /// `Retry-After` decides where it says something, and of quotas the one that lasts longest.
    @Test(
        arguments: [
            ("RateLimit: \"a\";r=0;t=30", 30), ("RateLimit-Remaining: 0\r\nRateLimit-Reset: 9", 9),
            ("RateLimit-Remaining: 2\r\nRateLimit-Reset: 9", nil),
            ("RateLimit-Remaining: 0", nil), ("RateLimit-Reset: 9", nil),
            ("Retry-After: 5\r\nRateLimit: \"a\";r=0;t=30", 5),
            ("Retry-After: 1e99\r\nRateLimit: \"a\";r=0;t=30", 30),
            ("RateLimit: \"a\";r=0;t=30\r\nRateLimit: \"b\";r=0;t=40", 40),
            ("RateLimit-Remaining: 0\r\nRateLimit-Reset: -9", nil),
        ] as [(String, Int?)])
    func aReplyAsksForAWait(_ fields: String, _ seconds: Int?) {
        let reply = HTTPReply(Array("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n".utf8)[...])
        let head = reply.head(.success, method: "GET", factName: "http")
        #expect(head.retryAfter == seconds.map { .seconds($0) })
    }
}
