// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

/// Processes that visit many hosts for the first time, at once or until they are killed.
@Suite(.timeLimit(.minutes(30)))
struct FirstVisitTests {
    private let smallweb = Smallweb()
    private let capsule: Capsule

    init() throws { capsule = try Capsule() }

    /// Arguments that fetch a page of each host; all hosts are one server.
    private func visits(_ hosts: [String]) -> [String] {
        let port = capsule.server.port
        let options = [
            "get", "-s", "-j", "32", "--body", "none", "--json", "--connect-timeout", "10m",
        ]
        return options + ["--known-hosts", smallweb.home.file("hosts")]
            + hosts.flatMap { ["--resolve", "\($0):\(port):127.0.0.1"] }
            + hosts.map { "gemini://\($0):\(port)/1k" }
    }

    /// The places of the store. Checks that each line is complete.
    private func places() throws -> [String] {
        let content = try #require(smallweb.home.content("hosts"))
        #expect(content.last == UInt8(ascii: "\n"))
        let lines = String(decoding: content, as: UTF8.self).split(separator: "\n")
        #expect(lines.first == "# smallweb known_hosts 1")
        for line in lines.dropFirst() {
            let form = #/[a-z0-9.]+:\d+ k sha256:[0-9a-f]{64} expires=\d+ .* seen=.*[0-9a-f]{128}/#
            #expect(line.wholeMatch(of: form) != nil, "\(line)")
        }
        return lines.dropFirst().map { String($0.prefix { $0 != ":" }) }
    }

    @Test(arguments: [true, false])
    func twoProcessesLoseNoPinAndAddNoneTwice(_ areEqual: Bool) async throws {
        let hosts = [0, 1].map { half in
            (0..<500).map { areEqual ? "h\($0).test" : "h\($0).of\(half).test" }
        }
        let (smallweb, arguments) = (smallweb, hosts.map(visits))
        let statuses = await withTaskGroup(of: Int32?.self) { group in
            for words in arguments {
                group.addTask { try? smallweb.run(words).status }
            }
            return await group.reduce(into: [Int32?]()) { $0.append($1) }
        }
        #expect(statuses == [0, 0])
        #expect(try places().sorted() == Set(hosts.joined()).sorted())
        #expect(smallweb.home.names == ["hosts"])
    }

    @Test func aKillLeavesNothingThatTheNextRunDoesNotMend() throws {
        let hosts = (0..<300).map { "h\($0).test" }
        let file = smallweb.home.file("hosts")
        for part in 1...4 {
            let killed = try smallweb.run(visits(hosts)) { process in
                var facts = stat()
                try eventually("part \(part) of the store is written") {
                    kill(process, 0) != 0
                        || stat(file, &facts) == 0 && facts.st_size >= part * 20_000
                }
                kill(process, SIGKILL)
            }
            #expect(killed.status == -SIGKILL)
        }
        let result = try smallweb.run(visits(hosts))
        #expect(result.status == 0, "\(result.errors)")
        #expect(try places().sorted() == hosts.sorted())
        #expect(smallweb.home.names == ["hosts"])
    }
}
