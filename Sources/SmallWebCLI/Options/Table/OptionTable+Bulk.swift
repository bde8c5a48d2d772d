// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

extension Option {
    static let json: [Option] = [
        Option(
            .json, .json.with(takers: [.results, .watch, .crawl], scope: .run),
            .flag { $0.records.areWanted = $1 }),
        Option(
            .fields, .json,
            .value("LIST") { settings, value throws(FetchError) in
                settings.records.options.fields = try RecordFields.parse(value, .builtIn)
            }
        ).with(\.values, .someOf { RecordFields.all(.builtIn) }),
        Option(
            .body, .json.with(takers: [.get, .put, .explain, .crawl]),
            .choice("FORM") { $0.records.options.body = $1 }),
        Option(
            .inlineMax, .json.with(takers: [.get, .put, .explain, .crawl]),
            .value("SIZE", OptionValue.size) { $0.records.options.inlineBytesMax = $1 }),
        Option(
            .stream, .json.with(takers: [.get, .put, .explain]),
            .flag { $0.records.options.streamsBodies = $1 }),
        Option(
            .withLinks, .json.with(takers: [.get, .put, .verbs, .explain, .crawl]),
            .flag { $0.output.withLinks = $1 }),
        Option(.events, .json, .flag { $0.records.options.includesEvents = $1 }),
        Option(
            .ordered, .json.with(takers: .results, scope: .run),
            .flag { $0.records.keepsInputOrder = $1 }),
        Option(
            .summary, .json.with(takers: [.results, .watch, .crawl], scope: .run),
            .flag { $0.records.wantsSummary = $1 }),
    ]

    static let bulk: [Option] = [
        Option(
            .inputFile, .bulk.with(takers: [.lists, .subscriptions, .crawl]),
            .value("FILE") { settings, value in
                settings.run.lists.append(value == "-" ? "-" : "@" + value)
            }),
        Option(
            .parallel, short: "Z", .bulk.with(takers: [.lists, .feed]),
            .flag { settings, isOn in
                if !isOn || !settings.isSet(.jobs) { settings.run.policy.jobs = isOn ? 8 : 1 }
            }),
        Option(
            .jobs, short: "j", .bulk.with(takers: [.lists, .feed, .crawl]),
            .value("N", OptionValue.positive) { $0.run.policy.jobs = $1 }
        ).with(\.aliases, ["parallel-max"]),
        Option(
            .perHost, .bulk.with(takers: [.lists, .feed]),
            .value("N", OptionValue.positive) { $0.run.policy.jobsPerHost = $1 }
        ).with(\.aliases, ["parallel-max-host"]),
        Option(.loops, .bulk, .value("N", OptionValue.positive) { $0.run.policy.loops = $1 }),
        Option(
            .rate, .bulk.with(takers: [.lists, .subscriptions, .crawl]),
            .value("N", OptionValue.interval) { $0.run.policy.startSeconds = $1 }),
        Option(
            .perHostDelay, .bulk.with(takers: [.lists, .subscriptions, .crawl]),
            .value("TIME", OptionValue.duration) { $0.run.policy.hostSeconds = $1 }
        ).with(\.aliases, ["wait"]),
        Option(
            .retry, .bulk.with(takers: .runs),
            .value("N", OptionValue.count) { $0.run.policy.retry.retries = $1 }),
        Option(
            .retryDelay, .bulk.with(takers: .runs),
            .value("TIME", OptionValue.duration) { $0.run.policy.retry.delaySeconds = $1 }),
        Option(
            .retryMaxTime, .bulk.with(takers: .runs),
            .value("TIME", OptionValue.duration) {
                $0.run.policy.retry.totalSeconds = $1 > 0 ? $1 : nil
            }),
        Option(
            .retryData, .bulk.with(takers: [.lists, .put, .subscriptions]),
            .flag { $0.run.policy.retry.repeatsData = $1 }),
        Option(.failEarly, .bulk, .flag { $0.run.policy.failsEarly = $1 }),
        Option(.ledger, .bulk, .value("FILE") { $0.run.ledger = $1 }),
        Option(
            .only, .bulk,
            .value("LIST") { settings, value throws(FetchError) in
                settings.records.areOnlyLinks = value == "links"
                guard value != "links" else { return }
                settings.run.ledgerOutcomes = try OptionValue.outcomes(value, "--only")
            }
        ).with(\.values, .someOf { ["links"] + Outcome.allCases.map(\.rawValue) }),
        Option(.stopKnown, .bulk, .value("N", OptionValue.positive) { $0.run.knownMax = $1 }),
    ]

    static let workers: [Option] = [
        Option(.shard, .bulk, .value("I/N", OptionValue.shard) { $0.run.shard = $1 }),
        Option(
            .deadline, .bulk.with(takers: [.lists, .crawl]),
            .value("TIME", OptionValue.duration) { $0.run.policy.deadlineSeconds = $1 }),
        Option(.exitStatus, .bulk, .choice("WHAT") { $0.run.status = $1 }),
        Option(.authority, .bulk.with(takers: []), .flag { $0.run.showsAuthority = $1 }),
    ]
}
