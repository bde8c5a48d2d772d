// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebRecords
import SmallWebTestSupport
import Testing

/// Bodies in records, in each form that they can have.
@Suite(.timeLimit(.minutes(30))) struct RecordedBodyTests {
    private static let bodies: [[UInt8]] = {
        var random = SeededGenerator(seed: 7)
        var bodies: [[UInt8]] =
            [
                "", "plain\r\n", "\0", "a\0b", "\u{1B}[31m\u{85}\u{202E}\u{2028}\"\\/é😀\u{7F}",
                String(repeating: "😀é", count: 12_000),
            ].map { Array($0.utf8) }
            + [
                [0xFF, 0xFE], [0xC3], [0xE2, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80],
            ]
        for _ in 0..<20 {
            let count = Int.random(in: 1...20_000, using: &random)
            bodies.append((0..<count).map { _ in UInt8.random(in: 0...255, using: &random) })
        }
        return bodies
    }()

    /// The records of all bodies, in their order.
    private func records(_ options: RecordOptions) async throws -> [JSONValue] {
        let server = try LoopbackServer { peer in
            let line = String(decoding: peer.readLine() ?? [], as: UTF8.self)
            if let number = Int(line.filter(\.isNumber)) { peer.write(Self.bodies[number]) }
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: "\(UUID())").path
        var settings = Client.Options()
        settings.trust = TrustStore(path: folder)
        let lines = Locked<[[UInt8]]>([])
        let writer = RecordWriter(options: options) { line in lines.withLock { $0.append(line) } }
        let urls = Self.bodies.indices.map { "gopher://127.0.0.1:\(server.port)/9/\($0)" }
        let summary = try await Client(options: settings).run(urls, parallel: 1).write(to: writer)
        #expect(summary.ok == Self.bodies.count)
        return try lines.withLock { $0 }.map { try JSONValue.parse($0[...]) }
    }

    private func number(_ value: JSONValue?) -> Int? {
        if case .number(let text)? = value { Int(text) } else { nil }
    }

    /// The bytes that a body, or one of its chunks, says it has.
    private func bytes(_ body: JSONValue?) -> [UInt8]? {
        if let text = body?["text"]?.string { return Array(text.utf8) }
        return body?["base64"]?.string.flatMap { Data(base64Encoded: $0) }.map { Array($0) }
    }

    @Test(arguments: [RecordOptions.BodyForm.auto, .base64])
    func anyBytesSurvive(_ form: RecordOptions.BodyForm) async throws {
        var options = RecordOptions()
        options.body = form
        let found = try await records(options).filter { $0["type"]?.string == "response" }
        #expect(found.count == Self.bodies.count)
        for (body, record) in zip(Self.bodies, found) {
            #expect(number(record["size"]) == body.count)
            #expect(bytes(record["body"]) == body)
        }
    }

    @Test func chunksAreTheBody() async throws {
        var options = RecordOptions()
        options.streamsBodies = true
        let all = try await records(options)
        let chunks = all.filter { $0["type"]?.string == "chunk" }
        for (index, record) in all.filter({ $0["type"]?.string == "response" }).enumerated() {
            let own = chunks.filter { number($0["n"]) == index }
            #expect(number(record["body"]?["chunks"]) == own.count)
            #expect(own.flatMap { bytes($0) ?? [] } == Self.bodies[index])
            #expect(own.indices.allSatisfy { number(own[$0]["seq"]) == $0 })
        }
    }

    @Test func bodiesBeyondTheLimitAreLeftOut() async throws {
        var options = RecordOptions()
        options.inlineBytesMax = 7
        for (body, record) in zip(Self.bodies, try await records(options)) {
            let omitted = record["body"]?["omitted"]?.string
            #expect(omitted == (body.count > 7 ? "inline-limit" : nil), "\(body.count)")
        }
    }
}
