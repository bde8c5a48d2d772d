// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// The commits of a pack and their parents. Takes some forty bytes of memory for each.
final class CommitGraph {
    private let pack: PackSpool

    /// A commit's position in the pack.
    typealias Number = Int

    struct Node {
        let date: Int
        /// The parents in the pack, in their order.
        let parents: [Number]
        /// True if a parent is not in the pack.
        let lacksParents: Bool
    }

    private var nodes: [Number: Node] = [:]

    init(_ pack: PackSpool) { self.pack = pack }

    /// `nil` when the pack lacks it, or it is not a commit.
    func find(_ id: ObjectID) -> Number? {
        guard let number = pack.find(id), pack.type(number) == .commit else { return nil }
        return number
    }

    /// The commit that an object or a chain of tags points to; `nil` when the pack lacks it.
    ///
    /// - Parameter name: The version's name, for messages.
    /// - Throws: `permanent-failure` for an object that is not a commit.
    func commit(behind id: ObjectID, named name: String?) throws(FetchError) -> Number? {
        var id = id
        for _ in 0..<PackObject.tagsMax {
            guard let number = pack.find(id), let type = pack.type(number) else { return nil }
            if type == .commit { return number }
            guard type == .tag, let target = try pack.required(id).target() else {
                throw FetchError(
                    .permanentFailure, .body,
                    "\"\(name ?? "HEAD")\" is not a commit: it is a \(type.name)")
            }
            id = target
        }
        throw PackObject.hasTooManyTags
    }

    func id(_ number: Number) -> ObjectID { pack.id(number) }

    /// - Throws: `protocol-error` for a malformed commit, `too-large` for one of more than 64 MiB.
    func commit(_ number: Number) throws(FetchError) -> Commit {
        try Commit(try pack.required(pack.id(number)))
    }

    func node(_ number: Number) throws(FetchError) -> Node {
        if let node = nodes[number] { return node }
        let commit = try commit(number)
        let parents = commit.parents.compactMap(find)
        let node = Node(
            date: commit.date, parents: parents,
            lacksParents: parents.count < commit.parents.count)
        nodes[number] = node
        return node
    }

    /// All commits that can be reached from `starts`, including them.
    func reachable(from starts: [Number]) throws(FetchError) -> Set<Number> {
        var (found, pending) = (Set(starts), starts)
        while let number = pending.popLast() {
            for parent in try node(number).parents where found.insert(parent).inserted {
                pending.append(parent)
            }
        }
        return found
    }

    /// Walks from commits to their parents in the order of git-log(1): the newest known commit
    /// comes next, and of two with the same date the one that was added first.
    struct Walk {
        private var queue = IndexedHeap<Entry>()
        private var met: Set<Number>
        private var count = 0

        private final class Entry: IndexedHeapElement {
            let number: Number
            private let date: Int
            private let order: Int
            var heapIndex: Int?

            init(_ number: Number, _ date: Int, order: Int) {
                (self.number, self.date, self.order) = (number, date, order)
            }

            func comes(before other: Entry) -> Bool {
                date != other.date ? date > other.date : order < other.order
            }
        }

        /// - Parameter excluded: Commits that are skipped.
        init(excluding excluded: Set<Number> = []) { met = excluded }

        mutating func add(_ number: Number, _ date: Int) {
            guard met.insert(number).inserted else { return }
            queue.insert(Entry(number, date, order: count))
            count += 1
        }

        mutating func next() -> Number? {
            guard let first = queue.first else { return nil }
            queue.remove(first)
            return first.number
        }
    }
}
