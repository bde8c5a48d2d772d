// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

/// Arguments and names of files are bytes: here `e` with an acute accent in Latin-1.
struct NameBytesTests {
    static let latin: [UInt8] = [0xE9]

    /// Runs a shell script in which `$e` is that byte.
    static func run(
        _ smallweb: Smallweb, _ script: String, _ arguments: String...
    ) throws -> Smallweb.Result {
        try smallweb.run(arguments, shell: "e=$(printf '\\351'); \(script)")
    }

    @Test(arguments: [
        ("-o", "-o \"x$e\""), ("-D", "-D \"x$e\""), ("--ledger", "--ledger \"x$e\""),
        ("-O", "-O --create-dirs --output-dir \"x$e\""),
    ])
    func filesAreWrittenUnderTheirName(_ name: String, _ options: String) throws {
        let (hole, smallweb) = (try Hole(), Smallweb())
        // The shell itself says whether the name is there.
        let result = try Self.run(
            smallweb, "\"$1\" get \(options) \"$2\" >/dev/null && ls -d \"x$e\"",
            "\(hole.place)/0/about.txt")
        #expect(result.status == 0, "\(name): \(result.errors)")
        #expect(result.output.starts(with: [0x78] + Self.latin))
        #expect(smallweb.home.names.filter { $0.hasPrefix("x") }.count == 1)
    }

    @Test func aRecordHasTheBytesOfTheName() throws {
        let (hole, smallweb) = (try Hole(), Smallweb())
        let result = try Self.run(
            smallweb, "\"$1\" get --json -o \"x$e\" -o y \"$2\" \"$2\"",
            "\(hole.place)/0/about.txt")
        let records = try Records(result.output).terminal
        let bodies = records.map { $0["body"] }
        #expect(bodies.count == 2 && records.allSatisfy { Schema.shared.problems($0).isEmpty })
        #expect(bodies.first??["path"]?.string?.hasSuffix("/x\u{FFFD}") == true)
        let path = bodies.first??["path_base64"]?.string.flatMap { Data(base64Encoded: $0) }
        #expect(path.map { Array($0.suffix(3)) } == Array("/x".utf8) + Self.latin)
        #expect(bodies.last??["path"]?.string?.hasSuffix("/y") == true)
        #expect(bodies.last??["path_base64"] == nil)
    }

    @Test func filesAreReadUnderTheirName() throws {
        let (hole, smallweb) = (try Hole(), Smallweb())
        let url = "\(hole.place)/0/about.txt"
        let list = try Self.run(
            smallweb, "printf '%s\\n' \"$2\" > \"l$e\"; \"$1\" get \"@l$e\"", url)
        #expect(list.status == 0, "\(list.errors)")
        let config = try Self.run(
            smallweb, "printf 'fail = false\\n' > \"c$e\"; \"$1\" get -K \"c$e\" \"$2\"", url)
        #expect(config.status == 0, "\(config.errors)")
        let words = try Self.run(
            smallweb, "printf words > \"d$e\"; \"$1\" explain -d \"@d$e\" \"$2\"",
            "\(hole.place)/7/search")
        #expect(words.text.contains("words"), "\(words.errors)")
        let upload = try Self.run(
            smallweb, "printf text > \"u$e\"; \"$1\" put \"$2\" \"u$e\"",
            "titan://127.0.0.1:\(hole.server.port)/")
        #expect(upload.status != 26, "\(upload.errors)")
        let missing = try Self.run(smallweb, "\"$1\" put titan://127.0.0.1:1/ \"no$e\"")
        #expect(missing.status == 26)
        #expect(missing.errors.contains("no\\xE9"))
    }

    @Test func aURLThatIsNotUTF8IsRefused() throws {
        let (hole, smallweb) = (try Hole(), Smallweb())
        let plain = try Self.run(smallweb, "\"$1\" get \"$2/0/$e\"", hole.place)
        #expect(plain.status == 3)
        #expect(plain.errors.contains("the URL is not UTF-8"))
        let record = try Self.run(smallweb, "\"$1\" get --json \"$2/0/$e\"", hole.place)
        #expect(record.status == 3)
        let json = try #require(try Records(record.output).terminal.first)
        let raw = Array("\(hole.place)/0/".utf8) + Self.latin
        #expect(json["url_base64"]?.string == Data(raw).base64EncodedString())
        let agent = try Self.run(smallweb, "\"$1\" get -A \"x$e\" \"$2/\"", hole.place)
        #expect(agent.status == 2)
        #expect(hole.server.connections.isEmpty)
    }

    /// Only root can take /proc away.
    private static let canHideProc: Bool = {
        let result = try? Smallweb().run([], shell: "unshare -m mount -t tmpfs none /proc")
        return result?.status == 0
    }()

    @Test(.enabled(if: canHideProc, "only root can hide /proc, with a mount namespace"))
    func argumentsNeedNoProc() throws {
        let result = try Smallweb().run(
            ["--version"],
            shell: "exec unshare -m sh -c 'mount -t tmpfs none /proc; \"$@\"' sh \"$@\"")
        #expect(result.status == 0)
        #expect(result.text.hasPrefix("smallweb "))
    }
}
