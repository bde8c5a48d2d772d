// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// A repository at its server: its references and objects.
final class Repository {
    private(set) var server = Advertisement()
    let address: GitAddress
    let limits: Limits
    private let conversation: any GitConversation
    private let cache: ObjectCache
    private let overheadMax: Overhead
    private var overhead: Overhead
    /// References known so far, by name.
    private var refs: [String: ObjectID] = [:]
    /// Short names of other branches and tags, as suggestions for a mistyped version.
    private var others: [String] = []
    private var lookedUp: Set<String> = []
    /// Commits whose parents the server itself lacks.
    private(set) var shallow: Set<ObjectID> = []
    /// The same, and commits whose parents were not requested.
    private(set) var cut: Set<ObjectID> = []
    /// A whole version, if the server could not send less.
    private var snapshot: PackSpool?

    init(
        _ conversation: any GitConversation, _ address: GitAddress, _ cache: ObjectCache,
        _ limits: Limits, _ overhead: Overhead
    ) {
        self.conversation = conversation
        self.address = address
        self.cache = cache
        self.limits = limits
        (self.overhead, overheadMax) = (overhead, overhead)
    }

    // MARK: Greeting

    /// Reads the server's greeting.
    ///
    /// - Parameters:
    ///   - takeRef: Called with each reference that is listed before version 2.
    ///   - pause: Called when all that has arrived is taken.
    func greet(
        _ takeRef: (ArraySlice<UInt8>) async throws(FetchError) -> Void,
        pause: () async throws(FetchError) -> Void = {}
    ) async throws(FetchError) {
        try await conversation.greet(2) { decoder async throws(FetchError) in
            while let packet = try conversation.next(&decoder) {
                try overhead.add(packet)
                switch try server.take(packet) {
                case .more: break
                case .end: return true
                case .ref(let line): try await takeRef(line)
                }
            }
            try await pause()
            return false
        }
        (shallow, cut) = (server.shallow, server.shallow)
    }

    /// Reads the server's greeting, and keeps the references that the URL needs.
    func greet() async throws(FetchError) {
        let needsTags = address.question.kind == .describe
        let candidates = address.versions.flatMap { Self.candidates($0 ?? "HEAD") }
        try await greet { line throws(FetchError) in
            let ref = try RefLine(plain: line, format)
            // Not the target of a tag: a server may refuse objects that it has not listed.
            let name = String(decoding: ref.name, as: UTF8.self)
            let isOfTag = name.hasPrefix(Tag.prefix) || name.hasSuffix("^{}")
            if candidates.contains(name) || needsTags && isOfTag, let oid = ref.oid {
                refs[name] = ObjectID(hex: oid)
            } else {
                suggest(name)
            }
        }
    }

    /// Called when a part of the answer has come.
    func renewOverhead() { overhead = overheadMax }

    /// - Parameter name: A reference's full name.
    private func suggest(_ name: String) {
        guard others.count < Self.suggestionsMax, !name.hasSuffix("^{}"),
            let prefix = Self.prefixes.first(where: name.hasPrefix)
        else { return }
        others.append(String(name.dropFirst(prefix.count)))
    }

    private static let prefixes = ["refs/heads/", Tag.prefix]
    /// As many as ``Nearest`` looks at.
    private static let suggestionsMax = 10_000

    var format: ObjectFormat { server.format }

    var canFilter: Bool { server.version == 2 && server.canFetch(with: "filter") }

    // MARK: References

    /// The object of a name.
    ///
    /// - Parameters:
    ///   - name: A branch, tag, full reference or object id, or an ancestor of one; `nil` is
    ///     `HEAD`.
    ///   - peels: True for the target of an annotated tag, if the server reports it; false for the
    ///     tag itself.
    /// - Throws: `permanent-failure` when there is none.
    func resolve(_ name: String?, peels: Bool = true) async throws(FetchError) -> ObjectID {
        let version = name ?? "HEAD"
        if let id = ObjectID(hex: version), id.format == format { return id }
        if let ancestor = Ancestor(version) { return try await resolve(ancestor) }
        try await lookUp([name], peels: peels)
        guard let id = Self.candidates(version).lazy.compactMap({ self.refs[$0] }).first else {
            throw try await missing(name)
        }
        return id
    }

    /// Looks up several names in one exchange.
    func lookUp(_ names: [String?], peels: Bool = true) async throws(FetchError) {
        let unknown = names.map { $0.map { Ancestor($0)?.base ?? $0 } ?? "HEAD" }.filter {
            !lookedUp.contains($0) && ObjectID(hex: $0)?.format != format
        }
        guard server.version == 2, !unknown.isEmpty else { return }
        lookedUp.formUnion(unknown)
        let candidates = unknown.flatMap(Self.candidates)
        try await list(candidates) { ref in
            let name = String(decoding: ref.name, as: UTF8.self)
            if candidates.contains(name), let oid = ref.oid {
                refs[name] = ObjectID(hex: peels ? ref.peeled ?? oid : oid)
            }
        }
    }

    /// As ``resolve(_:)``, with the id to request from the server, and all tags in the order of
    /// their names.
    func resolveWithTags(
        _ name: String?
    ) async throws(FetchError) -> (id: ObjectID, wanted: ObjectID, tags: [Tag]) {
        var (refs, tags) = (refs, [Tag]())
        let version = name ?? "HEAD"
        let candidates = Self.candidates(version)
        if server.version == 2 {
            try await list(candidates + [Tag.prefix]) { ref throws(FetchError) in
                let name = String(decoding: ref.name, as: UTF8.self)
                guard let oid = ref.oid, let id = ObjectID(hex: oid) else { return }
                let peeled = ref.peeled.flatMap { ObjectID(hex: $0) }
                if candidates.contains(name) { refs[name] = peeled ?? id }
                guard name.hasPrefix(Tag.prefix) else { return }
                guard tags.count < Self.tagsListedMax else { throw Self.tooManyTags }
                let short = String(name.dropFirst(Tag.prefix.count))
                tags.append(Tag(name: short, id: id, peeled: peeled))
            }
        } else {
            for (name, id) in refs where name.hasPrefix(Tag.prefix) && !name.hasSuffix("^{}") {
                let short = String(name.dropFirst(Tag.prefix.count))
                tags.append(Tag(name: short, id: id, peeled: refs[name + "^{}"]))
            }
            tags.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        }
        if let id = ObjectID(hex: version), id.format == format { return (id, id, tags) }
        if let ancestor = Ancestor(version) {
            let id = try await resolve(ancestor)
            return (id, id, tags)
        }
        guard let name = candidates.first(where: { refs[$0] != nil }), let id = refs[name] else {
            throw try await missing(version)
        }
        // Before version 2 only listed objects can be requested.
        return (refs[name + "^{}"] ?? id, id, tags)
    }

    private static let tagsListedMax = 1 << 20
    private static let tooManyTags = FetchError(
        .tooLarge, .body, "the repository has more than \(tagsListedMax) tags",
        expected: String(tagsListedMax))

    /// The error for a version that does not exist, with a similar name as a hint.
    private func missing(_ name: String?) async throws(FetchError) -> FetchError {
        guard let name, name != "HEAD" else {
            return FetchError(
                .permanentFailure, .body,
                "the repository has no commit yet, or its HEAD is on none",
                remedy: .listReferences)
        }
        if server.version == 2 {
            do throws(FetchError) {
                try await list(Self.prefixes) { ref in
                    suggest(String(decoding: ref.name, as: UTF8.self))
                }
            } catch  where error.outcome != .interrupted {
                // The missing version is reported instead.
            }
        }
        let message = "no branch or tag \"\(name)\""
        let digits = format.byteCount * 2
        if name.count >= 7 && name.count < digits && name.allSatisfy(\.isHexDigit) {
            return FetchError(
                .permanentFailure, .body, message + ", nor the whole id of an object",
                hint: "a server finds an object by all \(digits) digits of its id")
        }
        if name.contains(where: { "~^".contains($0) }) {
            return FetchError(
                .permanentFailure, .body, message,
                hint: "write VERSION^, VERSION^2 or VERSION~3 for an ancestor of a version")
        }
        let suffix = name.split(separator: ".").dropFirst().last ?? ""
        if !suffix.isEmpty, suffix.allSatisfy(\.isLetter), !name.contains(text: ".."),
            Nearest.question(name, among: others) == nil
        {
            return FetchError(
                .permanentFailure, .body, message,
                hint: "a path in the repository comes after --, or after // in its URL")
        }
        guard let question = Nearest.question(name, among: others) else {
            return FetchError(.permanentFailure, .body, message, remedy: .listReferences)
        }
        return FetchError(.permanentFailure, .body, message, hint: question)
    }

    /// Full names for a short one, in the order of gitrevisions(7).
    static func candidates(_ version: String) -> [String] {
        let name = Ancestor(version)?.base ?? version
        return [
            name, "refs/\(name)", "refs/tags/\(name)", "refs/heads/\(name)",
            "refs/remotes/\(name)", "refs/remotes/\(name)/HEAD",
        ]
    }

    /// Requests references, in version 2.
    ///
    /// - Parameter pause: Called when all that has arrived is taken.
    func list(
        _ prefixes: [String], symrefs: Bool = false,
        _ take: (RefLine) throws(FetchError) -> Void,
        pause: () async throws(FetchError) -> Void = {}
    ) async throws(FetchError) {
        let request = try RefList.request(prefixes: prefixes, symrefs: symrefs, server)
        let format = format
        try await conversation.exchange(request) { decoder async throws(FetchError) in
            while let packet = try conversation.next(&decoder) {
                guard let text = packet.text else { return true }
                try overhead.add(packet)
                try take(try RefLine(attributed: text, format))
            }
            try await pause()
            return false
        }
    }

    /// Requests commits.
    ///
    /// - Throws: `too-large` when the server sends all files with them, and they are more than 64
    ///   MiB or the user's limit.
    func history(_ request: FetchRequest) async throws(FetchError) -> PackSpool {
        var packLimits = PackLimits(objectsMax: GitQuestion.countMax)
        if !canFilter {
            packLimits = PackLimits()
            // A record's limit equals the usual one even if it was not chosen by the user.
            let isUsual =
                limits.isUsualForBodies || limits.bodyBytesMax == Limits.standard.bodyBytesMax
            packLimits.packBytesMax =
                isUsual ? 64 << 20 : limits.bodyBytesMax ?? packLimits.packBytesMax
        }
        do throws(FetchError) {
            return try await fetch(request, packLimits)
        } catch  where error.outcome == .tooLarge && !canFilter {
            throw FetchError(
                .tooLarge, .body,
                "the server cannot send commits alone, and all files of them are too large",
                remedy: .raise(.bodyBytes), expected: error.expected)
        } catch  where error.outcome == .tooLarge {
            throw FetchError(
                .tooLarge, .body, "more than \(GitQuestion.countMax) commits",
                hint: "ask for fewer: a number of them, a range or a date",
                expected: error.expected)
        }
    }

    /// Requests versions with their trees; without their files, if the server can leave these out.
    ///
    /// - Throws: `too-large` as ``history(_:)``.
    func trees(_ request: FetchRequest) async throws(FetchError) -> PackSpool {
        canFilter ? try await fetch(request, PackLimits()) : try await history(request)
    }

    /// Called when a refusal is a valid answer.
    func forgetRefusal() { conversation.refusal = nil }

    // MARK: Objects

    /// A commit, tag or tree; or a file, if the server cannot send it alone.
    ///
    /// - Parameters:
    ///   - start: The object id of the version.
    ///   - whole: Called with the number of objects when the server sends the whole version.
    func load(
        _ id: ObjectID, of start: ObjectID,
        whole: (Int) async throws(FetchError) -> Void = { _ in }
    ) async throws(FetchError) -> PackObject {
        if let known = cache[id] { return known }
        let object: PackObject
        if canFilter {
            let bytesMax = PackSpool.bytesMax
            let pack = try await fetch(
                FetchRequest(wants: [id], depth: 1, filter: .trees),
                PackLimits(totalBytesMax: bytesMax, packBytesMax: bytesMax))
            guard let found = try pack.object(id) else { throw .anotherObject(than: id) }
            object = found
        } else {
            object = try await wholeVersion(of: start, whole).required(id)
        }
        if object.type != .blob { cache.add(object) }
        return object
    }

    /// A whole version, for a server that cannot send a part of it.
    ///
    /// - Parameter began: Called with the number of objects.
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

    /// The pack that answers a request, its deltas resolved and all ids computed.
    ///
    /// - Parameter began: Called with the number of objects.
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
            // Other fetches share the loop.
            try await LongWork.pause()
        }
        return pack
    }

    private static let resolveBytes = 8 << 20

    /// Passes on one object in pieces as they arrive, from a server that can send it alone.
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
        let isCut = request.depth != nil || request.since != nil
        defer {
            cut.formUnion(reply.shallow)
            if !isCut { shallow.formUnion(reply.shallow) }
        }
        let request = try request.encoded(for: server)
        try await conversation.exchange(request) { decoder async throws(FetchError) in
            while let packet = try conversation.next(&decoder) {
                switch try reply.take(packet) {
                case .more: try overhead.add(packet)
                case .end: return true
                case .fatal(let text): throw conversation.refused(text)
                case .pack(let bytes): try await take(bytes)
                }
            }
            // While a fast server sends, only this checks deadline and signals.
            try LongWork.check()
            return false
        }
    }
}

/// A cache of commits and trees for the process, shared by fetches of several paths. Their hashes
/// have been verified, so the origin does not matter.
final class ObjectCache: Sendable {
    // Keyed by text: a key of another type makes every start search for its `==`.
    private let objects = Locked((byID: [String: PackObject](), bytes: 0))
    private static let bytesMax = 16 << 20
    /// A cache that gets the same objects.
    private let other: ObjectCache?

    init(feeding other: ObjectCache? = nil) { self.other = other }

    subscript(id: ObjectID) -> PackObject? { objects.withLock { $0.byID[id.description] } }

    func add(_ object: PackObject) {
        other?.add(object)
        objects.withLock { objects in
            if objects.bytes + object.content.count > Self.bytesMax { objects = ([:], 0) }
            guard object.content.count <= Self.bytesMax else { return }
            if objects.byID.updateValue(object, forKey: object.id.description) == nil {
                objects.bytes += object.content.count
            }
        }
    }
}
