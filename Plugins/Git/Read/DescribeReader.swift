// SPDX-License-Identifier: MIT
internal import SmallWebCore

struct Tag: Hashable, Sendable {
    /// Without `refs/tags/`.
    let name: String
    let id: ObjectID
    /// Final target of an annotated tag; `nil` for a lightweight one.
    let peeled: ObjectID?

    var target: ObjectID { peeled ?? id }

    static let prefix = "refs/tags/"
}

/// Describes a version by its nearest tag, as git-describe(1) does.
struct DescribeReader {
    private let repository: Repository
    private var question: GitQuestion { repository.address.question }
    private var version: String { question.version ?? "HEAD" }

    init(_ repository: Repository) { self.repository = repository }

    /// Limit of tags to compare, as in Git.
    private static let candidatesMax = 10
    private static let firstDepth = 32

    /// - Throws: `permanent-failure` when there is no such version, or no tag for it.
    func read(_ emit: Emit) async throws(FetchError) {
        let (id, wanted, all) = try await repository.resolveWithTags(question.version)
        let patterns = question.bytes(.match).map { Wildmatch($0, isPath: false) }
        let isExact = question.flag(.exact)
        let named = all.filter { tag in
            patterns.isEmpty || patterns.contains { $0.matches(tag.name.utf8) }
        }
        var tags: [ObjectID: [Tag]] = [:]
        for tag in named where question.flag(.tags) || tag.peeled != nil {
            tags[tag.target, default: []].append(tag)
        }
        // Before version 2 there is only one request, so it asks for everything.
        var whole: PackSpool?
        if repository.server.version < 2,
            tags[id] == nil && !isExact && !tags.isEmpty
                || tags[id]?.count ?? 0 > 1
        {
            let several = tags.values.filter { $0.count > 1 }.joined().filter { $0.peeled != nil }
            let ids = Set(several.map(\.id) + [wanted])
            whole = try await repository.history(FetchRequest(wants: Array(ids)))
        }
        if let exact = tags[id] {
            return try await deliver(try await best(of: exact, in: whole), 0, id, emit)
        }
        guard !isExact, !tags.isEmpty,
            let (found, count) = try await nearest(to: id, tags, in: whole)
        else { throw missing(named) }
        try await deliver(try await best(of: found, in: whole), count, id, emit)
    }

    private func missing(_ named: [Tag]) -> FetchError {
        let takesAll = question.flag(.tags)
        let hasOthers = !takesAll && named.contains { $0.peeled == nil }
        let what = takesAll ? "tag" : "annotated tag"
        return FetchError(
            .permanentFailure, .body,
            question.flag(.exact)
                ? "no \(what) is exactly at \"\(version)\"" : "no \(what) describes \"\(version)\"",
            hint: hasOthers ? "there are others: tags=1 in the URL takes all" : nil)
    }

    private func deliver(
        _ tag: Tag, _ count: Int, _ id: ObjectID, _ emit: Emit
    ) async throws(FetchError) {
        var text = tag.name
        let digits = question.number(.digits) ?? 10
        if digits > 0 && (count > 0 || question.flag(.long)) {
            text += "-\(count)-g\(id.description.prefix(digits))"
        }
        var head = repository.server.listHead(name: "describe.txt")
        head.facts.merge([
            "git": .object([
                "describe": .text(text), "base": .text(tag.name), "commits": .number(count),
            ])
        ])
        try await emit(.head(head))
        try await emit(.body(Array((text + "\n").utf8)[...]))
    }

    /// The best of the tags at one commit: an annotated one, the latest if there are several.
    private func best(of tags: [Tag], in whole: PackSpool?) async throws(FetchError) -> Tag {
        let annotated = tags.filter { $0.peeled != nil }
        guard annotated.count > 1 else { return annotated.first ?? tags[0] }
        let request = FetchRequest(wants: annotated.map(\.id), depth: 1, filter: .trees)
        var pack = whole
        if pack == nil { pack = try await repository.history(request) }
        var (best, date) = (annotated[0], -1)
        for tag in annotated {
            guard let object = try pack?.required(tag.id), object.type == .tag else {
                throw .lacks(tag.id)
            }
            let made = object.tagger?.date?.seconds ?? 0
            if made > date { (best, date) = (tag, made) }
        }
        return best
    }

    // MARK: Counting

    /// The tags at the commit that lacks the fewest of the version's commits, and their number.
    private func nearest(
        to id: ObjectID, _ tags: [ObjectID: [Tag]], in whole: PackSpool?
    ) async throws(FetchError) -> (tags: [Tag], count: Int)? {
        var depth = whole == nil ? Self.firstDepth : nil
        while true {
            let request = FetchRequest(wants: [id], depth: depth, filter: .trees)
            var pack = whole
            if pack == nil { pack = try await repository.history(request) }
            guard let pack else { return nil }
            let graph = CommitGraph(pack)
            guard let start = try graph.commit(behind: id, named: question.version) else {
                throw .anotherObject(than: id)
            }
            let (candidates, isWhole) = try candidates(graph, from: start, tags)
            var best: (tags: [Tag], count: Int)?
            for candidate in candidates {
                let count = try await count(graph, from: start, without: candidate)
                if count < best?.count ?? .max, let found = tags[graph.id(candidate)] {
                    best = (found, count)
                }
            }
            // Any other tag is deeper, and so lacks more commits.
            if isWhole || (best?.count).map({ $0 <= depth ?? .max }) ?? false { return best }
            guard let reached = depth else { return best }
            depth = FetchRequest.deeper(reached)
        }
    }

    /// The first commits with tags on the walk, without ancestors of others among them; and true if
    /// the whole history is there.
    private func candidates(
        _ graph: CommitGraph, from start: Int, _ tags: [ObjectID: [Tag]]
    ) throws(FetchError) -> (found: [Int], isWhole: Bool) {
        var (found, covered, isWhole) = ([Int](), Set<Int>(), true)
        var walk = CommitGraph.Walk()
        walk.add(start, try graph.node(start).date)
        var count = 0
        while let number = walk.next() {
            let node = try graph.node(number)
            if node.lacksParents { isWhole = false }
            for parent in node.parents { walk.add(parent, try graph.node(parent).date) }
            guard tags[graph.id(number)] != nil, count < Self.candidatesMax else { continue }
            count += 1
            guard !covered.contains(number) else { continue }
            covered.formUnion(try graph.reachable(from: [number]))
            found.append(number)
        }
        return (found, isWhole)
    }

    /// Number of the version's commits that cannot be reached from the tag.
    private func count(
        _ graph: CommitGraph, from start: Int, without tag: Int
    ) async throws(FetchError) -> Int {
        if let count = try graph.count(from: start, without: tag) { return count }
        let request = FetchRequest(
            wants: [graph.id(start)], haves: [graph.id(tag)], filter: .trees)
        let rest = CommitGraph(try await repository.history(request))
        guard let again = rest.find(graph.id(start)) else {
            throw .anotherObject(than: graph.id(start))
        }
        // A server may send more than was asked for.
        let known = try rest.find(graph.id(tag)).map { number throws(FetchError) in
            try rest.reachable(from: [number])
        }
        return try rest.reachable(from: [again]).subtracting(known ?? []).count
    }
}

extension CommitGraph {
    /// Number of commits reachable from `start` and not from `other`; `nil` if the pack does not
    /// have enough history to tell.
    func count(from start: Number, without other: Number) throws(FetchError) -> Int? {
        let known = try reachable(from: [other])
        let rest = try reachable(from: [start]).subtracting(known)
        for number in rest where try node(number).lacksParents { return nil }
        var isOpen = false
        for number in known where try node(number).lacksParents { isOpen = true }
        guard isOpen else { return rest.count }
        // Descendants of `other` cannot be its ancestors, even with history missing.
        var (above, isChanged) = (Set([other]), true)
        while isChanged {
            isChanged = false
            try LongWork.check()
            for number in rest where !above.contains(number) {
                if try node(number).parents.contains(where: above.contains) {
                    above.insert(number)
                    isChanged = true
                }
            }
        }
        return rest.isSubset(of: above) ? rest.count : nil
    }
}
