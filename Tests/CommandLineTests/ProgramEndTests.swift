// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

/// Programs that exit or stop reading: all their output arrives, and nothing waits to write input
/// that they do not read.
@Suite(.timeLimit(.minutes(30)))
struct ProgramEndTests {
    private let smallweb = Smallweb()

    private func plugin(
        _ script: String, to server: LoopbackServer, _ scheme: String = "", more: String = ""
    ) throws -> String {
        try smallweb.plugin(
            "#!/bin/sh\n" + script,
            scheme: #""transport": "tcp", "port": \#(server.port)"# + scheme, more: more)
    }

    /// A file is not read to its end for a program that has closed its upload, and limits hold
    /// meanwhile.
    @Test(arguments: [("exit 0", 0), ("sleep 100", 28)])
    func anUploadThatIsNotReadIsLeftAlone(_ then: String, _ status: Int32) throws {
        let server = try LoopbackServer { _ = $0.read(.max) }
        let folder = try plugin("exec 5<&-; " + then, to: server, #", "upload": true"#)
        let file = smallweb.home.file("large")
        #expect(FileManager.default.createFile(atPath: file, contents: nil))
        // Reading it would take minutes.
        try FileHandle(forWritingTo: URL(filePath: file)).truncate(atOffset: 1 << 37)
        let result = try smallweb.run(
            ["put", "-m", "3", "--plugin", folder, "trial://127.0.0.1/", file],
            shell: #"exec timeout 60 "$@""#)
        #expect(result.status == status, "\(result.errors)")
    }

    /// All bytes written before the exit are sent, even to a slow server.
    @Test func theLastBytesOfAProgramAreSent() throws {
        let (count, arrived) = (4_000_000, Monitor(0))
        let server = try LoopbackServer { peer in
            // Time for the program to end, whose bytes do not fit into the buffers.
            poll(nil, 0, 1000)
            let read = peer.read(count).count
            arrived.update { $0 = read }
        }
        let folder = try plugin("head -c \(count) /dev/zero; exit 0", to: server)
        let result = try smallweb.run(["get", "--plugin", folder, "trial://127.0.0.1/"])
        #expect(result.status == 0, "\(result.errors)")
        _ = try server.waitForConnections(1)
        #expect(arrived.update { $0 } == count)
    }
}
