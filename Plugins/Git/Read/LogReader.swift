// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// The commits of a version, or those it has in addition to another, as git-log(1) lists them. The
/// server is asked for commits alone. If told of a known version (`have`), it sends only the
/// commits to list.
struct LogReader {
    private let repository: Repository
    private let question: LogQuestion
    private let wantsItems: Bool
    private var format: ObjectFormat { repository.format }

    init(_ repository: Repository, _ question: LogQuestion, wantsItems: Bool) {
        (self.repository, self.question) = (repository, question)
        self.wantsItems = wantsItems
    }

    /// The commits and the start of the walk.
    private struct Found {
        let pack: PackSpool
        let graph: CommitGraph
        let start: CommitGraph.Number
        /// Commits excluded by the range, if the server has sent them.
        let excluded: Set<CommitGraph.Number>
        /// True if the server was told of a known version, so that its parents may be missing.
        let isPart: Bool
    }

    /// With paths, the number of commits to look at is unknown in advance.
    private static let firstDepth = 256

    /// - Returns: `unverified` if the server itself lacks a part of the history.
    /// - Throws: `permanent-failure` when there is no such version, `too-large`.
    func read(_ emit: Emit) async throws(FetchError) -> Completeness {
        let range = question.range
        try await repository.lookUp((range.from.map { [$0] } ?? []) + [range.to])
        let to = try await repository.resolve(range.to)
        var from: ObjectID?
        if let name = range.from { from = try await repository.resolve(name) }
        var depth = question.count
        if !question.paths.isEmpty { depth = depth.map { max($0, Self.firstDepth) } }
        if range.from != nil || question.since != nil { depth = nil }
        let states = PathStates(repository, question.paths)
        while true {
            let found = try await find(to, from, depth)
            var list: (commits: [CommitGraph.Number], isWhole: Bool)?
            if let found { list = try await self.list(found, states, from) }
            let hasEnough = question.count.map { $0 <= list?.commits.count ?? 0 } ?? true
            if let reached = depth, !question.paths.isEmpty, !hasEnough, list?.isWhole == false {
                depth = reached > LogQuestion.countMax / 4 ? nil : reached * 4
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
        _ to: ObjectID, _ from: ObjectID?, _ depth: Int?
    ) async throws(FetchError) -> Found? {
        let range = question.range
        guard let pack = try await fetch(to, from, depth) else { return nil }
        let graph = CommitGraph(pack, format)
        guard let start = try graph.commit(behind: to, named: range.to) else {
            if from != nil { return nil }
            throw FetchError(.protocolError, .body, "the server sent another object than \(to)")
        }
        let bottom = try from.flatMap { id throws(FetchError) in
            try graph.commit(behind: id, named: range.from)
        }
        let excluded = try bottom.map { number throws(FetchError) in
            try graph.reachable(from: [number])
        }
        let isPart = from != nil && bottom == nil
        return Found(
            pack: pack, graph: graph, start: start, excluded: excluded ?? [], isPart: isPart)
    }

    /// - Returns: `nil` when the server has no commit since that date.
    private func fetch(
        _ to: ObjectID, _ from: ObjectID?, _ depth: Int?
    ) async throws(FetchError) -> PackSpool? {
        var request = FetchRequest(wants: [to], filter: .trees)
        // Before version 2 there is only one request, so it covers all that paths need.
        let isSingle = repository.server.version < 2 && !question.paths.isEmpty
        if let name = question.range.from, let from {
            // A server ignores a `have` that it does not have, and sends all history. So only
            // listed versions are sent as `have`; others are requested as well.
            if ObjectID(hex: name) == nil && !isSingle {
                request.haves = [from]
            } else if from != to {
                request.wants.append(from)
            }
        }
        if !isSingle { request.since = question.since }
        // The first N commits are at most N deep.
        if question.since == nil && request.wants.count == 1 { request.depth = depth }
        if let since = question.since, repository.canFilter {
            // A server that finds no such commit may hang up silently.
            let newest = try await repository.load(to, of: to) { _ in }
            if newest.type == .commit,
                try Commit(parsing: newest.content[...], format).date < since
            {
                return nil
            }
        }
        do throws(FetchError) {
            return try await repository.history(request)
        } catch  where question.since != nil && error.message.contains(text: Self.noCommits) {
            repository.forgetRefusal()
            return nil
        }
    }

    /// Part of Git's message, from servers that send one.
    private static let noCommits = "no commits selected"

    /// The commits in their order, and true if none is missing.
    private func list(
        _ found: Found, _ states: PathStates, _ from: ObjectID?
    ) async throws(FetchError) -> (commits: [CommitGraph.Number], isWhole: Bool) {
        let graph = found.graph
        var history: PathHistory?
        let isCut = question.range.from != nil || question.since != nil
        if !question.paths.isEmpty {
            let made = PathHistory(
                repository, graph, states, bottom: from, excluded: found.excluded)
            try await made.load(
                from: found.start, needsBoundary: isCut && repository.server.version == 2,
                repository.canFilter ? nil : found.pack)
            history = made
        }
        var (commits, isWhole) = ([CommitGraph.Number](), true)
        var walk = CommitGraph.Walk(excluding: found.excluded)
        walk.add(found.start, try graph.node(found.start).date)
        while commits.count < question.count ?? LogQuestion.countMax, let number = walk.next() {
            let node = try graph.node(number)
            if let since = question.since, node.date < since { continue }
            // Parents that were not requested may be missing: excluded ones, and older ones.
            if node.lacksParents && commits.count + 1 < question.count ?? .max {
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
        for (count, number) in commits.enumerated() {
            let entry = LogEntry(try graph.commit(number), graph.id(number))
            if question.isFull && count > 0 { lines.append(ASCII.lineFeed) }
            lines += question.isFull ? entry.full : entry.line
            if wantsItems { try await emit(.item(entry.item(repository.address))) }
            if lines.count >= Self.pieceBytes {
                try await emit(.body(lines[...]))
                lines = []
                try await LongWork.pause()
            }
        }
        if !lines.isEmpty { try await emit(.body(lines[...])) }
    }

    private static let pieceBytes = 65_536
}

struct LogEntry {
    private let commit: Commit
    private let id: ObjectID

    init(_ commit: Commit, _ id: ObjectID) { (self.commit, self.id) = (commit, id) }

    /// The id, the author's date and name, and the subject, between tabs.
    var line: [UInt8] {
        let author = Ident(commit.inUTF8(commit.author)[...])
        let fields: [[UInt8]] = [
            Array(id.description.utf8), Array((author?.date?.iso8601 ?? "").utf8),
            Array(author?.name ?? []), Commit.paragraph(commit.text).subject,
        ]
        // Control characters would break the format.
        let plain = fields.map { $0.map { $0 < 0x20 || $0 == 0x7F ? ASCII.space : $0 } }
        return Array(plain.joined(separator: [ASCII.tab])) + [ASCII.lineFeed]
    }

    /// The format `medium` of git-log(1), with whole ids.
    var full: [UInt8] {
        var text = Array("commit \(id)\n".utf8)
        if commit.parents.count > 1 {
            let parents = commit.parents.map(\.description).joined(separator: " ")
            text += "Merge: \(parents)\n".utf8
        }
        if let author = Ident(commit.inUTF8(commit.author)[...]) {
            text += "Author: ".utf8
            text += author.name + Array(" <".utf8) + author.mail + Array(">\n".utf8)
            text += "Date:   \((author.date ?? GitDate(seconds: 0, zone: 0)).text)\n".utf8
        }
        text.append(ASCII.lineFeed)
        for line in Self.lines(commit.text) {
            text += "    ".utf8
            text += TextColumns.expanded(line)
            text.append(ASCII.lineFeed)
        }
        while let last = text.last, ASCII.isWhiteSpace(last) { text.removeLast() }
        return text + [ASCII.lineFeed]
    }

    /// Lines without trailing white space.
    private static func lines(_ text: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        text.split(separator: ASCII.lineFeed, omittingEmptySubsequences: false)
            .map { $0.dropLast(while: ASCII.isWhiteSpace) }
    }

    /// The record `commit`, with the URL of the single commit.
    func item(_ address: GitAddress) -> Item {
        var item = Item(
            kind: .record,
            text: String(decoding: Commit.paragraph(commit.text).subject, as: UTF8.self),
            url: address.url(ofCommit: id))
        item.recordType = "commit"
        (item.version, item.time) = (id.description, commit.date)
        item.facts = [
            "oid": .text(id.description), "tree": .text(commit.tree.description),
            "parents": .list(commit.parents.map { .text($0.description) }),
            "author": person(commit.author), "committer": person(commit.committer),
            "subject": Facts.Value(utf8: Commit.paragraph(commit.text).subject),
            "message": Facts.Value(utf8: commit.inUTF8(commit.message)),
            "signature": Facts.Value(commit.signature), "encoding": Facts.Value(commit.encoding),
        ]
        return item
    }

    private func person(_ line: ArraySlice<UInt8>) -> Facts.Value {
        guard let ident = Ident(commit.inUTF8(line)[...]) else { return .none }
        return .object([
            "name": Facts.Value(utf8: ident.name), "mail": Facts.Value(utf8: ident.mail),
            "date": Facts.Value(ident.date.map { UTCDate.second($0.seconds) }),
            "zone": Facts.Value(ident.date?.zoneText),
        ])
    }
}

extension Facts.Value {
    /// Text if it is UTF-8, else bytes.
    init(utf8 bytes: some Collection<UInt8>) {
        self = String(validating: bytes, as: UTF8.self).map { .text($0) } ?? .bytes(Array(bytes))
    }
}

/// Expands tabs of messages as git-log(1) does, with tab stops every eight columns. Pure.
enum TextColumns {
    static func expanded(_ line: ArraySlice<UInt8>) -> [UInt8] {
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
