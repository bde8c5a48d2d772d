// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Finds a file or directory in one version of a repository, with the fewest requests.
///
/// With a server that can filter, each step is a request for one object: the commit, a tree for
/// each component of the path, the file. Any other server sends the whole version in one pack.
struct ContentReader {
    private let repository: Repository
    /// The object id at an earlier visit.
    private let known: String?
    private var address: GitAddress { repository.address }

    init(_ repository: Repository, known: String? = nil) {
        (self.repository, self.known) = (repository, known)
    }

    /// The target of a path.
    struct Target {
        /// Its name is empty for the root, and for a version that is a file.
        var entry: TreeEntry
        /// The content, unless it is a file in a directory.
        var object: PackObject?
        /// `nil` if the version is a directory or file.
        var commit: Commit?
        /// The trees from the root to the target, including the target if it is one.
        var trees: [ObjectID] = []
        /// The `.gitattributes` of the directories above, each with the depth of its directory.
        var attributes: [(depth: Int, id: ObjectID)] = []
        /// The `.gitmodules` of the root.
        var modules: ObjectID?
    }

    /// - Throws: `permanent-failure` when there is no such version or path, `too-large`.
    func read(_ emit: Emit) async throws(FetchError) {
        let path = address.path ?? []
        let start = try await repository.resolve(address.version)
        let place = try await find(path, in: start)
        if try await isUnchanged(place.entry.id, emit) { return }
        guard let object = place.object else {
            if place.entry.kind == .symbolicLink {
                try await emit(
                    .note(Note("symbolic-link", "a symbolic link: the body is its target")))
            }
            return try await deliverFile(place.entry.id, of: start, name: path.last ?? [], emit)
        }
        switch object.type {
        case .tree:
            let entries = try object.tree.entries()
            var modules = Submodules()
            if let id = place.modules, entries.contains(where: { $0.kind == .submodule }) {
                modules = Submodules(try await repository.load(id, of: start).content[...])
            }
            try await deliverDirectory(object.id, entries, modules, at: path, emit)
        default:
            try await deliver(object, emit)
        }
    }

    /// Delivers an object's content. Its hash has been verified.
    ///
    /// - Throws: `permanent-failure` when there is no such version, `too-large`.
    func readObject(_ emit: Emit) async throws(FetchError) {
        let id = try await repository.resolve(address.version, peels: false)
        let object = try await repository.load(id, of: id)
        if let largest = repository.limits.bodyBytesMax, object.content.count > largest {
            throw .tooLarge(largest)
        }
        try await deliver(object, emit)
    }

    /// - Parameters:
    ///   - start: The object id of the version.
    ///   - whole: Called with the number of objects when the server sends the whole version.
    func find(
        _ path: [[UInt8]], in start: ObjectID,
        whole: (Int) async throws(FetchError) -> Void = { _ in }
    ) async throws(FetchError) -> Target {
        var object = try await repository.load(start, of: start, whole: whole)
        var commit: Commit?
        var hops = 0
        while let target = try object.target() {
            hops += 1
            guard hops <= PackObject.tagsMax else { throw PackObject.hasTooManyTags }
            if object.type == .commit { commit = try Commit(object) }
            object = try await repository.load(target, of: start)
        }
        let kind = object.type == .tree ? TreeEntry.Kind.directory : .file
        var place = Target(
            entry: TreeEntry(mode: 0, kind: kind, name: [], id: object.id), object: object,
            commit: commit)
        if object.type == .tree {
            place.modules = try object.tree.file(".gitmodules")
        }
        for (index, name) in path.enumerated() {
            let walked = Array(path[...index])
            guard let tree = place.object, tree.type == .tree else { throw missing(walked) }
            let entries = tree.tree
            guard let entry = try entries.find(name) else {
                throw missing(walked, among: try entries.entries())
            }
            place.trees.append(tree.id)
            if let id = try entries.attributes() { place.attributes.append((index, id)) }
            place.entry = entry
            place.object = nil
            switch entry.kind {
            case .submodule:
                throw FetchError(
                    .permanentFailure, .body,
                    "\(shown(walked)) is a submodule, at commit \(entry.id) of another repository",
                    hint: "'.gitmodules' of this repository says where that one is")
            case .directory:
                let object = try await repository.load(entry.id, of: start)
                guard object.type == .tree else {
                    throw FetchError(
                        .protocolError, .body, "the directory \(shown(walked)) is not a tree")
                }
                place.object = object
                if index == path.count - 1 { place.trees.append(object.id) }
            case .file, .executable, .symbolicLink:
                guard index == path.count - 1 else { throw missing(Array(path[...(index + 1)])) }
            }
        }
        return place
    }

    /// - Parameter entries: Entries of the directory in which the last name was not found.
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

    // MARK: Delivery

    /// True if the target is the same as at the earlier visit, so that the body is not sent.
    private func isUnchanged(_ id: ObjectID, _ emit: Emit) async throws(FetchError) -> Bool {
        guard known == id.description else { return false }
        var head = Head(.success)
        head.isUnchanged = true
        head.validator = known
        head.facts = repository.server.facts
        try await emit(.head(head))
        return true
    }

    private func deliverFile(
        _ id: ObjectID, of start: ObjectID, name: [UInt8], _ emit: Emit
    ) async throws(FetchError) {
        // The first pieces are buffered until they tell the type.
        var beginning: [UInt8]? = []
        var bodyBytes = 0
        func begin(size: Int) throws(FetchError) {
            if let largest = repository.limits.bodyBytesMax, size > largest {
                throw .tooLarge(largest)
            }
            bodyBytes = size
        }
        nonisolated(nonsending) func take(_ bytes: ArraySlice<UInt8>) async throws(FetchError) {
            guard beginning != nil else { return try await emit(.body(bytes)) }
            beginning? += bytes
            if (beginning?.count ?? 0) >= [UInt8].beginningBytes { try await end() }
        }
        nonisolated(nonsending) func end() async throws(FetchError) {
            guard let bytes = beginning.take() else { return }
            try await deliver(bytes[...], of: bodyBytes, name: name, id: id, emit)
        }
        guard repository.canFilter else {
            let pack = try await repository.wholeVersion(of: start)
            guard let number = pack.find(id) else { throw .lacks(id) }
            guard pack.type(number) == .blob else { throw Self.noFile }
            try begin(size: try pack.size(number))
            try await pack.stream(number) { bytes async throws(FetchError) in
                try await take(bytes)
            }
            return try await end()
        }
        var found: ObjectID?
        try await repository.stream(id) { event async throws(FetchError) in
            switch event {
            case .begin(let entry, _):
                guard entry.kind == .object(.blob), found == nil else { throw Self.noFile }
                try begin(size: entry.size)
            case .data(let bytes): try await take(bytes)
            case .end(let computed):
                // A short file is delivered only if its hash is right.
                if computed == id { try await end() }
                found = computed
            }
        }
        guard found == id else {
            throw FetchError(
                .protocolError, .body, "the file's content has not the hash that its tree names",
                expected: id.description, actual: found?.description)
        }
    }

    private func deliver(_ object: PackObject, _ emit: Emit) async throws(FetchError) {
        let content = object.content[...]
        try await deliver(content, of: content.count, name: nil, id: object.id, emit)
    }

    private func deliver(
        _ content: ArraySlice<UInt8>, of bodyBytes: Int, name: [UInt8]?, id: ObjectID, _ emit: Emit
    ) async throws(FetchError) {
        var head = Head(
            .success,
            mediaType: content.looksBinary
                ? MediaType("application/octet-stream")
                : MediaType("text/plain", ["charset": "utf-8"]))
        head.mediaTypeSource = .sniffed
        head.suggestedName = name.map { String(decoding: $0, as: UTF8.self) }
        head.facts = repository.server.facts
        head.bodyBytes = bodyBytes
        head.validator = id.description
        try await emit(.head(head))
        try await deliver(content, emit)
    }

    /// Emits a body in pieces. In between, signals and the deadline are checked.
    private func deliver(_ content: ArraySlice<UInt8>, _ emit: Emit) async throws(FetchError) {
        var rest = content
        while !rest.isEmpty {
            let piece = rest.prefix(Self.pieceBytes)
            rest = rest.dropFirst(piece.count)
            try await emit(.body(piece))
            if !rest.isEmpty { try await LongWork.pause() }
        }
    }

    private func deliverDirectory(
        _ id: ObjectID, _ entries: [TreeEntry], _ modules: Submodules, at path: [[UInt8]],
        _ emit: Emit
    ) async throws(FetchError) {
        let name = String(decoding: path.last ?? [], as: UTF8.self)
        var head = repository.server.listHead(name: name)
        head.contentOption = "tar"
        head.validator = id.description
        try await emit(.head(head))
        var lines: [UInt8] = []
        for (count, entry) in entries.enumerated() {
            lines += entry.listing
            let isTree = entry.kind == .directory
            var item = Item(
                kind: isTree ? .menu : entry.kind == .submodule ? .external : .link,
                text: String(decoding: entry.name, as: UTF8.self),
                url: entry.kind == .submodule ? nil : address.url(of: path + [Array(entry.name)]),
                type: String(entry.mode, radix: 8))
            let place = Array((path + [Array(entry.name)]).joined(separator: [ASCII.slash]))
            item.recordType = "entry"
            item.facts = entry.facts(modules.url(of: place))
            try await emit(.item(item))
            if count.isMultiple(of: 4096) { try await LongWork.pause() }
        }
        try await deliver(lines[...], emit)
    }

    private static let pieceBytes = 1 << 20
    private static let noFile = FetchError(.protocolError, .body, "the server sent no file")
}

extension Collection<UInt8> {
    /// Git's own rule: a NUL near the beginning.
    var looksBinary: Bool { prefix(Self.beginningBytes).contains(ASCII.nul) }

    static var beginningBytes: Int { 8000 }
}

extension TreeEntry {
    /// Six octal digits.
    private var paddedMode: String { String(mode, radix: 8).padded(to: 6) }

    /// The record `entry`.
    ///
    /// - Parameter url: URL of a submodule's repository.
    func facts(_ url: Facts.Value) -> Facts {
        let word =
            switch kind {
            case .directory: "directory"
            case .submodule: "submodule"
            case .file: "file"
            case .executable: "executable"
            case .symbolicLink: "link"
            }
        var facts: Facts = [
            "name": Facts.Value(utf8: name), "kind": .text(word), "mode": .text(paddedMode),
            "oid": .text(id.description),
        ]
        if kind == .submodule { facts["submodule"] = url }
        return facts
    }

    /// A line of git-ls-tree(1).
    var listing: [UInt8] {
        let type =
            switch kind {
            case .directory: "tree"
            case .submodule: "commit"
            case .file, .executable, .symbolicLink: "blob"
            }
        return Array("\(paddedMode) \(type) \(id)\t".utf8) + Self.quoted(name) + [ASCII.lineFeed]
    }

    /// Quotes a name as Git does without core.quotePath: only if it has special characters.
    static func quoted(_ name: ArraySlice<UInt8>) -> [UInt8] {
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
