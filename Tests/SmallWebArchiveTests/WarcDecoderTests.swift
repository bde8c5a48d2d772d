// SPDX-License-Identifier: MIT
import Foundation
import SmallWebCore
import Testing

@testable import SmallWebArchive

@Suite struct WarcDecoderTests {
    static let two = Array(
        ("WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:1>\r\n"
            + "warc-target-uri: gemini://example.org/\r\n"
            + "Content-Type: application/gemini; msgtype=response\r\nContent-Length: 13\r\n\r\n"
            + "20 text/x\r\nhi\r\n\r\n"
            + "WARC/1.0\r\nWARC-Type: metadata\r\nX-Long: a\r\n  b\r\nContent-Length: 0\r\n\r\n"
            + "\r\n\r\n").utf8)

    /// Headers, joined blocks and ends, however the bytes come.
    private static func elements(
        _ pieces: [ArraySlice<UInt8>]
    ) throws(Malformed) -> ([WarcHeader], [[UInt8]], torn: Malformed?) {
        var (decoder, headers, blocks) = (WarcDecoder(), [WarcHeader](), [[UInt8]]())
        for piece in pieces {
            var rest = piece
            while let element = try decoder.next(&rest) {
                switch element {
                case .header(let header):
                    headers.append(header)
                    blocks.append([])
                case .block(let bytes): blocks[blocks.count - 1] += bytes
                case .end: break
                }
            }
            #expect(rest.isEmpty)
        }
        return (headers, blocks, decoder.torn)
    }

    @Test func dividesRecordsAtEverySplit() throws {
        let whole = try Self.elements([Self.two[...]])
        #expect(whole.0.map(\.type) == ["response", "metadata"])
        #expect(whole.0[0].target == "gemini://example.org/")
        #expect(whole.0[0].contentType == "application/gemini")
        #expect(whole.0[1]["x-long"] == "a b")
        #expect(whole.1 == [Array("20 text/x\r\nhi".utf8), []])
        #expect(whole.torn == nil)
        for split in Self.two.indices {
            let parts = try Self.elements([Self.two[..<split], Self.two[split...]])
            #expect(parts.0 == whole.0 && parts.1 == whole.1 && parts.torn == nil)
        }
        let bytes = try Self.elements(Self.two.indices.map { Self.two[$0...$0] })
        #expect(bytes.0 == whole.0 && bytes.1 == whole.1 && bytes.torn == nil)
    }

    @Test func knowsWhatIsTornAtEveryByte() throws {
        let text = String(decoding: Self.two, as: UTF8.self)
        let second = try #require(text.range(of: "WARC/1.0")?.lowerBound)
        let firstEnd = text.utf8.distance(from: text.utf8.startIndex, to: second)
        for cut in 1..<Self.two.count {
            let parts = try Self.elements([Self.two[..<cut]])
            let isWhole = parts.torn == nil
            #expect(isWhole == (cut == firstEnd), "\(cut)")
            #expect(parts.torn?.isTorn ?? true)
        }
    }

    @Test(arguments: [
        "WARC/0.18\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", "\r\nWARC/1.1\r\n",
        "WARC/1.1\r\nWARC-Type: x\r\n\r\n", "WARC/1.1\r\nContent-Length: -1\r\n\r\n",
        "WARC/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "WARC/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "WARC/1.1\r\nno field\r\nContent-Length: 0\r\n\r\n",
        "WARC/1.1\r\nContent-Length: 1\r\n\r\nab\r\n\r\n",
        "WARC/1.1\r\nContent-Length: 3\r\n\r\nab\r\n\r\n",
    ])
    func refusesWhatIsNoRecord(_ text: String) {
        #expect(throws: Malformed.self) { try Self.elements([Array(text.utf8)[...]]) }
    }

    @Test func endsAHeaderThatNeverEnds() {
        var decoder = WarcDecoder()
        var endless = Array("WARC/1.1\r\n".utf8)[...]
        let line = Array("X: \(String(repeating: "y", count: 4000))\r\n".utf8)
        #expect(throws: Malformed.self) {
            _ = try decoder.next(&endless)
            for _ in 0..<1000 {
                var more = line[...]
                _ = try decoder.next(&more)
            }
        }
    }

    @Test func takesATargetOfAMegabyte() throws {
        let target = "x:" + String(repeating: "a", count: 1 << 20)
        let text = "WARC/1.1\r\nWARC-Target-URI: \(target)\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
        #expect(try Self.elements([Array(text.utf8)[...]]).0.first?.target == target)
    }

    @Test func readsDigestsInBothForms() {
        let empty = "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
        #expect(
            WarcDigest("sha1:\(empty)")
                == WarcDigest("SHA-1:da39a3ee5e6b4b0d3255bfef95601890afd80709"))
        #expect(WarcDigest("sha1:\(empty.lowercased())")?.bytes.count == 20)
        for text in ["md5:00", "sha1:3I42", "sha256:", "nothing", "sha1:!!!!"] {
            #expect(WarcDigest(text) == nil)
        }
    }
}
