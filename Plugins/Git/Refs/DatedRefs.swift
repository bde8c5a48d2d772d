// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// References with dates: of the annotated tag, or of the commit that it names. One request for all
/// of them: for the commits alone, if the server can filter.
struct DatedRefs {
    private let repository: Repository

    init(_ repository: Repository) { self.repository = repository }

    /// Writes a line for each reference: the id, the name and the date, between tabs.
    func write(_ refs: [Ref], wantsItems: Bool, _ emit: Emit) async throws(FetchError) {
        guard !refs.isEmpty else { return }
        var (wants, known) = ([ObjectID](), Set<ObjectID>())
        for ref in refs {
            if let id = ObjectID(hex: ref.oid), known.insert(id).inserted { wants.append(id) }
        }
        let pack = try await repository.history(
            FetchRequest(wants: wants, depth: 1, filter: .trees))
        // If a tag names the tree of one of the commits, a server leaves that tree out.
        let lacking = wants.filter { pack.find($0) == nil }
        let branches = refs.lazy.filter { !$0.name.hasPrefix(Tag.prefix) }.map(\.oid)
        var others = pack
        if !lacking.isEmpty, Set(branches).isDisjoint(with: lacking.map(\.description)) {
            others = try await repository.history(
                FetchRequest(wants: lacking, depth: 1, filter: .trees))
        }
        var lines: [UInt8] = []
        for ref in refs {
            let isKnown = ObjectID(hex: ref.oid).map { pack.find($0) != nil } ?? false
            let date = try date(of: ref, isKnown ? pack : others).map(UTCDate.second)
            lines += "\(ref.oid)\t\(ref.name)\t\(date ?? "")\n".utf8
            guard wantsItems else { continue }
            var item = ref.item
            item.facts["date"] = Facts.Value(date)
            try await emit(.item(item))
        }
        try await emit(.body(lines[...]))
    }

    /// `nil` for a directory or file, and for a tag without a date.
    private func date(of ref: Ref, _ pack: PackSpool) throws(FetchError) -> Int? {
        guard let id = ObjectID(hex: ref.oid),
            let object = try pack.object(id, bytesMax: Self.bytesMax)
        else {
            throw FetchError(
                .protocolError, .body, "the server's pack lacks the object \(ref.oid)")
        }
        switch object.type {
        case .tag: return ObjectHeader.tagger(ofTag: object.content[...])?.date?.seconds
        case .commit: return try Commit(parsing: object.content[...], repository.format).date
        case .tree, .blob: return nil
        }
    }

    private static let bytesMax = 64 << 20
}
