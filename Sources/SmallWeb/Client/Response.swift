// SPDX-License-Identifier: MIT
internal import Glibc
public import SmallWebCore

/// A reply whose body is still to be read: see
/// ``Client/response(_:input:limits:timeout:isolation:)-(String,_,_,_,_)``.
public struct Response {
    /// The reply's head; `nil` where the protocol has none.
    public let head: Head?
    /// The URI of the reply, after redirects.
    public let uri: URI
    /// The body, to be read once.
    public let body: Body

    /// The pieces of a body as they arrive.
    ///
    /// At most one piece is ready ahead of the consumer; beyond that a slow consumer slows the
    /// server. Leaving the loop, or dropping the response, closes the connection.
    public struct Body: AsyncSequence {
        public typealias Element = ArraySlice<UInt8>
        public typealias Failure = FetchError

        fileprivate let events: Client.Events.Iterator
        fileprivate let uri: URI

        /// Goes on with the body where another iterator was left. One that is made after the end
        /// throws `usage`.
        public func makeAsyncIterator() -> Iterator {
            Iterator(events: events, uri: uri, isLate: events.hasEnded)
        }

        /// All of the body.
        ///
        /// - Parameters:
        ///   - max: Largest body, in bytes.
        ///   - isolation: The caller's actor.
        /// - Throws: `too-large`; the errors of ``Iterator/next(isolation:)``.
        public func collect(
            upTo max: Int, isolation: isolated (any Actor)? = #isolation
        ) async throws(FetchError) -> [UInt8] {
            var bytes: [UInt8] = []
            let iterator = makeAsyncIterator()
            while let piece = try await iterator.next(isolation: isolation) {
                guard piece.count <= max - bytes.count else {
                    throw FetchError.tooLarge(max).of(uri.description)
                }
                bytes += piece
            }
            return bytes
        }

        /// The body in progress.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let events: Client.Events.Iterator
            fileprivate let uri: URI
            fileprivate let isLate: Bool

            /// The next bytes, never empty; `nil` at the end of a reply that is a success.
            ///
            /// - Throws: The reason for an incomplete body, and that of a refusal.
            public func next(
                isolation actor: isolated (any Actor)? = #isolation
            ) async throws(FetchError) -> ArraySlice<UInt8>? {
                if isLate {
                    throw usageError("the body has been read to its end").of(uri.description)
                }
                while let event = try await events.next(isolation: actor) {
                    switch event {
                    case .body(let bytes) where !bytes.isEmpty: return bytes
                    case .end(let ending):
                        events.hasEnded = true
                        try Response.check(ending)
                    default: break
                    }
                }
                return nil
            }
        }
    }

    /// - Throws: The reason of an ending other than a success.
    fileprivate static func check(_ ending: Ending) throws(FetchError) {
        guard ending.outcome != .ok else { return }
        let message = ending.message ?? ending.outcome.summary
        throw FetchError(ending.outcome, .body, message).of(ending.uri.description)
    }
}

extension Client {
    /// Asks for a page, and returns when its head is there: the body is read by the caller.
    ///
    /// A refusal is a response, too, and its body throws it. Lines of a menu are not in the body:
    /// see `Request.wantsRawBody`.
    ///
    /// - Throws: The reason for a missing reply.
    public func response(
        _ request: Request, isolation: isolated (any Actor)? = #isolation
    ) async throws(FetchError) -> Response {
        let events = events(request).makeAsyncIterator()
        var uri = request.uri
        while let event = try await events.next(isolation: isolation) {
            switch event {
            case .redirect(let redirect): uri = redirect.to
            case .head(let head):
                return Response(head: head, uri: uri, body: .init(events: events, uri: uri))
            case .body, .item, .end:
                events.unread(event)
                return Response(head: nil, uri: uri, body: .init(events: events, uri: uri))
            default: break
            }
        }
        throw FetchError.cancelled.of(request.uri.description)
    }

    /// Asks for a page, as ``response(_:isolation:)`` does.
    ///
    /// - Parameters:
    ///   - url: A full URL, with its scheme.
    ///   - input: Input that a server asked for, or is sent.
    ///   - limits: Limits of time, and of the body's size.
    ///   - timeout: Time for all of it, the body included; `nil` for that of `limits` alone.
    ///   - isolation: The caller's actor.
    /// - Throws: The reason for a missing reply.
    public func response(
        _ url: String, input: String? = nil, limits: Limits = Limits(), timeout: Duration? = nil,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(FetchError) -> Response {
        let asked = RunRequest(url, input: input, limits: limits.within(timeout))
        do throws(FetchError) {
            return try await response(request(asked), isolation: isolation)
        } catch {
            throw error.of(url)
        }
    }

    /// Saves the body of a page, as ``download(_:to:)-(Request,_)`` does.
    ///
    /// - Parameters:
    ///   - url: A full URL, with its scheme.
    ///   - path: The file.
    ///   - input: Input that a server asked for, or is sent.
    ///   - limits: Limits of time, and of the body's size.
    ///   - timeout: Time for all of it; `nil` for that of `limits` alone.
    /// - Throws: As for a request.
    @discardableResult
    public func download(
        _ url: String, to path: String, input: String? = nil, limits: Limits = Limits(),
        timeout: Duration? = nil
    ) async throws(FetchError) -> Ending {
        let asked = RunRequest(url, input: input, limits: limits.within(timeout))
        do throws(FetchError) {
            return try await download(request(asked), to: path)
        } catch {
            throw error.of(url)
        }
    }

    /// Saves the body of a page as a file, which appears with all of its bytes or not at all.
    ///
    /// Bytes go to a new file in the same directory. Links lead to the file that is replaced, and
    /// whose permissions stay. It stays as it is if the reply says that nothing has changed
    /// (`Head.isUnchanged`). Menus are saved as received. Blocks the client's thread for each
    /// write.
    ///
    /// - Throws: The reason for a missing or incomplete reply, and that of a refusal; `write` if
    ///   the file cannot be made, or is a directory, device or pipe; `usage` for a request of a
    ///   head alone, or of the rest of a body: ``response(_:isolation:)`` has the bytes of that.
    @discardableResult
    public func download(
        _ request: Request, to path: String
    ) async throws(FetchError) -> Ending {
        var request = request
        request.wantsRawBody = true
        request.wantsItems = false
        do throws(FetchError) {
            guard request.resumeOffset == nil, !request.wantsHeadAlone else {
                throw usageError(
                    "a file has all of a body, and the request asks for "
                        + (request.wantsHeadAlone ? "none of it" : "the rest"),
                    hint: "read the response, and write what you keep")
            }
            let file = try Download(path)
            let ending = try await fetcher.run(request) { event throws(FetchError) in
                if case .body(let bytes) = event { try file.write(bytes) }
            }
            try Response.check(ending)
            if !(ending.head?.isUnchanged ?? false) { try file.commit() }
            return ending
        } catch {
            throw error.of(error.url ?? request.uri.description)
        }
    }
}

/// The new file of ``Client/download(_:to:)``, which is removed unless it was completed.
//
// `FileOutput` of the command line is more: it continues parts, numbers names and knows terminals.
private final class Download: Sendable {
    private let path: String
    private let part: String
    private let file: Descriptor

    init(_ path: String) throws(FetchError) {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw FetchError(.write, .output, "the path of the file is empty, or has a NUL")
        }
        self.path = resolvingLinks(path)
        part = "\(self.path).\(UInt64.random(in: 0 ... .max)).part"
        var status = stat()
        let exists = stat(self.path, &status) == 0
        guard !exists || status.st_mode & S_IFMT == S_IFREG else {
            throw FetchError(.write, .output, "\(path) is not a regular file")
        }
        do throws(SystemError) {
            let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
            file = try Descriptor(opening: part, flags, mode: 0o666)
            if exists {
                _ = try systemCall { fchmod(file.borrowed, status.st_mode & 0o777) }
            }
        } catch {
            throw FetchError(.write, .output, "cannot write \(path)", error)
        }
    }

    deinit { unlink(part) }

    func write(_ bytes: ArraySlice<UInt8>) throws(FetchError) {
        do throws(SystemError) {
            try writeAll(bytes, to: file.borrowed)
        } catch {
            throw FetchError(.write, .output, "cannot write \(path)", error)
        }
    }

    func commit() throws(FetchError) {
        do throws(SystemError) {
            _ = try systemCall { fsync(file.borrowed) }
            _ = try systemCall { rename(part, path) }
        } catch {
            throw FetchError(.write, .output, "cannot write \(path)", error)
        }
    }
}
