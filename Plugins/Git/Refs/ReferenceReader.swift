// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Lists references, as git-ls-remote(1) does, if asked with dates.
struct ReferenceReader {
    private let repository: Repository
    private let query: RefQuery
    private let wantsItems: Bool
    private let showsDates: Bool

    init(_ repository: Repository, _ query: RefQuery, wantsItems: Bool) {
        (self.repository, self.query, self.wantsItems) = (repository, query, wantsItems)
        showsDates = query.showsDates || repository.address.question.flag(.dates)
    }

    /// The same requests for all output formats, so that a recording answers each of them.
    func read(_ emit: Emit) async throws(FetchError) {
        var list: RefList?
        var dated: [Ref] = []
        nonisolated(nonsending) func begin() async throws(FetchError) {
            guard list == nil else { return }
            let server = repository.server
            list = RefList(query, wantsRefs: wantsItems || showsDates, server)
            try await emit(.head(server.listHead(name: "refs")))
        }
        nonisolated(nonsending) func deliver() async throws(FetchError) {
            guard let (lines, refs) = list?.take(), !lines.isEmpty else { return }
            repository.renewOverhead()
            // Dates are requested when all references are known.
            guard !showsDates else { return dated += refs }
            try await give(refs, lines, emit)
        }
        // Before version 2 the greeting is the list: it is passed on as it comes.
        try await repository.greet { line async throws(FetchError) in
            try await begin()
            try list?.add(plain: line)
        } pause: { () async throws(FetchError) in
            try await deliver()
        }
        try await begin()
        if repository.server.version == 2 {
            try await repository.list(RefList.prefixes(query), symrefs: true) { ref in
                list?.add(ref)
            } pause: { () async throws(FetchError) in
                try await deliver()
            }
        }
        list?.finish()
        try await deliver()
        if showsDates { try await writeDated(dated, emit) }
    }

    private func give(
        _ refs: [Ref], _ lines: [UInt8], _ emit: Emit
    ) async throws(FetchError) {
        for ref in refs {
            if ref.name == "HEAD", let branch = ref.symref {
                try await emit(.facts(["git": .object(["head": .text(branch)])]))
            }
            var item = ref.item
            item.url = repository.address.url(ofVersion: ref.name)
            try await emit(.item(item))
        }
        try await emit(.body(lines[...]))
    }

    // MARK: Dates

    /// Writes a line for each reference: the id, the name and the date of the annotated tag or
    /// commit, between tabs. Requests all of them at once; the commits alone, if the server can
    /// filter.
    private func writeDated(_ refs: [Ref], _ emit: Emit) async throws(FetchError) {
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
            guard let id = ObjectID(hex: ref.oid) else { continue }
            let found = pack.find(id) == nil ? others : pack
            let time = try Self.time(of: try found.required(id))
            let date = time.map(UTCDate.second)
            if query.showsSymrefs, let target = ref.symref {
                lines += "ref: \(target)\t\(ref.name)\n".utf8
            }
            lines += "\(ref.oid)\t\(ref.name)\t\(date ?? "")\n".utf8
            guard wantsItems else { continue }
            var item = ref.item
            item.url = repository.address.url(ofVersion: ref.name)
            (item.time, item.facts["date"]) = (time, Facts.Value(date))
            try await emit(.item(item))
        }
        try await emit(.body(lines[...]))
    }

    /// `nil` for a directory or file, and for a tag without a date.
    private static func time(of object: PackObject) throws(FetchError) -> Int? {
        switch object.type {
        case .tag: object.tagger?.date?.seconds
        case .commit: try Commit(object).date
        case .tree, .blob: nil
        }
    }
}

struct RefQuery: Hashable {
    /// Only references below `refs/heads/` and `refs/tags/`; neither means all.
    var onlyHeads = false
    var onlyTags = false
    /// Shell patterns for the last components of a name (git-ls-remote(1)); empty means all.
    var patterns: [String] = []
    /// True if the URL must ask for a list of references.
    var isRequired = false
    /// True if the body shows targets of symbolic references.
    var showsSymrefs = false
    var showsDates = false

    init() {}

    init(_ request: Request) {
        onlyHeads = request.options.flag("heads")
        onlyTags = request.options.flag("tags")
        showsSymrefs = request.options.flag("symref")
        showsDates = request.options.flag("dates")
        patterns = request.referencePatterns ?? []
        isRequired = request.referencePatterns != nil
    }

    var isEmpty: Bool { self == RefQuery() }

    /// Options with the names that git-ls-remote(1) gives them.
    static let options = [
        Request.Option(
            "heads", .flag, for: .references,
            .init(
                group, "only branches",
                manual: "Lists references below refs/heads/; with --tags also those below it.",
                example: "smallweb refs --heads git://example.org/repo.git")),
        Request.Option(
            "tags", .flag, for: .references,
            .init(
                group, "only tags; describe: not only annotated ones",
                manual: "Lists references below refs/tags/; with --heads also those below it. "
                    + "With describe, tags that are not annotated count as well.",
                example: "smallweb refs --tags https://example.org/repo.git 'v1.*'")),
        Request.Option(
            "dates", .flag, for: .references,
            .init(
                group, "with the date of each",
                manual: "Puts the date of each reference behind its name: when an annotated tag "
                    + "was made, or the commit that it names, in UTC.",
                example: "smallweb refs --tags --dates https://example.org/repo.git")),
        Request.Option(
            "symref", .flag, for: .references,
            .init(
                group, "say what HEAD stands for",
                manual: "Puts a line with the name it stands for before each symbolic reference.",
                example: "smallweb refs --symref git://example.org/repo.git HEAD")),
    ]

    private static let group = "References (refs)"
}
