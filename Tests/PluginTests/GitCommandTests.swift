// SPDX-License-Identifier: MIT
@testable internal import GitPlugin
internal import SmallWebCore
internal import Testing

/// Requests for objects, and the frame of their replies.
@Suite struct GitCommandTests {
    static let hex = "ce013625030ba8dba906f756967f9e9ca394464a"

    static func id() throws -> ObjectID { try #require(ObjectID(hex: hex)) }

    static func server(_ version: Int, _ capabilities: String...) throws -> Advertisement {
        var server = Advertisement()
        let lines =
            version == 2
            ? ["version 2"] + capabilities
            : ["\(hex) HEAD\0" + capabilities.joined(separator: " ")]
        for line in lines { _ = try server.take(.data(Array(line.utf8)[...])) }
        return server
    }

    static func request(_ server: Advertisement) throws -> String {
        String(
            decoding: try FetchRequest(wants: [id()], depth: 1, filter: .trees)
                .encoded(for: server), as: UTF8.self)
    }

    @Test func version2AsksForOneObject() throws {
        func server(_ features: String) throws -> Advertisement {
            try Self.server(
                2, "agent=git/2", "ls-refs=unborn", "fetch=\(features)", "object-format=sha1")
        }
        #expect(
            try Self.request(server("shallow wait-for-done filter"))
                == "0012command=fetch\n0013agent=smallweb\n0017object-format=sha1\n0001"
                + "0032want \(Self.hex)\n0010no-progress\n000eofs-delta\n000ddeepen 1\n"
                + "0012filter tree:0\n0009done\n0000")
        #expect(
            try Self.request(server("shallow wait-for-done"))
                == "0012command=fetch\n0013agent=smallweb\n0017object-format=sha1\n0001"
                + "0032want \(Self.hex)\n0010no-progress\n000eofs-delta\n000ddeepen 1\n"
                + "0009done\n0000")
    }

    @Test(arguments: ["fetch", "fetch=", "fetch=filtering shallows", "fetch=wait-for-done", "x"])
    func version2SendsNothingThatIsNotOffered(_ capability: String) throws {
        let server = try Self.server(2, capability, "filter", "shallow")
        #expect(
            try Self.request(server)
                == "0012command=fetch\n00010032want \(Self.hex)\n0010no-progress\n000eofs-delta\n"
                + "0009done\n0000")
    }

    @Test func version0AsksWithWhatIsOffered() throws {
        #expect(
            try Self.request(Self.server(0, "side-band-64k", "shallow"))
                == "0040want \(Self.hex) side-band-64k\n000ddeepen 1\n00000009done\n")
        let all = try Self.server(
            0, "multi_ack", "thin-pack", "side-band", "side-band-64k", "ofs-delta", "shallow",
            "no-progress", "include-tag", "filter", "symref=HEAD:refs/heads/main",
            "object-format=sha1", "agent=git/2")
        #expect(
            try Self.request(all)
                == "008cwant \(Self.hex) multi_ack side-band-64k thin-pack ofs-delta no-progress"
                + " object-format=sha1 agent=smallweb\n000ddeepen 1\n00000009done\n")
    }

    @Test(arguments: ["", "side-band-64k", "shallow", "side-band shallow", "side-band-64k=1 x"])
    func version0NeedsTwoCapabilities(_ capabilities: String) throws {
        let error = #expect(throws: FetchError.self) {
            try Self.request(Self.server(0, capabilities))
        }
        #expect(error?.outcome == .permanentFailure)
    }

    /// dulwich hangs up on a client that leaves out one of the three.
    @Test func version0TakesThinPacks() throws {
        let request = try Self.request(
            Self.server(0, "shallow", "ofs-delta", "thin-pack", "side-band-64k"))
        for name in ["side-band-64k", "thin-pack", "ofs-delta"] {
            #expect(request.contains(" \(name)"), "\(name)")
        }
        #expect(!request.contains("have "))
    }

    /// We have only the commits named in `have`, not their trees, so we request thin packs only
    /// from a server that insists on them.
    @Test func version0TellsWhatIsKnown() throws {
        let id = try Self.id()
        let request = FetchRequest(wants: [id], haves: [id], since: 1)
        func text(_ capabilities: String) throws -> String {
            let server = try Self.server(0, "side-band-64k shallow thin-pack \(capabilities)")
            return String(decoding: try request.encoded(for: server), as: UTF8.self)
        }
        let git = try text("agent=git/2 deepen-since")
        #expect(!git.contains("thin-pack") && git.contains("have \(Self.hex)\n"))
        #expect(git.contains(" deepen-since agent") && git.contains("deepen-since 1\n"))
        let dulwich = try text("")
        #expect(dulwich.contains(" thin-pack") && dulwich.contains("have \(Self.hex)\n"))
        #expect(!dulwich.contains("deepen-since"))
    }

    // MARK: Replies

    /// The bytes of the pack that packets carry, and whether they came to an end.
    static func read(
        _ version: Int, _ packets: [PktLine]
    ) throws -> (pack: String, isOver: Bool, fatal: String?) {
        var reply = FetchReply(try server(version, "x"))
        var pack: [UInt8] = []
        for packet in packets {
            switch try reply.take(packet) {
            case .more: break
            case .pack(let bytes): pack += bytes
            case .end: return (String(decoding: pack, as: UTF8.self), true, nil)
            case .fatal(let text): return (String(decoding: pack, as: UTF8.self), false, text)
            }
        }
        return (String(decoding: pack, as: UTF8.self), false, nil)
    }

    static func data(_ text: String) -> PktLine { .data(Array(text.utf8)[...]) }

    @Test func sideBandsAreToldApart() throws {
        func step(_ payload: ArraySlice<UInt8>) throws -> FetchReply.Step {
            var reply = FetchReply(try Self.server(2, "x"))
            _ = try reply.take(Self.data("packfile\n"))
            return try reply.take(.data(payload))
        }
        #expect(try step([1, 80, 65]) == .pack([80, 65]))
        #expect(try step([2, 0x0A]) == .more)
        #expect(try step(Array("\u{3}out of memory\n".utf8)[...]) == .fatal("out of memory"))
        #expect(try step([1]) == .pack([]))
        #expect(try step([2]) == .more)
        #expect(try step([3]) == .fatal(""))
        for payload in [[], [0], [4, 1], [0x50, 0x41, 0x43, 0x4B]] as [ArraySlice<UInt8>] {
            let error = #expect(throws: FetchError.self) { try step(payload) }
            #expect(error?.outcome == .protocolError)
        }
    }

    /// Servers send `0005\1` while they have nothing else to say.
    @Test(arguments: ["\u{1}", "\u{2}"])
    func emptyPacketsKeepAConnectionAliveButNotForEver(_ empty: String) throws {
        let most = [PktLine](repeating: Self.data(empty), count: FetchReply.emptyInARowMax)
        let begin = [Self.data("packfile\n")]
        let packets = begin + most + [Self.data("\u{1}PA")] + most + [Self.data("\u{1}CK"), .flush]
        #expect(try Self.read(2, packets).pack == "PACK")
        let error = #expect(throws: FetchError.self) {
            try Self.read(2, begin + most + [Self.data(empty)])
        }
        #expect(error?.outcome == .protocolError)
    }

    static let pack: [PktLine] = [
        data("packfile\n"), data("\u{2}Counting objects\r"), data("\u{1}PA"), data("\u{1}"),
        data("\u{2}"), data("\u{1}CK"), .flush,
    ]

    @Test(arguments: [
        [pack],
        [[data("shallow-info\n"), data("shallow \(hex)"), .delim], pack],
        [[data("acknowledgments"), data("NAK"), data("ready"), .delim], pack],
        [
            [data("wanted-refs\n"), data("\(hex) refs/heads/main"), .delim],
            [data("shallow-info\n"), data("unshallow \(hex)\n"), .delim], pack,
        ],
        [[data("new-section"), data("ERRor"), .delim], pack],
    ])
    func sectionsComeInAnyOrder(_ sections: [[PktLine]]) throws {
        let (pack, isOver, _) = try Self.read(2, Array(sections.joined()))
        #expect(pack == "PACK")
        #expect(isOver)
    }

    @Test(arguments: [0, 1])
    func shallowLinesComeBeforeTheAnswer(_ version: Int) throws {
        let head: [PktLine] = [Self.data("shallow \(Self.hex)"), .flush, Self.data("NAK\n")]
        let (pack, isOver, _) = try Self.read(version, head + Self.pack.dropFirst())
        #expect(pack == "PACK")
        #expect(isOver)
    }

    @Test func aReplyWithoutAPackIsAnError() throws {
        for packets: [PktLine] in [
            [.flush], [.responseEnd], [Self.data("acknowledgments"), Self.data("NAK"), .flush],
        ] {
            let error = #expect(throws: FetchError.self) { try Self.read(2, packets) }
            #expect(error?.outcome == .protocolError)
        }
    }

    @Test(arguments: [0, 2])
    func theFatalBandEndsEverything(_ version: Int) throws {
        let mark = Self.data(version == 2 ? "packfile" : "NAK")
        let packets = [mark, Self.data("\u{1}PA"), Self.data("\u{3}out of memory\n")]
        let (pack, isOver, fatal) = try Self.read(version, packets)
        #expect(pack == "PA")
        #expect(!isOver)
        #expect(fatal == "out of memory")
    }

    @Test(arguments: ["", "\u{0}x", "\u{4}x", "PACK"])
    func anotherBandIsAnError(_ payload: String) {
        let error = #expect(throws: FetchError.self) {
            try Self.read(2, [Self.data("packfile"), Self.data(payload)])
        }
        #expect(error?.outcome == .protocolError)
    }
}
