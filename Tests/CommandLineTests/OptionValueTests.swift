// SPDX-License-Identifier: MIT
import SmallWeb
import Testing

@testable import SmallWebCLI

@Suite struct OptionValueTests {
    @Test(arguments: [
        ("10", 10), ("0", 0), ("1.5", 1.5), ("500ms", 0.5), ("700ms", 0.7), ("3s", 3),
        ("2m", 120), ("1h", 3600), ("2d", 172_800), ("1w", 604_800), ("1y", 31_536_000),
    ])
    func timesHaveUnits(_ text: String, _ seconds: Double) throws {
        #expect(try OptionValue.duration(text, "-m") == seconds)
    }

    @Test(arguments: ["", "s", "-1", "1q", "1 h", "nan", "inf", "1e10", "1mm"])
    func whatIsNotATimeIsRefused(_ text: String) {
        #expect(throws: FetchError.self) { try OptionValue.duration(text, "-m") }
    }

    @Test(arguments: [("7", 7), ("1k", 1024), ("2M", 2 << 20), ("3G", 3 << 30), ("1m", 1 << 20)])
    func sizesArePowersOf1024(_ text: String, _ bytes: Int) throws {
        #expect(try OptionValue.size(text, "-m") == bytes)
    }
}
