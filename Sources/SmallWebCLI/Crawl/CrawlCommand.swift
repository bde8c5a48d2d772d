// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb
internal import SmallWebArchive
internal import SmallWebFormats
internal import SmallWebRecords

struct CrawlSettings: Sendable {
    var extent = CrawlScope.Extent.prefix
    var depthMax: Int?
    var pagesMax = Int.max
    /// `nil` for the default, which depends on the scope.
    var placePages: Int?
    var included: [ExtendedExpression] = []
    var excluded: [ExtendedExpression] = []
    /// Media types of the pages that are wanted; empty for all.
    var mediaTypes: [String] = []
    /// Purposes of the run, for robots files.
    var roles = "archiver,indexer,researcher"
    /// For `get`: true to ask for robots files.
    var obeysRobots = false
    var addsSeeds = false
    /// True to begin a round once the one before is over.
    var updates = false
    /// True to remove the files of pages that are gone.
    var deletes = false
    var mirror: String?
    /// True to take links alone, and nothing that pages embed.
    var leavesOutEmbedded = false
    /// True for an archive that is not there yet: no page of the state is in it.
    var fillsNewArchive = false
    /// True to say which links are broken.
    var checks = false

    /// The names that robots files and pages have for this run.
    var robotNames: [String] { ["smallweb"] + roles.split(separator: ",").map(String.init) }

    /// True if what pages embed is wanted.
    var takesEmbedded: Bool { (checks || mirror != nil) && !leavesOutEmbedded }

    var placePagesMax: Int { placePages ?? (extent == .any ? 15_000 : .max) }

    var scope: CrawlScope {
        var scope = CrawlScope(extent)
        (scope.depthMax, scope.included, scope.excluded) = (depthMax, included, excluded)
        return scope
    }
}

extension Settings {
    /// - Parameter onFile: Called with each robots file that has come.
    func robotsGate(
        onFile: @escaping @Sendable (_ place: String, Robots, _ time: Int) -> Void = { _, _, _ in }
    ) -> RobotsGate {
        RobotsGate(
            product: "smallweb", roles: Array(crawl.robotNames.dropFirst()),
            paceSeconds: run.policy.hostSeconds,
            restSecondsMax: run.policy.retry.totalSeconds ?? run.policy.pauseSecondsMax,
            onFile: onFile)
    }
}

extension Command {
    static let crawl = Command(
        "crawl URL…", taker: .crawl
    ) { settings, operands throws(FetchError) in
        try CrawlCommand(settings, operands).run()
    }.with(
        \.mainOptions,
        [
            "scope", "depth", "max-pages", "per-host-pages", "exclude", "include", "types", "as",
            "check", "mirror", "state", "add", "json", "warc",
        ]
    ).with(
        \.defaults,
        [(.jobs, "32"), (.perHostDelay, "1"), (.maxTime, "60"), (.maxFilesize, "10M")])
}

struct CrawlCommand: Sendable {
    private let settings: Settings
    private let operands: [String]

    init(_ settings: Settings, _ operands: [String]) {
        var settings = settings
        self.operands = operands + settings.run.lists
        settings.run.policy.jobsPerHost = 1
        settings.fetch.promptsAllowed = false
        settings.fetch.redirects.follows = false
        settings.fetch.redirects.judges = true
        settings.output.followsLinks = true
        settings.output.keepsParts = false
        // The state says what is done, not the files; one with the same bytes keeps its time.
        settings.output.existing = settings.crawl.mirror == nil ? .asNamed : .updated
        settings.crawl.deletes = settings.fetch.deletes
        settings.output.createsDirectories = true
        if settings.crawl.mirror == nil && settings.usualDestination == .standardOutput {
            settings.records.options.body = .none
        }
        self.settings = settings
    }

    func run() throws(FetchError) -> Int32 {
        try GetCommand.check(operands)
        guard settings.fetch.served == nil || settings.crawl.checks else {
            throw usageError("a crawl of a directory is for --check")
        }
        let mayDelete = settings.crawl.updates && settings.crawl.mirror != nil
        guard mayDelete || !settings.crawl.deletes else {
            throw usageError("a crawl deletes the files of pages that are gone", hint: Advice.gone)
        }
        var settings = settings
        if settings.crawl.mirror == nil, !settings.crawl.checks, !settings.keepsPages {
            Messages(settings.messages).warning(Advice.nothingSaved)
        }
        settings.crawl.fillsNewArchive =
            settings.archive.hasCache
            ? try settings.pageCache().sizes.isEmpty
            : settings.archive.file.map { access($0, F_OK) != 0 } ?? false
        return try FetchRun.run(settings, crawl)
    }

    private func crawl(_ given: Settings, _ loop: EventLoop) async throws(FetchError) -> Int32 {
        var settings = given
        let asked = try await OperandSource.all(
            operands, on: loop, Messages(settings.messages))
        if let problem = asked.lazy.compactMap(\.problem).first { throw problem }
        let urls = asked.compactMap(\.url).map { settings.unwrapped($0) }
        let isFile = { URI.scheme(of: $0) == nil && fileKind($0) != nil || UserFiles.isPath($0) }
        if let path = urls.first(where: isFile) {
            throw FetchError(
                .badURL, .input, "a crawl begins with a URL, not with a file: \(path)",
                hint: Advice.served(fileKind(path) == S_IFDIR ? path : directory(of: path)))
        }
        let (seeds, logins) = try logins(of: urls, settings)
        let registry = try settings.registry()
        let path = try state(settings, seeds)
        let file = try CrawlFile(path, registry)
        let gate = settings.robotsGate { place, robots, time in
            // The page, which follows, fails to be written, too.
            try? file.append(robots, of: place, at: time)
        }
        settings.connection.robots = gate
        if settings.crawl.extent == .any { try Self.keepKeysApart(&settings, path) }
        let context = RunContext(
            settings, try settings.fetcher(loop), isBulk: true,
            isSilent: !settings.messages.isVerbose)
        var given: [String: [UInt8]?] = [:]
        for url in seeds {
            let request = try Self.request(url, context.fetcher)
            let key = CrawlKey(request.uri, request.scheme, request.scheme.crawling)
            given.updateValue(logins[url], forKey: String(key.place))
            file.seeds.insert(file.hash(key.uri.description))
        }
        let crawl = Crawl(context, file, settings.crawl, gate, given: given)
        if context.writesRecords && settings.records.options.includesEvents {
            file.onLine = Self.echo
        }
        let isContinued = try load(crawl, seeds)
        // From here on it is the state that has them wait: a kill would leave a part of an archive.
        for offset in file.lost {
            try file.append(file.line(of: file.entry(at: offset)), waits: false)
        }
        for (place, lines, time) in file.robots {
            guard let name = URI.scheme(of: place), let crawling = registry[name]?.scheme.crawling
            else { continue }
            try LongWork.check()
            let pause = max(0, file.pauseSeconds(place))
            gate.learn(
                place, Robots(lines: lines, crawling), at: time,
                last: pause > 0 ? .after(seconds: pause) : file.lastRequest)
        }
        for seed in Set(seeds + (file.rules?.seeds ?? [])).sorted() { try crawl.add(seed: seed) }
        var policy = context.policy
        (policy.keepsOrder, policy.loops) = (false, 1)
        let engine = context.engine(crawl, policy)
        await context.run(engine) { crawl.progress }
        let (left, waiting) = (crawl.placesLeft, crawl.waiting)
        let verdict = try verdict(on: crawl, engine, settings)
        let status = try context.conclude(
            engine, verdict, hasSummary: true, skipped: crawl.skipped
        ) { writer in
            writer.member("waiting", waiting)
            writer.member("places_left", array: left) { $0.value($1.name) }
        }
        if settings.messages.showsNotes { try say(crawl, waiting, left, isContinued) }
        return status
    }

    /// - Throws: `bad-url`, with the URL that was meant if that is known.
    private static func request(
        _ url: String, _ fetcher: Fetcher
    ) throws(FetchError) -> Request {
        do throws(FetchError) {
            let request = try fetcher.request(url)
            _ = try request.place
            return request
        } catch {
            var error = error
            error.hint = Advice.meant(by: url, fetcher.registry) ?? error.hint
            throw error
        }
    }

    /// Loads the state, and begins it or its next round.
    ///
    /// - Returns: True if another round was asked for, and the last one is not over.
    private func load(_ crawl: Crawl, _ seeds: [String]) throws(FetchError) -> Bool {
        let (file, rules) = (crawl.file, crawl.rules)
        var counts: [(name: String, pages: Int)] = []
        try file.load(onPlace: { counts.append(($0, $1)) })
        let isOver = file.isEnded || crawl.waiting == 0
        try begin(file, seeds, rules, isOver: crawl.waiting == 0)
        if rules.updates, isOver, file.next > 0 {
            try crawl.beginRound()
            counts = []
            try file.load(onPlace: { counts.append(($0, $1)) })
        }
        try file.findContents()
        if file.next > 0 { for place in counts { crawl.count(place.pages, of: place.name) } }
        return rules.updates && !isOver
    }

    /// Keys of strangers' servers are pinned next to the state, behind those that the user knows.
    private static func keepKeysApart(
        _ settings: inout Settings, _ state: String
    ) throws(FetchError) {
        guard settings.connection.knownHostsFile == nil else { return }
        let path = state + ".known_hosts"
        settings.connection.knownHostsFile = path
        guard access(path, F_OK) != 0, let own = UserFiles.knownHosts else { return }
        let known = try StoreFile(own, title: "trust store").read()
        try StoreFile(path, title: "trust store").change { $0 = known }
    }

    /// Prints a line of the state as a record, unless it is that of a page.
    private static func echo(_ line: ArraySlice<UInt8>) throws(FetchError) {
        guard let type = (try? JSONValue.parse(line))?["type"]?.string,
            ["crawl", "robots", "found", "skip"].contains(type)
        else { return }
        let text = line.dropLast(while: { $0 == ASCII.space })
        try StandardStream.output.write(text + [ASCII.lineFeed], isWhole: true, Patience())
    }

    /// The URLs without user and password, which no state, row or record shall have, and those by
    /// URL.
    ///
    /// - Throws: `usage` for a scheme without logins.
    private func logins(
        of urls: [String], _ settings: Settings
    ) throws(FetchError) -> ([String], [String: [UInt8]]) {
        var (seeds, logins): ([String], [String: [UInt8]]) = ([], [:])
        let registry = try settings.registry()
        for url in urls {
            guard var uri = try? URI(parsing: url), let userinfo = uri.userinfo else {
                seeds.append(url)
                continue
            }
            guard registry.hasHeaderFields(uri.scheme) else {
                throw usageError(
                    "\(uri.display): crawl takes no user and password over \(uri.scheme)")
            }
            let parts = userinfo.split(separator: ":", maxSplits: 1)
            let login = PercentEncoding.decode(userinfo)
            let user = parts.first.map { PercentEncoding.decode($0) }
            uri.userinfo = nil
            seeds.append(uri.description)
            logins[uri.description] =
                parts.count > 1
                ? login
                : settings.fetch.netrc?.login(for: uri.host ?? "", user: user)
                    ?? login + [ASCII.colon]
        }
        return (seeds, logins)
    }

    /// The file of the state, named by the seeds and by what is filled.
    private func state(_ settings: Settings, _ seeds: [String]) throws(FetchError) -> String {
        var words: [String] = []
        // Others have not found what this run is to find or to save.
        if settings.crawl.checks { words.append("check") }
        if settings.archive.hasCache { words.append("cache") }
        if let depth = settings.crawl.depthMax { words.append("depth \(depth)") }
        let served = settings.fetch.served?.directory
        for path in [settings.crawl.mirror, settings.archive.file, served].compactMap(\.self) {
            words.append(path.hasPrefix("/") ? path : "\(resolvingLinks("."))/\(path)")
        }
        return try settings.feeds.statePath("crawl", suffix: ".jsonl", of: seeds, words: words)
    }

    /// Begins a state, or goes on with it. A check that is over begins again: links break.
    ///
    /// - Throws: `usage` for a state of another crawl.
    private func begin(
        _ file: CrawlFile, _ seeds: [String], _ asked: CrawlSettings, isOver: Bool
    ) throws(FetchError) {
        var wanted = CrawlFile.Rules(
            seeds: seeds, scope: asked.extent, roles: asked.roles, checks: asked.checks)
        (wanted.limits.depth, wanted.limits.placePages) = (asked.depthMax, asked.placePages)
        wanted.limits.leavesOutEmbedded = asked.leavesOutEmbedded
        let lists = [
            "include": asked.included.map(\.text), "exclude": asked.excluded.map(\.text),
            "types": asked.mediaTypes,
        ]
        wanted.limits.lists = lists.filter { !$0.value.isEmpty }
        guard let rules = file.rules else {
            guard file.lastChange == 0 else {
                throw file.foreignError
            }
            return try file.append(wanted)
        }
        if rules.scope != wanted.scope || rules.roles != wanted.roles {
            throw usageError(
                "the state \(file.path) is of --scope \(rules.scope.rawValue) --as \(rules.roles), "
                    + "not of --scope \(wanted.scope.rawValue) --as \(wanted.roles)",
                hint: Advice.otherState)
        }
        if rules.checks != wanted.checks {
            throw usageError(
                "the state \(file.path) is of a crawl \(rules.checks ? "with" : "without") --check",
                hint: Advice.otherState)
        }
        let isAgain = isOver && asked.checks && !asked.updates
        if let option = wanted.limits.option(widerThan: rules.limits), !isAgain {
            throw usageError(
                "the state \(file.path) was filled with another --\(option), and does not have "
                    + "what that left out",
                hint: Advice.repeatedLimit)
        }
        let others = seeds.filter { !rules.seeds.contains($0) }
        guard others.isEmpty || asked.addsSeeds else {
            throw usageError(
                "the state \(file.path) is of "
                    + rules.seeds.map(URI.display).joined(separator: " ") + ", not of "
                    + others.joined(separator: " "),
                hint: Advice.addedSeed)
        }
        wanted.seeds = rules.seeds + others
        if isAgain { try file.clear() }
        if isAgain || wanted != rules { try file.append(wanted) }
    }

    private func verdict(
        on crawl: Crawl, _ engine: Engine, _ settings: Settings
    ) throws(FetchError) -> Verdict {
        var verdict = Verdict(signal: swposix_pending_signal(), failure: engine.failure)
        guard verdict.worst == nil else { return verdict }
        let (seeds, unread) = try crawl.failedSeeds(crawl.file.rules?.seeds ?? [])
        if settings.crawl.checks { verdict = try LinkCheck(crawl).report(seeds, verdict) }
        let isStopped = engine.isStopping || crawl.isCut || engine.tally.postponed > 0
        if !isStopped { try crawl.file.endRun() }
        if isStopped, crawl.waiting > crawl.failed { verdict.miss(.unasked) }
        for url in unread {
            Messages(settings.messages).error(
                url, .protocolError, "links are not read from a page of its type", hint: nil)
            verdict.miss(.unusable(.protocolError))
        }
        if let seed = seeds.first(where: \.outcome.lasts) { verdict.miss(.url(seed.outcome)) }
        if crawl.waiting > 0 { verdict.miss(.waiting) }
        return verdict
    }

    private func say(
        _ crawl: Crawl, _ waiting: Int, _ left: [(name: String, reason: String)],
        _ isContinued: Bool
    ) throws(FetchError) {
        let refused = crawl.refused == 0 ? "" : ", \(crawl.refused) of them refused for good"
        let pages = "\(crawl.done) page\(crawl.done == 1 ? "" : "s")"
        var words = ["\(pages)\(refused), waiting: \(waiting)"]
        if crawl.done == 0, waiting == 0 {
            words.append("the crawl is over, nothing is left: \(Advice.nextRound)")
        }
        if crawl.file.round > 1 {
            let counts = [WatchRun.Change.new, .changed, .unchanged, .gone].map { change in
                "\(change.rawValue) \(crawl.changes[change, default: 0])"
            }
            words.append("round \(crawl.file.round): \(counts.joined(separator: ", "))")
        }
        if isContinued {
            words.append("a round that was not over went on: \(Advice.nextRound)")
        }
        let reasons = crawl.skipped.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        if !reasons.isEmpty {
            let counts = reasons.map { reason in
                (reason.key == "private" ? "private address" : reason.key) + " \(reason.value)"
            }.joined(separator: ", ")
            words.append("not followed: \(counts)")
        }
        if crawl.failed > 0 {
            words.append("failed for now: \(crawl.failed); the same command asks again")
        }
        if !crawl.file.lost.isEmpty {
            let archive = crawl.context.settings.archive
            let place = crawl.rules.mirror ?? archive.file ?? (archive.hasCache ? "the cache" : nil)
            let reasons = [
                crawl.file.hasUnread ? "fetched before links of HTML were read" : nil,
                place.map { "not in \($0)" },
            ]
            words.append(
                reasons.compactMap(\.self).joined(separator: " or ")
                    + ", so asked again: \(crawl.file.lost.count)")
        }
        words += crawl.notices + left.map { "left for now: \($0.name): \($0.reason)" }
        for line in words {
            try StandardStream.error.write("crawl: \(TerminalText.escapeLine(line))\n")
        }
    }
}
