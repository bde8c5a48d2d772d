// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Downloads the files of one archive from the Git LFS server of the repository.
///
/// A batch request asks for the locations of the next hundred files when the first of them is
/// needed. Downloads run eight at a time, as with git-lfs.
final class LFSFiles {
    private let dialer: any Dialer
    private let request: Request
    private let uri: URI
    /// Locations from the last batch request, by digits.
    private var answers: [String: LFSBatch.Answer] = [:]
    /// Files downloaded in advance, by digits.
    private var arrived: [String: Spool] = [:]

    private static let filesAtOnce = 8
    private static let redirectsMax = 5
    private static let memoryMax = 1 << 20

    init(_ dialer: any Dialer, _ request: Request, _ address: GitAddress) {
        self.dialer = dialer
        self.request = request
        uri = LFSBatch.uri(of: address.repository)
    }

    /// Content of a file. Its size and hash have been verified against the pointer.
    ///
    /// - Parameter following: Pointers that will be needed after it.
    /// - Throws: `permanent-failure` and `temporary-failure` when the server refuses;
    ///   `protocol-error` for wrong content or an invalid answer; `write`.
    func content(
        of file: LFSPointer, following: () throws(FetchError) -> [LFSPointer]
    ) async throws(FetchError) -> Spool {
        if let largest = request.limits.bodyBytesMax, !request.limits.isUsualForBodies,
            file.byteCount > largest
        {
            throw .tooLarge(largest)
        }
        if let content = arrived.removeValue(forKey: file.digits) { return content }
        let others = try following()
        let isFresh = answers[file.digits] == nil
        if isFresh { answers = try await ask(for: file, others) }
        do throws(FetchError) {
            return try await download(file, with: others)
        } catch  where error.outcome == .permanentFailure && !isFresh {
            // Its location may have expired during the downloads before it.
            answers = try await ask(for: file, following())
            return try await download(file)
        }
    }

    // MARK: Batch requests

    private func ask(
        for file: LFSPointer, _ following: [LFSPointer]
    ) async throws(FetchError) -> [String: LFSBatch.Answer] {
        var files = [file]
        var known: Set<String> = [file.digits]
        for next in following where files.count < LFSBatch.filesMax {
            if known.insert(next.digits).inserted { files.append(next) }
        }
        var options = HTTPOptions(request)
        options.fields += [
            HTTPField("Accept", LFSBatch.mediaType),
            HTTPField("Content-Type", LFSBatch.mediaType + "; charset=utf-8"),
        ]
        options.body = LFSBatch.request(files)
        var answer: [UInt8] = []
        try await exchange(uri, options, with: "the Git LFS server of the repository") {
            $0.status == 200
        } onBody: { bytes throws(FetchError) in
            guard answer.count + bytes.count <= LFSBatch.answerBytesMax else {
                throw FetchError(
                    .protocolError, .body,
                    "the answer of Git LFS is larger than \(LFSBatch.answerBytesMax) bytes",
                    expected: String(LFSBatch.answerBytesMax))
            }
            answer += bytes
        }
        return try LFSBatch.parse(answer[...], to: files, from: uri)
    }

    // MARK: Files

    //
    // @unchecked: made by the one task that hands it over.
    private struct Download: @unchecked Sendable {
        let file: LFSPointer
        let content: Result<Spool, FetchError>
    }

    /// Downloads a file, together with some of those needed next. Failures of the latter are
    /// ignored: they are retried when needed.
    private func download(
        _ file: LFSPointer, with others: [LFSPointer]
    ) async throws(FetchError) -> Spool {
        var files = [file]
        for next in others where files.count + arrived.count < Self.filesAtOnce {
            let largest = request.limits.isUsualForBodies ? nil : request.limits.bodyBytesMax
            guard case .download? = answers[next.digits], next.byteCount <= largest ?? .max,
                arrived[next.digits] == nil, !files.contains(where: { $0.digits == next.digits })
            else { continue }
            files.append(next)
        }
        // @unchecked: the tasks read only properties that do not change before all of them have
        // ended.
        nonisolated(unsafe) let this = self
        var content: Result<Spool, FetchError>?
        await withTaskGroup(of: Download.self) { group in
            for file in files {
                group.addTask { @Sendable in
                    do throws(FetchError) {
                        return Download(
                            file: file, content: .success(try await this.download(file)))
                    } catch {
                        return Download(file: file, content: .failure(error))
                    }
                }
            }
            for await download in group {
                if download.file == file {
                    content = download.content
                    if case .failure = download.content { group.cancelAll() }
                } else if case .success(let spool) = download.content {
                    arrived[download.file.digits] = spool
                }
            }
        }
        guard let content else { preconditionFailure("each task has a result") }
        return try content.get()
    }

    private func download(_ file: LFSPointer) async throws(FetchError) -> Spool {
        guard case .download(var target, let fields)? = answers[file.digits] else {
            guard case .refused(let why)? = answers[file.digits] else { preconditionFailure() }
            throw FetchError(
                .permanentFailure, .body, "Git LFS has no file \(file.digits): \(why)")
        }
        // The fields of the answer are for that location alone; the user's fields are for the
        // repository's server alone.
        var options = HTTPOptions(request)
            .redirected(status: nil, isSameOrigin: try isOurs(target))
        let given = Set(fields.map { $0.name.lowercased() })
        options.fields.removeAll { given.contains($0.name.lowercased()) }
        options.fields += fields
        for _ in 0...Self.redirectsMax {
            let content = Spool(memoryMax: Self.memoryMax)
            let digest = try Digest(.sha256)
            var location: String?
            let server = "Git LFS at \(target.hostAndPort ?? "")"
            try await exchange(target, options, with: server) { reply in
                location =
                    [301, 302, 303, 307, 308].contains(reply.status)
                    ? reply["location"] : nil
                return location != nil || reply.status == 200
            } onBody: { bytes throws(FetchError) in
                if location == nil { try file.append(bytes, to: content, digest) }
            }
            guard let location else {
                try file.check(content, digest)
                return content
            }
            target = try LFSBatch.target(location, from: target)
            options = HTTPOptions(request)
                .redirected(status: nil, isSameOrigin: try isOurs(target))
        }
        throw FetchError(
            .permanentFailure, .body, "Git LFS: more than \(Self.redirectsMax) redirects")
    }

    private func endpoint(of uri: URI) throws(FetchError) -> Endpoint {
        let isSecure = uri.scheme == "https"
        return Endpoint(
            host: uri.host ?? "", port: uri.port ?? (isSecure ? 443 : 80),
            security: isSecure ? .tls : .none)
    }

    private func isOurs(_ uri: URI) throws(FetchError) -> Bool {
        try endpoint(of: uri) == request.endpoint
    }

    /// Longest reason of a refusal that is read.
    private static let reasonBytesMax = 4096

    /// - Parameter accepts: False for a refusal, whose body may say why.
    private func exchange(
        _ uri: URI, _ options: HTTPOptions, with server: String, accepts: (HTTPReply) -> Bool,
        onBody: (ArraySlice<UInt8>) throws(FetchError) -> Void
    ) async throws(FetchError) {
        let endpoint = try endpoint(of: uri)
        let request = try HTTPRequest(self.request, uri: uri, at: endpoint, options: options)
        let client = try dialer.httpClient(for: endpoint)
        var (refusal, reason) = (HTTPReply?.none, [UInt8]())
        let completeness = try await client.exchange(request) { reply async throws(FetchError) in
            if !accepts(reply) { refusal = reply }
        } onBody: { bytes async throws(FetchError) in
            guard let refusal else { return try onBody(bytes) }
            reason += bytes.prefix(Self.reasonBytesMax - reason.count)
            // No more of it is read.
            if reason.count == Self.reasonBytesMax { throw Self.error(refusal, reason, server) }
        }
        if let refusal { throw Self.error(refusal, reason, server) }
        guard completeness != .truncated else {
            throw FetchError(
                .truncated, .body,
                "Git LFS at \(uri.hostAndPort ?? ""): the reply ended in the middle")
        }
    }

    private static func error(
        _ reply: HTTPReply, _ body: [UInt8], _ server: String
    ) -> FetchError {
        let words = [String(decoding: reply.reason, as: UTF8.self), LFSBatch.reason(body, reply)]
        let said = words.compactMap(\.self).filter { !$0.isEmpty }.joined(separator: ": ")
        let message = "\(server): \(reply.status) \(said)"
        switch reply.status {
        case 408, 425, 429, 500...: return FetchError(.temporaryFailure, .body, message)
        default:
            return FetchError(
                .permanentFailure, .body, message,
                hint: "without the key lfs the archive has pointers in place of the files")
        }
    }
}
