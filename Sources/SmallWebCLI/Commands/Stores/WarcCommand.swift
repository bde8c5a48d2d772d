// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb
internal import SmallWebArchive
internal import SmallWebPlugins
internal import SmallWebRecords
internal import SmallWebTesting

extension Command {
    static let warc = Command("warc ACTION …", actions: [list, cat, index, check, wire, from])

    private static let list = Command.action(
        "list FILE…", operands: [.file], options: ["json"]
    ) { settings, names throws(FetchError) in
        try EventLoop().runToEnd { () async throws(FetchError) in
            for name in names { try await WarcCommand(settings).list(name) }
        }
    }

    private static let cat = Command(
        "cat FILE URL…", operands: [.file, .url], taker: .others
    ) { settings, words throws(FetchError) in
        var settings = settings
        settings.archive.replayed = [words[0]]
        settings.archive.replaysLatest = true
        return try GetCommand(settings, Array(words.dropFirst())).run()
    }.with(\.optionNames, ["json", "output", "raw", "render"])

    private static let index = Command.action(
        "index FILE…", operands: [.file]
    ) { settings, names throws(FetchError) in
        for name in names {
            let count = try CaptureIndex.update(name)
            try StandardStream.output.writeForeign("\(name).cdxj\t\(count) lines added\n")
        }
    }

    private static let check = Command.action(
        "check FILE…", operands: [.file]
    ) { settings, names throws(FetchError) in
        for name in names { try WarcCommand(settings).check(name) }
    }

    private static let wire = Command.action(
        "wire FILE DIR", operands: [.file, .directory], options: ["plugin"]
    ) { settings, words throws(FetchError) in
        let loop = try EventLoop()
        try loop.runToEnd { () async throws(FetchError) in
            try await WarcCommand(settings).wire(words[0], words[1], on: loop)
        }
    }

    private static let from = Command.action(
        "from DIR FILE", operands: [.directory, .file], options: ["plugin"]
    ) { settings, words throws(FetchError) in
        try WarcCommand(settings).from(words[0], words[1])
    }
}

private struct WarcCommand: Sendable {
    private let settings: Settings

    init(_ settings: Settings) { self.settings = settings }

    // MARK: list

    private struct Line {
        let offset: Int
        let header: WarcHeader
        let head: Head?
    }

    func list(_ name: String) async throws(FetchError) {
        let reader = try WarcReader(name)
        let limit = { (header: WarcHeader) in header.type == "response" ? Self.headBytesMax : 0 }
        while let header = try reader.nextWhole(keeping: limit) {
            let head =
                header.type == "response" ? await Self.head(header.target, reader.beginning) : nil
            try settings.write([Line(offset: reader.offset, header: header, head: head)]) {
                Self.write($1, to: &$0)
            } text: { line in
                let fields: [String] = [
                    "\(line.offset)", line.header.type, line.header["warc-date"] ?? "-",
                    line.head?.status.map { "\($0)" } ?? "-",
                    line.head?.mediaType?.essence ?? "-", "\(line.header.blockBytes)",
                    line.header.target ?? "-",
                ]
                return fields.joined(separator: "\t") + "\n"
            }
        }
        if let damage = reader.damage, reader.hasLoss { throw damage }
    }

    /// Limit of bytes of a block read for its head.
    private static let headBytesMax = 64 << 10

    /// The head of a recorded reply, from its first bytes; `nil` if no plugin can parse it.
    private static func head(_ target: String?, _ block: [UInt8]) async -> Head? {
        guard let target, let uri = try? URI(parsing: target),
            let entry = Registry.builtIn[uri.scheme]
        else { return nil }
        var request = Request(uri: uri, scheme: entry.scheme)
        request.wantsHeadAlone = true
        request.wantsItems = false
        if entry.scheme.uploads?.isOnlyUse == true { request.upload = Request.Upload([]) }
        if entry.scheme.input == .line { request.input = [] }
        var head: Head?
        do throws(FetchError) {
            _ = try await entry.handler.fetch(request, dialer: BlockDialer(block: block)) {
                event throws(FetchError) in
                guard case .head(let found) = event else { return }
                head = found
                throw .cancelled
            }
        } catch {
            // An incomplete reply is enough.
        }
        return head
    }

    private static func write(_ line: Line, to writer: inout JSONWriter) {
        let header = line.header
        writer.begin("warc-record")
        writer.member("offset", line.offset)
        writer.member("kind", header.type)
        // Without a fraction of a second, like all dates of records.
        let date = header["warc-date"].map { $0.prefix(19) + "Z" }
        writer.member("date", date.map { String($0) })
        writer.member("status", line.head?.status)
        writer.member("mime", line.head?.mediaType?.essence)
        writer.member("size", header.blockBytes)
        writer.member("url", header.target)
    }

    // MARK: check

    func check(_ name: String) throws(FetchError) {
        let check = try ArchiveCheck(name)
        if check.unanswered > 0 {
            let count = check.unanswered
            Messages(settings.messages).warning(
                "\(name): \(count) request\(count == 1 ? "" : "s") without a reply")
        }
        try StandardStream.output.writeForeign(
            "\(name)\t\(check.records) records\t\(check.digests) digests\n")
    }

    // MARK: wire and from

    func wire(
        _ name: String, _ folder: String, on loop: EventLoop
    ) async throws(FetchError) {
        let registry = try settings.registry()
        let messages = Messages(settings.messages)
        if mkdir(folder, 0o777) != 0, errno != EEXIST {
            throw FetchError(
                .write, .output, "cannot make the folder \(folder)", SystemError(number: errno))
        }
        try await WireConversion(registry).forEachFixture(of: name, on: loop) { target in
            messages.warning("\(target): left out: fixtures cannot have such an exchange")
        } onDamage: { why in
            messages.warning(why)
        } _: { name, text throws(FetchError) in
            let file = try FileOutput(
                "\(folder)/\(name).wire", clash: .number, createsDirectories: false)
            try file.write(text[...])
            try file.commit()
            try StandardStream.output.writeForeign(file.path + "\n")
        }
    }

    func from(_ folder: String, _ name: String) throws(FetchError) {
        let fixtures = try Fixtures(folder)
        guard fixtures.count > 0 else {
            throw FetchError(.read, .input, "\(folder) has no fixtures, which are files *.wire")
        }
        let archive = try ArchiveWriter(
            name, software: "smallweb/\(Help.version)",
            commandLine: "smallweb " + settings.invocation.maskedWords.joined(separator: " "))
        if let note = archive.note { Messages(settings.messages).warning(note) }
        let conversion = WireConversion(try settings.registry())
        try fixtures.forEach { name, text throws(FetchError) in
            try conversion.add(name: name, text, to: archive)
        }
    }
}

/// Fake server that answers every request with `block`.
private struct BlockDialer: Dialer, HTTPClient {
    let block: [UInt8]

    func dial(_ endpoint: Endpoint) -> ByteStream { ByteStream(replaying: block) }

    func httpClient(for endpoint: Endpoint) -> any HTTPClient { self }

    func exchange(
        _ request: HTTPRequest,
        onReply: (HTTPReply) async throws(FetchError) -> Void,
        onBody: (ArraySlice<UInt8>) async throws(FetchError) -> Void
    ) async throws(FetchError) -> Completeness {
        guard let end = HeaderText.end(of: block[...]) else { return .truncated }
        try await onReply(HTTPReply(block[..<end]))
        return .unverified
    }
}
