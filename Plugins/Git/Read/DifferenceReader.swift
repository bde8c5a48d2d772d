// SPDX-License-Identifier: MIT
internal import SmallWebCore

struct TreeChange: Hashable, Sendable {
    struct Side: Hashable, Sendable {
        /// Git's mode: 100644, 100755, 120000 or 160000.
        let mode: UInt32
        let id: ObjectID

        init(_ entry: TreeEntry) {
            mode =
                switch entry.kind {
                case .executable: 0o100755
                case .symbolicLink: 0o120000
                case .submodule: 0o160000
                case .file, .directory: 0o100644
                }
            id = entry.id
        }

        var isSubmodule: Bool { mode == 0o160000 }
        var modeText: String { String(mode, radix: 8) }
    }

    let path: [UInt8]
    /// `nil` if the file is missing on this side; never both.
    let old: Side?
    let new: Side?

    /// A, D, M, or T for a change of type, for example from a file to a link.
    var status: String {
        guard let old else { return "A" }
        guard let new else { return "D" }
        return old.mode >> 12 == new.mode >> 12 ? "M" : "T"
    }

    /// The ids of both sides, zeros for a missing one.
    var ids: (old: String, new: String) {
        let known = (old ?? new)?.id.description ?? ""
        let none = String(repeating: "0", count: known.count)
        return (old?.id.description ?? none, new?.id.description ?? none)
    }
}

/// Compares two trees, in the order of git-diff(1). Pure: the caller supplies subtrees.
struct TreeComparison {
    private let format: ObjectFormat
    private let paths: [[UInt8]]
    private var levels: [Level]
    private var directories = TreePath()

    private struct Side {
        private var cursor: TreeCursor
        private(set) var entry: TreeEntry?

        init(_ content: [UInt8]?, _ format: ObjectFormat) throws(FetchError) {
            cursor = TreeCursor((content ?? [])[...], format)
            entry = try cursor.next()
        }

        mutating func advance() throws(FetchError) { entry = try cursor.next() }
    }

    private struct Level {
        /// With a slash at its end; empty for the root.
        let path: [UInt8]
        var old: Side
        var new: Side
    }

    enum Step {
        case change(TreeChange)
        /// Answered by ``enter(_:_:_:)``; `nil` if one side has no such directory.
        case directory([UInt8], old: ObjectID?, new: ObjectID?)
    }

    /// - Parameter paths: Limits the comparison to these paths and all below; empty for everything.
    init(
        _ old: [UInt8], _ new: [UInt8], _ format: ObjectFormat, paths: [[UInt8]]
    ) throws(FetchError) {
        (self.format, self.paths) = (format, paths)
        try directories.enter(pathBytes: 0, treeBytes: old.count + new.count)
        levels = [Level(path: [], old: try Side(old, format), new: try Side(new, format))]
    }

    mutating func enter(
        _ path: [UInt8], _ old: [UInt8]?, _ new: [UInt8]?
    ) throws(FetchError) {
        try directories.enter(
            pathBytes: path.count + 1, treeBytes: (old?.count ?? 0) + (new?.count ?? 0))
        levels.append(
            Level(
                path: path + [ASCII.slash], old: try Side(old, format), new: try Side(new, format)))
    }

    /// `nil` at the end.
    mutating func next() throws(FetchError) -> Step? {
        var compared = 0
        while !levels.isEmpty {
            compared += 1
            if compared.isMultiple(of: 1024) { try LongWork.check() }
            let last = levels.count - 1
            let (old, new) = (levels[last].old.entry, levels[last].new.entry)
            guard old != nil || new != nil else {
                levels.removeLast()
                directories.leave()
                continue
            }
            let order = Self.order(old, new)
            let (one, other) = (order <= 0 ? old : nil, order >= 0 ? new : nil)
            if one != nil { try levels[last].old.advance() }
            if other != nil { try levels[last].new.advance() }
            guard let name = one?.name ?? other?.name else { continue }
            try TreePath.check(pathBytes: directories.pathBytes + name.count)
            let path = levels[last].path + name
            if let step = step(path, one, other) { return step }
        }
        return nil
    }

    private func step(_ path: [UInt8], _ old: TreeEntry?, _ new: TreeEntry?) -> Step? {
        let isDirectory = (old ?? new)?.kind == .directory
        guard isWanted(path, isDirectory: isDirectory) else { return nil }
        if isDirectory {
            return old?.id == new?.id ? nil : .directory(path, old: old?.id, new: new?.id)
        }
        let change = TreeChange(
            path: path, old: old.map(TreeChange.Side.init), new: new.map(TreeChange.Side.init))
        return change.old == change.new ? nil : .change(change)
    }

    private func isWanted(_ path: [UInt8], isDirectory: Bool) -> Bool {
        guard !paths.isEmpty else { return true }
        return paths.contains { wanted in
            path == wanted || path.starts(with: wanted + [ASCII.slash])
                || isDirectory && wanted.starts(with: path + [ASCII.slash])
        }
    }

    /// Order of tree entries: a directory as if its name had a slash at its end. A missing entry
    /// comes last.
    private static func order(_ old: TreeEntry?, _ new: TreeEntry?) -> Int {
        guard let old else { return 1 }
        guard let new else { return -1 }
        func end(_ entry: TreeEntry, _ count: Int) -> UInt8 {
            entry.name.dropFirst(count).first ?? (entry.kind == .directory ? ASCII.slash : 0)
        }
        let count = min(old.name.count, new.name.count)
        for (one, other) in zip(old.name, new.name) where one != other {
            return one < other ? -1 : 1
        }
        let (one, other) = (end(old, count), end(new, count))
        return one == other ? 0 : one < other ? -1 : 1
    }
}

/// The differences between two versions, as git-diff(1) lists them: names, or a patch. Requests the
/// trees of both versions without files, and for a patch also the files that differ.
struct DifferenceReader {
    private let repository: Repository
    private let request: Request
    private var question: GitQuestion { repository.address.question }

    init(_ repository: Repository, _ request: Request) {
        (self.repository, self.request) = (repository, request)
    }

    /// - Throws: `permanent-failure` when there is no such version, `too-large`.
    func read(_ emit: Emit) async throws(FetchError) {
        let names = (from: question.range?.from, to: question.range?.to)
        try await repository.lookUp([names.from, names.to])
        let from = try await repository.resolve(names.from)
        let to = try await repository.resolve(names.to)
        var wanted = FetchRequest(wants: from == to ? [to] : [from, to], depth: 1, filter: .blobs)
        if !repository.canFilter { wanted.filter = nil }
        let pack = try await repository.trees(wanted)
        var comparison = try TreeComparison(
            try tree(from, names.from, pack), try tree(to, names.to, pack), repository.format,
            paths: question.bytes(.path))
        if question.flag(.patch) { return try await writePatch(&comparison, pack, emit) }
        try await emit(.head(repository.server.listHead(name: "diff.txt")))
        var lines: [UInt8] = []
        while let change = try next(&comparison, pack) {
            lines += line(change)
            if request.wantsItems { try await emit(.item(change.item)) }
            try await flush(&lines, emit)
        }
        try await flush(&lines, atLeast: 1, emit)
    }

    private func next(
        _ comparison: inout TreeComparison, _ pack: PackSpool
    ) throws(FetchError) -> TreeChange? {
        while let step = try comparison.next() {
            switch step {
            case .directory(let path, let old, let new):
                try comparison.enter(path, try content(old, pack), try content(new, pack))
            case .change(let change): return change
            }
        }
        return nil
    }

    // MARK: Patches

    /// Requests the files of both sides in one exchange, and writes the patch.
    private func writePatch(
        _ comparison: inout TreeComparison, _ pack: PackSpool, _ emit: Emit
    ) async throws(FetchError) {
        var (changes, wants, known) = ([TreeChange](), [ObjectID](), Set<ObjectID>())
        var pathBytes = 0
        while let change = try next(&comparison, pack) {
            pathBytes += change.path.count
            guard changes.count < Self.patchFilesMax, pathBytes <= Self.patchPathBytesMax else {
                throw FetchError(
                    .tooLarge, .body, "more than \(Self.patchFilesMax) files differ",
                    hint: "name paths", expected: String(Self.patchFilesMax))
            }
            changes.append(change)
            for side in [change.old, change.new] {
                guard let side, !side.isSubmodule, known.insert(side.id).inserted else { continue }
                wants.append(side.id)
            }
        }
        var files: PackSpool? = pack
        if repository.canFilter {
            files = nil
            if !wants.isEmpty {
                let request = FetchRequest(wants: wants)
                files = try await repository.fetch(request, PackLimits())
            }
        }
        var head = repository.server.listHead(name: "diff.patch")
        head.hasNoUsualSize = true
        try await emit(.head(head))
        var text: [UInt8] = []
        for change in changes {
            try await LongWork.pause()
            let (old, new) = (try content(change.old, files), try content(change.new, files))
            text += try FilePatch(change, old, new).text()
            if request.wantsItems { try await emit(.item(change.item)) }
            try await flush(&text, emit)
        }
        try await flush(&text, atLeast: 1, emit)
    }

    private static let patchFilesMax = 1 << 16
    /// Total of all paths: a kilobyte for each.
    private static let patchPathBytesMax = 64 << 20

    /// Content of a file for a patch; `nil` if it is not text.
    private func content(
        _ side: TreeChange.Side?, _ files: PackSpool?
    ) throws(FetchError) -> [UInt8]? {
        guard let side else { return [] }
        if side.isSubmodule { return Array("Subproject commit \(side.id)\n".utf8) }
        guard let files, let number = files.find(side.id) else { throw .lacks(side.id) }
        guard files.type(number) == .blob else { throw .mistyped(side.id) }
        guard try files.size(number) <= FilePatch.textBytesMax,
            let object = try files.object(side.id), !object.content.looksBinary
        else { return nil }
        return object.content
    }

    // MARK: Trees

    private func content(_ id: ObjectID?, _ pack: PackSpool) throws(FetchError) -> [UInt8]? {
        guard let id else { return nil }
        let tree = try pack.required(id)
        guard tree.type == .tree else { throw .mistyped(id) }
        return tree.content
    }

    /// The content of the tree that a version's object points to.
    private func tree(
        _ id: ObjectID, _ name: String?, _ pack: PackSpool
    ) throws(FetchError) -> [UInt8] {
        var found = try pack.required(id)
        for _ in 0..<PackObject.tagsMax {
            if found.type == .tree { return found.content }
            guard let target = try found.target() else {
                throw FetchError(
                    .permanentFailure, .body, "\"\(name ?? "HEAD")\" is a file, not a version")
            }
            found = try pack.required(target)
        }
        throw PackObject.hasTooManyTags
    }

    private func line(_ change: TreeChange) -> [UInt8] {
        let isNulled = request.options.flag("null")
        var line: [UInt8] = []
        if question.flag(.raw) || request.wantsRawBody {
            let modes = [change.old, change.new].map { $0?.modeText ?? "000000" }
            let ids = change.ids
            line += ":\(modes[0]) \(modes[1]) \(ids.old) \(ids.new) ".utf8
        }
        line += change.status.utf8
        line.append(isNulled ? ASCII.nul : ASCII.tab)
        line += isNulled ? change.path : TreeEntry.quoted(change.path[...])
        line.append(isNulled ? ASCII.nul : ASCII.lineFeed)
        return line
    }
}

extension TreeChange {
    /// The record `change`.
    fileprivate var item: Item {
        var item = Item(kind: .record, text: String(decoding: path, as: UTF8.self))
        item.recordType = "change"
        item.facts = [
            "status": .text(status), "path": Facts.Value(utf8: path),
            "old_mode": Facts.Value(old?.modeText), "new_mode": Facts.Value(new?.modeText),
            "old_oid": Facts.Value(old?.id.description),
            "new_oid": Facts.Value(new?.id.description),
        ]
        return item
    }
}
