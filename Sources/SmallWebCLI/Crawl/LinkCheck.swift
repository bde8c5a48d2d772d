// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

/// `crawl --check`: what the file of a crawl says about links.
struct LinkCheck {
    private struct Target {
        var outcome: Outcome?
        /// Where it redirects to.
        var next: String?
    }

    private let crawl: Crawl
    private var targets: [String: Target] = [:]
    /// URLs of pages by their numbers.
    private var pages: [Int: String] = [:]
    private var links: [JSONValue] = []

    init(_ crawl: Crawl) throws(FetchError) {
        self.crawl = crawl
        var (targets, pages) = (targets, pages)
        var links: [JSONValue] = []
        _ = try crawl.file.scan { line, _ throws(FetchError) in
            guard let record = try? JSONValue.parse(line), let type = record["type"]?.string,
                let url = record["url"]?.string, let n = record["n"]?.int
            else { return }
            switch type {
            case "found": pages[n] = url
            case "link": links.append(record)
            case "response", "error":
                targets[url] = Target(
                    outcome: record["outcome"]?.string.flatMap(Outcome.init),
                    next: record["to"]?.string)
            default: break
            }
        }
        (self.targets, self.pages, self.links) = (targets, pages, links)
    }

    /// The outcome of a link; `nil` if it was not checked.
    private func outcome(of url: String) -> Outcome? {
        var (url, hops) = (url, 0)
        while let target = targets[url] {
            guard let next = target.next else { return target.outcome }
            hops += 1
            guard hops <= 5 else { return .tooManyRedirects }
            url = next
        }
        guard let request = try? crawl.context.fetcher.request(url) else {
            let hasScheme = URI.scheme(of: url) != nil && (try? URI(parsing: url)) != nil
            return hasScheme ? nil : .badURL
        }
        let key = CrawlKey(request.uri, request.scheme, request.scheme.crawling)
        return crawl.failure(of: String(key.place))
    }

    /// Prints the links.
    ///
    /// - Returns: The exit status.
    func report(_ settings: Settings) throws(FetchError) -> Int32 {
        var (status, patience) = (Int32(0), Patience())
        patience.deadline = .never
        var (index, last) = (0, -1)
        for link in links {
            let (url, number) = (link["url"]?.string ?? "", link["n"]?.int ?? 0)
            let (outcome, page) = (outcome(of: url), pages[number] ?? "")
            (index, last) = (number == last ? index + 1 : 0, number)
            let isFine = [nil, .ok, .needsInput].contains(outcome)
            if let outcome, !isFine, status != Outcome.permanentFailure.exitStatus {
                let isForNow = outcome.isRetryable && outcome != .resolve
                status = (isForNow ? Outcome.temporaryFailure : .permanentFailure).exitStatus
            }
            let word = outcome?.rawValue ?? "unchecked"
            if settings.records.areWanted {
                let record = record(of: link, url, number, index, page, word)
                try StandardStream.output.write(record[...], isWhole: true, patience)
            } else if !isFine {
                let row = [word, url, page, "\(link["line"]?.int ?? 0)"].map(
                    TerminalText.escapeLine)
                let text = row.joined(separator: "\t") + "\n"
                try StandardStream.output.write(Array(text.utf8)[...], isWhole: true, patience)
            }
        }
        return status
    }

    /// The record of `links`, with the outcome.
    private func record(
        of link: JSONValue, _ url: String, _ n: Int, _ index: Int, _ page: String, _ word: String
    ) -> [UInt8] {
        JSONWriter.line { writer in
            var subject = RecordSubject(url: page)
            subject.n = n
            writer.begin("link", subject)
            writer.member("i", index)
            let uri = try? URI(parsing: url)
            writer.member("url", uri == nil ? nil : url)
            writer.member("page", page)
            writer.member("raw", link["raw"]?.string ?? url)
            writer.member("text", link["text"]?.string ?? "")
            writer.member("scheme", uri?.scheme)
            writer.member("kind", link["kind"]?.string ?? "link")
            writer.member("line", link["line"]?.int ?? 0)
            writer.member("same_host", uri?.host == (try? URI(parsing: page))?.host)
            writer.member("outcome", word)
        }
    }
}
