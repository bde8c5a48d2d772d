// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebFormats

extension Option {
    static let crawling: [Option] = [
        Option(
            .scope, .crawl, "crawl: prefix, host or any (prefix)",
            manual: "The URLs to follow: those below the directory of the URL given (prefix), at "
                + "its server (host), or of every scheme whose links can be followed (any).",
            example: "smallweb crawl --scope host gemini://example.org/~alice/",
            .choice("SCOPE") { $0.crawl.extent = $1 }),
        Option(
            .depth, .crawl, "crawl: at most N links from the start",
            manual: "The largest number of links between a page and the URL given; 0 for that "
                + "alone.",
            example: "smallweb crawl --depth 2 gemini://example.org/",
            .value("N", OptionValue.count) { $0.crawl.depthMax = $1 }),
        Option(
            .maxPages, .crawl, "crawl: stop after N pages",
            manual: "Stops after N pages of this run, with exit status 130 if URLs wait. The same "
                + "command goes on from there.",
            example: "smallweb crawl --max-pages 1000 gemini://example.org/",
            .value("N", OptionValue.positive) { $0.crawl.pagesMax = $1 }),
        Option(
            .perHostPages, .crawl, "crawl: at most N pages of a server",
            manual: "The largest number of pages of one server that are found in a run, 15000 by "
                + "default with --scope any.",
            example: "smallweb crawl --scope any --per-host-pages 100 @seeds.txt",
            .value("N", OptionValue.positive) { $0.crawl.placePages = $1 }),
        Option(
            .include, .crawl.with(scope: .commandLine),
            "crawl: follow only URLs that match RE",
            manual: "Follows only URLs in which this extended regular expression is found. "
                + "Repeatable: one of them must match.",
            example: "smallweb crawl --include '[.]gmi$' gemini://example.org/",
            .value("RE") { settings, value throws(FetchError) in
                settings.crawl.included.append(try OptionValue.expression(value, "--include"))
            }),
        Option(
            .exclude, .crawl, "crawl: follow no URL that matches RE",
            manual: "Follows no URL in which this extended regular expression is found, even if "
                + "--include matches. Repeatable.",
            example: "smallweb crawl --exclude '/cgi-bin/' gemini://example.org/",
            .value("RE") { settings, value throws(FetchError) in
                settings.crawl.excluded.append(try OptionValue.expression(value, "--exclude"))
            }),
        Option(
            .types, .crawl, "crawl: only pages of these media types",
            manual: "The media types of the pages to fetch, separated by commas; text/* stands for "
                + "all that begin so, */* for all, and a parameter such as charset=utf-8 must be "
                + "that of the page. A page of another type ends after its head, and links of it "
                + "are not followed.",
            example: "smallweb crawl --types text/gemini,text/plain gemini://example.org/",
            .value("LIST") { settings, value throws(FetchError) in
                let types = value.lowercased().split(separator: ",").map(String.init)
                guard !types.isEmpty, types.allSatisfy({ MediaType(parsing: $0) != nil }) else {
                    throw usageError("--types wants media types, such as text/gemini,image/*")
                }
                settings.crawl.mediaTypes = types
            }),
        Option(
            .robots, .crawl.with(takers: [.lists, .explain]), "obey robots files",
            manual: "Asks for the robots file of each server before its first URL, and for no URL "
                + "that it forbids: that is the outcome robots, with exit status 104. crawl does "
                + "so always.",
            example: "smallweb get --robots --as webproxy gemini://example.org/",
            .flag { settings, isOn in settings.crawl.obeysRobots = isOn }),
        Option(
            .as, .crawl.with(takers: [.crawl, .lists, .explain]),
            "for robots files: what pages are for",
            manual: "The purposes by which robots files of Gemini and its kin name robots: "
                + "archiver, indexer, researcher, webproxy, separated by commas. By default the "
                + "first three: what is forbidden to one of them is not fetched.",
            example: "smallweb crawl --as indexer gemini://example.org/",
            .value("ROLES") { settings, value throws(FetchError) in
                let roles = value.split(separator: ",").map(String.init)
                let other = roles.first { !Self.roles.contains($0) }
                guard other == nil, !roles.isEmpty else {
                    throw OptionValue.unknown(other ?? value, "--as", among: Self.roles)
                }
                settings.crawl.roles = value
            }
        ).with(\.values, .someOf { roles }),
        Option(
            .add, .crawl, "crawl: add these URLs to the state",
            manual: "Adds URLs to a state that was begun with others, which is an error without "
                + "it.",
            example: "smallweb crawl --state space.jsonl --add gemini://example.net/",
            .flag { settings, isOn in settings.crawl.addsSeeds = isOn }),
        Option(
            .check, .crawl, "crawl: say which links are broken",
            manual: "Fetches the pages of the scope, looks at each target of a link outside of it "
                + "once, without following anything there, and prints a line for each link that is "
                + "broken: outcome, link, page, number of the line. With --json each link is a "
                + "record with its outcome. The exit status is 22 if a link is broken for good, 75 "
                + "if only for now. A link that robots forbid is unchecked, and none to complain "
                + "about.",
            example: "smallweb crawl --check gemini://example.org/",
            .flag { settings, isOn in settings.crawl.checks = isOn }),
        Option(
            .mirror, .crawl, "crawl: save the pages below DIR",
            manual: "Saves each page as a file below DIR, under a name that its URL alone decides: "
                + "scheme, server and path, with @ where a file system knows no difference.",
            example: "smallweb crawl --mirror copy gemini://example.org/",
            .value("DIR") { settings, value in settings.crawl.mirror = value }
        ).with(\.values, .directories),
    ]

    private static let roles = ["archiver", "indexer", "researcher", "webproxy"]
}
