// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// The commits of a version, or those it has in addition to another, as git-log(1) lists them. The
/// server is asked for commits alone. If told of a known version (`have`), it sends only the
/// commits to list.
struct LogReader {
    private let repository: Repository
    private let wantsItems: Bool
    private let from, to: String?
    /// Limit of commits; `nil` for all.
    private let count: Int?
    /// Earliest commit date, in Unix seconds.
    private let since: Int?
    private let isFull: Bool
    /// Limits the list to changes of these paths and all below; empty for everything.
    private let paths: [[UInt8]]

    init(_ repository: Repository, wantsItems: Bool) {
        (self.repository, self.wantsItems) = (repository, wantsItems)
        let question = repository.address.question
        (from, to) = (question.range?.from, question.range?.to)
        (count, since) = (question.number(.count), question.since)
        (isFull, paths) = (question.text(.format) == "full", question.bytes(.path))
    }

    /// The commits and the start of the walk.
    private typealias Found = (
        pack: PackSpool, graph: CommitGraph, start: CommitGraph.Number,
        /// Commits excluded by the range, if the server has sent them.
        excluded: Set<CommitGraph.Number>,
        /// True if the server was told of a known version, so that its parents may be missing.
        isPart: Bool
    )

    /// With paths, the number of commits to look at is unknown in advance.
    private static let firstDepth = 256

    /// - Returns: `unverified` if the server itself lacks a part of the history.
    /// - Throws: `permanent-failure` when there is no such version, `too-large`.
    func read(_ emit: Emit) async throws(FetchError) -> Completeness {
        try await repository.lookUp((from.map { [$0] } ?? []) + [to])
        let end = try await repository.resolve(to)
        var start: ObjectID?
        if let from { start = try await repository.resolve(from) }
        var depth = count
        if !paths.isEmpty { depth = depth.map { max($0, Self.firstDepth) } }
        if from != nil || since != nil { depth = nil }
        let states = PathStates(repository, paths)
        while true {
            let found = try await find(end, start, depth)
            var list: (commits: [CommitGraph.Number], isWhole: Bool)?
            if let found { list = try await self.list(found, states, start) }
            let hasEnough = count.map { $0 <= list?.commits.count ?? 0 } ?? true
            if let reached = depth, !paths.isEmpty, !hasEnough, list?.isWhole == false {
                depth = FetchRequest.deeper(reached)
                continue
            }
            var head = repository.server.listHead(name: "log")
            head.suggestedName = "log.txt"
            try await emit(.head(head))
            // Without a pack, the other version has all commits.
            guard let found, let list else { return .complete }
            try await write(list.commits, of: found.graph, emit)
            return list.isWhole ? .complete : .unverified
        }
    }

    private func find(
        _ end: ObjectID, _ start: ObjectID?, _ depth: Int?
    ) async throws(FetchError) -> Found? {
        guard let pack = try await fetch(end, start, depth) else { return nil }
        let graph = CommitGraph(pack)
        guard let first = try graph.commit(behind: end, named: to) else {
            if start != nil { return nil }
            throw .anotherObject(than: end)
        }
        let bottom = try start.flatMap { id throws(FetchError) in
            try graph.commit(behind: id, named: from)
        }
        let excluded = try bottom.map { number throws(FetchError) in
            try graph.reachable(from: [number])
        }
        return (pack, graph, first, excluded ?? [], isPart: start != nil && bottom == nil)
    }

    /// - Returns: `nil` when the server has no commit since that date.
    private func fetch(
        _ end: ObjectID, _ start: ObjectID?, _ depth: Int?
    ) async throws(FetchError) -> PackSpool? {
        var request = FetchRequest(wants: [end], filter: .trees)
        // Before version 2 there is only one request, so it covers all that paths need.
        let isSingle = repository.server.version < 2 && !paths.isEmpty
        if let from, let start {
            // A server ignores a `have` that it does not have, and sends all history. So only
            // listed versions are sent as `have`; others are requested as well.
            if ObjectID(hex: from) == nil && !isSingle {
                request.haves = [start]
            } else if start != end {
                request.wants.append(start)
            }
        }
        if !isSingle { request.since = since }
        // The first N commits are at most N deep.
        if since == nil && request.wants.count == 1 { request.depth = depth }
        if let since, repository.canFilter {
            // A server that finds no such commit may hang up silently.
            let newest = try await repository.load(end, of: end)
            if newest.type == .commit, try Commit(newest).date < since { return nil }
        }
        do throws(FetchError) {
            return try await repository.history(request)
        } catch  where since != nil && error.message.contains(text: Self.noCommits) {
            repository.forgetRefusal()
            return nil
        }
    }

    /// Part of Git's message, from servers that send one.
    private static let noCommits = "no commits selected"

    /// The commits in their order, and true if none is missing.
    private func list(
        _ found: Found, _ states: PathStates, _ bottom: ObjectID?
    ) async throws(FetchError) -> (commits: [CommitGraph.Number], isWhole: Bool) {
        let graph = found.graph
        var history: PathHistory?
        let isCut = from != nil || since != nil
        if !paths.isEmpty {
            let made = PathHistory(
                repository, graph, states, bottom: bottom, excluded: found.excluded)
            try await made.load(
                from: found.start, needsBoundary: isCut && repository.server.version == 2,
                repository.canFilter ? nil : found.pack)
            history = made
        }
        var (commits, isWhole) = ([CommitGraph.Number](), true)
        var walk = CommitGraph.Walk(excluding: found.excluded)
        walk.add(found.start, try graph.node(found.start).date)
        while commits.count < count ?? GitQuestion.countMax, let number = walk.next() {
            let node = try graph.node(number)
            if let since, node.date < since { continue }
            // Parents that were not requested may be missing: excluded ones, and older ones.
            if node.lacksParents && commits.count + 1 < count ?? .max {
                if !isCut { isWhole = false }
                guard found.isPart || repository.cut.contains(graph.id(number)) else {
                    throw FetchError(
                        .protocolError, .body,
                        "the server's pack lacks a parent of \(graph.id(number))")
                }
            }
            let next = try history?.simplified(number) ?? (parents: node.parents, isListed: true)
            for parent in next.parents { walk.add(parent, try graph.node(parent).date) }
            if next.isListed { commits.append(number) }
        }
        return (commits, isWhole)
    }

    private func write(
        _ commits: [CommitGraph.Number], of graph: CommitGraph, _ emit: Emit
    ) async throws(FetchError) {
        var lines: [UInt8] = []
        for (index, number) in commits.enumerated() {
            let commit = try graph.commit(number)
            if isFull && index > 0 { lines.append(ASCII.lineFeed) }
            lines += isFull ? commit.fullEntry : commit.entryLine
            if wantsItems { try await emit(.item(commit.item(repository.address))) }
            if try await flush(&lines, emit) { try await LongWork.pause() }
        }
        try await flush(&lines, atLeast: 1, emit)
    }
}

/// Emits `body` and empties it, if it has enough bytes; else returns false.
@discardableResult
func flush(
    _ body: inout [UInt8], atLeast bytesMin: Int = 65_536, _ emit: Emit
) async throws(FetchError) -> Bool {
    guard body.count >= bytesMin else { return false }
    let bytes = body
    body = []
    try await emit(.body(bytes[...]))
    return true
}

extension Commit {
    /// The id, the author's date and name, and the subject, between tabs.
    var entryLine: [UInt8] {
        let author = Ident(inUTF8(author)[...])
        let fields: [[UInt8]] = [
            Array(id.description.utf8), Array((author?.date?.iso8601 ?? "").utf8),
            Array(author?.name ?? []), Commit.paragraph(text).subject,
        ]
        // Control characters would break the format.
        let plain = fields.map { $0.map { $0 < 0x20 || $0 == 0x7F ? ASCII.space : $0 } }
        return Array(plain.joined(separator: [ASCII.tab])) + [ASCII.lineFeed]
    }

    /// The format `medium` of git-log(1), with whole ids.
    var fullEntry: [UInt8] {
        var entry = Array("commit \(id)\n".utf8)
        if parents.count > 1 {
            entry += "Merge: \(parents.map(\.description).joined(separator: " "))\n".utf8
        }
        if let author = Ident(inUTF8(author)[...]) {
            entry += "Author: ".utf8
            entry += author.name + Array(" <".utf8) + author.mail + Array(">\n".utf8)
            entry += "Date:   \((author.date ?? GitDate(seconds: 0, zone: 0)).text)\n".utf8
        }
        entry.append(ASCII.lineFeed)
        for line in text.split(separator: ASCII.lineFeed, omittingEmptySubsequences: false) {
            entry += "    ".utf8
            entry += Self.expandingTabs(line.dropLast(while: ASCII.isWhiteSpace))
            entry.append(ASCII.lineFeed)
        }
        while let last = entry.last, ASCII.isWhiteSpace(last) { entry.removeLast() }
        return entry + [ASCII.lineFeed]
    }

    /// The record `commit`, with the URL of the single commit.
    func item(_ address: GitAddress) -> Item {
        var item = Item(
            kind: .record,
            text: String(decoding: Commit.paragraph(text).subject, as: UTF8.self),
            url: address.url(ofCommit: id))
        item.recordType = "commit"
        (item.version, item.time) = (id.description, date)
        item.facts = [
            "oid": .text(id.description), "tree": .text(tree.description),
            "parents": .list(parents.map { .text($0.description) }),
            "author": person(author), "committer": person(committer),
            "subject": Facts.Value(utf8: Commit.paragraph(text).subject),
            "message": Facts.Value(utf8: inUTF8(message)),
            "signature": Facts.Value(signature), "encoding": Facts.Value(encoding),
        ]
        return item
    }

    private func person(_ line: ArraySlice<UInt8>) -> Facts.Value {
        guard let ident = Ident(inUTF8(line)[...]) else { return .none }
        return .object([
            "name": Facts.Value(utf8: ident.name), "mail": Facts.Value(utf8: ident.mail),
            "date": Facts.Value(ident.date.map { UTCDate.second($0.seconds) }),
            "zone": Facts.Value(ident.date?.zoneText),
        ])
    }

    // MARK: Columns

    /// Expands tabs as git-log(1) does, with stops every eight columns.
    private static func expandingTabs(_ line: ArraySlice<UInt8>) -> [UInt8] {
        var (expanded, rest) = ([UInt8](), line)
        while let tab = rest.firstIndex(of: ASCII.tab) {
            // Text that is not UTF-8 has no columns; the rest stays unchanged.
            guard let width = width(rest[..<tab]) else { break }
            expanded += rest[..<tab]
            expanded += repeatElement(ASCII.space, count: 8 - width % 8)
            rest = rest[(tab + 1)...]
        }
        return expanded + rest
    }

    private static func width(_ text: ArraySlice<UInt8>) -> Int? {
        guard let text = String(validating: text, as: UTF8.self) else { return nil }
        return text.unicodeScalars.reduce(0) { $0 + width($1) }
    }

    private static func width(_ scalar: Unicode.Scalar) -> Int {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97C, 0xAC00...0xD7A3,
            0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F,
            0x1F900...0x1F9FF, 0x20000...0x3FFFD:
            return 2
        default: return 1
        }
    }
}

extension Facts.Value {
    /// Text if it is UTF-8, else bytes.
    init(utf8 bytes: some Collection<UInt8>) {
        self = String(validating: bytes, as: UTF8.self).map { .text($0) } ?? .bytes(Array(bytes))
    }
}
