// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// A repository at its server: what its references stand for, and objects of it.
final class Repository {
    let server: Advertisement
    let address: GitAddress
    let limits: Limits
    private let conversation: any GitConversation
    private let cache: ObjectCache
    private var overhead: Overhead
    /// What the server said before version 2, by name.
    private let refs: [String: ObjectID]
    /// All of a version, when the server could not send less.
    private var snapshot: PackSpool?

    init(
        _ conversation: any GitConversation, _ server: Advertisement, _ address: GitAddress,
        _ cache: ObjectCache, _ limits: Limits, _ overhead: Overhead, refs: [String: ObjectID]
    ) {
        self.conversation = conversation
        self.server = server
        self.address = address
        self.cache = cache
        self.limits = limits
        self.overhead = overhead
        self.refs = refs
    }

    var format: ObjectFormat { server.format }

    var canFilter: Bool { server.version == 2 && server.canFetch(with: "filter") }

    // MARK: References

    /// The object that a name stands for, behind annotated tags where the server says so.
    ///
    /// - Parameter name: A branch, tag, full reference or object id; `nil` is `HEAD`.
    /// - Throws: `permanent-failure` when there is none.
    func resolve(_ name: String?) async throws(FetchError) -> ObjectID {
        let version = name ?? "HEAD"
        if let id = ObjectID(hex: version), id.format == format { return id }
        let candidates = Self.candidates(version)
        var refs = refs
        if server.version == 2 {
            try await list(candidates) { ref in
                let name = String(decoding: ref.name, as: UTF8.self)
                if candidates.contains(name), let oid = ref.oid {
                    refs[name] = ObjectID(hex: ref.peeled ?? oid)
                }
            }
        }
        guard let id = candidates.lazy.compactMap({ refs[$0] }).first else {
            throw FetchError(
                .permanentFailure, .body,
                name == nil
                    ? "the repository has no commit yet, or its HEAD is on none"
                    : "no branch or tag \"\(version)\"",
                remedy: .listReferences)
        }
        return id
    }

    /// gitrevisions(7): what a name may be short for, the first first.
    static func candidates(_ name: String) -> [String] {
        [
            name, "refs/\(name)", "refs/tags/\(name)", "refs/heads/\(name)",
            "refs/remotes/\(name)", "refs/remotes/\(name)/HEAD",
        ]
    }

    /// Asks for references, in version 2.
    private func list(
        _ prefixes: [String], _ take: (RefLine) throws(FetchError) -> Void
    ) async throws(FetchError) {
        let request = try RefList.request(prefixes: prefixes, symrefs: false, server)
        let format = format
        try await conversation.exchange(request) { decoder async throws(FetchError) in
            while let packet = try conversation.next(&decoder) {
                guard let text = packet.text else { return true }
                try overhead.add(packet)
                try take(try RefLine(attributed: text, format))
            }
            return false
        }
    }

    // MARK: Objects

    private static let objectBytesMax = 64 << 20

    /// A commit, tag or tree, or a file from a server that cannot send it alone.
    ///
    /// - Parameters:
    ///   - start: What the version's name stands for.
    ///   - whole: Told how many objects come, when the server sends all of the version.
    func load(
        _ id: ObjectID, of start: ObjectID, whole: (Int) async throws(FetchError) -> Void
    ) async throws(FetchError) -> PackObject {
        if let known = cache[id] { return known }
        guard canFilter else {
            let pack = try await wholeVersion(of: start, whole)
            guard let object = try pack.object(id, bytesMax: Self.objectBytesMax) else {
                throw FetchError(.protocolError, .body, "the server's pack lacks the object \(id)")
            }
            if object.type != .blob { cache.add(object) }
            return object
        }
        let pack = try await fetch(
            FetchRequest(wants: [id], depth: 1, filter: .trees),
            PackLimits(
                totalBytesMax: Self.objectBytesMax, packBytesMax: Self.objectBytesMax))
        guard let object = try pack.object(id) else {
            throw FetchError(
                .protocolError, .body, "the server sent another object than \(id)")
        }
        if object.type != .blob { cache.add(object) }
        return object
    }

    /// Everything in a version, from a server that cannot send a part of it.
    ///
    /// - Parameter began: Told how many objects come.
    func wholeVersion(
        of start: ObjectID, _ began: (Int) async throws(FetchError) -> Void = { _ in }
    ) async throws(FetchError) -> PackSpool {
        if let snapshot { return snapshot }
        do throws(FetchError) {
            let request = FetchRequest(wants: [start], depth: 1)
            let pack = try await fetch(request, PackLimits(), began)
            snapshot = pack
            return pack
        } catch  where error.outcome == .tooLarge {
            throw FetchError(
                .tooLarge, .body,
                "the server cannot send a part of a version, and all of it is too large",
                hint: "clone the repository with git", expected: error.expected)
        }
    }

    /// The pack that answers a request, its deltas undone and all ids computed.
    ///
    /// - Parameter began: Told how many objects come.
    func fetch(
        _ request: FetchRequest, _ limits: PackLimits,
        _ began: (Int) async throws(FetchError) -> Void = { _ in }
    ) async throws(FetchError) -> PackSpool {
        let pack = try PackSpool(format, limits: limits)
        var isBegun = false
        try await receive(request) { bytes async throws(FetchError) in
            try pack.add(bytes)
            if !isBegun && pack.objects > 0 {
                isBegun = true
                try await began(pack.objects)
            }
        }
        try pack.finish()
        while try !pack.resolve(Self.resolveBytes) {
            // Other fetches share the loop, and a signal has to be seen.
            await Task.yield()
            guard !Task.isCancelled else { throw .cancelled }
        }
        return pack
    }

    private static let resolveBytes = 8 << 20

    /// Gives out one object in pieces as they come, from a server that can send it alone.
    func stream(
        _ id: ObjectID, _ take: (PackReader.Event) async throws(FetchError) -> Void
    ) async throws(FetchError) {
        let pack = try PackReader(format, limits: PackLimits(totalBytesMax: .max))
        let request = FetchRequest(wants: [id], depth: 1, filter: .trees)
        try await receive(request) { bytes async throws(FetchError) in
            pack.add(bytes)
            while let event = try pack.next() { try await take(event) }
        }
        try pack.finish()
    }

    private func receive(
        _ request: FetchRequest,
        _ take: (ArraySlice<UInt8>) async throws(FetchError) -> Void
    ) async throws(FetchError) {
        var reply = FetchReply(server)
        let request = try GitCommand.fetch(request, server)
        try await conversation.exchange(request) { decoder async throws(FetchError) in
            while let packet = try conversation.next(&decoder) {
                switch try reply.take(packet) {
                case .more: try overhead.add(packet)
                case .end: return true
                case .fatal(let text): throw conversation.refused(text)
                case .pack(let bytes): try await take(bytes)
                }
            }
            return false
        }
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
