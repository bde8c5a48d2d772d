// SPDX-License-Identifier: MIT
@testable internal import GitPlugin
internal import SmallWebCore
internal import Testing

/// The server's greeting.
@Suite struct GitAdvertisementTests {
    static let oid = "ce013625030ba8dba906f756967f9e9ca394464a"
    static let zero = String(repeating: "0", count: 40)

    /// Parses packets; `isOver` is true if the end was among them.
    static func take(
        _ packets: [PktLine]
    ) throws -> (server: Advertisement, refs: [String], isOver: Bool) {
        var server = Advertisement()
        var refs: [String] = []
        for (index, packet) in packets.enumerated() {
            switch try server.take(packet) {
            case .more: break
            case .ref(let line): refs.append(String(decoding: line, as: UTF8.self))
            case .end:
                #expect(index == packets.count - 1)
                return (server, refs, true)
            }
        }
        return (server, refs, false)
    }

    static func lines(_ lines: String...) -> [PktLine] {
        lines.map { .data(Array($0.utf8)[...]) } + [.flush]
    }

    static func failure(_ packets: [PktLine]) -> Outcome? {
        let error = #expect(throws: FetchError.self) { try take(packets) }
        return error?.outcome
    }

    @Test func version0HasReferencesAndCapabilities() throws {
        let (server, refs, isOver) = try Self.take(
            Self.lines(
                "\(Self.oid) HEAD\0multi_ack symref=HEAD:refs/heads/main agent=git/2 shallow\n",
                "\(Self.oid) refs/heads/main\n", "\(Self.oid) refs/tags/v1^{}",
                "shallow \(Self.oid)"))
        #expect(server.version == 0)
        #expect(server.format == .sha1)
        #expect(refs == ["HEAD", "refs/heads/main", "refs/tags/v1^{}"].map { "\(Self.oid) \($0)" })
        #expect(isOver)
        #expect(server.value("symref") == "HEAD:refs/heads/main")
        #expect(server.value("agent") == "git/2")
        #expect(server.value("shallow") == "")
        #expect(server.value("multi_ack") == "")
        #expect(server.value("multi") == nil)
        #expect(server.value("side-band-64k") == nil)
        #expect(!server.canFetch(with: "shallow"))
    }

    @Test func version1IsVersion0AfterALine() throws {
        let (server, refs, isOver) = try Self.take(
            Self.lines("version 1\n", "\(Self.oid) HEAD\0agent=x object-format=sha1"))
        #expect(server.version == 1)
        #expect(server.value("agent") == "x")
        #expect(refs == ["\(Self.oid) HEAD"])
        #expect(isOver)
    }

    @Test func version2HasCapabilitiesAlone() throws {
        let (server, refs, isOver) = try Self.take(
            Self.lines(
                "version 2\n", "agent=git/2.39.5\n", "ls-refs=unborn\n", "new-thing\n",
                "fetch=shallow wait-for-done filter\n", "object-format=sha256\n"))
        #expect(server.version == 2)
        #expect(server.format == .sha256)
        #expect(refs.isEmpty)
        #expect(isOver)
        #expect(server.canFetch(with: "shallow"))
        #expect(server.canFetch(with: "filter"))
        #expect(!server.canFetch(with: "filt"))
        #expect(!server.canFetch(with: "ref-in-want"))
    }

    @Test(arguments: [
        "\(zero) capabilities^{}\0agent=x symref=HEAD:refs/heads/main",
        "\(zero) capabilities^{}\0agent=x\n",
    ])
    func anEmptyRepositoryHasNoReference(_ line: String) throws {
        let (server, refs, isOver) = try Self.take(Self.lines(line))
        #expect(refs.isEmpty)
        #expect(isOver)
        #expect(server.value("agent") == "x")
    }

    @Test func aFlushAloneIsAnEmptyRepository() throws {
        let (server, refs, isOver) = try Self.take([.flush])
        #expect(server.version == 0)
        #expect(server.capabilities.isEmpty)
        #expect(refs.isEmpty)
        #expect(isOver)
    }

    @Test(arguments: ["symref", "symref=", "symref=HEAD", "symref=:", "symref=:x", "symref=HEAD:"])
    func aBogusSymrefSaysNothing(_ symref: String) throws {
        let (server, refs, _) = try Self.take(Self.lines("\(Self.oid) HEAD\0\(symref) agent=x"))
        #expect(refs == ["\(Self.oid) HEAD"])
        var list = RefList(RefQuery(), wantsRefs: true, server)
        try list.add(plain: Array(refs[0].utf8)[...])
        list.finish()
        #expect(list.refs == [Ref(name: "HEAD", oid: Self.oid)])
    }

    @Test func theFirstObjectFormatCounts() throws {
        let line = "\(Self.oid) HEAD\0object-format=sha1 object-format=sha256"
        #expect(try Self.take(Self.lines(line)).server.format == .sha1)
    }

    @Test(arguments: ["sha512", "", "SHA1", "sha1 "])
    func anUnknownObjectFormatIsAnError(_ name: String) {
        #expect(Self.failure(Self.lines("version 2", "object-format=\(name)")) == .protocolError)
        if name.last == " " { return }
        #expect(
            Self.failure(Self.lines("\(Self.oid) HEAD\0object-format=\(name)")) == .protocolError)
    }

    @Test(arguments: [PktLine.delim, .responseEnd])
    func onlyAFlushEnds(_ packet: PktLine) {
        #expect(Self.failure([packet]) == .protocolError)
        #expect(
            Self.failure(Array(Self.lines("version 2").dropLast()) + [packet]) == .protocolError)
    }

    @Test func endlessCapabilitiesAreAnError() {
        let endless = [PktLine](repeating: .data(Array("x".utf8)[...]), count: 5_000)
        #expect(Self.failure(Self.lines("version 2").dropLast() + endless) == .protocolError)
    }

    @Test func manyCapabilitiesInOneLineAreCut() throws {
        let many = String(repeating: "a ", count: 30_000)
        let (server, _, _) = try Self.take(Self.lines("\(Self.oid) HEAD\0\(many)"))
        #expect(server.capabilities.count <= 1_001)
    }

    /// The first line is neither a version that we know nor a reference.
    @Test(arguments: [
        "", "\n", "version 3", "version 2 ", "version", "VERSION 2", "\0", "\0agent=x", " \0",
        "HTTP/1.1 400 Bad Request\r\n", "SSH-2.0-x\r\n", "unborn", oid, "\(oid) ", "\(oid)  HEAD",
    ])
    func garbageIsAnError(_ line: String) {
        #expect(throws: FetchError.self, "\(line)") {
            let (server, refs, _) = try Self.take(Self.lines(line))
            for ref in refs { _ = try RefLine(plain: Array(ref.utf8)[...], server.format) }
            // A line that is neither would have to be read as something.
            if refs.isEmpty { throw FetchError(.internal, .header, "read as nothing") }
        }
    }
}
