// SPDX-License-Identifier: MIT
internal import SmallWeb

// Links of the pages of a crawl.
extension Crawl {
    /// The lines for a link of a page; none if it is not followed, or known.
    ///
    /// - Parameter isNofollow: True on a page whose links are not to be followed.
    func lines(
        of link: Link, on page: CrawlFile.Entry, isNofollow: Bool
    ) throws(FetchError) -> [UInt8] {
        guard link.isLink, !page.isOutside else { return [] }
        let raw = String(decoding: link.raw, as: UTF8.self)
        guard let uri = link.uri, let request = try? context.fetcher.request(uri) else {
            count(CrawlRefusal.unsupported.rawValue)
            // Without a plugin, it stays unchecked.
            let target = link.url.isEmpty ? raw : link.url
            return rules.checks ? file.line(of: link, to: target, on: page) : []
        }
        let key = CrawlKey(request.uri, request.scheme, request.scheme.crawling)
        let noted = rules.checks ? file.line(of: link, to: key.uri.description, on: page) : []
        let isLeftOut = link.isEmbedded && !rules.takesEmbedded
        if let refusal: CrawlRefusal = isNofollow || link.isNofollow
            ? .nofollow : isLeftOut ? .embedded : nil
        {
            count(refusal.rawValue)
            return noted
        }
        return try noted
            + lines(
                to: key, request, kind: link.kind, depth: page.depth + 1, hops: 0, page,
                isEmbedded: link.isEmbedded && rules.mirror != nil)
    }

    /// The lines for the target of a redirect, a link of the same depth, and the target.
    func lines(
        redirecting page: CrawlFile.Entry, to uri: URI
    ) throws(FetchError) -> (lines: [UInt8], target: String) {
        let request = try context.fetcher.request(uri)
        let key = CrawlKey(request.uri, request.scheme, request.scheme.crawling)
        let target = key.uri.description
        guard page.hops < Self.hopsMax else {
            return (file.isKnown(target) ? [] : skipping(target, CrawlFile.tooFar), target)
        }
        let lines = try lines(
            to: key, request, kind: .link, depth: page.depth, hops: page.hops + 1, page,
            isEmbedded: page.isEmbedded)
        return (lines, target)
    }

    private func lines(
        to key: CrawlKey, _ request: Request, kind: Item.Kind, depth: Int, hops: Int,
        _ page: CrawlFile.Entry, isEmbedded: Bool = false
    ) throws(FetchError) -> [UInt8] {
        let (scheme, crawling) = (request.scheme, request.scheme.crawling)
        if let refusal = CrawlRefusal.judge(key, kind, scheme, crawling),
            refusal != .port || !seeds.contains(String(key.place))
        {
            count(refusal.rawValue)
            return []
        }
        let from = isEmbedded ? CrawlFile.place(Array(page.url.utf8)[...]) : nil
        let refusal = try scope.refusal(
            of: key, depth: depth, embedding: from.map { String(decoding: $0, as: UTF8.self)[...] })
        if let refusal, !rules.checks {
            count(refusal.rawValue)
            return []
        }
        let (url, name) = (key.uri.description, String(key.place))
        let isOutside = refusal != nil
        func line() -> [UInt8] {
            file.lineOfNew(
                url, depth: depth, hops: hops, from: page.n, isOutside: isOutside,
                isEmbedded: isEmbedded) ?? []
        }
        guard !file.isKnown(url) else { return line() }
        if !seeds.contains(name), request.isPrivate { return skipping(url, "private") }
        if let trap = traps.refusal(of: key) { return skipping(url, trap.rawValue) }
        let place = place(name)
        guard place.pages < rules.placePagesMax else { return skipping(url, "per-host-pages") }
        place.pages += 1
        return line()
    }

    private func skipping(_ url: String, _ reason: String) -> [UInt8] {
        count(reason)
        return file.line(skipping: url, n: nil, reason)
    }
}
