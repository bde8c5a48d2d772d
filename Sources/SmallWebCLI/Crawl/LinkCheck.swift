// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

/// `crawl --check`: what the file of a crawl says about links. It is read twice, so that memory
/// holds its pages and not their links.
struct LinkCheck {
    private let crawl: Crawl
    private let ends: [UInt64: CrawlFile.End]
    /// Where the last line is that finds a page, by number: only links behind it count.
    private var pages: [Int: Int] = [:]
    /// Links of pages so far, until the page's own line.
    private var counts: [Int: Int] = [:]
    private var last: (n: Int, url: String) = (-1, "")
    private var verdict = Verdict()
    /// Links that were not checked, and the first of them.
    private var unchecked: (count: Int, first: String)?

    init(_ crawl: Crawl) throws(FetchError) {
        self.crawl = crawl
        var ends = try crawl.file.ends()
        var pages: [Int: Int] = [:]
        let unreachable: [Outcome] = [
            .connect, .resolve, .timeout, .tls, .untrusted, .trustChanged,
        ]
        var failures = crawl.places.compactMapValues(\.failure).filter {
            unreachable.contains($0.value)
        }
        var unasked: [(hash: UInt64, place: String)] = []
        try crawl.file.lines.forEachLine { line, offset throws(FetchError) in
            guard let (n, url, _) = CrawlFile.url(in: line, after: CrawlFile.found) else { return }
            pages[n] = offset
            guard !failures.isEmpty else { return }
            let (hash, place) = (crawl.file.hash(url), CrawlFile.place(url))
            let name = String(decoding: place, as: UTF8.self)
            if let outcome = ends[hash]?.outcome {
                // A server that has answered is there.
                if !unreachable.contains(outcome) { failures[name] = nil }
            } else if failures[name] != nil {
                unasked.append((hash, name))
            }
        }
        // A server that is not there has none of its pages.
        for (hash, place) in unasked where failures[place] != nil {
            ends[hash] = CrawlFile.End(outcome: failures[place])
        }
        (self.ends, self.pages) = (ends, pages)
    }

    /// The outcome of a link; `nil` if it was not checked.
    private func outcome(of url: String) -> Outcome? {
        let (outcome, isKnown) = ends.outcome(of: crawl.file.hash(url))
        if isKnown { return [.robots, .usage].contains(outcome) ? nil : outcome }
        // Another scheme may have URLs without an authority.
        let isForeign = URI.scheme(of: url).map { crawl.context.fetcher.registry[$0] == nil }
        let uri = isForeign ?? false ? try? URI(verbatim: url) : try? URI(parsing: url)
        return uri == nil ? .badURL : nil
    }

    /// Prints the seeds that failed, and the links.
    ///
    /// - Returns: The verdict, with the links and seeds that failed.
    /// - Throws: `write`, `read`, `interrupted`.
    func report(
        _ seeds: [(url: String, outcome: Outcome)], _ verdict: Verdict
    ) throws(FetchError) -> Verdict {
        var check = self
        check.verdict = verdict
        for (url, outcome) in seeds { try check.note(outcome, url, "-", nil, 0) }
        try crawl.file.lines.forEachLine { line, offset throws(FetchError) in
            try check.take(line, at: offset)
        }
        if let (count, first) = check.unchecked {
            crawl.notices.append("unchecked: \(count), for example \(URI.display(first))")
        }
        if ends.values.contains(where: \.isCut) { check.verdict.miss(.cutPage) }
        return check.verdict
    }

    private mutating func take(
        _ line: ArraySlice<UInt8>, at offset: Int
    ) throws(FetchError) {
        for end in CrawlFile.ends {
            if let n = CrawlFile.url(in: line, after: end)?.n { counts[n] = nil }
        }
        guard line.starts(with: CrawlFile.link), let link = try? JSONValue.parse(line),
            let n = link["n"]?.int, let page = pages[n], offset > max(page, crawl.file.roundOffset)
        else { return }
        let index = counts[n, default: 0]
        counts[n] = index + 1
        if last.n != n { last = (n, try crawl.file.entry(at: page).url) }
        let url = link["url"]?.string ?? ""
        try note(outcome(of: url), url, last.url, link, index)
    }

    /// Prints a link, and adds it to the verdict if it is broken.
    ///
    /// - Parameter link: `nil` for a URL that was given.
    private mutating func note(
        _ outcome: Outcome?, _ url: String, _ page: String, _ link: JSONValue?, _ index: Int
    ) throws(FetchError) {
        let isFine = [nil, .ok, .needsInput, .needsIdentity].contains(outcome)
        if let outcome, !isFine {
            verdict.miss(outcome.lasts || outcome == .resolve ? .link : .linkForNow)
        }
        if outcome == nil { unchecked = ((unchecked?.count ?? 0) + 1, unchecked?.first ?? url) }
        var patience = Patience()
        patience.deadline = .never
        let word = outcome?.rawValue ?? "unchecked"
        if crawl.context.writesRecords {
            let record = record(of: link, url, index, link == nil ? url : page, word)
            try StandardStream.output.write(record[...], isWhole: true, patience)
        } else if !isFine {
            let row = [word, url, page, "\(link?["line"]?.int ?? 0)"].map(TerminalText.escapeLine)
            let text = row.joined(separator: "\t") + "\n"
            try StandardStream.output.write(Array(text.utf8)[...], isWhole: true, patience)
        }
    }

    /// The record of `links`, with the outcome.
    private func record(
        of link: JSONValue?, _ url: String, _ index: Int, _ page: String, _ word: String
    ) -> [UInt8] {
        JSONWriter.line { writer in
            var subject = RecordSubject(url: page)
            subject.n = link?["n"]?.int ?? 0
            writer.begin("link", subject)
            writer.member("i", index)
            let uri = try? URI(parsing: url)
            writer.member("url", uri == nil ? nil : url)
            writer.member("page", page)
            writer.member("raw", link?["raw"]?.string ?? url)
            writer.member("text", link?["text"]?.string ?? "")
            writer.member("scheme", uri?.scheme)
            writer.member("kind", link?["kind"]?.string ?? "link")
            writer.member("line", link?["line"]?.int ?? 0)
            writer.member("same_host", uri?.host == (try? URI(parsing: page))?.host)
            writer.member("outcome", word)
        }
    }
}

extension [UInt64: CrawlFile.End] {
    /// The outcome at the end of a chain of redirects, and false if the file has no end of it.
    func outcome(of hash: UInt64) -> (Outcome?, isKnown: Bool) {
        var (hash, hops) = (hash, 0)
        while let end = self[hash] {
            guard let next = end.next else { return (end.outcome, true) }
            hops += 1
            guard hops <= Crawl.hopsMax else { return (.tooManyRedirects, true) }
            hash = next
        }
        return (nil, hops > 0)
    }

    /// The last URL of a chain of redirects.
    func last(of hash: UInt64) -> UInt64 {
        var (hash, hops) = (hash, 0)
        while let next = self[hash]?.next, hops < Crawl.hopsMax { (hash, hops) = (next, hops + 1) }
        return hash
    }
}
