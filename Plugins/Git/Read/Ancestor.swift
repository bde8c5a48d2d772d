// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// A version and the way from it to one of its ancestors, as in gitrevisions(7): `v1^` is its
/// parent, `v1^2` the second parent of a merge, `v1~3` three first parents away. Pure.
struct Ancestor: Hashable, Sendable {
    /// A branch, tag, full reference or object id.
    let base: String
    /// The parents to take in turn, from 1 on.
    let parents: [Int]

    /// - Returns: `nil` for a version without a way, and for other forms, such as `^{tree}`.
    init?(_ version: String) {
        let base = version.prefix { !"~^".contains($0) }
        var rest = version.dropFirst(base.count)
        guard !base.isEmpty, !rest.isEmpty else { return nil }
        var parents: [Int] = []
        while let mark = rest.popFirst() {
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            rest = rest.dropFirst(digits.count)
            guard "~^".contains(mark),
                let number = digits.isEmpty ? 1 : ASCII.decimal(digits.utf8, max: Self.depthMax)
            else { return nil }
            let more = mark == "~" ? number : min(number, 1)
            guard parents.count + more <= Self.depthMax else { return nil }
            parents += Array(repeating: mark == "~" ? 1 : number, count: more)
        }
        (self.base, self.parents) = (String(base), parents)
    }

    private static let depthMax = GitQuestion.countMax - 1
}

extension Repository {
    /// The commit at the end of the way, for which the server is asked for the commits on it.
    ///
    /// - Throws: `permanent-failure` when there is no such commit.
    func resolve(_ ancestor: Ancestor) async throws(FetchError) -> ObjectID {
        let start = try await resolve(ancestor.base)
        guard server.version == 2 else {
            throw FetchError(
                .permanentFailure, .body, "the server sends no parents of \"\(ancestor.base)\"",
                hint: "name a commit by its id")
        }
        let graph = CommitGraph(
            try await history(
                FetchRequest(
                    wants: [start], depth: ancestor.parents.count + 1, filter: .trees)))
        var number = try graph.commit(behind: start, named: ancestor.base)
        guard var id = number.map(graph.id) else { throw .anotherObject(than: start) }
        for parent in ancestor.parents {
            guard let child = number else { throw .anotherObject(than: id) }
            let parents = try graph.commit(child).parents
            guard parents.count >= parent else {
                throw FetchError(
                    .permanentFailure, .body,
                    "the commit \(id) has \(Self.count(parents.count))",
                    hint: "the log of \(ancestor.base) lists the commits")
            }
            id = parents[parent - 1]
            number = graph.find(id)
        }
        return id
    }

    private static func count(_ parents: Int) -> String {
        parents == 0 ? "no parent" : parents == 1 ? "one parent" : "\(parents) parents"
    }
}
