// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import Testing

@Suite struct SecretFieldsTests {
    private struct Handler: ProtocolHandler {
        let schemes: [Scheme] = []

        func fetch(
            _ request: Request, dialer: any Dialer, emit: Emit
        ) async throws(FetchError) -> Completeness { .complete }
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: h\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\n\r\n"),
        (
            "GET /\r\nAuthorization: Basic eA==\r\nA: b\r\ncookie:c\r\n\r\n",
            "GET /\r\nAuthorization: ***\r\nA: b\r\ncookie:***\r\n\r\n"
        ),
        (
            "Cookie : a=1\nX-Api-Key:\t k\nSecret-Token: t",
            "Cookie : ***\nX-Api-Key:\t ***\nSecret-Token: ***"
        ),
        ("Authorization:\r\nAuthorization: \n", "Authorization:***\r\nAuthorization: ***\n"),
        (":a\r\nAuthorization", ":a\r\nAuthorization"), ("", ""), ("cookie:", "cookie:***"),
    ])
    func valuesOfSecretFieldsAreMasked(_ sent: String, _ shown: String) {
        let sent = Array(sent.utf8)
        #expect(String(decoding: Handler().redacted(sent), as: UTF8.self) == shown)
        #expect(SecretFields.masked(sent) == Array(shown.utf8))
        // The secrets are ranges of the sent bytes, in order.
        var end = 0
        for range in Handler().secrets(in: sent) {
            #expect(range.lowerBound >= end && range.upperBound <= sent.count)
            end = range.upperBound
        }
    }
}
