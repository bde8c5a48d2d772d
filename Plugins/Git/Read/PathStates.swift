// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Maps the entries at some paths to a number for each tree: two trees have the same number if they
/// are equal below all paths. Trees are requested level by level, each of them once; files are not.
final class PathStates {
    private let repository: Repository
    private let paths: [[ArraySlice<UInt8>]]
    /// Entries with the wanted names, by tree.
    private var trees: [ObjectID: [TreeEntry]] = [:]
    private var states: [ObjectID: Int] = [:]
    private var numbers: [[TreeChange.Side?]: Int] = [:]

    /// The number of a tree in which none of the paths exists.
    static let empty = 0

    init(_ repository: Repository, _ paths: [[UInt8]]) {
        self.repository = repository
        self.paths = paths.map { $0.split(separator: ASCII.slash) }
        numbers[paths.map { _ in nil }] = Self.empty
    }

    /// Called before ``state(_:)``.
    ///
    /// - Parameters:
    ///   - roots: Trees of commits.
    ///   - pack: Has all trees, if the server sends them with their commits.
    func load(_ roots: Set<ObjectID>, from pack: PackSpool?) async throws(FetchError) {
        let roots = roots.filter { states[$0] == nil }
        var level = roots
        for depth in 0..<(paths.map(\.count).max() ?? 0) where !level.isEmpty {
            let names = Set(paths.filter { $0.count > depth }.map { $0[depth] })
            let missing = level.filter { trees[$0] == nil }
            if !missing.isEmpty {
                var found = pack
                if found == nil {
                    let wants = missing.sorted { $0.description < $1.description }
                    found = try await repository.fetch(
                        FetchRequest(wants: wants, depth: 1, filter: .trees), PackLimits())
                }
                guard let found else { return }
                for id in missing { trees[id] = try entries(of: id, names, found) }
                try await LongWork.pause()
            }
            level = Set(
                level.flatMap { trees[$0] ?? [] }.filter { $0.kind == .directory }.map(\.id))
        }
        for root in roots { states[root] = number(of: root) }
    }

    func state(_ root: ObjectID) -> Int { states[root] ?? Self.empty }

    private func entries(
        of id: ObjectID, _ names: Set<ArraySlice<UInt8>>, _ pack: PackSpool
    ) throws(FetchError) -> [TreeEntry] {
        guard let tree = try pack.object(id, bytesMax: PackSpool.bytesMax), tree.type == .tree
        else {
            throw FetchError(.protocolError, .body, "the server's pack lacks the tree \(id)")
        }
        var cursor = tree.tree
        var entries: [TreeEntry] = []
        while let entry = try cursor.next() {
            guard names.contains(entry.name) else { continue }
            // A copy of the name: a slice would keep the whole tree.
            entries.append(
                TreeEntry(
                    mode: entry.mode, kind: entry.kind, name: Array(entry.name)[...],
                    id: entry.id))
        }
        return entries
    }

    private func number(of root: ObjectID) -> Int {
        let sides = paths.map { path in
            var (tree, found) = (root as ObjectID?, nil as TreeEntry?)
            for name in path {
                found = tree.flatMap { trees[$0] }?.first { $0.name == name }
                tree = found?.kind == .directory ? found?.id : nil
            }
            return found.map(TreeChange.Side.init)
        }
        if let number = numbers[sides] { return number }
        let number = numbers.count
        numbers[sides] = number
        return number
    }
}

/// Selects commits that change some paths, by git-log(1)'s default simplification: a merge that is
/// equal to one of its parents is left out, and only that parent is followed.
final class PathHistory {
    private let repository: Repository
    private let graph: CommitGraph
    private let states: PathStates
    /// Excluded with all its ancestors; `nil` for nothing.
    private let bottom: ObjectID?
    private let excluded: Set<CommitGraph.Number>
    /// Trees of parents that were not sent.
    private var boundary: [ObjectID: ObjectID] = [:]

    init(
        _ repository: Repository, _ graph: CommitGraph, _ states: PathStates, bottom: ObjectID?,
        excluded: Set<CommitGraph.Number>
    ) {
        (self.repository, self.graph, self.states) = (repository, graph, states)
        (self.bottom, self.excluded) = (bottom, excluded)
    }

    /// Requests all trees that matter.
    ///
    /// - Parameters:
    ///   - needsBoundary: True if the server has the parents that were not sent.
    ///   - pack: Has all trees, if the server sends them with their commits.
    func load(
        from start: CommitGraph.Number, needsBoundary: Bool, _ pack: PackSpool?
    ) async throws(FetchError) {
        var (roots, missing) = (Set<ObjectID>(), Set<ObjectID>())
        for number in try graph.reachable(from: [start]) {
            let commit = try graph.commit(number)
            roots.insert(commit.tree)
            guard needsBoundary, !repository.shallow.contains(graph.id(number)) else { continue }
            for parent in commit.parents where graph.find(parent) == nil { missing.insert(parent) }
        }
        if !missing.isEmpty {
            let wants = missing.sorted { $0.description < $1.description }
            let commits = try await self.commits(wants)
            let others = CommitGraph(commits)
            for id in missing {
                guard let number = others.find(id) else { throw .lacks(id) }
                boundary[id] = try others.commit(number).tree
            }
            try await states.load(
                Set(boundary.values), from: repository.canFilter ? nil : commits)
        }
        try await states.load(roots, from: pack)
    }

    /// - Throws: `permanent-failure` if the server itself lacks them.
    private func commits(_ wants: [ObjectID]) async throws(FetchError) -> PackSpool {
        do throws(FetchError) {
            return try await repository.history(
                FetchRequest(wants: wants, depth: 1, filter: .trees))
        } catch  where error.outcome == .permanentFailure {
            // Its shallow lines do not tell whether it lacks parents, or cuts at the date.
            repository.forgetRefusal()
            throw FetchError(
                .permanentFailure, .body,
                "the server lacks commits before the first ones of the log (\(error.message)), "
                    + "to which paths have to be compared",
                hint: "ask for a number of commits instead of a range or a date")
        }
    }

    /// - Returns: The parents to follow, and whether the commit is listed.
    func simplified(
        _ number: CommitGraph.Number
    ) throws(FetchError) -> (parents: [CommitGraph.Number], isListed: Bool) {
        let commit = try graph.commit(number)
        let own = states.state(commit.tree)
        var (relevant, hasRelevantChange, hasOtherChange) = (0, false, false)
        var known = 0
        for id in commit.parents {
            let parent = graph.find(id)
            guard
                let tree = try parent.map({ number throws(FetchError) in
                    try graph.commit(number).tree
                }) ?? boundary[id]
            else { continue }
            known += 1
            let isRelevant = isRelevant(id, parent)
            relevant += isRelevant ? 1 : 0
            if states.state(tree) == own {
                // A merge of an excluded commit does not hide its other parents.
                if isRelevant { return (parent.map { [$0] } ?? [], false) }
            } else if isRelevant {
                hasRelevantChange = true
            } else {
                hasOtherChange = true
            }
        }
        let parents = commit.parents.compactMap(graph.find)
        guard known > 0 else { return (parents, own != PathStates.empty) }
        return (parents, relevant > 0 ? hasRelevantChange : hasOtherChange)
    }

    private func isRelevant(_ id: ObjectID, _ parent: CommitGraph.Number?) -> Bool {
        guard let bottom, id != bottom else { return true }
        return parent.map { !excluded.contains($0) } ?? false
    }
}
