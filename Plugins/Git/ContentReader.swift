// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Finds a file or directory in one version of a repository, and asks the server for nothing else.
///
/// With a server that can filter, each step is a request for one object: the commit, a tree for
/// each part of the path, the file. From any other server the whole version comes in one pack, up
/// to a limit.
final class ContentReader {
    private let conversation: any GitConversation
    private let server: Advertisement
    private let address: GitAddress
    private let cache: ObjectCache
    private let limits: Limits
    /// The id of what there was at an earlier visit.
    private let known: String?
    /// The id of what is there now, once it is found.
    private var found: ObjectID?
    /// What the version's name stands for.
    private var start: ObjectID?
    private var overhead: Overhead
    /// Everything, when it came at once.
    private var snapshot: PackReader?

    init(
        _ conversation: any GitConversation, _ server: Advertisement, _ address: GitAddress,
        _ cache: ObjectCache, _ request: Request, _ overhead: Overhead
    ) {
        self.conversation = conversation
        self.server = server
        self.address = address
        self.cache = cache
        limits = request.limits
        known = request.validator?.text
        self.overhead = overhead
    }

    private var canFilter: Bool { server.version == 2 && server.canFetch(with: "filter") }

    /// - Parameters:
    ///   - refs: What the server said before version 2, by name.
    ///   - others: What else there was then.
    /// - Throws: `permanent-failure` when there is no such version or path, `too-large`.
    func read(
        _ path: [[UInt8]], refs: [String: ObjectID], _ others: VersionNames, _ emit: Emit
    ) async throws(FetchError) {
        let start = try await resolve(refs, others)
        self.start = start
        var object = try await load(start)
        var hops = 0
        while object.type == .tag || object.type == .commit {
            hops += 1
            guard hops <= Self.tagsMax else {
                throw FetchError(.protocolError, .body, "a chain of tags without an end")
            }
            let next =
                object.type == .tag
                ? try ObjectHeader.target(ofTag: object.content[...], server.format).id
                : try ObjectHeader.tree(ofCommit: object.content[...], server.format)
            object = try await load(next)
        }
        var walked: [[UInt8]] = []
        for (index, name) in path.enumerated() {
            guard object.type == .tree else { throw missing(walked + [name]) }
            let entries = try Tree.parse(object.content[...], server.format)
            walked.append(name)
            guard let entry = entries.first(where: { $0.name.elementsEqual(name) }) else {
                throw missing(walked, among: entries)
            }
            let isLast = index == path.count - 1
            switch entry.kind {
            case .submodule:
                throw FetchError(
                    .permanentFailure, .body,
                    "\(shown(walked)) is a submodule, at commit \(entry.id) of another repository",
                    hint: "'.gitmodules' of this repository says where that one is")
            case .directory:
                object = try await load(entry.id)
                guard object.type == .tree else {
                    throw FetchError(
                        .protocolError, .body, "the directory \(shown(walked)) is not a tree")
                }
            case .file, .executable, .symbolicLink:
                guard isLast else { throw missing(Array(path[...(index + 1)])) }
                if try await isUnchanged(entry.id, emit) { return }
                if entry.kind == .symbolicLink {
                    try await emit(
                        .note(Note("symbolic-link", "a symbolic link: the body is its target")))
                }
                return try await deliverFile(entry.id, name: name, emit)
            }
        }
        if try await isUnchanged(object.id, emit) { return }
        switch object.type {
        case .tree: try await deliverDirectory(object.content[...], at: path, emit)
        default: try await deliver(object.content[...], of: object.content.count, name: nil, emit)
        }
    }

    private static let tagsMax = 16
    /// Commits, tags and trees of one request.
    private static let heldBytesMax = 64 << 20
    private static let snapshotBytesMax = 256 << 20

    // MARK: Versions

    private func resolve(
        _ refs: [String: ObjectID], _ others: VersionNames
    ) async throws(FetchError) -> ObjectID {
        let version = address.version ?? "HEAD"
        if let id = ObjectID(hex: version), id.format == server.format { return id }
        let candidates = Self.candidates(version)
        var refs = refs
        if server.version == 2 {
            try await list(candidates) { name, ref in
                if candidates.contains(name), let oid = ref.oid {
                    refs[name] = ObjectID(hex: ref.peeled ?? oid)
                }
            }
        }
        if let id = candidates.lazy.compactMap({ refs[$0] }).first { return id }
        guard address.version != nil else {
            throw FetchError(
                .permanentFailure, .body,
                "the repository has no commit yet, or its HEAD is on none",
                remedy: .listReferences)
        }
        throw try await unknown(version, others)
    }

    /// The error for a version that there is not, with the one that may be meant.
    private func unknown(
        _ version: String, _ others: VersionNames
    ) async throws(FetchError) -> FetchError {
        var others = others
        if server.version == 2 {
            do throws(FetchError) {
                try await list(VersionNames.prefixes) { name, _ in others.add(name) }
            } catch  where error.outcome != .interrupted {
                // There is an error to report already.
            }
        }
        let message = "no branch or tag \"\(version)\""
        guard let question = Nearest.question(version, among: others.names) else {
            return FetchError(.permanentFailure, .body, message, remedy: .listReferences)
        }
        return FetchError(.permanentFailure, .body, message, hint: question)
    }

    /// Asks a server of version 2 for references by the beginnings of their names.
    private func list(
        _ prefixes: [String], _ take: (String, RefLine) -> Void
    ) async throws(FetchError) {
        let request = try RefList.request(prefixes: prefixes, symrefs: false, server)
        let format = server.format
        try await conversation.exchange(request) { decoder async throws(FetchError) in
            while let packet = try conversation.next(&decoder) {
                guard let text = packet.text else { return true }
                try overhead.add(packet)
                let ref = try RefLine(attributed: text, format)
                take(String(decoding: ref.name, as: UTF8.self), ref)
            }
            return false
        }
    }

    /// gitrevisions(7): what a name may be short for, the first first.
    static func candidates(_ name: String) -> [String] {
        [
            name, "refs/\(name)", "refs/tags/\(name)", "refs/heads/\(name)",
            "refs/remotes/\(name)", "refs/remotes/\(name)/HEAD",
        ]
    }

    /// - Parameter entries: What there is in the directory where the last name was not found.
    private func missing(_ path: [[UInt8]], among entries: [TreeEntry] = []) -> FetchError {
        let directory = Array(path.dropLast())
        let typed = path.last.flatMap { String(validating: $0, as: UTF8.self) }
        let names = entries.lazy.compactMap { String(validating: $0.name, as: UTF8.self) }
        let nearest = typed.flatMap { Nearest.name(to: $0, among: names) }
        return FetchError(
            .permanentFailure, .body,
            "no \(shown(path)) in \(address.version ?? "HEAD")",
            hint: nearest.map { "did you mean \(shown(directory + [Array($0.utf8)]))?" }
                ?? "see what there is: \(address.url(of: directory))")
    }

    private func shown(_ path: [[UInt8]]) -> String {
        "\"\(path.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/"))\""
    }

    // MARK: Objects

    private func load(_ id: ObjectID) async throws(FetchError) -> PackObject {
        if let known = cache[id] ?? snapshot?.object(id) { return known }
        guard snapshot == nil else {
            throw FetchError(.protocolError, .body, "the server's pack lacks the object \(id)")
        }
        let limits = PackLimits(
            objectBytesMax: Self.snapshotBytesMax,
            heldBytesMax: canFilter ? Self.heldBytesMax : Self.snapshotBytesMax)
        let pack = try PackReader(server.format, limits: limits, keeping: true)
        do throws(FetchError) {
            try await fetch(canFilter ? id : start ?? id, pack) { _ in }
        } catch  where error.outcome == .tooLarge && !canFilter {
            throw FetchError(
                .tooLarge, .body,
                "the server cannot send a part of a version, and all of it is too large",
                hint: "clone the repository with git", expected: error.expected)
        }
        if !canFilter { snapshot = pack }
        guard let object = pack.object(id) else {
            throw FetchError(
                .protocolError, .body, "the server sent another object than \(id)")
        }
        if object.type != .blob { cache.add(object) }
        return object
    }

    /// Gives the events of a pack to `take`, and checks the pack.
    private func fetch(
        _ id: ObjectID, _ pack: PackReader,
        _ take: (PackReader.Event) async throws(FetchError) -> Void
    ) async throws(FetchError) {
        var reply = FetchReply(server)
        let request = try GitCommand.fetch(id, server)
        try await conversation.exchange(request) { decoder async throws(FetchError) in
            while let packet = try conversation.next(&decoder) {
                switch try reply.take(packet) {
                case .more: try overhead.add(packet)
                case .end: return true
                case .fatal(let text): throw conversation.refused(text)
                case .pack(let bytes):
                    pack.add(bytes)
                    while let event = try pack.next() { try await take(event) }
                }
            }
            return false
        }
        try pack.finish()
    }

    // MARK: Delivery

    /// Whether what is there is what was there: then there is nothing to deliver.
    private func isUnchanged(_ id: ObjectID, _ emit: Emit) async throws(FetchError) -> Bool {
        found = id
        guard known == id.description else { return false }
        var head = Head(.success)
        head.isUnchanged = true
        head.validator = known
        head.facts = server.facts
        try await emit(.head(head))
        return true
    }

    private func deliverFile(
        _ id: ObjectID, name: [UInt8], _ emit: Emit
    ) async throws(FetchError) {
        guard canFilter else {
            let object = try await load(id)
            guard object.type == .blob else { throw Self.noFile }
            return try await deliver(
                object.content[...], of: object.content.count, name: name, emit)
        }
        let largest = limits.bodyBytesMax
        let pack = try PackReader(
            server.format, limits: PackLimits(objectBytesMax: .max), keeping: false)
        // Held until it is long enough to tell its type.
        var beginning: [UInt8]? = []
        var found: ObjectID?
        var bodyBytes = 0
        func begin() async throws(FetchError) {
            guard let bytes = beginning.take() else { return }
            try await deliver(bytes[...], of: bodyBytes, name: name, emit)
        }
        try await fetch(id, pack) { event async throws(FetchError) in
            switch event {
            case .begin(let type, let size):
                guard type == .blob, found == nil else { throw Self.noFile }
                if let largest, size > largest { throw .tooLarge(largest) }
                bodyBytes = size
            case .data(let bytes):
                guard beginning != nil else { return try await emit(.body(bytes)) }
                beginning? += bytes
                if (beginning?.count ?? 0) >= Self.beginningBytes { try await begin() }
            case .end(let computed):
                // A short file is checked before anybody gets it.
                if computed == id { try await begin() }
                found = computed
            }
        }
        guard found == id else {
            throw FetchError(
                .protocolError, .body, "the file's content has not the hash that its tree names",
                expected: id.description, actual: found?.description)
        }
    }

    private func deliver(
        _ content: ArraySlice<UInt8>, of bodyBytes: Int, name: [UInt8]?, _ emit: Emit
    ) async throws(FetchError) {
        // Git's own rule tells text from binary: a NUL near the beginning.
        let isBinary = content.prefix(Self.beginningBytes).contains(ASCII.nul)
        var head = Head(
            .success,
            mediaType: isBinary
                ? MediaType("application/octet-stream")
                : MediaType("text/plain", ["charset": "utf-8"]))
        head.mediaTypeSource = .sniffed
        head.suggestedName = name.map { String(decoding: $0, as: UTF8.self) }
        head.facts = server.facts
        head.bodyBytes = bodyBytes
        head.validator = found?.description
        try await emit(.head(head))
        if !content.isEmpty { try await emit(.body(content)) }
    }

    private func deliverDirectory(
        _ tree: ArraySlice<UInt8>, at path: [[UInt8]], _ emit: Emit
    ) async throws(FetchError) {
        let name = String(decoding: path.last ?? [], as: UTF8.self)
        var head = server.listHead(name: name)
        head.validator = found?.description
        try await emit(.head(head))
        var lines: [UInt8] = []
        for entry in try Tree.parse(tree, server.format) {
            lines += entry.listing
            let isTree = entry.kind == .directory
            try await emit(
                .item(
                    Item(
                        kind: isTree ? .menu : entry.kind == .submodule ? .external : .link,
                        text: String(decoding: entry.name, as: UTF8.self),
                        url: entry.kind == .submodule
                            ? nil : address.url(of: path + [Array(entry.name)]),
                        type: String(entry.mode, radix: 8))))
        }
        if !lines.isEmpty { try await emit(.body(lines[...])) }
    }

    private static let beginningBytes = 8000
    private static let noFile = FetchError(.protocolError, .body, "the server sent no file")
}

extension TreeEntry {
    /// A line of git-ls-tree(1).
    var listing: [UInt8] {
        let digits = String(mode, radix: 8)
        let padded = String(repeating: "0", count: max(0, 6 - digits.count)) + digits
        let type =
            switch kind {
            case .directory: "tree"
            case .submodule: "commit"
            case .file, .executable, .symbolicLink: "blob"
            }
        return Array("\(padded) \(type) \(id)\t".utf8) + Self.quoted(name) + [ASCII.lineFeed]
    }

    /// As Git does without core.quotePath: only what could be mistaken is in quotes.
    private static func quoted(_ name: ArraySlice<UInt8>) -> [UInt8] {
        let isPlain = name.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != 0x22 && $0 != 0x5C }
        if isPlain { return Array(name) }
        var text = Array("\"".utf8)
        for byte in name {
            switch byte {
            case 0x22, 0x5C: text += [0x5C, byte]
            case 0x07...0x0D: text += [0x5C, Array("abtnvfr".utf8)[Int(byte) - 7]]
            case 0..<0x20, 0x7F:
                text.append(0x5C)
                text += [byte >> 6, byte >> 3 & 7, byte & 7].map { $0 + 0x30 }
            default: text.append(byte)
            }
        }
        return text + Array("\"".utf8)
    }
}

/// Commits and trees of a process, so that several paths of one repository share them. They are
/// what their ids say, wherever they came from.
final class ObjectCache: Sendable {
    // By the text of their ids: a key of another type costs every start the search for its `==`.
    private let objects = Locked((byID: [String: PackObject](), bytes: 0))
    private static let bytesMax = 16 << 20

    subscript(id: ObjectID) -> PackObject? { objects.withLock { $0.byID[id.description] } }

    func add(_ object: PackObject) {
        objects.withLock { objects in
            if objects.bytes + object.content.count > Self.bytesMax { objects = ([:], 0) }
            guard object.content.count <= Self.bytesMax else { return }
            if objects.byID.updateValue(object, forKey: object.id.description) == nil {
                objects.bytes += object.content.count
            }
        }
    }
}
