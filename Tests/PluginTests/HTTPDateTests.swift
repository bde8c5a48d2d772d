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
}
