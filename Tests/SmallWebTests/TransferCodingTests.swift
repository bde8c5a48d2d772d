// SPDX-License-Identifier: MIT
import SmallWeb
import SmallWebTestSupport
import Testing

/// Transfer codings beside chunked, which no server should use unasked.
@Suite(.timeLimit(.minutes(30)))
struct TransferCodingTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    /// A coding that nobody asked for is undone, or refused; nothing but the page is one.
    @Test(
        arguments: [
            ("chunked", Array("a page".utf8), Outcome.ok), ("gzip, chunked", gzip, .ok),
            ("x-gzip, chunked", gzip, .ok), ("GZip ,\tChunked", gzip, .ok),
            ("gzip\r\nTransfer-Encoding: chunked", gzip, .ok), ("identity, chunked", gzip, .ok),
            ("gzip, chunked", gzip.dropLast(), .truncated), ("gzip, chunked", [], .ok),
            ("gzip, chunked", gzip.dropLast() + [1], .protocolError),
            ("gzip, chunked", Array("a page".utf8), .protocolError),
            ("deflate, chunked", gzip, .protocolError), ("br, chunked", gzip, .protocolError),
            ("compress, chunked", gzip, .protocolError), ("foo, chunked", gzip, .protocolError),
            ("gzip, gzip, chunked", gzip, .protocolError),
        ] as [(String, [UInt8], Outcome)], [false, true])
    func aTransferCodingIsUndoneOrRefused(
        _ given: (coding: String, body: [UInt8], outcome: Outcome), _ isRaw: Bool
    ) async throws {
        let (coding, body, outcome) = given
        let server = try LoopbackServer { peer in
            guard WebRequest(from: peer) != nil else { return }
            peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: \(coding)\r\n\r\n")
            for byte in body { peer.write(Array("1\r\n".utf8) + [byte] + [0x0D, 0x0A]) }
            peer.write("0\r\n\r\n")
        }
        let played = await bench.play(server.url("/", scheme: "http")) { $0.wantsRawBody = isRaw }
        #expect(played.error?.remedy == nil)
        guard !isRefused(played) else { return }
        #expect(played.outcome == outcome, "\(played.result)")
        guard outcome == .ok else { return }
        let isGzip = coding.lowercased().contains("gzip") && !body.isEmpty
        #expect(isGzip ? played.text == DemoSites.gzipText : played.body == body)
    }

    private static let gzip = DemoSites.gzipBytes

    /// `DemoSites.gzipBytes`, compressed once more.
    private static let twice: [UInt8] = [
        0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 2, 0xFF, 0x93, 0xEF, 0xE6, 0x60, 0, 1, 0x26,
        0x66, 0xED, 0x73, 0xBE, 0x67, 0x4E, 0x6A, 0xFA, 0xFB, 0x6A, 0xC9, 0x2D, 0x75,
        0x7F, 0x19, 0x58, 0x35, 5, 0x48, 0x65, 0x0A, 0x65, 0x30, 0x6C, 0x54, 0x68,
        0xFD, 0xE5, 0xC0, 0xC6, 0xC0, 0, 0, 0xCB, 0x30, 0x3C, 0xB1, 0x29, 0, 0, 0,
    ]

    @Test func aPageMayHaveBothCodings() async throws {
        let server = try LoopbackServer { peer in
            guard WebRequest(from: peer) != nil else { return }
            peer.write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n")
            peer.write("Transfer-Encoding: gzip, chunked\r\n\r\n")
            peer.write(String(Self.twice.count, radix: 16) + "\r\n")
            peer.write(Self.twice + Array("\r\n0\r\n\r\n".utf8))
        }
        let played = await bench.play(server.url("/", scheme: "http"))
        #expect(isRefused(played) || played.text == DemoSites.gzipText, "\(played.result)")
    }

    /// libcurl 8.23 refuses any of them.
    private func isRefused(_ played: Played) -> Bool {
        played.outcome == .protocolError
            && "\(played.result)".contains("Unsolicited Transfer-Encoding")
    }
}
