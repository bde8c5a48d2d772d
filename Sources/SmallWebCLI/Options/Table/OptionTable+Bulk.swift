// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

extension Option {
    static let json: [Option] = [
        Option(
            .json, .json.with(takers: [.results, .watch, .crawl], scope: .run),
            "write JSON records, one a line",
            manual: "Writes one line of JSON per URL to standard output, with the body in it, "
                + "instead of the body. smallweb-json(5) describes the records.",
            example: "smallweb get --json gemini://geminiprotocol.net/ | jq .status",
            .flag { settings, isOn in settings.records.areWanted = isOn }),
        Option(
            .fields, .json, "only these fields of a record: a,b,c",
            manual: "Leaves out the other fields of terminal records. type, v, n, id and tag are "
                + "always there, and with --ledger outcome and time.",
            example: "smallweb get --json --fields url,status gemini://geminiprotocol.net/",
            .value("LIST") { settings, value throws(FetchError) in
                settings.records.options.fields = try RecordFields.parse(value, .builtIn)
            }
        ).with(\.values, .someOf { RecordFields.all(.builtIn) }),
        Option(
            .body, .json.with(takers: [.get, .put, .explain, .crawl]),
            "auto, text, base64, file or none",
            manual: "The form of the body. auto is text if it is UTF-8 or in a known charset, "
                + "base64 otherwise; text forces text; file is --remote-name; none leaves it out.",
            example: "smallweb get --json --body none gemini://geminiprotocol.net/",
            .choice("FORM") { $0.records.options.body = $1 }),
        Option(
            .inlineMax, .json.with(takers: [.get, .put, .explain, .crawl]),
            "largest body in a record (8M)",
            manual: "The largest body in a record. A larger one goes to --output-dir if given, "
                + "and is left out otherwise; its size and hash are still there.",
            example: "smallweb get --json --inline-max 64k gemini://geminiprotocol.net/",
            .value("SIZE", OptionValue.size) { $0.records.options.inlineBytesMax = $1 }),
        Option(
            .stream, .json.with(takers: [.get, .put, .explain]),
            "bodies in chunk records, as they arrive",
            manual: "Writes a body as chunk records while it arrives, before the URL's own "
                + "record. After its first chunk a URL is not retried.",
            example: "smallweb get --json --stream gopher://example.org/9/disk.img",
            .flag { settings, isOn in settings.records.options.streamsBodies = isOn }),
        Option(
            .withLinks, .json.with(takers: [.get, .put, .verbs, .explain, .crawl]),
            "records of the page's links as well",
            manual: "Writes a link record for each link of a page before the page's own record, as "
                + "smallweb links does, so that body and links come with one fetch.",
            example: "smallweb get --json --with-links gemini://geminiprotocol.net/",
            .flag { settings, isOn in settings.output.withLinks = isOn }),
        Option(
            .events, .json, "records of requests, redirects, notices too",
            manual: "Writes records of the types request, redirect and notice as well.",
            example: "smallweb get --json --events gemini://geminiprotocol.net/",
            .flag { settings, isOn in settings.records.options.includesEvents = isOn }),
        Option(
            .ordered, .json.with(takers: .results, scope: .run),
            "records in the order of the URLs",
            manual: "Buffers records until those of all earlier URLs are written.",
            example: "smallweb get --json -Z --ordered - < urls.txt",
            .flag { settings, isOn in settings.records.keepsInputOrder = isOn }),
        Option(
            .summary, .json.with(takers: [.results, .watch, .crawl], scope: .run),
            "a summary record even for one URL",
            manual: "Ends with a summary record. The default is one for several URLs; none with "
                + "--no-summary.",
            example: "smallweb get --json --summary gemini://geminiprotocol.net/",
            .flag { settings, isOn in settings.records.wantsSummary = isOn }),
    ]

    static let bulk: [Option] = [
        Option(
            .inputFile, .bulk.with(takers: [.lists, .subscriptions, .crawl]),
            "read URLs from FILE, - for stdin",
            manual: "Reads URLs from a file, one per line; - is standard input. Blank lines and "
                + "lines beginning with # are ignored. A line beginning with { is a request in "
                + "JSON. The operands - and @FILE do the same.",
            example: "smallweb get --json --input-file urls.txt",
            .value("FILE") { settings, value in
                settings.run.lists.append(value == "-" ? "-" : "@" + value)
            }),
        Option(
            .parallel, short: "Z", .bulk.with(takers: [.lists, .feed]),
            "fetch eight URLs at a time",
            manual: "Fetches several URLs at a time, eight unless --jobs is given. Standard "
                + "output gets the bodies whole and in the order of the URLs, as without it.",
            example: "smallweb get -Z gemini://example.org/a gopher://example.net/0/b",
            .flag { settings, isOn in
                if !isOn || !settings.isSet(.jobs) { settings.run.policy.jobs = isOn ? 8 : 1 }
            }),
        Option(
            .jobs, short: "j", .bulk.with(takers: [.lists, .feed, .crawl]),
            "fetch N URLs at a time (1)",
            manual: "The number of concurrent fetches, 1 or more.",
            example: "smallweb get -j 4 gemini://example.org/a gopher://example.net/0/b",
            .value("N", OptionValue.positive) { $0.run.policy.jobs = $1 }),
        Option(
            .perHost, .bulk.with(takers: [.lists, .feed]),
            "with -j, at most N of them from one host (2)",
            manual: "The number of concurrent fetches from a host and port.",
            example: "smallweb get -j 8 --per-host 1 gemini://example.org/a gemini://example.org/b",
            .value("N", OptionValue.positive) { $0.run.policy.jobsPerHost = $1 }),
        Option(
            .loops, .bulk, "with -j, fetch in N threads (one per core)",
            manual: "The number of threads for fetches, besides the one that reads the list and "
                + "writes the results. Each host has one of them. By default the main thread "
                + "fetches the first host of a list, and the others get a thread per core. With 1 "
                + "the main thread does everything, as it does for a single URL. Results, their "
                + "order, limits and statuses are the same with any number.",
            example: "smallweb get --json -j 64 --loops 4 --input-file urls.txt",
            .value("N", OptionValue.positive) { $0.run.policy.loops = $1 }),
        Option(
            .rate, .bulk.with(takers: [.lists, .subscriptions, .crawl]),
            "at most N requests a second, or N/m, N/h",
            manual: "The maximum number of requests per second, minute (N/m) or hour (N/h).",
            example: "smallweb get --rate 30/m - < urls.txt",
            .value("N", OptionValue.interval) { $0.run.policy.startSeconds = $1 }),
        Option(
            .perHostDelay, .bulk.with(takers: [.lists, .subscriptions, .crawl]),
            "least time between two requests to one host",
            manual: "The least time between the starts of two requests to one host.",
            example: "smallweb get -Z --per-host-delay 0.5 - < urls.txt",
            .value("TIME", OptionValue.duration) { $0.run.policy.hostSeconds = $1 }),
        Option(
            .retry, .bulk.with(takers: .runs), "retry up to N times if that may help (0)",
            manual: "Retries after a transient failure: no connection, a timeout, a temporary "
                + "refusal. The first delay is about a second, each further one twice as long. A "
                + "delay set by the server is obeyed, for all requests to its host. Uploads and "
                + "bodies already sent are not sent again, unless the server refused them "
                + "temporarily.",
            example: "smallweb get --retry 3 gemini://geminiprotocol.net/",
            .value("N", OptionValue.count) { $0.run.policy.retry.retries = $1 }),
        Option(
            .retryDelay, .bulk.with(takers: .runs), "delay before each retry: 10, 2m",
            manual: "A fixed delay before each retry.",
            example: "smallweb get --retry 3 --retry-delay 10 gemini://geminiprotocol.net/",
            .value("TIME", OptionValue.duration) { $0.run.policy.retry.delaySeconds = $1 }),
        Option(
            .retryMaxTime, .bulk.with(takers: .runs), "no retry later than this: 90, 15m",
            manual: "No retry starts later than this after the first attempt. It also limits how "
                + "long a server may delay its other requests; the default is ten minutes.",
            example: "smallweb get --retry 9 --retry-max-time 60 gemini://geminiprotocol.net/",
            .value("TIME", OptionValue.duration) {
                $0.run.policy.retry.totalSeconds = $1 > 0 ? $1 : nil
            }),
        Option(
            .retryData, .bulk.with(takers: [.lists, .put, .subscriptions]),
            "retry also when data has been sent",
            manual: "With --retry, sends an upload or a body again even if it was sent and no "
                + "reply came: for servers where it may arrive twice.",
            example: "smallweb put --retry 3 --retry-data titan://example.org/a.gmi a.gmi",
            .flag { settings, isOn in settings.run.policy.retry.repeatsData = isOn }),
        Option(
            .failEarly, .bulk, "stop after the first failed URL",
            manual: "Stops after the first failed URL, retries included. Fetches in progress are "
                + "aborted.",
            example: "smallweb get --fail-early gemini://example.org/a gemini://example.org/b",
            .flag { settings, isOn in settings.run.policy.failsEarly = isOn }),
        Option(
            .ledger, .bulk, "log results in FILE, skip finished URLs",
            manual: "Appends the record of each finished URL to FILE. URLs whose last record "
                + "there is ok are skipped, so an interrupted run continues.",
            example: "smallweb get -Z -O --ledger done.jsonl - < urls.txt",
            .value("FILE") { settings, value in settings.run.ledger = value }),
        Option(
            .only, .bulk, "with --ledger, only these outcomes",
            manual:
                "Fetches only URLs whose last record in the ledger has one of these outcomes, the "
                + "words of 'smallweb help exit-status', separated by commas.",
            example: "smallweb get --ledger done.jsonl --only timeout,connect - < urls.txt",
            .value("LIST", OptionValue.outcomes) { $0.run.ledgerOutcomes = $1 }
        ).with(\.values, .someOf { Outcome.allCases.map(\.rawValue) }),
        Option(
            .stopKnown, .bulk, "with --ledger, end after N known in a row",
            manual: "Ends after N URLs in a row that the ledger has as done: of a list that is "
                + "newest first, the rest is known, too.",
            example: "smallweb get --ledger done.jsonl --stop-known 5 - < newest-first.txt",
            .value("N", OptionValue.positive) { $0.run.knownMax = $1 }),
    ]

    static let workers: [Option] = [
        Option(
            .shard, .bulk, "only URLs of part I of N, by host (from 0)",
            manual: "Fetches only URLs whose host and port belong to part I of N parts, counted "
                + "from 0: each host has one worker, however the list is split. Lines without a "
                + "host belong to part 0. n in records stays the position in the whole input. "
                + "'smallweb shard' says which part a line belongs to.",
            example: "smallweb get --json --shard 0/4 - < urls.txt",
            .value("I/N", OptionValue.shard) { $0.run.shard = $1 }),
        Option(
            .deadline, .bulk.with(takers: [.lists, .crawl]),
            "start no request later than this: 90, 15m, 2h",
            manual: "No request starts later than this after the start; those in progress "
                + "continue. The other URLs get records with the outcome interrupted, and a "
                + "ledger does not count them as done. The exit status is 130, or 0 with "
                + "--exit-status run.",
            example: "smallweb get --json --deadline 15m --exit-status run - < urls.txt",
            .value("TIME", OptionValue.duration) { $0.run.policy.deadlineSeconds = $1 }),
        Option(
            .exitStatus, .bulk, "of the first failed URL (first), or of the run",
            manual:
                "first: the exit status is that of the first URL that failed. run: it is 0 when "
                + "every request got its record, bad lines included: failures are in the records. "
                + "A run that could not do its work fails all the same: a list that cannot be "
                + "read, a ledger or standard output that cannot be written, a signal.",
            example: "smallweb get --json --exit-status run - < urls.txt",
            .choice("WHAT") { $0.run.status = $1 }),
        Option(
            .authority, .bulk.with(takers: []), "shard: print host:port as well",
            manual: "Prints host and port between the part and the line: a key for programs that "
                + "split their input by one. It is empty for a line without a host.",
            example: "smallweb shard --authority 4 urls.txt",
            .flag { settings, isOn in settings.run.showsAuthority = isOn }),
    ]
}
