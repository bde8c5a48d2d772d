// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import Testing

@Suite struct CalendarTests {
    @Test(arguments: [
        (1970, 1, 1, 0), (2024, 2, 29, 1_709_164_800), (1969, 12, 31, -86_400),
        (1, 1, 1, -62_135_596_800), (9999, 12, 31, 253_402_214_400), (2000, 2, 29, 951_782_400),
        (1900, 3, 1, -2_203_891_200), (2026, 11, 24, 1_795_478_400),
    ])
    func countsTheDaysSince1970(_ year: Int, _ month: Int, _ day: Int, _ start: Int) throws {
        let found = try #require(CivilDay(year: year, month: month, day: day))
        #expect(found.start == start && found.noon == start + 43_200)
        #expect(UTCDate(start).day == found)
        #expect(UTCDate(start + 86_399).day == found)
    }

    @Test(arguments: [
        (2023, 2, 29), (1900, 2, 29), (2024, 2, 30), (2024, 4, 31), (2024, 0, 1), (2024, 13, 1),
        (2024, 1, 0), (2024, 1, 32), (0, 1, 1), (10_000, 1, 1), (-1, 1, 1),
        (.max, 1, 1), (2024, .min, 1), (2024, 1, .max),
    ])
    func knowsNoDay(_ year: Int, _ month: Int, _ day: Int) {
        #expect(CivilDay(year: year, month: month, day: day) == nil)
    }

    @Test func goesThroughFourCenturiesDayByDay() throws {
        var start = try #require(CivilDay(year: 1799, month: 12, day: 31)).start
        var previous = UTCDate(start).day
        for _ in 0..<146_097 {
            start += 86_400
            let day = UTCDate(start).day
            let follows =
                day.day == previous.day + 1 && day.month == previous.month
                || day.day == 1 && previous.day >= 28
            #expect(follows && day.start == start, "\(day) after \(previous)")
            #expect(CivilDay(year: day.year, month: day.month, day: day.day) == day)
            previous = day
        }
        #expect(previous.description == "2199-12-31")
    }

    @Test(arguments: [
        (1_712_405_045, "2024-04-06T12:04:05Z"), (0, "1970-01-01T00:00:00Z"),
        (-1, "1969-12-31T23:59:59Z"), (-62_135_596_800, "0001-01-01T00:00:00Z"),
        (253_402_300_799, "9999-12-31T23:59:59Z"),
    ])
    func writesAndReadsATime(_ unixSeconds: Int, _ text: String) {
        #expect(UTCDate.second(unixSeconds) == text)
        #expect(UTCDate.seconds(text) == unixSeconds)
        #expect(UTCDate.day(unixSeconds) == text.prefix(10))
        let date = UTCDate(unixSeconds)
        #expect("\(date)Z" == text && date.clock == text.dropFirst(11).dropLast())
    }

    @Test func writesTimesBeyondTheCalendar() {
        #expect(UTCDate.second(253_402_300_800) == "10000-01-01T00:00:00Z")
        #expect(UTCDate.day(-62_167_219_201) == "-0001-12-31")
        #expect(UTCDate.day(1 << 55) == "1141709097-06-13")
        #expect(UTCDate.second(.max) == "1970-01-01T00:00:00Z")
        #expect(UTCDate.second(.min) == "1970-01-01T00:00:00Z")
    }

    @Test(arguments: [
        "", "2026-11-20", "2026-11-20T22:17:13", "2026-11-20T22:17:13z", "2026-11-20 22:17:13Z",
        "2026-13-45T99:99:99Z", "2026-13-20T22:17:13Z", "2026-02-29T22:17:13Z",
        "2026-11-20T24:00:00Z", "2026-11-20T22:60:13Z", "2026-11-20T22:17:61Z",
        "0000-11-20T22:17:13Z", "2026:11:20T22-17-13Z", "+026-11-20T22:17:13Z",
        "2026-11-20T22:17:+3Z", "2026-11-20T22:17:13.5Z", "2026-1-020T22:17:13Z",
    ])
    func readsNoOtherText(_ text: String) { #expect(UTCDate.seconds(text) == nil) }

    @Test func aLeapSecondIsTheNextSecond() {
        #expect(UTCDate.seconds("2016-12-31T23:59:60Z") == 1_483_228_800)
    }

    @Test(arguments: [
        (-12.0, "expired 12 days ago"), (-1.5, "expired 36 hours ago"),
        (-0.01, "expired 1 hour ago"),
        (0.5, "ends in 12 hours"), (3, "ends in 3 days"), (29.5, "ends in 29 days"), (31, nil),
    ])
    func aCertificateSaysHowNearItsEndIs(_ days: Double, _ note: String?) {
        let now = 1_795_478_400
        func certificate(_ from: Int?, _ to: Int?) -> Connection.Certificate {
            Connection.Certificate(
                sha256: [], spkiSHA256: [], subject: "", issuer: "", notBefore: from, notAfter: to,
                matchesHost: true)
        }
        let one = certificate(now - 86_400_000, now + Int(days * 86_400))
        #expect(one.validity(at: now) == one.validity() + (note.map { ", " + $0 } ?? ""))
        let early = certificate(now + 5 * 86_400, now + 9 * 86_400)
        #expect(early.validity(at: now).hasSuffix(", begins in 5 days"))
        #expect(certificate(nil, nil).validity(at: now) == "? to ?")
    }

    @Test func namesDaysAndMonths() {
        let names = (0..<12).map { index in
            let day = UTCDate(1_704_067_200 + index * 31 * 86_400).day
            return "\(day.weekdayName) \(day.monthName)"
        }
        let expected = [
            "Mon Jan", "Thu Feb", "Sun Mar", "Wed Apr", "Sat May", "Tue Jun", "Fri Jul", "Mon Aug",
            "Thu Sep", "Sun Oct", "Wed Nov", "Sat Dec",
        ]
        #expect(names == expected)
        #expect(UTCDate(-86_400).day.weekdayName == "Wed")
    }
}
