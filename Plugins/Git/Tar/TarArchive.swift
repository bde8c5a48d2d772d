// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import SmallWebFormats

/// Writes one archive from a pack with all its objects.
final class TarArchive {
    private let pack: PackSpool
    private let question: GitQuestion
    /// Put before each name in the archive.
    private let prefix: [UInt8]
    /// Number of leading directories to remove from each name.
    private let strip: Int
    private var attributes: Attributes
    private let files: LFSFiles?
    private let modules: Submodules
    /// Submodules seen so far, up to the limit.
    private var submodules: [Facts.Value] = []
    private static let submodulesMax = 1000
    /// Possible LFS pointers in the order of the archive.
    private var pointers: [Int] = []
    /// Number of them already written.
    private var pointersPassed = 0
    /// True during a first walk that only collects names and LFS pointers.
    private var isRehearsal = false
    private var isChecked = false
    /// Hashes of the names in the archive; true for a directory.
    private var names: [Int: Bool] = [:]
    private var tar: TarWriter
    private var placeholders: Placeholders?
    private var output: [UInt8] = []
    /// Directories without any written entry so far, whose own entries are postponed.
    private var queued: [(path: [UInt8], id: ObjectID)] = []

    /// Limit of entries, including directories.
    private static let entriesMax = 1 << 20
    private static let linkBytesMax = 65_536
    /// Limit of the `.gitattributes` of a directory and those above it, together: each line takes
    /// some hundred bytes of memory.
    private static let attributesBytesMax = 4 << 20
    /// Limit of a file that is converted, before and after: it is in memory.
    private static let convertedBytesMax = 64 << 20
    /// Approximate number of bytes handled before other fetches, deadlines and signals get a turn.
    private static let workMax = 1 << 20
    private var work = 0
    /// Limit of comparisons of names with lines of `.gitattributes`: some minutes.
    private static let comparisonsMax = 1 << 30
    /// Git does not convert larger files.
    private static let bigFileBytes = 512 << 20

    init(
        pack: PackSpool, question: GitQuestion, commit: Commit?, attributes: Attributes,
        files: LFSFiles?, modules: Submodules
    ) {
        self.pack = pack
        self.question = question
        prefix = question.bytes(.prefix).first ?? []
        strip = question.number(.strip) ?? 0
        self.attributes = attributes
        self.files = files
        self.modules = modules
        tar = TarWriter(modified: commit?.date ?? 0, comment: commit?.id.description)
        placeholders = commit.map { Placeholders($0) }
    }

    /// - Throws: `protocol-error` when the pack lacks it.
    static func attributes(
        _ id: ObjectID, _ pack: PackSpool
    ) throws(FetchError) -> ArraySlice<UInt8> {
        let object = try pack.required(id, bytesMax: attributesBytesMax)
        return object.type == .blob ? object.content[...] : []
    }

    /// True if the archive equals git-archive's: no placeholder was left unexpanded.
    var isAsGitMakesIt: Bool { placeholders?.unknown.isEmpty ?? true }

    private func pause(after work: Int) async throws(FetchError) {
        self.work += work
        guard self.work > Self.workMax else { return }
        self.work = 0
        try await LongWork.pause()
    }

    // MARK: Checking

    /// Checks all trees before anything is written.
    ///
    /// - Throws: `protocol-error` for a missing object, or a name that Git would not allow, or that
    ///   occurs twice; `too-large` for too many entries, too many attributes, or too long a path.
    func check(
        _ top: TreeEntry, at path: [[UInt8]], trees: [ObjectID]
    ) async throws(FetchError) {
        try await checkTrees(top, at: path)
        // With leading directories removed, two files may have the same name.
        if strip > 0 || files != nil {
            isRehearsal = true
            try await walk(top, at: path, trees: trees) { _ in }
            (isRehearsal, queued, names) = (false, [], [:])
        }
        isChecked = true
    }

    private func checkTrees(_ top: TreeEntry, at path: [[UInt8]]) async throws(FetchError) {
        for name in path { try Self.check(name[...]) }
        let aboveBytes = path.dropLast().reduce(0) { $0 + $1.count + 1 }
        var directories = TreePath()
        var pending: [TreeCursor] = []
        // Lines of `.gitattributes` in force at each level, including those above the path.
        var lines = [attributes.lineCount]
        var comparisons = 0
        var next: TreeEntry? = top
        var count = 1
        while true {
            if next == nil {
                guard !pending.isEmpty else { return }
                next = try pending[pending.count - 1].next()
            }
            guard let entry = next.take() else {
                pending.removeLast()
                lines.removeLast()
                directories.leave()
                continue
            }
            if !entry.name.isEmpty { try Self.check(entry.name) }
            let directoryBytes = pending.isEmpty ? aboveBytes : directories.pathBytes
            let pathBytes = directoryBytes + entry.name.count
            try TreePath.check(pathBytes: pathBytes)
            guard entry.kind != .submodule else { continue }
            guard let number = pack.find(entry.id) else { throw .lacks(entry.id) }
            guard pack.type(number) == (entry.kind == .directory ? .tree : .blob) else {
                throw .mistyped(entry.id)
            }
            switch entry.kind {
            case .directory:
                let entries = try tree(entry.id)
                try directories.enter(
                    pathBytes: pathBytes > 0 ? pathBytes + 1 : 0, treeBytes: entries.byteCount)
                let ownCount = try entries.countDistinct(atMost: Self.entriesMax - count + 1)
                count += ownCount
                guard count <= Self.entriesMax else {
                    throw FetchError(
                        .tooLarge, .body, "more than \(Self.entriesMax) files and directories",
                        expected: String(Self.entriesMax))
                }
                pending.append(entries)
                let file = try entries.attributes().map { id throws(FetchError) in
                    try Self.attributes(id, pack)
                }
                lines.append(lines[lines.count - 1] + (file?.count { $0 == ASCII.lineFeed } ?? 0))
                comparisons += lines[lines.count - 1] * ownCount
                guard comparisons <= Self.comparisonsMax else {
                    throw FetchError(
                        .tooLarge, .body, "too many lines of .gitattributes for so many files",
                        hint: "get a part of it", expected: String(Self.comparisonsMax))
                }
                try await pause(after: entries.byteCount + (file?.count ?? 0))
            case .file, .executable, .symbolicLink, .submodule: break
            }
        }
    }

    private static func check(_ name: ArraySlice<UInt8>) throws(FetchError) {
        let isGit = name.count == 4 && String(decoding: name, as: UTF8.self).lowercased() == ".git"
        guard !isGit else {
            throw FetchError(
                .protocolError, .body,
                "malformed tree: the name \"\(String(decoding: name, as: UTF8.self))\"")
        }
    }

    private func tree(_ id: ObjectID) throws(FetchError) -> TreeCursor {
        try pack.required(id).tree
    }

    // MARK: Writing

    /// A directory whose entries are being written.
    private struct Level {
        /// With a slash at its end; empty for the root.
        let path: [UInt8]
        var entries: TreeCursor
        let hasAttributes: Bool
    }

    /// - Parameters:
    ///   - path: The path of `top` from the root.
    ///   - trees: The trees on this path, the root's first.
    /// - Throws: Errors of reading and of `emit`. ``check(_:at:trees:)`` must have returned.
    func write(
        _ top: TreeEntry, at path: [[UInt8]], trees: [ObjectID], _ emit: Emit
    ) async throws(FetchError) {
        precondition(isChecked)
        output += tar.begin()
        if prefix.last == ASCII.slash {
            var base = prefix
            while base.count > 1 && base[base.count - 2] == ASCII.slash { base.removeLast() }
            output += tar.entry(base, .directory, shortName: "\(trees[0])")
        }
        try await walk(top, at: path, trees: trees, emit)
        try await finish(emit)
    }

    private func walk(
        _ top: TreeEntry, at path: [[UInt8]], trees: [ObjectID], _ emit: Emit
    ) async throws(FetchError) {
        for depth in path.indices.dropLast() {
            let directory = path[...depth].flatMap { $0 + [ASCII.slash] }
            guard try !isIgnored(directory) else { return }
            queued.append((directory, trees[depth + 1]))
        }
        var levels: [Level] = []
        let name = Array(path.joined(separator: [ASCII.slash]))
        if path.isEmpty {
            levels.append(try level(top.id, at: []))
        } else {
            try await write(top, named: name, &levels, emit)
        }
        while !levels.isEmpty {
            if let entry = try levels[levels.count - 1].entries.next() {
                let name = levels[levels.count - 1].path + entry.name
                try await pause(after: name.count * (1 + attributes.byteCount))
                try await write(entry, named: name, &levels, emit)
            } else {
                let level = levels.removeLast()
                if level.hasAttributes { attributes.pop() }
                if queued.last?.path == level.path { queued.removeLast() }
            }
        }
    }

    /// Writes an entry, or enters it if it is a directory.
    private func write(
        _ entry: TreeEntry, named name: [UInt8], _ levels: inout [Level], _ emit: Emit
    ) async throws(FetchError) {
        guard entry.kind == .directory else { return try await write(entry, named: name, emit) }
        let directory = name + [ASCII.slash]
        guard try !isIgnored(directory) else { return }
        queued.append((directory, entry.id))
        levels.append(try level(entry.id, at: directory))
    }

    private func level(_ id: ObjectID, at path: [UInt8]) throws(FetchError) -> Level {
        let entries = try tree(id)
        let file = try entries.attributes()
        if let file {
            let content = try Self.attributes(file, pack)
            guard attributes.byteCount + content.count <= Self.attributesBytesMax else {
                throw FetchError(
                    .tooLarge, .body,
                    "more than \(Self.attributesBytesMax) bytes of .gitattributes",
                    expected: String(Self.attributesBytesMax))
            }
            attributes.push(path, content)
        }
        return Level(path: path, entries: entries, hasAttributes: file != nil)
    }

    private func finish(_ emit: Emit) async throws(FetchError) {
        output += tar.finish()
        try await emit(.body(output[...]))
        output = []
        if !submodules.isEmpty {
            try await emit(.facts(["git": .object(["submodules": .list(submodules)])]))
        }
        if let unknown = placeholders?.unknown, !unknown.isEmpty {
            try await emit(
                .note(
                    Note(
                        "subst-unknown",
                        "left as they are in $Format:$: \(unknown.joined(separator: ", ")), which "
                            + "depend on more than the commit")))
        }
    }

    private func isIgnored(_ path: [UInt8]) throws(FetchError) -> Bool {
        try attributes.values(for: path)["export-ignore"] == .set
    }

    /// - Parameter name: From the root, without a slash at its end.
    private func write(
        _ entry: TreeEntry, named name: [UInt8], _ emit: Emit
    ) async throws(FetchError) {
        let isSubmodule = entry.kind == .submodule
        let path = isSubmodule ? name + [ASCII.slash] : name
        // As in Git, an ignored file still brings its directory into the archive.
        let directories = queued
        queued.removeAll()
        for (path, id) in directories {
            try put(path, .directory, id)
            try await flush(&output, emit)
        }
        let values = try attributes.values(for: path)
        guard values["export-ignore"] != .set else { return }
        switch entry.kind {
        case .submodule:
            try put(path, .directory, entry.id)
            guard !isRehearsal, submodules.count < Self.submodulesMax else { break }
            submodules.append(
                .object([
                    "path": Facts.Value(utf8: name), "url": modules.url(of: name),
                    "oid": .text(entry.id.description),
                ]))
        case .symbolicLink:
            let object = try pack.required(entry.id, bytesMax: Self.linkBytesMax)
            try put(path, .symbolicLink(target: object.content), entry.id)
        case .file, .executable, .directory:
            try await writeFile(entry, path, values, emit)
        }
        try await flush(&output, emit)
    }

    /// - Throws: `protocol-error` for a name that is there already, unless both are directories:
    ///   programs that extract an archive could write through a link.
    private func put(
        _ path: [UInt8], _ kind: TarWriter.Kind, _ id: ObjectID
    ) throws(FetchError) {
        guard let path = stripped(path) else { return }
        guard !isRehearsal else {
            var hasher = Hasher()
            hasher.combine(path.last == ASCII.slash ? path.dropLast() : path[...])
            let isDirectory = kind == .directory
            let known = names.updateValue(isDirectory, forKey: hasher.finalize())
            guard known == nil || known == true && isDirectory else {
                let name = String(decoding: path.prefix(255), as: UTF8.self)
                throw FetchError(
                    .protocolError, .body,
                    "two files would have the name \"\(name)\" without the first parts of theirs",
                    hint: "ask for fewer parts to be left out, or for one directory")
            }
            return
        }
        output += tar.entry(prefix + path, kind, shortName: "\(id)")
    }

    /// A path without the leading directories; `nil` when nothing is left.
    private func stripped(_ path: [UInt8]) -> [UInt8]? {
        var rest = path[...]
        for _ in 0..<strip {
            guard let slash = rest.firstIndex(of: ASCII.slash) else { return nil }
            rest = rest[(slash + 1)...]
        }
        return rest.isEmpty ? nil : Array(rest)
    }

    private func writeFile(
        _ entry: TreeEntry, _ path: [UInt8], _ values: Attributes.Values, _ emit: Emit
    ) async throws(FetchError) {
        guard stripped(path) != nil else { return }
        guard let number = pack.find(entry.id) else { throw .lacks(entry.id) }
        let isExecutable = entry.kind == .executable
        let size = try pack.size(number)
        let name = String(decoding: path, as: UTF8.self)
        let pointer = try pointer(number, size)
        let isInLFS = pointer != nil && files != nil && values["filter"] == "lfs"
        if isRehearsal {
            if isInLFS { pointers.append(number) }
            return try put(path, .file(byteCount: size, isExecutable: isExecutable), entry.id)
        }
        if let pointer, let files, isInLFS {
            let content = try await files.content(of: pointer) { () throws(FetchError) in
                try following(number)
            }
            try put(path, .file(byteCount: content.count, isExecutable: isExecutable), entry.id)
            try await write(content, emit)
            return
        }
        let conversion = Conversion(values)
        let isSubstituted = values["export-subst"] == .set && placeholders != nil
        guard isSubstituted || !conversion.isEmpty && size <= Self.bigFileBytes else {
            if let pointer {
                let why =
                    question.flag(.largeFiles) && files == nil ? ": Git LFS needs HTTP" : ""
                try await emit(
                    .note(
                        Note(
                            "lfs-pointer",
                            "\"\(name)\" stays a pointer to a file of \(pointer.byteCount) "
                                + "bytes in Git LFS, \(pointer.id)\(why)")))
            }
            try put(path, .file(byteCount: size, isExecutable: isExecutable), entry.id)
            try await pack.stream(number) { bytes async throws(FetchError) in
                output += bytes
                try await flush(&output, emit)
            }
            output += tar.padding(size)
            return
        }
        let most = Self.convertedBytesMax
        guard size <= most, let object = try pack.object(entry.id, bytesMax: most) else {
            throw FetchError(
                .tooLarge, .body,
                "\"\(name)\" is larger than \(most) bytes, and its attributes ask to convert it",
                expected: String(most), actual: String(size))
        }
        let (converted, isEncoded) = conversion.apply(
            to: object.content, entry.id, bytesMax: most)
        let content = isSubstituted ? placeholders?.expand(converted, bytesMax: most) : converted
        guard let content, content.count <= most else {
            throw FetchError(
                .tooLarge, .body,
                "\"\(name)\" is larger than \(most) bytes when its attributes convert it",
                expected: String(most))
        }
        if !isEncoded {
            try await emit(
                .note(
                    Note(
                        "not-encoded",
                        "\"\(name)\" stays in UTF-8: its working-tree-encoding cannot have it")))
        }
        try put(path, .file(byteCount: content.count, isExecutable: isExecutable), entry.id)
        output += content
        output += tar.padding(content.count)
    }

    // MARK: Files in Git LFS

    private func pointer(_ number: Int, _ size: Int) throws(FetchError) -> LFSPointer? {
        guard LFSPointer.sizes.contains(size),
            let object = try pack.object(pack.id(number), bytesMax: size)
        else { return nil }
        return LFSPointer(object.content[...])
    }

    /// Pointers after this one, at most as many as one batch request can ask for.
    private func following(_ number: Int) throws(FetchError) -> [LFSPointer] {
        let rest = pointers[pointersPassed...]
        pointersPassed = rest.firstIndex(of: number).map { $0 + 1 } ?? pointersPassed
        var found: [LFSPointer] = []
        for next in pointers[pointersPassed...] where found.count < LFSBatch.filesMax {
            if let pointer = try pointer(next, try pack.size(next)) { found.append(pointer) }
        }
        return found
    }

    private func write(_ content: Spool, _ emit: Emit) async throws(FetchError) {
        let byteCount = content.count
        try await content.drain { bytes async throws(FetchError) in
            output += bytes
            try await flush(&output, emit)
        }
        output += tar.padding(byteCount)
    }
}
