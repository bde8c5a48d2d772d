// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import SmallWebFormats

/// Makes a tar archive of a directory in one version of a repository, as git-archive(1) does.
///
/// With a server that can filter, there is a request for each directory of the path, and then one
/// for the directory with all its contents and the `.gitattributes` above it.
struct TarReader {
    private let repository: Repository
    /// Source of files in Git LFS; `nil` if pointers are kept.
    private let files: LFSFiles?
    private var address: GitAddress { repository.address }

    init(_ repository: Repository, files: LFSFiles?) {
        self.repository = repository
        self.files = repository.address.question.flag(.largeFiles) ? files : nil
    }

    /// - Returns: `unverified` if placeholders were left unexpanded.
    /// - Throws: `permanent-failure` when there is no such version or path, `too-large`,
    ///   `protocol-error` for a name that leads out of the directory.
    func read(_ emit: Emit) async throws(FetchError) -> Completeness {
        let path = address.path ?? []
        let start = try await repository.resolve(address.version)
        let place = try await ContentReader(repository).find(path, in: start) {
            count async throws(FetchError) in
            guard !path.isEmpty else { return }
            try await emit(
                .note(
                    Note(
                        "whole-version",
                        "the server cannot send a part of a version: all of it comes, "
                            + "\(count) objects")))
        }
        guard place.entry.kind == .directory || !path.isEmpty else {
            throw FetchError(
                .permanentFailure, .body,
                "\(address.version ?? "HEAD") is a file: an archive is of a commit or a directory",
                hint: "get it without tar")
        }
        let pack = try await fetch(place, path, start)
        let archive = TarArchive(
            pack: pack, question: address.question, commit: place.commit,
            attributes: try attributes(place, path, pack), files: files,
            modules: Submodules(
                try place.modules.flatMap { id throws(FetchError) in
                    try pack.object(id, bytesMax: PackSpool.bytesMax)?.content[...]
                } ?? []))
        let trees = place.trees.isEmpty ? [place.entry.id] : place.trees
        try await archive.check(place.entry, at: path, trees: trees)
        var head = Head(.success, mediaType: MediaType("application/x-tar"))
        head.suggestedName = name(path)
        head.facts = repository.server.facts
        head.hasNoUsualSize = true
        try await emit(.head(head))
        try await archive.write(place.entry, at: path, trees: trees, emit)
        return archive.isAsGitMakesIt ? .complete : .unverified
    }

    /// `repository-directory.tar`.
    private func name(_ path: [[UInt8]]) -> String {
        let last = address.repository.path.split(separator: "/").last.map(String.init) ?? "files"
        let bytes = PercentEncoding.decode(last.hasSuffix(".git") ? String(last.dropLast(4)) : last)
        let words = [bytes] + path.suffix(1)
        return words.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "-") + ".tar"
    }

    private func fetch(
        _ place: ContentReader.Target, _ path: [[UInt8]], _ start: ObjectID
    ) async throws(FetchError) -> PackSpool {
        guard repository.canFilter else { return try await repository.wholeVersion(of: start) }
        var request = FetchRequest(wants: [place.entry.id])
        if path.isEmpty, place.commit != nil {
            request = FetchRequest(wants: [start], depth: 1)
        }
        for attributes in place.attributes where !request.wants.contains(attributes.id) {
            request.wants.append(attributes.id)
        }
        if !path.isEmpty, let modules = place.modules, !request.wants.contains(modules) {
            request.wants.append(modules)
        }
        return try await repository.fetch(request, PackLimits())
    }

    /// The `.gitattributes` of the directories above.
    private func attributes(
        _ place: ContentReader.Target, _ path: [[UInt8]], _ pack: PackSpool
    ) throws(FetchError) -> Attributes {
        var attributes = Attributes()
        for (depth, id) in place.attributes {
            let directory = path[..<depth].flatMap { $0 + [ASCII.slash] }
            attributes.push(directory, try TarArchive.attributes(id, pack))
        }
        return attributes
    }
}
