// SPDX-License-Identifier: MIT
package import SmallWebCore
internal import SmallWebTransport

// Redirects: the next request, and its checks.
extension Fetch {
    /// The next request, resolved against the present URI, and a remark on data that is not sent
    /// on.
    func target(
        _ reference: String, status: Int?
    ) throws(FetchError) -> (Request, Note?) {
        do throws(FetchError) {
            let redirects = fetcher.options.redirects
            // Before it is parsed: an unknown scheme may have URLs of another form.
            let named = URI.scheme(of: reference.trimmed) ?? request.uri.scheme
            guard redirects.allows(from: request.scheme, to: named) else {
                var error = FetchError.redirect(
                    "not following a redirect to another scheme: \(URI.shown(reference))")
                if Reach.isFile(reference.trimmed) { error.remedy = nil }
                throw error
            }
            // Servers send spaces around a reference, and unescaped ones in names.
            let encoded = reference.trimmed.split(separator: " ", omittingEmptySubsequences: false)
            let text = encoded.joined(separator: "%20")
            var uri = try request.uri.resolving(text, in: fetcher.registry)
            // The server's fragment counts; ours stays when it gives none (RFC 9110 §10.2.2).
            if uri.fragment == nil { uri.fragment = request.uri.fragment }
            var next = try fetcher.request(uri)
            if request.upload != nil, URI.scheme(of: text) == nil,
                let scheme = next.scheme.uploads?.replySchemes.first
            {
                uri.scheme = scheme
                next = try fetcher.request(uri)
            }
            // A request to a scheme with uploads alone would be an upload.
            if request.upload != nil, next.scheme.uploads?.isOnlyUse == true {
                throw .redirect("not sending the upload again to \(uri.display)")
            }
            if fetcher.options.http.isSpecial && !next.scheme.dialsForItself {
                throw .redirect("not leaving HTTP's socket or host for \(uri.display)")
            }
            guard request.resumeOffset == nil || next.scheme.canResume else {
                throw .redirect("\(next.scheme.name) cannot resume: \(uri.display)")
            }
            let carried = handler.carried(
                from: request, status: status, isSameOrigin: next.isSameOrigin(as: request))
            let note = Self.note(carried.leftOut, next.uri)
            return (request.onward(to: next, with: carried), note)
        } catch {
            if error.outcome == .redirectRefused { throw error }
            if error.outcome == .unsupportedScheme {
                throw .redirect("the redirect leads to \(URI.shown(reference)): \(error.message)")
            }
            throw FetchError(
                .protocolError, .header,
                "bad redirect to \"\(URI.shown(reference))\": \(error.message)")
        }
    }

    /// Refuses a redirect to a private address, and what ``Fetcher/checkWay(from:to:by:)`` refuses.
    func checkWay(to next: Request, _ redirect: Ending.Redirect) async throws(FetchError) {
        let nextWay = try fetcher(for: request).checkWay(
            from: request, to: next, by: fetcher(for: next))
        let options = fetcher.options
        guard await options.opens?(redirect) ?? true else {
            throw .redirect("the program may not open \(next.uri.display)")
        }
        guard try await ask(options.mayFollow, redirect) ?? true else {
            throw .redirect("the redirect to \(next.uri.display) was not allowed")
        }
        if await reach.refuses(next, isDirect: nextWay == .direct, fetcher, by: deadline) {
            throw FetchError(
                .redirectRefused, .header,
                "the redirect leads to \(next.uri.display), at a private address",
                remedy: .fetchAlone)
        }
    }

    /// Lists the data that another origin does not get, though the one before has got it.
    private static func note(_ leftOut: [String], _ uri: URI) -> Note? {
        guard !leftOut.isEmpty, let place = uri.hostAndPort else { return nil }
        return Note("other-origin", "not sent on to \(place): \(leftOut.joined(separator: ", "))")
    }

    /// Makes the request one with the answer to a server's prompt; false if there is none.
    mutating func answer(_ ending: Ending, hops: Int) async throws(FetchError) -> Bool {
        guard ending.outcome == .needsInput, let answer = fetcher.options.answer,
            let head = ending.head
        else { return false }
        let isOver = hops > fetcher.options.redirects.limit || request.upload != nil
        guard !isOver, let text = try await ask(answer, ending) ?? nil else {
            // It was held back.
            try await emit(.head(head))
            if !heldBody.isEmpty { try await emit(.body(heldBody[...])) }
            return false
        }
        request.input = Array(text.utf8)
        request.isInputSecret = head.wantsSensitiveInput
        log.beginHop()
        return true
    }

    /// Calls a closure of others; `nil` without one.
    ///
    /// - Throws: `timeout`, `interrupted`.
    @inline(never)
    private func ask<Question: Sendable, Answer: Sendable>(
        _ closure: (@Sendable (Question) async -> Answer)?, _ question: Question
    ) async throws(FetchError) -> Answer? {
        guard let closure else { return nil }
        do throws(FetchError) {
            return try await fetcher.loop.away(by: deadline) { await closure(question) }
        } catch {
            throw timed(error)
        }
    }

    mutating func check(_ next: Request, hops: Int) throws(FetchError) {
        let uri = next.uri
        let limit = fetcher.options.redirects.limit
        guard hops <= limit else {
            throw FetchError(
                .tooManyRedirects, .header,
                "more than \(limit) \(limit == 1 ? "redirect" : "redirects"), the next to "
                    + uri.display,
                remedy: .raise(.redirects), expected: String(limit))
        }
        seen.insert(Visit(request))
        guard seen.insert(Visit(next)).inserted else {
            throw FetchError(
                .tooManyRedirects, .header, "the redirects form a loop at \(uri.display)")
        }
    }
}

extension Fetcher {
    /// Refuses a request that a reply leads to, at a port of another service or past the proxy.
    ///
    /// - Parameter other: The fetcher of `next`.
    /// - Returns: The way of `next`; `nil` without a connection.
    func checkWay(
        from request: Request, to next: Request, by other: Fetcher
    ) throws(FetchError) -> Route? {
        if next.scheme.isForeign(next.uri.port), !next.isSameOrigin(as: request) {
            throw FetchError(
                .redirectRefused, .header,
                "the redirect leads to \(next.uri.display), a port of another service",
                remedy: .fetchAlone)
        }
        let nextWay = try other.way(of: next)
        guard let way = try way(of: request), !way.isDirect, nextWay == .direct else {
            return nextWay
        }
        throw .redirect("not leaving the proxy for \(next.uri.display)")
    }

    /// `nil` for a request without a connection.
    private func way(of request: Request) throws(FetchError) -> Route? {
        guard request.uri.host != nil else { return nil }
        return try options.network.way(request, self)
    }
}

/// The redirects to follow. The counter is per fetch, across all schemes.
public struct RedirectPolicy: Sendable, Hashable {
    /// False to follow none.
    public var follows = true
    /// Where none is followed: true to refuse those that would not be, and to end the others with
    /// `Ending.redirectTarget`.
    package var judges = false
    /// Most redirects in a row (the Gemini specification's figure).
    public var limit = 5
    /// Schemes that a redirect may lead to from another one; empty for none. A port of another
    /// service, such as SMTP's, is refused all the same.
    public var otherSchemes: Set<String> = []

    /// True to refuse redirects to an address of this machine or of a private network, unless the
    /// URL that was asked for is at one itself.
    public var refusesPrivate = false

    /// Five redirects, within a scheme or to its form over TLS.
    public init() {}

    /// True if a reply of one scheme may lead to another by itself: to the same, to its form over
    /// TLS, and to those in ``otherSchemes``.
    package func allows(from: Scheme, to: String) -> Bool {
        from.name == to || from.secureForm == to || otherSchemes.contains(to)
    }
}
